//! ELF files made by hand: a header, segments, a note, and perhaps sections.
//!
//! In: what the file is to say. Out: its bytes. Needs no compiler or linker.

#![allow(
    dead_code,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

use std::vec;
use std::vec::Vec;

/// What the file says.
#[derive(Clone, Debug)]
pub(crate) struct SmallElf {
    pub(crate) is_64: bool,
    pub(crate) big: bool,
    /// Empty = no note.
    pub(crate) id: Vec<u8>,
    pub(crate) note_align: u64,
    /// File offset, svma, bytes in the file, bytes in memory, flags.
    pub(crate) loads: Vec<[u64; 5]>,
    /// Counts stand in section header 0.
    pub(crate) extended: bool,
    /// Content of a section `.symidx`.
    pub(crate) embedded: Option<Vec<u8>>,
}

impl Default for SmallElf {
    fn default() -> Self {
        Self {
            is_64: true,
            big: false,
            id: (1..=20).collect(),
            note_align: 4,
            loads: vec![[0, 0, 0x1000, 0x1000, 4], [0x1000, 0x2000, 0x800, 0x1800, 6]],
            extended: false,
            embedded: None,
        }
    }
}

impl SmallElf {
    pub(crate) fn with_id(id: &[u8]) -> Self {
        Self { id: id.to_vec(), ..Self::default() }
    }

    fn put(&self, to: &mut Vec<u8>, value: u64, width: usize) {
        let bytes = value.to_be_bytes();
        let mut bytes = bytes[8 - width..].to_vec();
        if !self.big {
            bytes.reverse();
        }
        to.extend(bytes);
    }

    /// A field as wide as an address.
    fn word(&self, to: &mut Vec<u8>, value: u64) {
        self.put(to, value, if self.is_64 { 8 } else { 4 });
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (header, program, section) =
            if self.is_64 { (64usize, 56usize, 64usize) } else { (52, 32, 40) };
        let headers = self.loads.len() + 1;
        let note_at = (header + program * headers).next_multiple_of(8);
        let mut note = Vec::new();
        // Another note comes first.
        for (kind, content) in [(1u64, &b"abc"[..]), (3, &self.id)] {
            if content.is_empty() {
                continue;
            }
            let start = note.len();
            self.put(&mut note, 4, 4);
            self.put(&mut note, content.len() as u64, 4);
            self.put(&mut note, kind, 4);
            note.extend(b"GNU\0");
            let align = self.note_align.clamp(4, 8) as usize;
            note.resize(start + (note.len() - start).next_multiple_of(align), 0);
            note.extend(content);
            note.resize(start + (note.len() - start).next_multiple_of(align), 0);
        }
        let names_at = note_at + note.len();
        let names = b"\0.other\0.shstrtab\0.symidx\0";
        let content_at = names_at + names.len();
        let content = self.embedded.clone().unwrap_or_default();
        let sections_at = (content_at + content.len()).next_multiple_of(8);
        let has_sections = self.embedded.is_some() || self.extended;
        let section_count = if has_sections { 4 } else { 0 };

        let mut out =
            vec![0x7f, b'E', b'L', b'F', 1 + u8::from(self.is_64), 1 + u8::from(self.big)];
        out.resize(16, 0);
        for (value, width) in [(3, 2), (62, 2), (1, 4)] {
            self.put(&mut out, value, width);
        }
        self.word(&mut out, 0);
        self.word(&mut out, header as u64);
        self.word(&mut out, if has_sections { sections_at as u64 } else { 0 });
        self.put(&mut out, 0, 4);
        let (phnum, shnum, shstrndx) = match self.extended {
            true => (0xffff, 0, 0xffff),
            false => (headers as u64, section_count, 2 * u64::from(has_sections)),
        };
        for value in [header as u64, program as u64, phnum, section as u64, shnum, shstrndx] {
            self.put(&mut out, value, 2);
        }
        assert_eq!(out.len(), header);
        for [offset, svma, file_size, memory_size, flags] in &self.loads {
            self.program(&mut out, [1, *flags, *offset, *svma, *file_size, *memory_size, 0x1000]);
        }
        let (at, size) = (note_at as u64, note.len() as u64);
        self.program(&mut out, [4, 4, at, at, size, size, self.note_align]);
        out.resize(note_at, 0);
        out.extend(note);
        out.extend(names);
        out.extend(&content);
        if has_sections {
            out.resize(sections_at, 0);
            let first = match self.extended {
                true => [0, 0, section_count, 2, headers as u64],
                false => [0; 5],
            };
            self.section(&mut out, first);
            self.section(&mut out, [1, 0, 0, 0, 0]);
            self.section(&mut out, [8, names_at as u64, names.len() as u64, 0, 0]);
            self.section(&mut out, [18, content_at as u64, content.len() as u64, 0, 0]);
        }
        out
    }

    fn program(&self, to: &mut Vec<u8>, header: [u64; 7]) {
        let [kind, flags, offset, svma, file_size, memory_size, align] = header;
        self.put(to, kind, 4);
        if self.is_64 {
            self.put(to, flags, 4);
        }
        for value in [offset, svma, svma, file_size, memory_size] {
            self.word(to, value);
        }
        if !self.is_64 {
            self.put(to, flags, 4);
        }
        self.word(to, align);
    }

    fn section(&self, to: &mut Vec<u8>, [name, offset, size, link, info]: [u64; 5]) {
        self.put(to, name, 4);
        self.put(to, 1, 4);
        for value in [0, 0, offset, size] {
            self.word(to, value);
        }
        self.put(to, link, 4);
        self.put(to, info, 4);
        self.word(to, 1);
        self.word(to, 0);
    }
}
