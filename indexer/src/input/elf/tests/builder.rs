//! Writes small ELF files, wrong ones too: every field is what the test says.

/// Class and byte order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) is_64: bool,
    pub(super) big: bool,
}

pub(super) const ALL: [Layout; 4] = [
    Layout { is_64: true, big: false },
    Layout { is_64: true, big: true },
    Layout { is_64: false, big: false },
    Layout { is_64: false, big: true },
];
pub(super) const LE64: Layout = ALL[0];
pub(super) const BE64: Layout = ALL[1];
pub(super) const LE32: Layout = ALL[2];

impl Layout {
    fn number(self, value: u64, size: usize) -> Vec<u8> {
        let little = value.to_le_bytes()[..size].to_vec();
        if self.big { little.into_iter().rev().collect() } else { little }
    }

    pub(super) fn u16(self, value: u64) -> Vec<u8> {
        self.number(value, 2)
    }

    pub(super) fn u32(self, value: u64) -> Vec<u8> {
        self.number(value, 4)
    }

    pub(super) fn word(self, value: u64) -> Vec<u8> {
        self.number(value, if self.is_64 { 8 } else { 4 })
    }

    pub(super) fn symbol(self, s: Sym) -> Vec<u8> {
        let (value, size) = (self.word(s.value), self.word(s.size));
        let (name, shndx) = (self.u32(s.name), self.u16(s.section));
        if self.is_64 {
            [name, vec![s.info, s.other], shndx, value, size].concat()
        } else {
            [name, value, size, vec![s.info, s.other], shndx].concat()
        }
    }
}

/// One symbol record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sym {
    pub(super) name: u64,
    pub(super) info: u8,
    pub(super) other: u8,
    pub(super) section: u64,
    pub(super) value: u64,
    pub(super) size: u64,
}

/// One section.
#[derive(Clone, Debug, Default)]
pub(super) struct Sec {
    pub(super) name: &'static str,
    pub(super) kind: u64,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) data: Vec<u8>,
    /// `sh_size` when it is not the length of `data`.
    pub(super) size: Option<u64>,
    pub(super) link: u64,
    pub(super) info: u64,
    pub(super) entry_size: u64,
}

pub(super) const ALLOC: u64 = 2;
pub(super) const CODE: u64 = 6;
pub(super) const TLS: u64 = 0x402;

/// A file; sections are numbered from 1 in the order they were added.
#[derive(Clone, Debug)]
pub(super) struct Builder {
    pub(super) layout: Layout,
    pub(super) kind: u64,
    pub(super) machine: u64,
    pub(super) flags: u64,
    pub(super) sections: Vec<Sec>,
    /// (type, flags, offset, address, file size, memory size)
    pub(super) programs: Vec<[u64; 6]>,
    /// Counts and the name table's number in section 0.
    pub(super) extended: bool,
}

impl Builder {
    pub(super) fn new(layout: Layout) -> Self {
        let machine = if layout.is_64 { 62 } else { 3 };
        Self {
            layout,
            kind: 3,
            machine,
            flags: 0,
            sections: Vec::new(),
            programs: Vec::new(),
            extended: false,
        }
    }

    pub(super) fn section(&mut self, section: Sec) -> u64 {
        self.sections.push(section);
        self.sections.len() as u64
    }

    /// `.text` at 0x1000, 0x100 bytes.
    pub(super) fn text(&mut self) -> u64 {
        self.section(Sec {
            name: ".text",
            kind: 1,
            flags: CODE,
            address: 0x1000,
            data: vec![0x90; 0x100],
            ..Sec::default()
        })
    }

    /// A symbol table and its string table; `name` in the symbols is replaced
    /// by the offset of the name beside it.
    pub(super) fn symbols(&mut self, symbols: &[(&str, Sym)]) -> u64 {
        let mut strings = vec![0];
        let mut data = self.layout.symbol(Sym::default());
        for (name, symbol) in symbols {
            let at = if name.is_empty() { 0 } else { strings.len() as u64 };
            if !name.is_empty() {
                strings.extend_from_slice(name.as_bytes());
                strings.push(0);
            }
            data.extend(self.layout.symbol(Sym { name: at, ..*symbol }));
        }
        let strings =
            self.section(Sec { name: ".strtab", kind: 3, data: strings, ..Sec::default() });
        self.section(Sec {
            name: ".symtab",
            kind: 2,
            data,
            link: strings,
            entry_size: if self.layout.is_64 { 24 } else { 16 },
            ..Sec::default()
        })
    }

    pub(super) fn build(&self) -> Vec<u8> {
        let l = self.layout;
        let (header, program, section) = if l.is_64 { (64, 56, 64) } else { (52, 32, 40) };
        let mut sections = vec![Sec::default()];
        sections.extend(self.sections.iter().cloned());
        let mut names = vec![0];
        let mut name_at = Vec::new();
        for name in sections.iter().map(|s| s.name).chain([".shstrtab"]) {
            name_at.push(if name.is_empty() { 0 } else { names.len() as u64 });
            names.extend_from_slice(name.as_bytes());
            names.push(0);
        }
        sections.push(Sec { name: ".shstrtab", kind: 3, data: names, ..Sec::default() });
        let count = sections.len() as u64;
        let mut body = Vec::new();
        let start = header + program * self.programs.len();
        let mut offsets = Vec::new();
        for s in &sections {
            while !(start + body.len()).is_multiple_of(8) {
                body.push(0);
            }
            offsets.push((start + body.len()) as u64);
            body.extend_from_slice(&s.data);
        }
        while !(start + body.len()).is_multiple_of(8) {
            body.push(0);
        }
        let table_at = (start + body.len()) as u64;
        let (short_count, short_names) =
            if self.extended { (0, 0xffff) } else { (count, count - 1) };
        let mut out = vec![0x7f, b'E', b'L', b'F', 1 + u8::from(l.is_64), 1 + u8::from(l.big), 1];
        out.resize(16, 0);
        out.extend([l.u16(self.kind), l.u16(self.machine), l.u32(1), l.word(0)].concat());
        let programs_at = if self.programs.is_empty() { 0 } else { header as u64 };
        out.extend([l.word(programs_at), l.word(table_at), l.u32(self.flags)].concat());
        for value in [
            header as u64,
            program as u64,
            self.programs.len() as u64,
            section,
            short_count,
            short_names,
        ] {
            out.extend(l.u16(value));
        }
        for &[kind, flags, offset, address, file_size, memory_size] in &self.programs {
            out.extend(l.u32(kind));
            if l.is_64 {
                out.extend(l.u32(flags));
            }
            for value in [offset, address, address, file_size, memory_size] {
                out.extend(l.word(value));
            }
            if !l.is_64 {
                out.extend(l.u32(flags));
            }
            out.extend(l.word(0x1000));
        }
        out.extend(body);
        for (index, s) in sections.iter().enumerate() {
            let mut size = s.size.unwrap_or(s.data.len() as u64);
            let mut link = s.link;
            if index == 0 && self.extended {
                (size, link) = (count, count - 1);
            }
            out.extend([l.u32(name_at[index]), l.u32(s.kind), l.word(s.flags)].concat());
            out.extend([l.word(s.address), l.word(offsets[index]), l.word(size)].concat());
            out.extend([l.u32(link), l.u32(s.info), l.word(1), l.word(s.entry_size)].concat());
        }
        out
    }
}
