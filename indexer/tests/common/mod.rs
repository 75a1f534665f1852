//! What the tests of the chain's second half start from.

use symidx_indexer::model::{AddressKind, Format, Image, Machine, Report};

/// An image without sections and symbols.
pub(crate) fn image(relocatable: bool) -> Image<'static> {
    Image {
        format: Format::Elf,
        addresses: match relocatable {
            true => AddressKind::SectionOffset,
            false => AddressKind::Svma,
        },
        machine: Machine { number: 62, subtype: 0, name: "x86_64", is_64: true, big_endian: false },
        build_id: None,
        uuid: None,
        slice: None,
        segments: Vec::new(),
        sections: Vec::new(),
        modules: vec![b"mod_a", b"mod_b"],
        versions: vec![b"V1", b"V2"],
        symbols: Vec::new(),
        function_starts: Vec::new(),
        holes: Vec::new(),
        debug: Vec::new(),
        lines: Vec::new(),
        companions: Vec::new(),
        report: Report::default(),
    }
}
