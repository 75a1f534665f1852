//! Every function answers as the library it stands for, and refuses what is no
//! argument: NULL, misaligned, unset, too short.
#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "calls as C makes them; a test that goes wrong should stop"
)]

mod common;

use std::ffi::{CStr, CString, c_char};
use std::mem::{MaybeUninit, offset_of};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use symidx::{FileOffset, Index, Svma};
use symidx_capi::SYMIDX_MAX_ID;
use symidx_capi::ffi::frames::*;
use symidx_capi::ffi::index::*;
use symidx_capi::ffi::lookup::*;
use symidx_capi::ffi::modules::*;
use symidx_capi::ffi::resolve::*;
use symidx_capi::ffi::resolver::*;
use symidx_capi::ffi::store::*;
use symidx_capi::ffi::symidx_index;
use symidx_capi::ffi::text::*;
use symidx_capi::status::symidx_status as S;
use symidx_capi::types::*;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden").join(name)
}

/// Every golden index.
fn all_golden() -> Vec<PathBuf> {
    let files = std::fs::read_dir(golden("")).unwrap().map(|entry| entry.unwrap().path());
    let is_index = |path: &PathBuf| path.extension().is_some_and(|end| end == "symidx");
    let all: Vec<PathBuf> = files.filter(is_index).collect();
    assert!(all.len() >= 8, "{all:?}");
    all
}

fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// A struct as a caller has it: zero, but for its size.
fn fresh<T>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    unsafe {
        value.as_mut_ptr().cast::<u32>().write(u32::try_from(size_of::<T>()).unwrap());
        value.assume_init()
    }
}

fn bytes_of<'a>(text: symidx_text) -> Option<&'a [u8]> {
    (!text.data.is_null())
        .then(|| unsafe { std::slice::from_raw_parts(text.data.cast(), text.length) })
}

/// A name as the interface has it is the library's: its bytes, or a place from which they
/// are written.
fn same_name(
    index: *const symidx_index,
    text: symidx_text,
    place: symidx_packed,
    expected: Option<symidx::Name<'_>>,
) {
    assert_eq!(bytes_of(text), expected.and_then(|name| name.as_bytes()));
    let packed = expected.filter(|name| name.as_bytes().is_none());
    let (mut written, mut length) = ([b'!'; 400], 99);
    let status = unsafe {
        let buffer = written.as_mut_ptr().cast();
        symidx_packed_name(index.as_ref(), place, buffer, written.len(), &mut length)
    };
    let Some(packed) = packed else {
        assert_eq!(place.length, 0);
        assert!(index.is_null() || (status, length, written[0]) == (S::SYMIDX_NONE, 0, 0));
        return;
    };
    assert_eq!((status, length), (S::SYMIDX_OK, packed.len()));
    assert!(packed == written[..length] && written[length] == 0);
}

/// An index opened through the interface.
struct Opened(*mut symidx_index);

impl Opened {
    fn read(path: &Path) -> Self {
        let mut index = null_mut();
        let status = unsafe { symidx_open_read(c_path(path).as_ptr(), &mut index, null_mut(), 0) };
        assert_eq!(status, S::SYMIDX_OK);
        Self(index)
    }

    fn map(path: &Path) -> Self {
        let mut index = null_mut();
        let status = unsafe { symidx_open_map(c_path(path).as_ptr(), &mut index, null_mut(), 0) };
        assert_eq!(status, S::SYMIDX_OK);
        Self(index)
    }

    fn get(&self) -> Option<&symidx_index> {
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        unsafe { symidx_close(Some(Box::from_raw(self.0))) }
    }
}

fn same_symbol(found: &symidx_symbol, expected: Option<symidx::Symbol<'_>>, address: u64) {
    assert_eq!(found.address, address);
    assert_eq!(found.module, SYMIDX_NO_NUMBER);
    assert_eq!(found.size as usize, size_of::<symidx_symbol>());
    let Some(expected) = expected else {
        assert_eq!(found.status, S::SYMIDX_GAP);
        assert!(bytes_of(found.name).is_none() && found.index.is_null());
        assert_eq!((found.packed_name.length, found.packed_version.length), (0, 0));
        return;
    };
    assert_eq!(found.status, S::SYMIDX_OK);
    same_name(found.index, found.name, found.packed_name, Some(expected.name()));
    same_name(found.index, found.version, found.packed_version, expected.version());
    assert_eq!(
        (found.start, found.length, found.offset, found.id),
        (expected.start().0, expected.size(), expected.offset(), expected.id())
    );
    assert_eq!(found.kind, symidx_kind::from(expected.kind()));
    assert_eq!(found.binding, symidx_binding::from(expected.binding()));
    assert_eq!(found.extent, symidx_extent::from(expected.extent()));
    assert_eq!(found.flags & SYMIDX_SYMBOL_FOLDED != 0, expected.is_folded());
    assert_eq!(found.flags & SYMIDX_SYMBOL_PART != 0, expected.is_part());
    assert_eq!(found.flags & SYMIDX_SYMBOL_DWARF != 0, expected.is_dwarf());
    let module = expected.module().unwrap();
    same_name(found.index, found.kernel_module, found.packed_kernel_module, module);
    assert!(!found.index.is_null());
}

/// Where the symbols of an index are, and around them.
fn interesting(index: &Index<'_>) -> Vec<u64> {
    let mut addresses = vec![0, 1, u64::MAX];
    for symbol in index.symbols().flatten() {
        let (start, end) = (symbol.start().0, symbol.start().0.wrapping_add(symbol.size()));
        addresses.extend([start.wrapping_sub(1), start, start.wrapping_add(1)]);
        addresses.extend([end.wrapping_sub(1), end]);
    }
    addresses
}

#[test]
fn lookups_answer_as_the_library() {
    for path in all_golden() {
        let (index, opened) = (Index::read(&path).unwrap(), Opened::read(&path));
        for address in interesting(&index) {
            let mut symbol = fresh();
            let status = unsafe { symidx_lookup(opened.get(), address, &mut symbol) };
            assert_eq!(status, symbol.status);
            same_symbol(&symbol, index.lookup(Svma(address)).unwrap(), address);
            let status = unsafe { symidx_lookup_return(opened.get(), address, &mut symbol) };
            assert_eq!(status, symbol.status);
            let expected = index.lookup_return(Svma(address)).unwrap();
            same_symbol(&symbol, expected, address.saturating_sub(1));
            let offset = address & 0xffff;
            let status = unsafe { symidx_lookup_offset(opened.get(), offset, &mut symbol) };
            assert_eq!(status, symbol.status);
            let svma = index.svma_of(FileOffset(offset)).map_or(0, |svma| svma.0);
            same_symbol(&symbol, index.lookup_offset(FileOffset(offset)).unwrap(), svma);
        }
        for section in index.sections() {
            let section = section.unwrap();
            let name = &*section.name().to_string();
            let name = name.as_bytes();
            // Of several sections with one name, the first is meant.
            let first = index.section_by_name(name).unwrap().unwrap();
            if name.is_empty() || first.id() != section.id() {
                continue;
            }
            for offset in [0, 1, 8, section.size().wrapping_sub(1), section.size()] {
                let mut symbol = fresh();
                let status = unsafe {
                    let text = name.as_ptr().cast();
                    symidx_lookup_section(opened.get(), text, name.len(), offset, &mut symbol)
                };
                assert_eq!(status, symbol.status);
                same_symbol(&symbol, index.lookup_in(section.id(), offset).unwrap(), offset);
            }
        }
        let mut symbol: symidx_symbol = fresh();
        let status =
            unsafe { symidx_lookup_section(opened.get(), c"none".as_ptr(), 4, 0, &mut symbol) };
        assert_eq!(status, S::SYMIDX_NONE);
    }
}

fn same_frame(found: &symidx_frame, expected: &symidx::Frame<'_>) {
    let index = found.index;
    same_name(index, found.function, found.packed_function, expected.function());
    let file = expected.file();
    same_name(index, found.directory, found.packed_directory, file.map(|file| file.directory()));
    same_name(index, found.file, found.packed_file, file.map(|file| file.name()));
    let (declared, line) = expected.declared().unwrap();
    let (directory, name) =
        (declared.map(|file| file.directory()), declared.map(|file| file.name()));
    let place = found.packed_declared_directory;
    same_name(index, found.declared_directory, place, directory);
    same_name(index, found.declared_file, found.packed_declared_file, name);
    assert_eq!(found.declared_line, line.unwrap_or(0));
    assert_eq!(
        (found.line, found.column),
        (expected.line().unwrap_or(0), expected.column().unwrap_or(0))
    );
    assert_eq!(found.flags & SYMIDX_FRAME_INLINED != 0, expected.is_inlined());
    if expected.file().is_some() && found.file.data.is_null() {
        // Packed: its parts are written first, and were compared.
        return;
    }
    let mut joined = [b'!'; 200];
    let mut length = 0;
    let status = unsafe {
        symidx_path(found.directory, found.file, joined.as_mut_ptr().cast(), 200, &mut length)
    };
    match expected.file() {
        Some(file) => {
            assert_eq!(status, S::SYMIDX_OK);
            assert_eq!(&joined[..length], file.to_string().as_bytes());
        }
        None => assert_eq!((status, length), (S::SYMIDX_NONE, 0)),
    }
    assert_eq!(joined[length], 0);
}

#[test]
fn frames_answer_as_the_library() {
    let mut inlined = 0;
    for name in ["lines.symidx", "display.symidx", "example.symidx", "packed.symidx"] {
        let (index, opened) = (Index::read(golden(name)).unwrap(), Opened::read(&golden(name)));
        let mut addresses = interesting(&index);
        let base = index.image_base().unwrap().0;
        addresses.extend(base..base + 0x800);
        for address in addresses {
            let mut frames: [symidx_frame; 8] = std::array::from_fn(|_| fresh());
            let mut symbol: symidx_symbol = fresh();
            let mut count = 99;
            let expected: Vec<_> =
                index.frames(Svma(address)).unwrap().map(|frame| frame.unwrap()).collect();
            let status = unsafe {
                symidx_frames(
                    opened.get(),
                    address,
                    &mut symbol,
                    frames.as_mut_ptr(),
                    8,
                    &mut count,
                )
            };
            assert_eq!(count, expected.len());
            let there = if count == 0 { S::SYMIDX_GAP } else { S::SYMIDX_OK };
            assert_eq!(status, there);
            same_symbol(&symbol, index.lookup(Svma(address)).unwrap(), address);
            for (found, expected) in frames.iter().zip(&expected) {
                same_frame(found, expected);
                inlined += usize::from(expected.is_inlined());
            }
            let expected = index.frames_return(Svma(address)).unwrap().count();
            let pointer = frames.as_mut_ptr();
            unsafe {
                symidx_frames_return(opened.get(), address, null_mut(), pointer, 8, &mut count);
            }
            assert_eq!(count, expected);
            let offset = address & 0xffff;
            let expected = index.frames_offset(FileOffset(offset)).unwrap().count();
            unsafe {
                symidx_frames_offset(opened.get(), offset, null_mut(), pointer, 8, &mut count);
            }
            assert_eq!(count, expected);
        }
    }
    assert!(inlined > 10, "{inlined} inlined frames were compared");
}

/// An address of lines.symidx with several frames.
fn deep(index: &Index<'_>) -> (u64, usize) {
    let base = index.image_base().unwrap().0;
    (base..base + 0x1000)
        .map(|address| (address, index.frames(Svma(address)).unwrap().count()))
        .max_by_key(|&(_, count)| count)
        .unwrap()
}

#[test]
fn a_full_array_is_cut_and_the_number_told() {
    let index = Index::read(golden("lines.symidx")).unwrap();
    let opened = Opened::read(&golden("lines.symidx"));
    let (address, all) = deep(&index);
    assert!(all >= 2, "{all}");
    for capacity in 0..=all {
        let mut frames: Vec<symidx_frame> = (0..=all).map(|_| fresh()).collect();
        let mut count = 0;
        let status = unsafe {
            let first = if capacity == 0 { null_mut() } else { frames.as_mut_ptr() };
            symidx_frames(opened.get(), address, null_mut(), first, capacity, &mut count)
        };
        assert_eq!(status, if capacity < all { S::SYMIDX_CUT } else { S::SYMIDX_OK });
        assert_eq!(count, all);
        let written = frames.iter().filter(|frame| !frame.index.is_null()).count();
        assert_eq!(written, capacity);
    }
}

/// Callers of other versions have smaller or larger structs: nothing is written
/// past them, and what only they know is zeroed.
#[test]
fn the_size_of_the_caller_is_honoured() {
    let index = Index::read(golden("lines.symidx")).unwrap();
    let opened = Opened::read(&golden("lines.symidx"));
    let (address, all) = deep(&index);
    let known = size_of::<symidx_frame>();
    let mut whole: Vec<symidx_frame> = (0..all).map(|_| fresh()).collect();
    let status = unsafe {
        symidx_frames(opened.get(), address, null_mut(), whole.as_mut_ptr(), all, null_mut())
    };
    assert_eq!(status, S::SYMIDX_OK);
    // An interpreter that knows every borrow takes its time: some sizes tell enough.
    let step = if cfg!(miri) { 56 } else { 4 };
    for size in (0..4200).step_by(step) {
        // As 64-bit words, so that they are aligned.
        let mut words = vec![0xa5a5_a5a5_a5a5_a5a5u64; (size * all).div_ceil(8) + 2];
        let mut count = 0;
        let (status, memory) = unsafe {
            let first = words.as_mut_ptr().cast::<u8>();
            first.cast::<u32>().write(u32::try_from(size).unwrap());
            let status =
                symidx_frames(opened.get(), address, null_mut(), first.cast(), all, &mut count);
            (status, std::slice::from_raw_parts(first, words.len() * 8))
        };
        if !(8..=4096).contains(&size) || size % 8 != 0 {
            assert_eq!(status, S::SYMIDX_ERROR_SIZE, "{size}");
            assert!(memory[4..].iter().all(|&byte| byte == 0xa5), "{size}");
            continue;
        }
        assert_eq!((status, count), (S::SYMIDX_OK, all), "{size}");
        for (at, whole) in whole.iter().enumerate() {
            let place = &memory[at * size..(at + 1) * size];
            assert_eq!(place[..4], u32::try_from(size).unwrap().to_ne_bytes());
            let whole = unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(whole).cast::<u8>(), known)
            };
            let same = size.min(known);
            assert_eq!(place[4..same], whole[4..same], "{size}");
            assert!(place[same..].iter().all(|&byte| byte == 0), "{size}");
        }
        assert!(memory[size * all..].iter().all(|&byte| byte == 0xa5), "{size}");
    }
}

#[test]
fn names_are_found_as_the_library_finds_them() {
    let mut several = false;
    for path in all_golden() {
        let (index, opened) = (Index::read(&path).unwrap(), Opened::read(&path));
        let names: Vec<Vec<u8>> = index
            .names()
            .map(|found| found.unwrap().name().pieces().collect::<Vec<_>>().concat())
            .filter(|name| !name.is_empty())
            .collect();
        for name in names.iter().take(500) {
            let expected: Vec<_> = index.find(name).map(|found| found.unwrap()).collect();
            let mut matches: Vec<symidx_match> = expected.iter().map(|_| fresh()).collect();
            let (text, mut count) = (name.as_ptr().cast::<c_char>(), 0);
            let status = unsafe {
                let (first, room) = (matches.as_mut_ptr(), matches.len());
                symidx_find(opened.get(), text, name.len(), first, room, &mut count)
            };
            assert_eq!((status, count), (S::SYMIDX_OK, expected.len()));
            for (found, expected) in matches.iter().zip(&expected) {
                same_name(opened.0, found.name, found.packed_name, Some(expected.name()));
                assert_eq!((found.address, found.length), (expected.address(), expected.size()));
                assert_eq!(found.kind, symidx_kind::from(expected.kind()));
                let section = expected.section().unwrap().map(|section| section.name());
                same_name(opened.0, found.section, found.packed_section, section);
                let version = expected.version();
                let default = version.is_some_and(|(_, default)| default);
                assert_eq!(found.flags & SYMIDX_SYMBOL_DEFAULT_VERSION != 0, default);
                let version = version.map(|(version, _)| version);
                same_name(opened.0, found.version, found.packed_version, version);
                assert_eq!(found.flags & SYMIDX_SYMBOL_ALIAS != 0, expected.is_alias());
                assert_eq!(found.flags & SYMIDX_SYMBOL_NAME_ONLY != 0, expected.is_name_only());
            }
            if expected.len() > 1 {
                several = true;
                let mut one: symidx_match = fresh();
                let status =
                    unsafe { symidx_find(opened.get(), text, name.len(), &mut one, 1, &mut count) };
                assert_eq!((status, count), (S::SYMIDX_CUT, expected.len()));
            }
        }
        let status = unsafe {
            symidx_find(opened.get(), c"no such name".as_ptr(), 12, null_mut(), 0, null_mut())
        };
        assert_eq!(status, S::SYMIDX_NONE);
    }
    assert!(several, "some name is defined more than once");
}

#[test]
fn identities_are_told() {
    for path in all_golden() {
        let (index, opened) = (Index::read(&path).unwrap(), Opened::map(&path));
        let mut identity: symidx_identity = fresh();
        let status = unsafe { symidx_identify(opened.get(), &mut identity) };
        assert_eq!(status, S::SYMIDX_OK);
        let id = &identity.id[..identity.id_length as usize];
        match identity.id_kind {
            symidx_id_kind::SYMIDX_ID_BUILD_ID => assert_eq!(Some(id), index.build_id()),
            symidx_id_kind::SYMIDX_ID_UUID => assert_eq!(id, index.uuid().unwrap()),
            symidx_id_kind::SYMIDX_ID_NONE => assert!(id.is_empty()),
        }
        assert_eq!(&identity.input_hash, index.input_hash());
        assert_eq!(identity.input_bytes, index.input_size());
        assert_eq!(identity.index_bytes, std::fs::metadata(&path).unwrap().len());
        assert_eq!(identity.flags & SYMIDX_IMAGE_LINES != 0, index.has_lines());
        assert_eq!(identity.flags & SYMIDX_IMAGE_64 != 0, index.is_64());
        assert!(identity.id[identity.id_length as usize..].iter().all(|&byte| byte == 0));
        assert_eq!(identity.id.len(), SYMIDX_MAX_ID);
        let status = unsafe { symidx_verify(opened.get(), null_mut(), 0) };
        assert_eq!(status, S::SYMIDX_OK);
    }
}

/// What symidx_display_name writes.
fn displayed(index: Option<&symidx_index>, name: &[u8], flags: u32) -> String {
    let mut buffer = [b'!'; 300];
    let mut length = 0;
    let status = unsafe {
        let (text, room) = (name.as_ptr().cast(), buffer.as_mut_ptr().cast());
        symidx_display_name(index, text, name.len(), flags, room, 300, &mut length)
    };
    assert_eq!(status, S::SYMIDX_OK);
    assert_eq!(buffer[length], 0);
    for capacity in [0, 1, length, length + 1] {
        let mut cut = [b'!'; 301];
        let mut all = 0;
        let status = unsafe {
            let (text, room) = (name.as_ptr().cast(), cut.as_mut_ptr().cast());
            symidx_display_name(index, text, name.len(), flags, room, capacity, &mut all)
        };
        assert_eq!(all, length);
        assert_eq!(status, if capacity > length { S::SYMIDX_OK } else { S::SYMIDX_CUT });
        let fits = capacity.saturating_sub(1).min(length);
        assert_eq!(cut[..fits], buffer[..fits]);
        assert!(capacity == 0 || cut[fits] == 0);
        assert!(cut[capacity..].iter().all(|&byte| byte == b'!'));
    }
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

/// What is shown for a packed name is what is shown for the same name stored plain.
#[test]
fn packed_names_are_shown_for_people() {
    let plain = Opened::read(&golden("display.symidx"));
    let packed = Opened::read(&golden("packed.symidx"));
    let index = Index::read(golden("display.symidx")).unwrap();
    let (mut shown, mut rust) = (0, 0);
    for symbol in index.symbols().flatten() {
        let mut symbols: [symidx_symbol; 2] = std::array::from_fn(|_| fresh());
        let address = symbol.start().0;
        for (opened, symbol) in [&plain, &packed].into_iter().zip(&mut symbols) {
            assert_eq!(unsafe { symidx_lookup(opened.get(), address, symbol) }, S::SYMIDX_OK);
        }
        let [plain_symbol, packed_symbol] = symbols;
        let name = bytes_of(plain_symbol.name).unwrap();
        assert!(packed_symbol.name.data.is_null());
        for flags in [0, SYMIDX_DISPLAY_SHORT] {
            let expected = displayed(plain.get(), name, flags);
            for capacity in [0, 1, expected.len(), expected.len() + 1, 300] {
                let (mut buffer, mut length) = ([b'!'; 300], 99);
                let status = unsafe {
                    let (place, room) = (packed_symbol.packed_name, buffer.as_mut_ptr().cast());
                    symidx_packed_display(packed.get(), place, flags, room, capacity, &mut length)
                };
                let whole = capacity > expected.len();
                assert_eq!(status, if whole { S::SYMIDX_OK } else { S::SYMIDX_CUT });
                assert_eq!(length, expected.len());
                let fits = capacity.saturating_sub(1).min(length);
                assert_eq!(&buffer[..fits], &expected.as_bytes()[..fits]);
                assert!(capacity == 0 || buffer[fits] == 0);
                assert!(buffer[capacity..].iter().all(|&byte| byte == b'!'));
            }
            shown += usize::from(expected.as_bytes() != name);
            rust += usize::from(expected.starts_with("mycrate"));
        }
    }
    assert!(shown > 20 && rust > 2, "{shown} names are shown otherwise, {rust} of Rust");
    // No place of this index, no such flag.
    let place = symidx_packed { at: u32::MAX, skip: 0, length: 4 };
    let none = symidx_packed { at: 0, skip: 0, length: 0 };
    let call = |index: &Opened, place, flags| unsafe {
        symidx_packed_display(index.get(), place, flags, null_mut(), 0, null_mut())
    };
    assert_eq!(call(&packed, place, 0), S::SYMIDX_ERROR_ARGUMENT);
    assert_eq!(call(&packed, none, 2), S::SYMIDX_ERROR_ARGUMENT);
    assert_eq!(call(&packed, none, 0), S::SYMIDX_NONE);
    let place = symidx_packed { at: 16, ..place };
    assert_eq!(call(&plain, place, 0), S::SYMIDX_ERROR_ARGUMENT);
}

#[test]
fn names_are_shown_for_people() {
    for (name, shown) in [
        ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
        ("_RNvC7mycrate3foo", "mycrate::foo"),
        ("_ZN5space6methodEv", "_ZN5space6methodEv"),
        ("main", "main"),
    ] {
        assert_eq!(displayed(None, name.as_bytes(), 0), shown);
        assert_eq!(displayed(None, name.as_bytes(), SYMIDX_DISPLAY_SHORT), shown);
    }
    let index = Index::read(golden("display.symidx")).unwrap();
    let opened = Opened::read(&golden("display.symidx"));
    let mut stored = 0;
    for expected in index.symbols() {
        let expected = expected.unwrap();
        let Some(display) = expected.display_name().unwrap() else { continue };
        let mut symbol: symidx_symbol = fresh();
        unsafe { symidx_lookup(opened.get(), expected.start().0, &mut symbol) };
        let name = bytes_of(symbol.name).unwrap();
        let from = unsafe { symbol.index.as_ref() };
        assert_eq!(displayed(from, name, 0), display.full().to_string());
        assert_eq!(displayed(from, name, SYMIDX_DISPLAY_SHORT), display.short().to_string());
        stored += 1;
    }
    assert!(stored > 0);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("text"), b"not an index at all, but long enough").unwrap();
    std::fs::write(path("empty"), b"").unwrap();
    let whole = std::fs::read(golden("example.symidx")).unwrap();
    std::fs::write(path("cut"), &whole[..whole.len() - 64]).unwrap();
    let mut other = whole.clone();
    other[8] ^= 0x40;
    std::fs::write(path("version"), &other).unwrap();
    let cases = [
        ("none", S::SYMIDX_ERROR_IO, "cannot open: "),
        ("text", S::SYMIDX_ERROR_NOT_AN_INDEX, "expected a .symidx file"),
        ("empty", S::SYMIDX_ERROR_NOT_AN_INDEX, "expected a .symidx file"),
        ("cut", S::SYMIDX_ERROR_BROKEN, "invariant I3 does not hold"),
        ("version", S::SYMIDX_ERROR_VERSION, "expected format version 1, found "),
    ];
    for (name, expected, text) in cases {
        let path = c_path(&path(name));
        let mut buffer = [b'!'; 200];
        let room = buffer.as_mut_ptr().cast::<c_char>();
        let check = |status: S, index: *mut symidx_index, what: &str| {
            // An empty file cannot be mapped on some systems.
            let mapped_empty = name == "empty" && status == S::SYMIDX_ERROR_IO;
            assert!(status == expected || mapped_empty, "{what} {name}: {status:?}");
            assert!(index.is_null());
            let message = unsafe { CStr::from_ptr(room) }.to_str().unwrap();
            assert!(mapped_empty || message.starts_with(text), "{message}");
        };
        let mut index = std::ptr::dangling_mut();
        let status = unsafe { symidx_open_map(path.as_ptr(), &mut index, room, 200) };
        check(status, index, "map");
        index = std::ptr::dangling_mut();
        let status = unsafe { symidx_open_read(path.as_ptr(), &mut index, room, 200) };
        check(status, index, "read");
        let bytes = std::fs::read(directory.path().join(name)).unwrap_or_default();
        if !bytes.is_empty() {
            let (first, length) = (bytes.as_ptr(), bytes.len());
            index = std::ptr::dangling_mut();
            let status = unsafe { symidx_open_memory(first, length, &mut index, room, 200) };
            check(status, index, "memory");
        }
        // A short buffer takes a part, and NULL nothing.
        buffer = [b'!'; 200];
        let status =
            unsafe { symidx_open_read(path.as_ptr(), &mut index, buffer.as_mut_ptr().cast(), 8) };
        assert_eq!(status, expected);
        assert_eq!((buffer[7], buffer[8]), (0, b'!'));
        let status = unsafe { symidx_open_read(path.as_ptr(), &mut index, null_mut(), 200) };
        assert_eq!(status, expected);
    }
    // A whole one from memory, and a message that says nothing.
    let mut index = null_mut();
    let mut buffer = [b'!'; 20];
    let status = unsafe {
        let room = buffer.as_mut_ptr().cast();
        symidx_open_memory(whole.as_ptr(), whole.len(), &mut index, room, 20)
    };
    assert_eq!((status, buffer[0]), (S::SYMIDX_OK, 0));
    drop(Opened(index));
}

/// Damage that opening does not see is met by calls, never trusted.
#[test]
fn damaged_indexes_are_told_from_misses() {
    let corrupt = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/corrupt");
    let mut refused = 0;
    let mut corrupted = 0;
    for entry in std::fs::read_dir(corrupt).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "symidx") {
            continue;
        }
        let mut index = null_mut();
        let status = unsafe { symidx_open_read(c_path(&path).as_ptr(), &mut index, null_mut(), 0) };
        if status != S::SYMIDX_OK {
            assert!((status as i32) < 0 && index.is_null());
            refused += 1;
            continue;
        }
        let opened = Opened(index);
        let mut message = [0u8; 300];
        let status = unsafe { symidx_verify(opened.get(), message.as_mut_ptr().cast(), 300) };
        assert!(matches!(status, S::SYMIDX_OK | S::SYMIDX_ERROR_BROKEN));
        assert_eq!(status == S::SYMIDX_ERROR_BROKEN, message[0] != 0, "{}", path.display());
        let reference = Index::read(&path).unwrap();
        for address in (0..0x2000).chain(0x400000..0x402000) {
            let mut symbol: symidx_symbol = fresh();
            let mut frames: [symidx_frame; 4] = std::array::from_fn(|_| fresh());
            let status = unsafe { symidx_lookup(opened.get(), address, &mut symbol) };
            match reference.lookup(Svma(address)) {
                Ok(expected) => same_symbol(&symbol, expected, address),
                Err(_) => {
                    assert_eq!((status, symbol.status), (S::SYMIDX_CORRUPT, S::SYMIDX_CORRUPT));
                    corrupted += 1;
                }
            }
            unsafe {
                let first = frames.as_mut_ptr();
                symidx_frames(opened.get(), address, &mut symbol, first, 4, null_mut());
            }
        }
    }
    assert!(refused > 5 && corrupted > 0, "{refused} {corrupted}");
}

/// Each function with each pointer NULL that must not be, and misaligned.
#[test]
fn wrong_pointers_are_refused() {
    let opened = Opened::read(&golden("lines.symidx"));
    let index = opened.get();
    let name = c"main".as_ptr();
    let mut words = [0u64; 64];
    let odd = |words: &mut [u64; 64]| unsafe { words.as_mut_ptr().cast::<u8>().add(1) };
    let mut out = null_mut();
    let mut symbol: symidx_symbol = fresh();
    let path = c_path(&golden("lines.symidx"));
    let (null_error, misaligned) = (S::SYMIDX_ERROR_NULL, S::SYMIDX_ERROR_ALIGNMENT);
    let argument = S::SYMIDX_ERROR_ARGUMENT;
    let huge = usize::MAX / 2 + 1;
    unsafe {
        assert_eq!(symidx_open_map(null(), &mut out, null_mut(), 0), null_error);
        assert_eq!(symidx_open_map(c"".as_ptr(), &mut out, null_mut(), 0), argument);
        assert_eq!(symidx_open_map(path.as_ptr(), null_mut(), null_mut(), 0), null_error);
        assert_eq!(
            symidx_open_map(path.as_ptr(), odd(&mut words).cast(), null_mut(), 0),
            misaligned
        );
        assert_eq!(symidx_open_read(null(), &mut out, null_mut(), 0), null_error);
        assert_eq!(symidx_open_read(path.as_ptr(), null_mut(), null_mut(), 0), null_error);
        assert_eq!(symidx_open_memory(null(), 0, &mut out, null_mut(), 0), null_error);
        assert_eq!(symidx_open_memory(name.cast(), 0, &mut out, null_mut(), 0), argument);
        assert_eq!(symidx_open_memory(name.cast(), huge, &mut out, null_mut(), 0), argument);
        assert_eq!(symidx_open_memory(name.cast(), 4, null_mut(), null_mut(), 0), null_error);
        symidx_close(None);
        assert_eq!(symidx_verify(None, null_mut(), 0), null_error);
        assert_eq!(symidx_identify(None, &mut fresh()), null_error);
        assert_eq!(symidx_identify(index, null_mut()), null_error);
        assert_eq!(symidx_identify(index, odd(&mut words).cast()), misaligned);
        for lookup in [symidx_lookup, symidx_lookup_return, symidx_lookup_offset] {
            assert_eq!(lookup(None, 0, &mut symbol), null_error);
            assert_eq!(lookup(index, 0, null_mut()), null_error);
            assert_eq!(lookup(index, 0, odd(&mut words).cast()), misaligned);
            symbol.size = 0;
            assert_eq!(lookup(index, 0, &mut symbol), S::SYMIDX_ERROR_SIZE);
            symbol = fresh();
        }
        assert_eq!(symidx_lookup_section(None, name, 4, 0, &mut symbol), null_error);
        assert_eq!(symidx_lookup_section(index, null(), 4, 0, &mut symbol), null_error);
        assert_eq!(symidx_lookup_section(index, name, huge, 0, &mut symbol), argument);
        assert_eq!(symidx_lookup_section(index, name, 4, 0, null_mut()), null_error);
        let mut frame: symidx_frame = fresh();
        for frames in [symidx_frames, symidx_frames_return, symidx_frames_offset] {
            let mut count = 99;
            assert_eq!(frames(None, 0, null_mut(), &mut frame, 1, &mut count), null_error);
            assert_eq!(count, 0);
            count = 99;
            assert_eq!(frames(index, 0, null_mut(), null_mut(), 1, &mut count), null_error);
            assert_eq!(count, 0);
            assert_eq!(frames(index, 0, null_mut(), &mut frame, huge, null_mut()), argument);
            let (misplaced, count) = (odd(&mut words), odd(&mut words).cast());
            assert_eq!(frames(index, 0, misplaced.cast(), &mut frame, 1, null_mut()), misaligned);
            assert_eq!(frames(index, 0, null_mut(), misplaced.cast(), 1, null_mut()), misaligned);
            assert_eq!(frames(index, 0, null_mut(), &mut frame, 1, count), misaligned);
        }
        let mut found: symidx_match = fresh();
        assert_eq!(symidx_find(None, name, 4, &mut found, 1, null_mut()), null_error);
        assert_eq!(symidx_find(index, null(), 4, &mut found, 1, null_mut()), null_error);
        assert_eq!(symidx_find(index, name, 0, &mut found, 1, null_mut()), argument);
        assert_eq!(symidx_find(index, name, 4, null_mut(), 1, null_mut()), null_error);
        let room = words.as_mut_ptr().cast();
        let display = symidx_display_name;
        assert_eq!(display(index, null(), 4, 0, room, 9, null_mut()), null_error);
        assert_eq!(display(index, name, 0, 0, room, 9, null_mut()), argument);
        assert_eq!(display(index, name, 4, 2, room, 9, null_mut()), argument);
        assert_eq!(display(index, name, 4, 0, null_mut(), 9, null_mut()), null_error);
        assert_eq!(display(index, name, 4, 0, room, huge, null_mut()), argument);
        let text = symidx_text { data: name, length: 4 };
        let none = symidx_text { data: null(), length: 0 };
        let wrong = symidx_text { data: null(), length: 4 };
        assert_eq!(symidx_path(text, text, null_mut(), 9, null_mut()), null_error);
        assert_eq!(symidx_path(wrong, text, room, 9, null_mut()), null_error);
        assert_eq!(symidx_path(none, text, room, 9, null_mut()), S::SYMIDX_OK);
        assert_eq!(symidx_path(none, none, room, 9, null_mut()), S::SYMIDX_NONE);
    }
}

#[test]
fn wrong_pointers_are_refused_by_stores_modules_and_resolvers() {
    let (null_error, argument) = (S::SYMIDX_ERROR_NULL, S::SYMIDX_ERROR_ARGUMENT);
    let (mut store, mut modules, mut resolver) = (null_mut(), null_mut(), null_mut());
    let (mut yes, mut number) = (false, 0usize);
    let mut words = [0u64; 64];
    unsafe {
        assert_eq!(symidx_store_new(0, null_mut()), null_error);
        assert_eq!(symidx_store_new(4, &mut store), argument);
        assert!(store.is_null());
        symidx_store_free(None);
        assert_eq!(symidx_store_add_directory(None, c"/".as_ptr()), null_error);
        assert_eq!(symidx_store_set_bounds(None, 1, 1), null_error);
        assert_eq!(symidx_store_usage(None, null_mut(), null_mut()), null_error);
        assert_eq!(symidx_store_evict(None, c"id".as_ptr().cast(), 2), null_error);
        assert_eq!(symidx_store_evict_unused(None, &mut number), null_error);
        assert_eq!(symidx_store_forget_missing(None), null_error);
        assert_eq!(symidx_store_new(SYMIDX_STORE_READ, &mut store), S::SYMIDX_OK);
        assert_eq!(symidx_store_add_directory(store.as_mut(), null()), null_error);
        assert_eq!(symidx_store_add_directory(store.as_mut(), c"".as_ptr()), argument);
        assert_eq!(symidx_store_evict(store.as_ref(), null(), 2), null_error);
        assert_eq!(symidx_store_evict(store.as_ref(), [1u8; 65].as_ptr(), 65), argument);
        assert_eq!(symidx_store_evict(store.as_ref(), [1u8; 20].as_ptr(), 20), S::SYMIDX_NONE);

        assert_eq!(symidx_modules_capture(null_mut()), null_error);
        assert_eq!(symidx_modules_from_pid(0, null_mut(), null_mut(), 0), null_error);
        assert_eq!(symidx_modules_from_maps(null(), 0, &mut modules, null_mut(), 0), null_error);
        let text = c"nonsense".as_ptr();
        let mut message = [0u8; 100];
        let room = message.as_mut_ptr().cast();
        let status = symidx_modules_from_maps(text, 8, &mut modules, room, 100);
        assert_eq!(status, S::SYMIDX_ERROR_MAPS);
        assert!(message.starts_with(b"line 1: expected"), "{message:?}");
        let status = symidx_modules_from_pid(u32::MAX, &mut modules, room, 100);
        assert_eq!(status, S::SYMIDX_ERROR_IO);
        assert!(message.starts_with(b"process 4294967295: expected a readable "));
        symidx_modules_free(None);
        assert_eq!(symidx_modules_changed(None, &mut yes), null_error);
        assert_eq!(symidx_modules_count(None), 0);
        assert_eq!(symidx_modules_get(None, 0, &mut fresh()), null_error);
        assert_eq!(symidx_modules_find(None, 0, &mut fresh()), null_error);
        assert_eq!(symidx_modules_capture(&mut modules), S::SYMIDX_OK);
        assert_eq!(symidx_modules_changed(modules.as_ref(), null_mut()), null_error);
        assert_eq!(symidx_modules_get(modules.as_ref(), 0, null_mut()), null_error);
        assert_eq!(symidx_modules_get(modules.as_ref(), u32::MAX, &mut fresh()), S::SYMIDX_NONE);
        assert_eq!(symidx_modules_find(modules.as_ref(), 0, null_mut()), null_error);
        assert_eq!(symidx_modules_find(modules.as_ref(), 0, &mut fresh()), S::SYMIDX_NO_MODULE);

        let (some_modules, some_store) = (modules.as_ref(), store.as_ref());
        assert_eq!(symidx_resolver_new(None, some_store, &mut resolver), null_error);
        assert_eq!(symidx_resolver_new(some_modules, None, &mut resolver), null_error);
        assert_eq!(symidx_resolver_new(some_modules, some_store, null_mut()), null_error);
        symidx_resolver_free(None);
        assert_eq!(symidx_resolver_update(None, &mut yes, null_mut(), 0), null_error);
        assert_eq!(symidx_resolver_open_for(None, null(), 0, null_mut()), null_error);
        assert_eq!(symidx_resolver_open_all(None, null_mut()), null_error);
        assert_eq!(symidx_resolver_add_index(None, 0, 1, 0, null_mut()), null_error);
        assert_eq!(symidx_resolver_clear_added(None), null_error);
        assert!(symidx_resolver_modules(None).is_null());
        assert!(symidx_resolver_index(None, 0).is_null());
        assert_eq!(symidx_resolver_missing(None, 0, null_mut(), 0), null_error);
        assert_eq!(symidx_resolver_budget(None, &mut fresh()), null_error);
        let mut symbol: symidx_symbol = fresh();
        let mut frame: symidx_frame = fresh();
        for lookup in [symidx_resolver_lookup, symidx_resolver_lookup_return] {
            assert_eq!(lookup(None, 0, &mut symbol), null_error);
        }
        for frames in [symidx_resolver_frames, symidx_resolver_frames_return] {
            assert_eq!(frames(None, 0, null_mut(), &mut frame, 1, null_mut()), null_error);
        }
        assert_eq!(symidx_resolver_batch(None, &1, 1, &mut symbol, null_mut()), null_error);
        assert_eq!(symidx_statistics_count(null_mut(), 0), null_error);

        let status = symidx_resolver_new(some_modules, some_store, &mut resolver);
        assert_eq!(status, S::SYMIDX_OK);
        let shared = || resolver.as_ref();
        assert_eq!(symidx_resolver_open_for(resolver.as_mut(), null(), 1, null_mut()), null_error);
        let odd = words.as_mut_ptr().cast::<u8>().add(1);
        let status = symidx_resolver_open_for(resolver.as_mut(), odd.cast(), 1, null_mut());
        assert_eq!(status, S::SYMIDX_ERROR_ALIGNMENT);
        assert_eq!(symidx_resolver_add_index(resolver.as_mut(), 0, 1, 0, null_mut()), null_error);
        assert_eq!(symidx_resolver_budget(resolver.as_mut(), null_mut()), null_error);
        assert_eq!(symidx_resolver_lookup(shared(), 0, null_mut()), null_error);
        let status = symidx_resolver_frames(shared(), 0, null_mut(), null_mut(), 1, null_mut());
        assert_eq!(status, null_error);
        assert_eq!(symidx_resolver_batch(shared(), null(), 1, &mut symbol, null_mut()), null_error);
        assert_eq!(symidx_resolver_batch(shared(), &1, 1, null_mut(), null_mut()), null_error);
        let none = u32::MAX;
        assert_eq!(symidx_resolver_missing(shared(), none, null_mut(), 0), S::SYMIDX_NONE);

        // A store that a resolver has is set up.
        let status = symidx_store_add_directory(store.as_mut(), c"/".as_ptr());
        assert_eq!(status, S::SYMIDX_ERROR_IN_USE);
        assert_eq!(symidx_store_set_bounds(store.as_mut(), 1, 1), S::SYMIDX_ERROR_IN_USE);
        symidx_resolver_free(Some(Box::from_raw(resolver)));
        assert_eq!(symidx_store_set_bounds(store.as_mut(), 1, 1), S::SYMIDX_OK);
        symidx_store_free(Some(Box::from_raw(store)));
        symidx_modules_free(Some(Box::from_raw(modules)));
    }
}

#[test]
fn statuses_are_counted() {
    let mut statistics: symidx_statistics = fresh();
    let count = |statistics: &mut symidx_statistics, status: i32| unsafe {
        symidx_statistics_count(statistics, status)
    };
    for status in (0..10).chain([12]) {
        for _ in 0..=status {
            assert_eq!(count(&mut statistics, status), S::SYMIDX_OK);
        }
    }
    assert_eq!(count(&mut statistics, S::SYMIDX_CUT as i32), S::SYMIDX_OK);
    for status in [10, 13, -1, -11, i32::MAX, i32::MIN] {
        assert_eq!(count(&mut statistics, status), S::SYMIDX_ERROR_ARGUMENT, "{status}");
    }
    let counts = [
        statistics.resolved,
        statistics.gap,
        statistics.no_module,
        statistics.anonymous,
        statistics.not_opened,
        statistics.no_index,
        statistics.stale_index,
        statistics.unusable_index,
        statistics.over_budget,
        statistics.corrupt,
        statistics.not_placed,
    ];
    assert_eq!(counts, [2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13]);
    assert_eq!(statistics.addresses, counts.iter().sum::<u64>());
    // An older caller's struct ends earlier.
    let mut short = [0u64; 8];
    short[0] = u64::from(u32::try_from(offset_of!(symidx_statistics, no_module)).unwrap());
    let status = unsafe { symidx_statistics_count(short.as_mut_ptr().cast(), 2) };
    assert_eq!(status, S::SYMIDX_OK);
    assert_eq!(short[1..], [1, 0, 0, 0, 0, 0, 0]);
}
