use super::*;

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/../../testdata/golden/{name}.symidx", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path);
    assert!(bytes.is_ok(), "{path}: {bytes:?}");
    bytes.unwrap_or_default()
}

fn mapping(memory_start: u64, memory_limit: u64, file_offset: u64) -> MappingInfo<'static> {
    let (filename, build_id) = ("/bin/a", "");
    MappingInfo { memory_start, memory_limit, file_offset, filename, build_id, is_main: false }
}

/// The svma that a golden index is asked for.
fn svma(name: &str, mapping: &MappingInfo<'_>, address: u64) -> Option<u64> {
    let bytes = golden(name);
    let index = Index::from_bytes(&bytes).ok()?;
    match Space::of(mapping, &index).ok()??.place(&index, address)? {
        Place::Svma(svma) => Some(svma.0),
        Place::Section(..) => None,
    }
}

#[test]
fn an_address_of_a_mapping_is_a_byte_of_its_file() {
    // 0x400170 is byte 0x170 of the file.
    let whole = mapping(0x7f00_0000_0000, 0x7f00_0000_1000, 0);
    assert_eq!(svma("lines", &whole, 0x7f00_0000_01a4), Some(0x40_01a4));
    // jemalloc_pprof states segments as they are, not as pages.
    let segment = mapping(0x7f00_0000_0170, 0x7f00_0000_0268, 0x170);
    assert_eq!(svma("lines", &segment, 0x7f00_0000_01a4), Some(0x40_01a4));
    // A mapping that begins at 0 and ends somewhere is one like any other.
    assert_eq!(svma("lines", &mapping(0, 0x1000, 0), 0x1a4), Some(0x40_01a4));
    assert_eq!(svma("lines", &whole, 0x7f00_0000_0270), None);
    assert_eq!(svma("lines", &mapping(0, 0x1000, u64::MAX), 0x1a4), None);
}

#[test]
fn a_mapping_of_everything_has_svmas() {
    for limit in [0, u64::MAX] {
        assert!(mapping(0, limit, 0).is_whole_space());
        assert_eq!(svma("lines", &mapping(0, limit, 0), 0x40_01a4), Some(0x40_01a4));
    }
    assert!(!mapping(0, 0x1000, 0).is_whole_space() && !mapping(0, 0, 0x1000).is_whole_space());
}

#[test]
fn a_kernel_is_moved_by_what_its_reference_symbol_is() {
    let address = 0xffff_ffff_8100_1015;
    let kernel = |filename, start: u64, file_offset| MappingInfo {
        filename,
        ..mapping(start, 0xffff_ffff_ffff_f000, file_offset)
    };
    let (text, moved) = (0xffff_ffff_8100_0000_u64, 0x1e00_0000_u64);
    for name in
        ["[kernel.kallsyms]", "[kernel.kallsyms]_stext", "[kernel.kallsyms]_text", "/boot/vmlinux"]
    {
        for offset in [0, text] {
            assert_eq!(svma("kallsyms", &kernel(name, text, offset), address), Some(address));
        }
        // Another boot of the same kernel.
        for offset in [0, text + moved] {
            let mapping = kernel(name, text + moved, offset);
            assert_eq!(svma("kallsyms", &mapping, address + moved), Some(address));
        }
    }
    // Moved by no whole number of steps, a reference symbol that is not there.
    assert_eq!(svma("kallsyms", &kernel("[kernel.kallsyms]", text + 0x1000, 0), address), None);
    assert_eq!(svma("kallsyms", &kernel("[kernel.kallsyms]_else", text, 0), address), None);
    assert_eq!(svma("lines", &kernel("[kernel.kallsyms]", text, 0), address), None);
}

#[test]
fn a_kernel_module_is_mapped_by_its_text() {
    let bytes = golden("relocatable");
    let index = Index::from_bytes(&bytes).map_err(|error| error.to_string());
    let module = mapping(0xffff_ffff_c010_0000, 0xffff_ffff_c010_4000, 0);
    let place = index.as_ref().map(|index| {
        let text = index.default_section().ok().flatten().map(|section| section.id());
        let space = Space::of(&module, index).ok().flatten();
        let place = space.and_then(|space| space.place(index, 0xffff_ffff_c010_0010));
        place == text.map(|text| Place::Section(text, 0x10))
    });
    assert_eq!(place, Ok(true));
    let elsewhere = MappingInfo { file_offset: 0x1000, ..module };
    assert_eq!(index.map(|index| Space::of(&elsewhere, &index)), Ok(Ok(None)));
}

#[test]
fn build_ids_are_hex() {
    let id = |build_id| MappingInfo { build_id, ..mapping(0, 0, 0) }.build_id_bytes();
    assert_eq!(id("00Ff10"), Some(vec![0, 0xff, 0x10]));
    assert_eq!(id("8A32-0001"), Some(vec![0x8a, 0x32, 0, 1]));
    for other in ["", "-", "abc", "xy", "+1", "WGk4/0zNy/zTAf"] {
        assert_eq!(id(other), None, "{other}");
    }
}

#[test]
fn a_location_is_looked_up_where_it_says() {
    let location = crate::Location { address: 0x1000, ..crate::Location::default() };
    assert_eq!(lookup_address(&location), 0x1000);
}
