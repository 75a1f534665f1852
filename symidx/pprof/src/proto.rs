//! The messages inside a pprof profile, as `profile.proto` numbers them.
//!
//! Strings are indexes into the profile's string table, 0 = not set. Ids are
//! unique within their kind and never 0. Nothing here checks that.

/// What a value of a sample counts: `{"alloc_space", "bytes"}`.
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
