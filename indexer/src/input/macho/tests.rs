//! Hand-made images of each width and byte order, the fixtures, and damage.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::panic
)]

use super::*;
use crate::model::{Binding, Kind, NO_SECTION, Source, Symbol};

/// A writer of one width and byte order.
#[derive(Clone, Copy)]
struct Shape {
    wide: bool,
    big: bool,
}

const SHAPES: [Shape; 4] = [
    Shape { wide: true, big: false },
    Shape { wide: true, big: true },
    Shape { wide: false, big: false },
    Shape { wide: false, big: true },
];
const USUAL: Shape = SHAPES[0];

/// Name, `n_type`, `n_sect`, `n_desc`, `n_value`.
type Nlist = (&'static str, u8, u8, u16, u64);

const EXT: u8 = 0x0f;
const LOCAL: u8 = 0x0e;
const BASE: u64 = 0x10000;
const TEXT: u64 = BASE + 0x400;
const TLS: u64 = BASE + 0x1100;

/// What goes into an image; the rest is fixed: `__text` at [`TEXT`] (0x40 bytes), `__stubs` right
/// behind it (two of 6 bytes), `__data` at `BASE + 0x1000`, `__thread_data` at [`TLS`], `__debug_info`.
struct Recipe {
    cpu: u32,
    subtype: u32,
    file_type: u32,
    uuid: [u8; 16],
    symbols: Vec<Nlist>,
    starts: Vec<u8>,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            cpu: 0x0100_0007,
            subtype: 3,
            file_type: 2,
            uuid: [7; 16],
            symbols: vec![
                ("_main", EXT, 1, 0, TEXT),
                ("_helper", LOCAL, 1, 0, TEXT + 0x20),
                ("_data", EXT, 3, 0, BASE + 0x1000),
                ("_tls$tlv$init", LOCAL, 4, 0, TLS),
                ("_printf", 1, 0, 0x100, 0),
            ],
            starts: vec![0x80, 0x08, 0x10, 0x10, 0],
        }
    }
}

impl Shape {
    fn u16(self, out: &mut Vec<u8>, value: u16) {
        out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }
    fn u32(self, out: &mut Vec<u8>, value: u32) {
        out.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }
    fn word(self, out: &mut Vec<u8>, value: u64) {
        match (self.wide, self.big) {
            (true, true) => out.extend(value.to_be_bytes()),
            (true, false) => out.extend(value.to_le_bytes()),
            (false, _) => self.u32(out, value as u32),
        }
    }
    fn name(out: &mut Vec<u8>, name: &str) {
        let mut field = [0; 16];
        field[..name.len()].copy_from_slice(name.as_bytes());
        out.extend(field);
    }

    fn segment(
        self,
        name: &str,
        place: [u64; 4],
        sections: &[(&str, u64, u64, u32, u32)],
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let (head, each) = if self.wide { (72, 80) } else { (56, 68) };
        self.u32(&mut out, if self.wide { 0x19 } else { 1 });
        self.u32(&mut out, head + each * sections.len() as u32);
        Self::name(&mut out, name);
        for value in place {
            self.word(&mut out, value);
        }
        for value in [7, 5, sections.len() as u32, 0] {
            self.u32(&mut out, value);
        }
        for &(section, address, size, flags, stub) in sections {
            Self::name(&mut out, section);
            Self::name(&mut out, name);
            self.word(&mut out, address);
            self.word(&mut out, size);
            for value in [0, 0, 0, 0, flags, 0, stub] {
                self.u32(&mut out, value);
            }
            if self.wide {
                self.u32(&mut out, 0);
            }
        }
        out
    }

    fn image(self, recipe: &Recipe) -> Vec<u8> {
        let mut strings = vec![0];
        let mut table = Vec::new();
        for &(name, kind, section, description, value) in &recipe.symbols {
            self.u32(&mut table, strings.len() as u32);
            table.extend([kind, section]);
            self.u16(&mut table, description);
            self.word(&mut table, value);
            strings.extend(name.as_bytes());
            strings.push(0);
        }
        // Both stubs jump to the last symbol; the second is marked local.
        let mut indirect = Vec::new();
        self.u32(&mut indirect, recipe.symbols.len() as u32 - 1);
        self.u32(&mut indirect, 0x8000_0000);

        let header_size = if self.wide { 32 } else { 28 };
        let commands = |at: u32| {
            let mut commands = vec![
                self.segment("__PAGEZERO", [0, BASE, 0, 0], &[]),
                self.segment(
                    "__TEXT",
                    [BASE, 0x1000, 0, 0x1000],
                    &[
                        ("__text", TEXT, 0x40, 0x8000_0400, 0),
                        ("__stubs", TEXT + 0x40, 12, 0x8000_0408, 6),
                    ],
                ),
                self.segment(
                    "__DATA",
                    [BASE + 0x1000, 0x1000, 0x1000, 0x1000],
                    &[
                        ("__data", BASE + 0x1000, 0x10, 0, 0),
                        ("__thread_data", TLS, 0x10, 0x11, 0),
                        ("__thread_vars", TLS + 0x10, 0x18, 0x13, 0),
                    ],
                ),
                self.segment(
                    "__DWARF",
                    [BASE + 0x3000, 0x10, 0x3000, 0x10],
                    &[("__debug_info", BASE + 0x3000, 0x10, 0x0200_0000, 0)],
                ),
            ];
            let mut command = |words: &[u32]| {
                let mut out = Vec::new();
                words.iter().for_each(|&word| self.u32(&mut out, word));
                commands.push(out);
            };
            let stroff = at + table.len() as u32;
            let indirect_at = stroff + strings.len() as u32;
            let starts_at = indirect_at + indirect.len() as u32;
            command(&[2, 24, at, recipe.symbols.len() as u32, stroff, strings.len() as u32]);
            let mut dysymtab = [0; 20];
            dysymtab[0] = 0xb;
            dysymtab[1] = 80;
            dysymtab[14] = indirect_at;
            dysymtab[15] = 2;
            command(&dysymtab);
            command(&[0x26, 16, starts_at, recipe.starts.len() as u32]);
            let mut uuid = Vec::new();
            self.u32(&mut uuid, 0x1b);
            self.u32(&mut uuid, 24);
            uuid.extend(recipe.uuid);
            commands.push(uuid);
            commands
        };
        let size: usize = commands(0).iter().map(Vec::len).sum();
        let commands = commands(header_size + size as u32);
        let mut out = Vec::new();
        let magic = if self.wide { 0xfeed_facf } else { 0xfeed_face };
        let words = [
            magic,
            recipe.cpu,
            recipe.subtype,
            recipe.file_type,
            commands.len() as u32,
            size as u32,
            0x85,
        ];
        words.iter().for_each(|&word| self.u32(&mut out, word));
        if self.wide {
            self.u32(&mut out, 0);
        }
        out.extend(commands.concat());
        out.extend([table, strings, indirect, recipe.starts.clone()].concat());
        out
    }
}

/// A fat file of slices one after the other, with the CPU types given.
fn fat(wide: bool, slices: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut out = if wide { 0xcafe_babf_u32 } else { 0xcafe_babe }.to_be_bytes().to_vec();
    out.extend((slices.len() as u32).to_be_bytes());
    // Odd on purpose: alignment in the file must not matter.
    let mut offset = 8 + slices.len() * if wide { 32 } else { 20 } + 3;
    for (cpu, subtype, bytes) in slices {
        out.extend(cpu.to_be_bytes());
        out.extend(subtype.to_be_bytes());
        if wide {
            out.extend((offset as u64).to_be_bytes());
            out.extend((bytes.len() as u64).to_be_bytes());
            out.extend([0; 8]);
        } else {
            out.extend((offset as u32).to_be_bytes());
            out.extend((bytes.len() as u32).to_be_bytes());
            out.extend([0; 4]);
        }
        offset += bytes.len();
    }
    out.extend([0; 3]);
    slices.iter().for_each(|(_, _, bytes)| out.extend(*bytes));
    out
}

/// A fat file of whole thin ones.
pub(super) fn fat_of(images: &[Vec<u8>]) -> Vec<u8> {
    let word = |image: &[u8], at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap());
    let slices: Vec<_> =
        images.iter().map(|image| (word(image, 4), word(image, 8), &image[..])).collect();
    fat(false, &slices)
}

fn options(arch: &str) -> ReadOptions {
    ReadOptions { arch: Some(arch.to_owned()), ..ReadOptions::default() }
}

fn read_as<T>(
    data: &[u8],
    options: &ReadOptions,
    with: impl FnOnce(Result<Image<'_>, InputError>) -> T,
) -> T {
    let store = Store::new();
    let data = store.keep(data.to_vec());
    assert!(is_macho(data));
    with(read(Path::new("test"), data, &store, options))
}

fn read_ok<T>(data: &[u8], with: impl FnOnce(Image<'_>) -> T) -> T {
    read_as(data, &ReadOptions::default(), |image| with(image.unwrap()))
}

fn error(data: &[u8], options: &ReadOptions) -> String {
    read_as(data, options, |image| image.unwrap_err().to_string())
}

fn fixture(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/macho");
    std::fs::read(root.join(name)).unwrap()
}

fn names<'a>(image: &Image<'a>) -> Vec<&'a str> {
    image.symbols.iter().map(|symbol| std::str::from_utf8(symbol.name).unwrap()).collect()
}

fn named<'a>(image: &Image<'a>, name: &str) -> Symbol<'a> {
    *image.symbols.iter().find(|symbol| symbol.name == name.as_bytes()).unwrap()
}

fn section_of<'a>(image: &Image<'a>, symbol: &Symbol<'_>) -> &'a str {
    std::str::from_utf8(image.sections[symbol.section as usize].name).unwrap()
}

/// An image with these symbols and an import behind them.
fn with_symbols(shape: Shape, mut symbols: Vec<Nlist>) -> Vec<u8> {
    symbols.push(("_printf", 1, 0, 0, 0));
    shape.image(&Recipe { symbols, ..Recipe::default() })
}

#[test]
fn every_width_and_byte_order_says_the_same() {
    for shape in SHAPES {
        let bytes = shape.image(&Recipe::default());
        read_ok(&bytes, |image| {
            assert_eq!(names(&image), ["main", "helper", "data", "tls$tlv$init", "printf@plt"]);
            assert_eq!(image.machine.is_64, shape.wide);
            assert_eq!(image.machine.big_endian, shape.big);
            assert_eq!(image.machine.name, "x86_64");
            assert_eq!(image.uuid, Some([7; 16]));
            assert_eq!(image.slice, None);
            let main = named(&image, "main");
            assert_eq!((main.address, main.size, main.order), (TEXT, 0, 0));
            assert_eq!((main.kind, main.binding), (Kind::Function, Binding::Global));
            assert_eq!(section_of(&image, &main), "__text");
            assert_eq!(named(&image, "helper").binding, Binding::Local);
            assert_eq!(named(&image, "data").kind, Kind::Object);
            assert_eq!(image.function_starts, [TEXT, TEXT + 0x10, TEXT + 0x20]);
            // __PAGEZERO and __DWARF are never loaded.
            let segments: Vec<_> =
                image.segments.iter().map(|s| (s.address, s.file_offset)).collect();
            assert_eq!(segments, [(BASE, 0), (BASE + 0x1000, 0x1000)]);
            let sections: Vec<_> =
                image.sections.iter().map(|s| (s.number, s.name, s.execute)).collect();
            assert_eq!(sections[0], (1, &b"__text"[..], true));
            assert_eq!(sections[1], (2, &b"__stubs"[..], true));
            assert_eq!(sections[2], (3, &b"__data"[..], false));
            assert_eq!(sections.len(), 5);
            assert!(image.report.warnings.is_empty(), "{:?}", image.report);
            assert_eq!(image.report.skipped["undefined"], 1);
        });
    }
}

#[test]
fn thread_local_templates_are_by_name_only() {
    let bytes =
        with_symbols(USUAL, vec![("_x$tlv$init", LOCAL, 4, 0, TLS), ("_x", EXT, 5, 0, TLS + 0x10)]);
    read_ok(&bytes, |image| {
        assert_eq!(named(&image, "x$tlv$init").kind, Kind::Tls);
        // The descriptor is data like any other.
        assert_eq!(named(&image, "x").kind, Kind::Object);
    });
}

#[test]
fn stubs_are_named_after_their_imports() {
    read_ok(&USUAL.image(&Recipe::default()), |image| {
        let stub = named(&image, "printf@plt");
        assert_eq!((stub.address, stub.size, stub.source), (TEXT + 0x40, 6, Source::Plt));
        assert_eq!(section_of(&image, &stub), "__stubs");
        assert_eq!(image.report.skipped["stub without a name"], 1);
    });
}

#[test]
fn only_one_underscore_is_the_formats() {
    let bytes = with_symbols(
        USUAL,
        vec![
            ("__ZN1aE", EXT, 1, 0, TEXT),
            ("___dunder", EXT, 1, 0, TEXT + 1),
            ("runtime.main", EXT, 1, 0, TEXT + 2),
            ("_", EXT, 1, 0, TEXT + 3),
            ("", EXT, 1, 0, TEXT + 4),
        ],
    );
    read_ok(&bytes, |image| {
        assert_eq!(names(&image), ["_ZN1aE", "__dunder", "runtime.main", "_", "printf@plt"]);
        assert_eq!(image.report.skipped["no name"], 1);
    });
}

#[test]
fn stabs_imports_and_aliases_are_no_symbols() {
    let bytes = with_symbols(
        USUAL,
        vec![
            ("_f", 0x24, 1, 0, TEXT),
            ("_undefined", 0x01, 0, 0, 0),
            ("_common", 0x01, 0, 0, 8),
            ("_prebound", 0x0d, 0, 0, 0),
            ("_indirect", 0x0b, 0, 0, 1),
            ("_odd", 0x05, 0, 0, 1),
        ],
    );
    read_ok(&bytes, |image| {
        assert_eq!(names(&image), ["printf@plt"]);
        assert_eq!(image.report.skipped["stab"], 1);
        assert_eq!(image.report.skipped["undefined"], 4);
        assert_eq!(image.report.skipped["indirect"], 1);
        assert_eq!(image.report.skipped["unknown symbol type"], 1);
    });
}

#[test]
fn assembler_labels_are_no_symbols() {
    let symbols = vec![
        ("ltmp0", LOCAL, 1, 0, TEXT),
        ("ltmp12", LOCAL, 1, 0, TEXT),
        ("ltmp", LOCAL, 1, 0, TEXT),
        ("ltmpx1", LOCAL, 1, 0, TEXT),
        ("l_.str", LOCAL, 3, 0, BASE + 0x1000),
        ("LBB0_1", LOCAL, 1, 0, TEXT),
        ("_Lua", LOCAL, 1, 0, TEXT),
        ("_end", EXT, 1, 0, TEXT),
    ];
    read_ok(&USUAL.image(&Recipe { symbols: symbols.clone(), ..Recipe::default() }), |image| {
        assert_eq!(&names(&image)[..6], ["ltmp", "ltmpx1", "l_.str", "LBB0_1", "Lua", "end"]);
    });
    read_ok(&USUAL.image(&Recipe { symbols, file_type: 1, ..Recipe::default() }), |image| {
        assert_eq!(&names(&image)[..5], ["ltmp", "ltmpx1", "l_.str", "Lua", "end"]);
        assert_eq!(image.addresses, AddressKind::Svma);
    });
}

#[test]
fn external_is_global_unless_weak() {
    let bytes = with_symbols(
        USUAL,
        vec![
            ("_global", EXT, 1, 0, TEXT),
            ("_weak", EXT, 1, 0x80, TEXT),
            ("_private_external", EXT | 0x10, 1, 0, TEXT),
            ("_once_private", LOCAL | 0x10, 1, 0x80, TEXT),
        ],
    );
    read_ok(&bytes, |image| {
        let bindings: Vec<_> = image.symbols.iter().take(4).map(|s| s.binding).collect();
        use Binding::*;
        assert_eq!(bindings, [Global, Weak, Global, Local]);
    });
}

#[test]
fn a_symbol_outside_of_all_sections_is_by_name_only() {
    let bytes = with_symbols(
        USUAL,
        vec![("__mh_execute_header", EXT, 1, 0x10, BASE), ("_absolute", 0x03, 0, 0, TEXT + 4)],
    );
    read_ok(&bytes, |image| {
        for (name, address) in [("_mh_execute_header", BASE), ("absolute", TEXT + 4)] {
            let symbol = named(&image, name);
            assert_eq!((symbol.kind, symbol.section), (Kind::Absolute, NO_SECTION), "{name}");
            assert_eq!(symbol.address, address);
        }
    });
}

#[test]
fn the_section_that_holds_a_symbol_counts() {
    let bytes = with_symbols(
        USUAL,
        vec![
            ("_stale", EXT, 3, 0, TEXT + 8),
            ("_no_such_section", EXT, 99, 0, TEXT + 8),
            ("_at_the_end", EXT, 1, 0, TEXT + 0x40),
            ("_debug", EXT, 6, 0, BASE + 0x3000),
        ],
    );
    read_ok(&bytes, |image| {
        for name in ["stale", "no_such_section"] {
            let symbol = named(&image, name);
            assert_eq!((section_of(&image, &symbol), symbol.kind), ("__text", Kind::Function));
        }
        // Not the first stub, which is at the same address.
        let end = named(&image, "at_the_end");
        assert_eq!((section_of(&image, &end), end.kind), ("__text", Kind::Label));
        assert_eq!(image.report.skipped["section not loaded"], 1);
    });
}

#[test]
fn the_thumb_bit_is_no_part_of_an_address() {
    let symbols = vec![
        ("_thumb", EXT, 1, 8, TEXT),
        ("_thumb_with_bit", EXT, 1, 8, TEXT + 0x11),
        ("_byte", EXT, 3, 0, BASE + 0x1001),
    ];
    let starts = vec![0x81, 0x08, 0x10, 0];
    let bytes =
        SHAPES[2].image(&Recipe { cpu: 12, subtype: 9, symbols, starts, ..Recipe::default() });
    read_ok(&bytes, |image| {
        assert_eq!(image.machine.name, "armv7");
        let addresses: Vec<_> = image.symbols.iter().map(|s| s.address).collect();
        assert_eq!(addresses[..3], [TEXT, TEXT + 0x10, BASE + 0x1001]);
        assert_eq!(image.function_starts, [TEXT, TEXT + 0x10]);
    });
}

#[test]
fn function_starts_outside_the_code_are_dropped() {
    let starts = vec![0x80, 0x08, 0x80, 0x40, 0];
    read_ok(&USUAL.image(&Recipe { starts, ..Recipe::default() }), |image| {
        assert_eq!(image.function_starts, [TEXT]);
        assert_eq!(image.report.skipped["function start outside the code"], 1);
    });
}

#[test]
fn a_core_file_is_refused() {
    let bytes = USUAL.image(&Recipe { file_type: 4, ..Recipe::default() });
    assert!(error(&bytes, &ReadOptions::default()).contains("found a core file"));
}

#[test]
fn a_dsym_has_addresses_but_no_file_offsets() {
    read_ok(&USUAL.image(&Recipe { file_type: 10, ..Recipe::default() }), |image| {
        assert!(image.segments.iter().all(|s| s.file_offset == 0 && s.file_size == 0));
        assert_eq!(named(&image, "main").address, TEXT);
    });
}

#[test]
fn an_image_without_sections_falls_back_to_its_segments() {
    let mut bytes = USUAL.image(&Recipe::default());
    // No section in any segment: `nsects` lies 64 bytes into a 64-bit segment command.
    let mut at = 32;
    for _ in 0..4 {
        bytes[at + 64..at + 68].fill(0);
        at += u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    }
    read_ok(&bytes, |image| {
        let main = named(&image, "main");
        assert_eq!((section_of(&image, &main), main.kind), ("__TEXT", Kind::Function));
    });
}

// ---- fat files ----

/// An arm64 image with UUID 02… and an arm64e one with UUID 03….
fn two_slices() -> (Vec<u8>, Vec<u8>) {
    let make = |subtype, uuid| {
        USUAL.image(&Recipe { cpu: 0x0100_000c, subtype, uuid: [uuid; 16], ..Recipe::default() })
    };
    (make(0, 2), make(0x8000_0002, 3))
}

#[test]
fn a_slice_is_chosen_by_name_or_uuid() {
    let (a, e) = two_slices();
    for wide in [false, true] {
        let bytes = fat(wide, &[(0x0100_000c, 0, &a), (0x0100_000c, 0x8000_0002, &e)]);
        let all = slices(&bytes).unwrap();
        assert_eq!(
            all.iter().map(|s| (s.arch, s.uuid.unwrap()[0])).collect::<Vec<_>>(),
            [("arm64", 2), ("arm64e", 3)]
        );
        for (arch, uuid, place) in [("arm64", 2, 0), ("aarch64", 2, 0), ("arm64e", 3, 1)] {
            let by_uuid = ReadOptions { uuid: Some([uuid; 16]), ..ReadOptions::default() };
            for options in [options(arch), by_uuid] {
                read_as(&bytes, &options, |image| {
                    let image = image.unwrap();
                    assert_eq!(image.uuid, Some([uuid; 16]));
                    assert_eq!(image.slice, Some((all[place].offset, all[place].size)));
                    assert_eq!(image.symbols.len(), 5);
                });
            }
        }
        let text = error(&bytes, &ReadOptions::default());
        assert!(
            text.contains("a choice of slice, found 2 architectures: arm64 arm64e; pick"),
            "{text}"
        );
        assert!(error(&bytes, &options("x86_64")).contains("expected a slice x86_64, found 2"));
        let both = ReadOptions { uuid: Some([3; 16]), ..options("arm64") };
        assert!(
            error(&bytes, &both)
                .contains("expected a slice arm64 with UUID 03030303-0303-0303-0303-030303030303")
        );
    }
}

#[test]
fn the_only_slice_needs_no_choice() {
    let (a, _) = two_slices();
    read_ok(&fat(false, &[(0x0100_000c, 0, &a)]), |image| {
        assert_eq!(image.slice, Some((31, a.len() as u64)));
    });
}

#[test]
fn a_thin_file_must_be_what_was_asked_for() {
    let bytes = USUAL.image(&Recipe::default());
    read_as(&bytes, &options("x86_64"), |image| assert_eq!(image.unwrap().slice, None));
    assert!(
        error(&bytes, &options("arm64")).contains("a slice arm64, found 1 architectures: x86_64")
    );
    assert_eq!(slices(&bytes), None);
}

#[test]
fn a_damaged_slice_costs_only_itself() {
    let (a, e) = two_slices();
    let whole = fat(false, &[(0x0100_000c, 0, &a), (0x0100_000c, 0x8000_0002, &e)]);
    type Damage<'a> = (&'a str, &'a dyn Fn(&mut Vec<u8>));
    let damage: [Damage<'_>; 4] = [
        ("bytes claimed in a file of", &|b| {
            b[16..20].copy_from_slice(&0x7fff_f000_u32.to_be_bytes())
        }),
        ("the fat file itself again", &|b| b[16..20].fill(0)),
        ("the fat file itself again", &|b| b[16..20].copy_from_slice(&40_u32.to_be_bytes())),
        ("a file that starts with 00", &|b| b[51] = 0),
    ];
    for (found, damage) in damage {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        let text = error(&bytes, &options("arm64"));
        assert!(text.contains(found), "{text}");
        read_as(&bytes, &options("arm64e"), |image| assert_eq!(image.unwrap().uuid, Some([3; 16])));
        assert_eq!(slices(&bytes).unwrap().len(), 2);
    }
}

#[test]
fn a_fat_file_in_a_fat_file_is_refused() {
    let (a, _) = two_slices();
    let inner = fat(false, &[(0x0100_000c, 0, &a)]);
    let text = error(&fat(false, &[(0x0100_000c, 0, &inner)]), &options("arm64"));
    assert!(text.contains("found a fat file inside a fat file"), "{text}");
}

/// `--all-archs` would build each, and each failure would list them all.
#[test]
fn thousands_of_slices_are_damage() {
    let thin = two_slices().0;
    let mut bytes = 0xcafe_babf_u32.to_be_bytes().to_vec();
    bytes.extend(50_000_u32.to_be_bytes());
    for _ in 0..50_000 {
        bytes.extend([0x0100_000c_u32, 0].map(u32::to_be_bytes).concat());
        bytes.extend([8 + 32 * 50_000_u64, thin.len() as u64].map(u64::to_be_bytes).concat());
        bytes.extend([0; 8]);
    }
    bytes.extend(&thin);
    let text = error(&bytes, &options("arm64"));
    assert!(text.contains("at most 256 architectures, found 50000"), "{text}");
    assert!(slices(&bytes).is_none());
}

#[test]
fn a_slices_own_header_names_it() {
    let (a, e) = two_slices();
    // Both claim to be plain arm64.
    let bytes = fat(false, &[(0x0100_000c, 0, &a), (0x0100_000c, 0, &e)]);
    read_as(&bytes, &options("arm64"), |image| assert_eq!(image.unwrap().uuid, Some([2; 16])));
    // Two of one architecture: only the UUID tells.
    let bytes = fat(false, &[(0x0100_000c, 0, &a), (0x0100_000c, 0, &a)]);
    assert!(error(&bytes, &options("arm64")).contains("found 2 architectures: arm64 arm64"));
}

#[test]
fn fat_fixtures() {
    let bytes = fixture("fat/fat3.macho");
    for (arch, name) in [("x86_64", "x_first"), ("arm64", "common"), ("arm64e", "e_first")] {
        read_as(&bytes, &options(arch), |image| {
            let image = image.unwrap();
            let first = image.symbols.iter().find(|s| s.address == 0x1_0000_0f00).unwrap();
            assert_eq!(first.name, name.as_bytes());
        });
    }
    let text = error(&bytes, &ReadOptions::default());
    assert!(text.contains("3 architectures: x86_64 arm64 arm64e; pick one"), "{text}");
    let java = error(&fixture("fat/java.class"), &ReadOptions::default());
    assert!(java.contains("expected Mach-O, found a Java class file"), "{java}");
    let huge = error(&fixture("fat/bad-nfat-huge.macho"), &options("x86_64"));
    assert!(huge.contains("found 4294967295 architectures and room for 2"), "{huge}");
    assert_eq!(slices(&fixture("fat/bad-nfat-huge.macho")), None);
}

#[test]
fn java_versions_are_told_from_slice_counts() {
    for (count, java) in [
        (44_u32, false),
        (45, true),
        (52, true),
        (0x0003_002d, true),
        (0xffff_0041, true),
        (0x0100_0000, false),
    ] {
        let mut bytes = 0xcafe_babe_u32.to_be_bytes().to_vec();
        bytes.extend(count.to_be_bytes());
        bytes.resize(200, 0);
        let text = error(&bytes, &ReadOptions::default());
        assert_eq!(text.contains("Java"), java, "{count:#x}: {text}");
    }
}

#[test]
fn symbol_fixtures() {
    read_ok(&fixture("symbols/sym.macho"), |image| {
        let here = |address| {
            let at = image.symbols.iter().filter(move |s| s.address == address);
            at.map(|s| std::str::from_utf8(s.name).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(here(0x1_0000_0f00), ["foo"]);
        assert_eq!(here(0x1_0000_0f20), ["_ZN5space6methodEv"]);
        assert_eq!(here(0x1_0000_0f30), ["__dunder"]);
        assert_eq!(here(0x1_0000_0f38), ["alt_entry"]);
        assert_eq!(named(&image, "_mh_execute_header").kind, Kind::Absolute);
        assert_eq!(image.function_starts.len(), 4);
    });
    read_ok(&fixture("symbols/stripped.macho"), |image| {
        assert!(image.symbols.is_empty());
        assert_eq!(image.function_starts[..2], [0x1_0000_0f00, 0x1_0000_0f18]);
    });
    read_ok(&fixture("symbols/armv7.macho"), |image| {
        assert_eq!(named(&image, "thumb").address, 0x4f00);
        assert_eq!(image.function_starts, [0x4f00, 0x4f10]);
    });
}

// ---- bundles ----

#[test]
fn a_bundle_holds_the_binary_named_like_it() {
    let root = tempfile::tempdir().unwrap();
    let bundle = root.path().join("Kit.framework.dSYM");
    let dwarf = bundle.join("Contents/Resources/DWARF");
    std::fs::create_dir_all(&dwarf).unwrap();
    assert!(dsym_binary(&bundle).unwrap_err().to_string().contains("found none"));
    let bytes = USUAL.image(&Recipe { file_type: 10, ..Recipe::default() });
    std::fs::write(dwarf.join("other"), &bytes).unwrap();
    std::fs::write(dwarf.join(".DS_Store"), b"x").unwrap();
    assert_eq!(dsym_binary(&bundle).unwrap(), dwarf.join("other"));
    std::fs::write(dwarf.join("another"), &bytes).unwrap();
    let text = dsym_binary(&bundle).unwrap_err().to_string();
    assert!(text.contains("found another, other"), "{text}");
    std::fs::write(dwarf.join("Kit"), &bytes).unwrap();
    assert_eq!(dsym_binary(&bundle).unwrap(), dwarf.join("Kit"));
    let store = Store::new();
    let image = crate::input::read(&bundle, &store, &ReadOptions::default()).unwrap();
    assert_eq!(named(&image, "main").address, TEXT);
}

// ---- damage ----

/// Reads bytes that may be anything: no panic, and no more symbols than bytes.
fn survives(bytes: &[u8], options: &ReadOptions) {
    if !is_macho(bytes) {
        return;
    }
    let _ = slices(bytes);
    read_as(bytes, options, |image| {
        if let Ok(image) = image {
            assert!(image.symbols.len() + image.function_starts.len() <= bytes.len());
            assert!(image.sections.len() <= bytes.len());
        }
    });
}

#[test]
fn no_truncation_panics() {
    for shape in SHAPES {
        let bytes = shape.image(&Recipe::default());
        for end in 0..bytes.len() {
            survives(&bytes[..end], &ReadOptions::default());
        }
    }
    let (a, e) = two_slices();
    let bytes = fat(false, &[(0x0100_000c, 0, &a), (0x0100_000c, 2, &e)]);
    for end in 0..bytes.len() {
        survives(&bytes[..end], &options("arm64e"));
    }
}

#[test]
fn no_damaged_byte_panics() {
    let (a, e) = two_slices();
    let fat = fat(true, &[(0x0100_000c, 0, &a), (0x0100_000c, 2, &e)]);
    let thin = SHAPES.map(|shape| shape.image(&Recipe::default()));
    let files = thin.iter().map(|bytes| (bytes, ReadOptions::default()));
    for (bytes, options) in files.chain([(&fat, options("arm64e"))]) {
        let mut bytes = bytes.clone();
        for place in 0..bytes.len() {
            let byte = bytes[place];
            for value in [0, 1, 0x7f, 0x80, 0xff, byte ^ 1] {
                bytes[place] = value;
                survives(&bytes, &options);
            }
            bytes[place] = byte;
        }
    }
}

#[test]
fn a_damaged_command_costs_only_itself() {
    let bytes = USUAL.image(&Recipe::default());
    // The length of the first command (`__PAGEZERO`) hides all others…
    let mut broken = bytes.clone();
    broken[36..40].fill(0);
    read_ok(&broken, |image| {
        assert!(image.symbols.is_empty());
        assert_eq!(image.report.skipped["damaged load command"], 1);
        assert!(image.report.warnings[0].contains("found a length of 0x0"), "{:?}", image.report);
    });
    // …but one that is a segment of the other width hides nothing.
    let mut broken = bytes;
    broken[32] = 1;
    read_ok(&broken, |image| {
        assert_eq!(image.symbols.len(), 5);
        assert_eq!(image.report.warnings.len(), 1);
    });
}

#[test]
fn a_cut_symbol_table_keeps_what_is_there() {
    let bytes = USUAL.image(&Recipe::default());
    let at = bytes.windows(8).position(|w| w == [2, 0, 0, 0, 24, 0, 0, 0]).unwrap();
    let mut broken = bytes;
    broken[at + 12..at + 16].fill(0xff);
    read_ok(&broken, |image| {
        assert_eq!(named(&image, "main").address, TEXT);
        assert!(image.report.warnings[0].contains("expected 4294967295 symbols"));
        assert!(image.report.skipped["symbol past the end of the file"] > 4_000_000_000);
    });
}

// A million records that all name one endless string must not cost (records × string).
#[test]
fn names_are_never_scanned_over_and_over() {
    let mut bytes =
        USUAL.image(&Recipe { symbols: vec![("_f", EXT, 1, 0, TEXT)], ..Recipe::default() });
    let at = bytes.windows(8).position(|w| w == [2, 0, 0, 0, 24, 0, 0, 0]).unwrap();
    let count = 100_000_u32;
    let symoff = bytes.len() as u32;
    let record = [1, 0, 0, 0, EXT, 1, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0];
    bytes.extend(std::iter::repeat_n(record, count as usize).flatten());
    let stroff = bytes.len() as u32;
    bytes.extend(std::iter::repeat_n(b'x', 900_000));
    bytes.push(0);
    for (place, value) in [(8, symoff), (12, count), (16, stroff), (20, 900_001)] {
        bytes[at + place..at + place + 4].copy_from_slice(&value.to_le_bytes());
    }
    read_ok(&bytes, |image| {
        assert!(image.symbols.len() < 40, "{}", image.symbols.len());
        assert!(image.report.skipped["name without an end"] > 99_000);
    });
}
