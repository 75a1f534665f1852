//! What callers were compiled with stays: numbers, sizes, places of fields, and
//! the names that the shared library exports.
#![allow(
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::process::Command;

use common::{C, CPP, Installed, Link, built, there};
use symidx_capi::status::symidx_status as S;
#[allow(clippy::wildcard_imports, reason = "every struct is looked at")]
use symidx_capi::types::*;

/// A struct's name, size and fields with their offsets, for 64-bit machines.
type Layout = (&'static str, usize, Vec<(&'static str, usize)>);

macro_rules! layout {
    ($name:ident, $($field:ident)*) => {
        (stringify!($name), size_of::<$name>(),
         vec![$((stringify!($field), offset_of!($name, $field))),*])
    };
}

fn layouts() -> Vec<Layout> {
    vec![
        layout!(symidx_text, data length),
        layout!(symidx_packed, at skip length),
        layout!(symidx_symbol, size status flags kind binding extent id module address start
            length offset name version kernel_module index packed_name packed_version
            packed_kernel_module),
        layout!(symidx_frame, size flags line column function directory file
            declared_directory declared_file declared_line reserved index packed_function
            packed_directory packed_file packed_declared_directory packed_declared_file),
        layout!(symidx_match, size flags kind binding address length name version section
            kernel_module packed_name packed_version packed_section packed_kernel_module),
        layout!(symidx_identity, size flags id_kind id_length id input_hash input_bytes
            index_bytes symbols aliases),
        layout!(symidx_module, size kind start end inode path file id id_length),
        layout!(symidx_location, size flags module reserved svma file_offset),
        layout!(symidx_budget, size modules indexed reserved anonymous_bytes mapped_bytes),
        layout!(symidx_statistics, size reserved addresses resolved gap no_module anonymous
            not_opened no_index stale_index unusable_index over_budget corrupt
            not_placed),
    ]
}

/// Version 1 of the interface. A line may get more fields at its end; no number
/// in it may change.
#[cfg(target_pointer_width = "64")]
const PINNED: &str = "\
symidx_text 16: data 0, length 8
symidx_packed 8: at 0, skip 4, length 6
symidx_symbol 144: size 0, status 4, flags 8, kind 12, binding 16, extent 20, id 24, module 28, \
address 32, start 40, length 48, offset 56, name 64, version 80, kernel_module 96, index 112, packed_name 120, \
packed_version 128, packed_kernel_module 136
symidx_frame 152: size 0, flags 4, line 8, column 12, function 16, directory 32, file 48, \
declared_directory 64, declared_file 80, declared_line 96, reserved 100, index 104, \
packed_function 112, packed_directory 120, packed_file 128, packed_declared_directory 136, \
packed_declared_file 144
symidx_match 128: size 0, flags 4, kind 8, binding 12, address 16, length 24, name 32, version 48, \
section 64, kernel_module 80, packed_name 96, packed_version 104, packed_section 112, \
packed_kernel_module 120
symidx_identity 136: size 0, flags 4, id_kind 8, id_length 12, id 16, input_hash 80, \
input_bytes 112, index_bytes 120, symbols 128, aliases 132
symidx_module 80: size 0, kind 4, start 8, end 16, inode 24, path 32, file 48, id 64, id_length 72
symidx_location 32: size 0, flags 4, module 8, reserved 12, svma 16, file_offset 24
symidx_budget 32: size 0, modules 4, indexed 8, reserved 12, anonymous_bytes 16, mapped_bytes 24
symidx_statistics 104: size 0, reserved 4, addresses 8, resolved 16, gap 24, no_module 32, \
anonymous 40, not_opened 48, no_index 56, stale_index 64, unusable_index 72, over_budget 80, \
corrupt 88, not_placed 96
";

#[test]
#[cfg(target_pointer_width = "64")]
fn structs_stay_as_they_are() {
    let mut found = String::new();
    for (name, size, fields) in layouts() {
        let fields: Vec<String> =
            fields.iter().map(|(field, offset)| format!("{field} {offset}")).collect();
        writeln!(found, "{name} {size}: {}", fields.join(", ")).unwrap();
    }
    assert_eq!(found, PINNED);
}

fn text_of(code: i32) -> &'static str {
    let text = symidx_capi::ffi::text::symidx_strerror(code);
    // SAFETY: a text of this library, which ends in NUL and stays.
    #[allow(unsafe_code, reason = "a text as C gets it")]
    unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap()
}

#[test]
fn numbers_stay_as_they_are() {
    let statuses = [
        (S::SYMIDX_OK, 0),
        (S::SYMIDX_GAP, 1),
        (S::SYMIDX_NO_MODULE, 2),
        (S::SYMIDX_ANONYMOUS, 3),
        (S::SYMIDX_NOT_OPENED, 4),
        (S::SYMIDX_NO_INDEX, 5),
        (S::SYMIDX_STALE_INDEX, 6),
        (S::SYMIDX_UNUSABLE_INDEX, 7),
        (S::SYMIDX_OVER_BUDGET, 8),
        (S::SYMIDX_CORRUPT, 9),
        (S::SYMIDX_NONE, 10),
        (S::SYMIDX_CUT, 11),
        (S::SYMIDX_NOT_PLACED, 12),
        (S::SYMIDX_ERROR_NULL, -1),
        (S::SYMIDX_ERROR_ALIGNMENT, -2),
        (S::SYMIDX_ERROR_SIZE, -3),
        (S::SYMIDX_ERROR_ARGUMENT, -4),
        (S::SYMIDX_ERROR_IN_USE, -5),
        (S::SYMIDX_ERROR_IO, -6),
        (S::SYMIDX_ERROR_NOT_AN_INDEX, -7),
        (S::SYMIDX_ERROR_VERSION, -8),
        (S::SYMIDX_ERROR_BROKEN, -9),
        (S::SYMIDX_ERROR_MAPS, -10),
    ];
    let mut texts = Vec::new();
    for (status, code) in statuses {
        assert_eq!(status as i32, code);
        let text = text_of(code);
        assert!(!text.is_empty() && !text.contains('\n'));
        texts.push(text);
    }
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), statuses.len(), "each status has a text of its own");
    for code in [13, -11, i32::MAX, i32::MIN] {
        assert_eq!(text_of(code), "no status of this library");
    }
    let kinds = [
        symidx_kind::SYMIDX_KIND_FUNCTION as u32,
        symidx_kind::SYMIDX_KIND_IFUNC as u32,
        symidx_kind::SYMIDX_KIND_OBJECT as u32,
        symidx_kind::SYMIDX_KIND_LABEL as u32,
        symidx_kind::SYMIDX_KIND_TLS as u32,
        symidx_kind::SYMIDX_KIND_ABSOLUTE as u32,
        symidx_kind::SYMIDX_KIND_OTHER as u32,
    ];
    assert_eq!(kinds, [0, 1, 2, 3, 4, 5, 255]);
    let bindings = [
        symidx_binding::SYMIDX_BINDING_GLOBAL as u32,
        symidx_binding::SYMIDX_BINDING_WEAK as u32,
        symidx_binding::SYMIDX_BINDING_LOCAL as u32,
    ];
    assert_eq!(bindings, [0, 1, 2]);
    let extents = [
        symidx_extent::SYMIDX_EXTENT_EXACT as u32,
        symidx_extent::SYMIDX_EXTENT_INFERRED as u32,
        symidx_extent::SYMIDX_EXTENT_SYNTHESIZED as u32,
    ];
    assert_eq!(extents, [0, 1, 2]);
    let ids = [
        symidx_id_kind::SYMIDX_ID_NONE as u32,
        symidx_id_kind::SYMIDX_ID_BUILD_ID as u32,
        symidx_id_kind::SYMIDX_ID_UUID as u32,
    ];
    assert_eq!(ids, [0, 1, 2]);
    let modules = [
        symidx_module_kind::SYMIDX_MODULE_FILE as u32,
        symidx_module_kind::SYMIDX_MODULE_VDSO as u32,
        symidx_module_kind::SYMIDX_MODULE_ANONYMOUS as u32,
        symidx_module_kind::SYMIDX_MODULE_OTHER as u32,
    ];
    assert_eq!(modules, [0, 1, 2, 255]);
    assert_eq!(symidx_capi::SYMIDX_MAX_ID, symidx::format::MAX_ID);
}

/// A C compiler sees the same structs as the library does, and C++ likewise.
#[test]
fn compilers_agree_with_the_library() {
    if !there("cc") || !there("c++") {
        return;
    }
    let installed = Installed::new();
    let mut source = String::from("#include <symidx.h>\n");
    // What the array's size says is true, or there is no such array.
    for (name, size, fields) in layouts() {
        writeln!(source, "extern char size_of_{name}[sizeof({name}) == {size} ? 1 : -1];").unwrap();
        for (field, offset) in fields {
            writeln!(
                source,
                "extern char place_of_{name}_{field}[offsetof({name}, {field}) == {offset} ? 1 : -1];"
            )
            .unwrap();
        }
    }
    source.push_str("int main(void) { return SYMIDX_OK + SYMIDX_STORE_READ - 1; }\n");
    let path = installed.path("layout.c");
    std::fs::write(&path, source).unwrap();
    for language in [C, CPP] {
        installed.compile(language, Link::Shared, &[&path], language.name);
    }
}

/// The functions that the header declares.
fn declared() -> Vec<String> {
    let header = std::fs::read_to_string(common::crate_file("include/symidx.h")).unwrap();
    let mut names: Vec<String> = header
        .lines()
        .filter(|line| !line.trim_start().starts_with(['*', '/', '#']))
        .filter_map(|line| line.split('(').next().filter(|before| *before != line))
        .filter_map(|before| before.split([' ', '*']).next_back())
        .filter(|name| name.starts_with("symidx_"))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names
}

#[test]
#[cfg(target_os = "linux")]
fn the_shared_library_exports_what_the_header_declares_and_nothing_else() {
    if !there("nm") {
        return;
    }
    let library = built().join("libsymidx_capi.so");
    let text = common::stdout(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let mut exported: Vec<&str> =
        text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    exported.sort_unstable();
    assert!(exported.len() > 40, "{text}");
    assert_eq!(exported, declared());
}

#[test]
#[cfg(target_os = "linux")]
fn the_shared_library_has_the_name_the_loader_looks_for() {
    if !there("readelf") {
        return;
    }
    let library = built().join("libsymidx_capi.so");
    let text = common::stdout(Command::new("readelf").arg("-d").arg(library));
    assert!(text.contains("soname: [libsymidx.so.0.1]"), "{text}");
}
