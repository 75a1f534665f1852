//! The messages inside a pprof profile, as `profile.proto` numbers them.
//!
//! Strings are indexes into the profile's string table, 0 = not set. Ids are
//! unique within their kind and never 0. Nothing here checks that.

/// What a value of a sample counts: `{"alloc_space", "bytes"}`.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
/// let value: symidx_pprof::ValueType = profile.sample_types[1];
/// assert_eq!((profile.text(value.r#type), profile.text(value.unit)), ("cpu", "nanoseconds"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ValueType {
    /// What is counted; a string.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// In which unit; a string.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// How often, or how much of it, one stack was seen.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
/// // The time that was spent in all stacks.
/// let total: i64 = profile.samples.iter().map(|sample: &symidx_pprof::Sample| sample.value[1]).sum();
/// assert_eq!(total, 30_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Sample {
    /// Ids of locations, the leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One value for each sample type of the profile.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// Whatever else is known of the sample.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A key with a text or a number.
///
/// ```
/// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
/// use symidx_pprof::Label;
///
/// // Says which thread a sample is of: pprof can then filter by it.
/// let label = Label {
///     key: profile.strings.intern("thread"),
///     str: profile.strings.intern("worker 3"),
///     ..Label::default()
/// };
/// profile.samples[0].label.push(label);
/// assert_eq!(profile.text(profile.samples[0].label[0].str), "worker 3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Label {
    /// A string.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// A string, or 0 where the value is a number.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// The number.
    #[prost(int64, tag = "3")]
    pub num: i64,
    /// The number's unit; a string.
    #[prost(int64, tag = "4")]
    pub num_unit: i64,
}

/// A stretch of memory, and the part of a file that is mapped there.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/named.rs"));
/// let mapping: symidx_pprof::Mapping = profile.mappings[0];
/// assert_eq!(profile.text(mapping.build_id), "1122334455667788");
/// // pprof does not symbolize again what is complete.
/// assert!(mapping.has_functions && mapping.has_line_numbers);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Mapping {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Address of the first byte.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// Address after the last byte.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Offset in the file of the first byte.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// The file, or a name in brackets; a string.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// The file's build-id in hex; a string.
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    /// All locations of this mapping have functions.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// All lines of this mapping have files.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// All lines of this mapping have line numbers.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Inlined functions were looked for at all locations of this mapping.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// An address, and the functions whose code is there.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/named.rs"));
/// // Innermost first, as they were inlined into each other.
/// let location: &symidx_pprof::Location = &profile.locations[0];
/// assert_eq!((location.address, location.line.len()), (0x5555_0000_01a8, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Location {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Id of the mapping that holds the address; 0 = not known.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// The instruction's address at run time; where it called the function
    /// before it in a stack, an address inside the call.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Innermost first: each was inlined into the next. Empty = not symbolized.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
    /// Several functions were folded into this code; the lines name one.
    #[prost(bool, tag = "5")]
    pub is_folded: bool,
}

/// A place in a function's source.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/named.rs"));
/// let lines = profile.locations[0].line.iter().map(|line: &symidx_pprof::Line| line.line);
/// assert_eq!(lines.collect::<Vec<_>>(), [6, 10, 17]); // leaf, middle, outer
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Line {
    /// Id of a function.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// From 1; 0 = not known.
    #[prost(int64, tag = "2")]
    pub line: i64,
    /// From 1; 0 = not known.
    #[prost(int64, tag = "3")]
    pub column: i64,
}

/// A function.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/named.rs"));
/// let function: symidx_pprof::Function = profile.functions[2];
/// assert_eq!((profile.text(function.name), function.start_line), ("outer", 14));
/// assert_eq!(profile.text(function.filename), "/src/lines.c");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Function {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// As people read it; a string.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// As linkers know it; a string.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// The source file of its lines; a string.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// Where it begins in that file, from 1; 0 = not known.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
