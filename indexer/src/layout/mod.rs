//! Layout: what goes where in the file, decided before a byte is written.
//!
//! In: [`Normalised`]. Out: a [`Plan`] of finished tables and of names in
//! storage order. This module never chooses between symbols and never writes.
//!
//! ```
//! # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
//! use symidx_indexer::{layout::{LayoutOptions, plan}, lines::EncodedLines, model::Report};
//!
//! let (lines, mut report) = (EncodedLines::default(), Report::default());
//! let plan = plan(&image, normalised, lines, LayoutOptions::default(), &mut report)?;
//! assert_eq!((plan.records.len(), plan.aliases.len(), plan.names_only.len()), (6, 2, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use symidx::format::{
    self, Alias, Attrs, Display, ImageSection, Large, NONE, NameOnly, Record, Region, Segment,
};

use crate::lines::EncodedLines;
use crate::model::{AddressKind, Image, NO_SECTION, Source, Symbol};
use crate::normalise::{Extent, Normalised, Owner};

mod display;
mod name_index;
mod pack;
mod regions;

pub use display::add_display_names;
pub(crate) use name_index::NamePool;
pub use pack::pack_names;

/// Finished tables and the names' storage order.
///
/// ```
/// # let plan = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/plan.rs"));
/// let plan: symidx_indexer::layout::Plan<'_> = plan;
/// assert!(plan.records.is_sorted_by_key(|record| record.start.get()));
/// assert_eq!(plan.functions, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Plan<'data> {
    /// Key order.
    pub regions: Vec<Region>,
    /// All regions' bucket tables.
    pub buckets: Vec<u32>,
    /// All regions' records.
    pub records: Vec<Record>,
    /// Sizes that do not fit a record.
    pub large: Vec<Large>,
    /// By owner, then table order.
    pub aliases: Vec<Alias>,
    /// By value.
    pub names_only: Vec<NameOnly>,
    /// Bucket starts of the name order, and the end.
    pub name_buckets: Vec<u32>,
    /// Name ids in hash order.
    pub name_order: Vec<u32>,
    /// A byte of hash per name id.
    pub name_tags: Vec<u8>,
    /// Loadable segments.
    pub segments: Vec<Segment>,
    /// Sections of the input.
    pub sections: Vec<ImageSection>,
    /// Lines and inlined functions.
    pub lines: EncodedLines<'data>,
    /// Distinct names in storage order.
    pub(crate) names: NamePool<'data>,
    /// Bucket starts of the display names, and the end.
    pub display_buckets: Vec<u32>,
    /// What is shown for names, by name; empty unless asked for.
    pub display: Vec<Display>,
    /// The texts of the display names.
    pub display_text: Vec<u8>,
    /// The region with code that has the most records, or [`NONE`].
    pub hot_region: u32,
    /// Functions that answer addresses.
    pub functions: u64,
}

impl Plan<'_> {
    /// True when its names are packed: see [`pack_names`].
    ///
    /// ```
    /// # let plan = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/plan.rs"));
    /// assert!(!plan.is_packed()); // plain, unless asked for
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.names.packed.is_some()
    }
}

/// Why a plan cannot be made: something outgrew the format.
///
/// ```
/// use symidx_indexer::layout::LayoutError;
///
/// let text = LayoutError::TooManyNames.to_string();
/// assert!(text.ends_with("index the parts of this input one by one"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// More than 2^32 − 2 records, aliases and names.
    TooManyNames,
    /// Names of more than 1 TiB.
    NamesTooLarge,
    /// Packed names of more than 4 GiB.
    PackedNamesTooLarge,
}

impl std::fmt::Display for LayoutError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooManyNames => "expected fewer than 4,294,967,294 names, found more",
            Self::NamesTooLarge => "expected at most 1 TiB of names, found more",
            Self::PackedNamesTooLarge => {
                return f.write_str(
                    "expected at most 4 GiB of packed names, found more; build without --pack-names",
                );
            }
        })?;
        f.write_str("; index the parts of this input one by one")
    }
}

impl std::error::Error for LayoutError {}

/// Knobs of the layout that tests turn; the defaults are what users get.
///
/// ```
/// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
/// use symidx_indexer::layout::{LayoutOptions, plan};
///
/// // Regions of 256 bytes: what an image wider than 4 GiB gets, in small.
/// let options = LayoutOptions { max_region: 256, ..LayoutOptions::default() };
/// let plan = plan(&image, normalised, Default::default(), options, &mut Default::default())?;
/// assert!(plan.regions.iter().all(|region| region.size.get() <= 256));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LayoutOptions {
    /// Largest region in bytes of address space, at most 2^32.
    pub max_region: u64,
    /// Largest offset of a name before the names' unit grows.
    pub max_name_offset: u64,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self { max_region: 1 << 32, max_name_offset: u64::from(u32::MAX) }
    }
}

/// A count as a `u32` of the file.
pub(crate) fn count32(count: usize) -> Result<u32, LayoutError> {
    u32::try_from(count).ok().filter(|&count| count != NONE).ok_or(LayoutError::TooManyNames)
}

/// Bytes from `start` to the end of all addresses (`u64::MAX` for all of them).
fn room(start: u64) -> u64 {
    u64::MAX.saturating_sub(start).saturating_add(1)
}

/// A size as a `u32` of the file that saturates.
fn size32(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(format::LARGE_SIZE)
}

/// Lays the normalised image out.
///
/// # Errors
/// [`LayoutError`] when something outgrows the format.
///
/// ```
/// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
/// use symidx_indexer::layout::{LayoutOptions, plan};
///
/// let (lines, mut report) = (Default::default(), Default::default());
/// let plan = plan(&image, normalised, lines, LayoutOptions::default(), &mut report)?;
/// assert_eq!(plan.name_order.len(), 9); // every name once: 6, 2 more and 1 without address
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan<'data>(
    image: &Image<'data>,
    mut normalised: Normalised<'data>,
    lines: EncodedLines<'data>,
    options: LayoutOptions,
    report: &mut crate::model::Report,
) -> Result<Plan<'data>, LayoutError> {
    let mut plan = Plan { hot_region: NONE, lines, ..Plan::default() };
    let sections = place_sections(image, &mut plan);
    for span in &mut plan.lines.spans {
        span.section = sections.stored(span.section.get()).into();
    }
    let owner_records = regions::place(image, &normalised, &sections, options, &mut plan, report)?;
    // They are records now: a tenth of what a build of names takes.
    normalised.pieces = Vec::new();
    place_aliases(&normalised, &owner_records, &mut plan)?;
    place_names_only(&normalised, &sections, &mut plan)?;
    for segment in &image.segments {
        // A damaged segment is cut where addresses or offsets end.
        let memory_size = segment.memory_size.min(room(segment.address));
        let file_size = segment.file_size.min(memory_size).min(room(segment.file_offset));
        plan.segments.push(Segment {
            address: segment.address.into(),
            memory_size: memory_size.into(),
            file_offset: segment.file_offset.into(),
            file_size: file_size.into(),
            flags: flag_bits(&[
                (segment.read, format::SEGMENT_READ),
                (segment.write, format::SEGMENT_WRITE),
                (segment.execute, format::SEGMENT_EXECUTE),
            ])
            .into(),
            reserved: 0.into(),
        });
    }
    name_index::place(image, &normalised, &owner_records, &sections, options, &mut plan)?;
    plan.names.adopt(normalised);
    Ok(plan)
}

fn flag_bits(flags: &[(bool, u32)]) -> u32 {
    flags.iter().filter(|(on, _)| *on).fold(0, |bits, (_, bit)| bits | bit)
}

/// The sections in file order: by address, or as they are when relocatable.
/// `order[i]` is the image's section stored at `i`; `stored[s]` the reverse.
pub(crate) struct SectionOrder {
    pub(crate) order: Vec<usize>,
    pub(crate) stored: Vec<u32>,
}

impl SectionOrder {
    /// Where the image's section is stored; [`NONE`] for no section.
    pub(crate) fn stored(&self, section: u32) -> u32 {
        let section = usize::try_from(section).unwrap_or(usize::MAX);
        self.stored.get(section).copied().unwrap_or(NONE)
    }
}

fn place_sections(image: &Image<'_>, plan: &mut Plan<'_>) -> SectionOrder {
    let mut order: Vec<usize> = (0..image.sections.len()).collect();
    if image.addresses == AddressKind::Svma {
        // Empty ones first: of the sections at one address the last holds it.
        order.sort_by_key(|&i| image.sections.get(i).map(|s| (s.address, s.size != 0, i)));
    }
    let mut stored = vec![NONE; image.sections.len()];
    for (at, &i) in order.iter().enumerate() {
        if let (Some(slot), Ok(at)) = (stored.get_mut(i), u32::try_from(at)) {
            *slot = at;
        }
        let Some(section) = image.sections.get(i) else { continue };
        let flags = flag_bits(&[
            (section.execute, format::SECTION_EXECUTE.into()),
            (section.write, format::SECTION_WRITE.into()),
            (section.tls, format::SECTION_TLS.into()),
        ]);
        plan.sections.push(ImageSection {
            address: section.address.into(),
            size: section.size.min(room(section.address)).into(),
            name: 0.into(),
            name_len: 0.into(),
            flags: u16::try_from(flags).unwrap_or(0).into(),
            number: section.number.into(),
            region: NONE.into(),
        });
    }
    SectionOrder { order, stored }
}

/// Attribute bits of an owner's record.
fn owner_attrs(normalised: &Normalised<'_>, owner: &Owner) -> Attrs {
    let Some(primary) = normalised.primary(owner) else {
        return Attrs::new(
            format::Kind::Unnamed,
            format::Binding::Local,
            format::Extent::Inferred,
            0,
        );
    };
    let extent = match owner.extent {
        Extent::Exact => format::Extent::Exact,
        Extent::Inferred => format::Extent::Inferred,
        Extent::Synthesized => format::Extent::Synthesized,
    };
    let flags = [
        (owner.part, Attrs::PART),
        (owner.folded, Attrs::FOLDED),
        (owner.listed_names > 1, Attrs::HAS_ALIASES),
        (primary.source == Source::Dwarf, Attrs::DWARF),
        (!normalised.version(primary).is_empty(), Attrs::VERSIONED),
    ];
    Attrs::new(kind(primary), binding(primary), extent, flag_bits16(&flags))
}

fn flag_bits16(flags: &[(bool, u16)]) -> u16 {
    flags.iter().filter(|(on, _)| *on).fold(0, |bits, (_, bit)| bits | bit)
}

fn kind(symbol: &Symbol<'_>) -> format::Kind {
    use crate::model::Kind;
    match symbol.kind {
        Kind::Function => format::Kind::Function,
        Kind::Ifunc => format::Kind::Ifunc,
        Kind::Object => format::Kind::Object,
        Kind::Label => format::Kind::Label,
        Kind::Tls => format::Kind::Tls,
        Kind::Absolute => format::Kind::Absolute,
    }
}

fn binding(symbol: &Symbol<'_>) -> format::Binding {
    use crate::model::Binding;
    match symbol.binding {
        Binding::Global => format::Binding::Global,
        Binding::Weak => format::Binding::Weak,
        Binding::Local => format::Binding::Local,
    }
}

/// Attribute bits of a name that is not an owner's primary one.
fn name_attrs(normalised: &Normalised<'_>, symbol: &Symbol<'_>, flags: u16) -> Attrs {
    let extent = match (symbol.source, symbol.size) {
        (Source::Plt, _) => format::Extent::Synthesized,
        (_, 0) => format::Extent::Inferred,
        _ => format::Extent::Exact,
    };
    let versioned = !normalised.version(symbol).is_empty();
    let flags = flags
        | flag_bits16(&[
            (versioned, Attrs::VERSIONED),
            (symbol.source == Source::Dwarf, Attrs::DWARF),
        ]);
    Attrs::new(kind(symbol), binding(symbol), extent, flags)
}

fn place_aliases(
    normalised: &Normalised<'_>,
    owner_records: &[u32],
    plan: &mut Plan<'_>,
) -> Result<(), LayoutError> {
    for (owner, &record) in normalised.owners.iter().zip(owner_records) {
        let Some(primary) = normalised.primary(owner) else { continue };
        let table_place = (primary.source, primary.order);
        let own = normalised.own_aliases(owner).len();
        for (i, alias) in normalised.listed_aliases(owner).iter().enumerate() {
            let flags = flag_bits16(&[
                ((alias.source, alias.order) < table_place, Attrs::BEFORE_PRIMARY),
                (i >= own, Attrs::SHARED),
            ]);
            plan.aliases.push(Alias {
                owner: record.into(),
                size: size32(alias.size).into(),
                name: 0.into(),
                name_len: 0.into(),
                attrs: name_attrs(normalised, alias, flags).0.into(),
            });
        }
    }
    count32(plan.aliases.len()).map(|_| ())
}

fn place_names_only(
    normalised: &Normalised<'_>,
    sections: &SectionOrder,
    plan: &mut Plan<'_>,
) -> Result<(), LayoutError> {
    for symbol in &normalised.names_only {
        let section = match symbol.section {
            NO_SECTION => NONE,
            section => sections.stored(section),
        };
        plan.names_only.push(NameOnly {
            value: symbol.address.into(),
            size: size32(symbol.size).into(),
            section: section.into(),
            name: 0.into(),
            name_len: 0.into(),
            attrs: name_attrs(normalised, symbol, 0).0.into(),
        });
    }
    count32(plan.names_only.len()).map(|_| ())
}
