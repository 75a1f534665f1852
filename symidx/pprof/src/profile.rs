//! A profile in memory, as `profile.proto` lays it out.
//!
//! What `Profile::read` returns refers to nothing that is not there. Fields
//! are public and plain: whoever edits them keeps that true.

use crate::proto::{Function, Location, Mapping, Sample, ValueType};
use crate::strings::Strings;

/// A profile: samples, the stacks they were taken in, and names for these.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/named.rs"));
/// // Everything is by number: samples to locations, these to functions and texts.
/// let leaf = profile.samples[0].location_id[0];
/// let location = profile.locations.iter().find(|location| location.id == leaf).unwrap();
/// let id = location.line[0].function_id;
/// let function = profile.functions.iter().find(|function| function.id == id).unwrap();
/// assert_eq!(profile.text(function.name), "leaf");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What the values of each sample count.
    pub sample_types: Vec<ValueType>,
    /// The samples.
    pub samples: Vec<Sample>,
    /// What was mapped where; the first one is the main program.
    pub mappings: Vec<Mapping>,
    /// The addresses that samples refer to.
    pub locations: Vec<Location>,
    /// The functions that locations refer to.
    pub functions: Vec<Function>,
    /// The texts that all of these refer to.
    pub strings: Strings,
    /// Pattern of functions to leave out with all they call; a string.
    pub drop_frames: i64,
    /// Pattern of functions to keep all the same; a string.
    pub keep_frames: i64,
    /// When it was taken: nanoseconds since 1970.
    pub time_nanos: i64,
    /// For how long: nanoseconds.
    pub duration_nanos: i64,
    /// What is counted between two samples.
    pub period_type: Option<ValueType>,
    /// How much of it.
    pub period: i64,
    /// Free text; strings.
    pub comments: Vec<i64>,
    /// The sample type that is shown unless another is asked for; a string.
    pub default_sample_type: i64,
    /// Where the profile is explained; a string.
    pub doc_url: i64,
    /// Fields that this version does not know, as they were read.
    pub unknown: Vec<u8>,
}

impl Profile {
    /// The text with this number; empty where there is none.
    ///
    /// ```
    /// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// assert_eq!(profile.text(profile.mappings[0].filename), "/bin/app");
    /// assert_eq!(profile.text(profile.doc_url), ""); // not set
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn text(&self, number: i64) -> &str {
        self.strings.get(number).unwrap_or("")
    }

    /// The position of the sample type of this name, or the number itself
    /// where it is one; without a name the profile's default type, else the last
    /// one, as pprof chooses.
    ///
    /// ```
    /// use symidx_pprof::{Profile, ValueType};
    /// let mut profile = Profile::default();
    /// for name in ["objects", "bytes"] {
    ///     let r#type = profile.strings.intern(name);
    ///     profile.sample_types.push(ValueType { r#type, unit: 0 });
    /// }
    /// assert_eq!(profile.sample_type(Some("objects")), Some(0));
    /// assert_eq!(profile.sample_type(None), Some(1));
    /// assert_eq!(profile.sample_type(Some("seconds")), None);
    /// ```
    #[must_use]
    pub fn sample_type(&self, name: Option<&str>) -> Option<usize> {
        let named = |name: &str| {
            let mut types = self.sample_types.iter();
            types.position(|value| self.text(value.r#type) == name)
        };
        let count = self.sample_types.len();
        match name {
            Some(name) => {
                named(name).or_else(|| name.parse().ok().filter(|number| *number < count))
            }
            None => {
                let default = Some(self.text(self.default_sample_type));
                let default = default.filter(|name| !name.is_empty());
                default.and_then(named).or_else(|| count.checked_sub(1))
            }
        }
    }
}
