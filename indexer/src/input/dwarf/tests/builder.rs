//! Writes small DWARF, wrong one too: every value is what the test says.

use std::collections::HashMap;

use gimli::constants::*;
use gimli::{DwAt, DwForm, DwTag};

use crate::model::DwarfSections;

/// How numbers are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) version: u16,
    pub(super) big: bool,
    /// 64-bit DWARF.
    pub(super) wide: bool,
    /// Bytes in an address.
    pub(super) address: usize,
}

pub(super) const V2: Shape = Shape { version: 2, ..V5 };
pub(super) const V3: Shape = Shape { version: 3, ..V5 };
pub(super) const V4: Shape = Shape { version: 4, ..V5 };
pub(super) const V5: Shape = Shape { version: 5, big: false, wide: false, address: 8 };
pub(super) const BE32: Shape = Shape { big: true, address: 4, ..V5 };

/// Every version, both byte orders, both DWARF formats, both address sizes.
pub(super) fn every_shape() -> impl Iterator<Item = Shape> {
    (2..=5_u16).flat_map(|version| {
        (0..8_u8).map(move |bits| Shape {
            version,
            big: bits & 1 != 0,
            wide: bits & 2 != 0 && version > 2,
            address: if bits & 4 != 0 { 4 } else { 8 },
        })
    })
}

/// Bytes in a shape.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    pub(super) shape: Shape,
    pub(super) bytes: Vec<u8>,
}

impl Bytes {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, bytes: Vec::new() }
    }

    pub(super) fn uint(&mut self, value: u64, size: usize) -> &mut Self {
        let at = self.bytes.len();
        self.bytes.extend(std::iter::repeat_n(0, size));
        self.patch(at, value, size);
        self
    }

    pub(super) fn patch(&mut self, at: usize, value: u64, size: usize) {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if self.shape.big {
            bytes.reverse();
        }
        self.bytes[at..at + size].copy_from_slice(&bytes);
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.uint(value.into(), 1)
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.uint(value.into(), 2)
    }

    pub(super) fn address(&mut self, value: u64) -> &mut Self {
        self.uint(value, self.shape.address)
    }

    pub(super) fn offset(&mut self, value: u64) -> &mut Self {
        self.uint(value, if self.shape.wide { 8 } else { 4 })
    }

    pub(super) fn uleb(&mut self, mut value: u64) -> &mut Self {
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            self.bytes.push(byte | if value > 0 { 0x80 } else { 0 });
            if value == 0 {
                return self;
            }
        }
    }

    pub(super) fn sleb(&mut self, mut value: i64) -> &mut Self {
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            let done = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
            self.bytes.push(byte | if done { 0 } else { 0x80 });
            if done {
                return self;
            }
        }
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend(text.bytes());
        self.u8(0)
    }

    /// Starts something with a length before it; [`Self::end`] writes the length.
    pub(super) fn begin(&mut self) -> usize {
        if self.shape.wide {
            self.uint(0xffff_ffff, 4);
        }
        self.offset(0);
        self.bytes.len()
    }

    pub(super) fn end(&mut self, start: usize) {
        let length = self.bytes.len() - start;
        let size = if self.shape.wide { 8 } else { 4 };
        self.patch(start - size, length as u64, size);
    }
}

/// An attribute's value and its form.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Address(u64),
    Number(u64),
    Text(&'static str),
    /// An expression, shorter than 128 bytes.
    Block(&'static [u8]),
    /// A DIE of the same unit.
    Here(&'static str),
    /// A DIE of any unit of the file.
    Far(&'static str),
    /// A form that takes an offset.
    Offset(DwForm, u64),
    /// An offset in another section.
    Section(u64),
    /// An index, in a form of DWARF 5.
    Index(DwForm, u64),
}

use Value::*;

/// An abbreviation: tag, children, names and forms.
type Pattern = (u16, bool, Vec<(u16, u16)>);

/// Sections under construction.
pub(super) struct Builder {
    pub(super) shape: Shape,
    pub(super) info: Bytes,
    pub(super) abbrev: Bytes,
    pub(super) line: Bytes,
    pub(super) ranges: Bytes,
    pub(super) rnglists: Bytes,
    pub(super) addr: Bytes,
    codes: HashMap<Pattern, u64>,
    labels: HashMap<&'static str, (usize, usize)>,
    /// (place, unit's start when relative, label)
    fixes: Vec<(usize, Option<usize>, &'static str)>,
    /// (start of the unit, start of what its length counts)
    unit: (usize, usize),
    /// Start of what the length of the open line program counts.
    unit_lines: usize,
    last_line: i64,
}

impl Builder {
    pub(super) fn new(shape: Shape) -> Self {
        let empty = || Bytes::new(shape);
        Self {
            shape,
            info: empty(),
            abbrev: empty(),
            line: empty(),
            ranges: empty(),
            rnglists: empty(),
            addr: empty(),
            codes: HashMap::new(),
            labels: HashMap::new(),
            fixes: Vec::new(),
            unit: (0, 0),
            unit_lines: 0,
            last_line: 1,
        }
    }

    /// Starts a unit: its header and its root DIE.
    pub(super) fn unit(&mut self, attributes: &[(DwAt, Value)]) {
        self.unit_of(DW_UT_compile, None, DW_TAG_compile_unit, attributes);
    }

    pub(super) fn unit_of(
        &mut self,
        kind: DwUt,
        id: Option<u64>,
        tag: DwTag,
        attributes: &[(DwAt, Value)],
    ) {
        let start = self.info.bytes.len();
        let inside = self.info.begin();
        let (version, address) = (self.shape.version, self.shape.address as u8);
        self.info.u16(version);
        if version >= 5 {
            self.info.u8(kind.0).u8(address).offset(0);
            if let Some(id) = id {
                self.info.uint(id, 8);
            }
        } else {
            self.info.offset(0).u8(address);
        }
        self.unit = (start, inside);
        self.open("", tag, attributes);
    }

    /// Closes the root DIE and ends the unit.
    pub(super) fn end_unit(&mut self) {
        self.close();
        self.info.end(self.unit.1);
    }

    /// A DIE that others follow as its children, up to [`Self::close`].
    pub(super) fn open(&mut self, label: &'static str, tag: DwTag, attributes: &[(DwAt, Value)]) {
        self.die(label, tag, true, attributes);
    }

    pub(super) fn close(&mut self) {
        self.info.u8(0);
    }

    /// A DIE without children.
    pub(super) fn leaf(&mut self, label: &'static str, tag: DwTag, attributes: &[(DwAt, Value)]) {
        self.die(label, tag, false, attributes);
    }

    fn die(&mut self, label: &'static str, tag: DwTag, open: bool, attributes: &[(DwAt, Value)]) {
        let section = match self.shape {
            Shape { version: 4.., .. } => DW_FORM_sec_offset,
            Shape { wide: true, .. } => DW_FORM_data8,
            _ => DW_FORM_data4,
        };
        let forms: Vec<(u16, u16)> = attributes
            .iter()
            .map(|(name, value)| {
                let form = match value {
                    Address(_) => DW_FORM_addr,
                    Number(_) => DW_FORM_udata,
                    Text(_) => DW_FORM_string,
                    Block(_) => DW_FORM_exprloc,
                    Here(_) => DW_FORM_ref4,
                    Far(_) => DW_FORM_ref_addr,
                    Section(_) => section,
                    Index(form, _) | Offset(form, _) => *form,
                };
                (name.0, form.0)
            })
            .collect();
        let next = self.codes.len() as u64 + 1;
        let code = *self.codes.entry((tag.0, open, forms.clone())).or_insert_with(|| {
            self.abbrev.uleb(next).uleb(tag.0.into()).u8(open.into());
            for (name, form) in forms {
                self.abbrev.uleb(name.into()).uleb(form.into());
            }
            self.abbrev.u8(0).u8(0);
            next
        });
        self.labels.insert(label, (self.unit.0, self.info.bytes.len()));
        self.info.uleb(code);
        for (_, value) in attributes {
            match *value {
                Address(address) => self.info.address(address),
                Number(number) | Index(_, number) => self.info.uleb(number),
                Text(text) => self.info.text(text),
                Block(bytes) => {
                    self.info.uleb(bytes.len() as u64);
                    bytes.iter().fold(&mut self.info, |info, &byte| info.u8(byte))
                }
                Here(label) => {
                    self.fixes.push((self.info.bytes.len(), Some(self.unit.0), label));
                    self.info.uint(0, 4)
                }
                Far(label) => {
                    self.fixes.push((self.info.bytes.len(), None, label));
                    // DWARF 2 writes it like an address.
                    if self.shape.version == 2 { self.info.address(0) } else { self.info.offset(0) }
                }
                Offset(_, offset) => self.info.offset(offset),
                Section(offset) => self.info.offset(offset),
            };
        }
    }

    /// Starts a line program with one directory, `inc`, and the files `main.c`
    /// and `inc/head.h`; returns its offset. In DWARF 5 they are 0 and 1, else
    /// 1 and 2. End it with [`Self::end_lines`].
    pub(super) fn lines(&mut self) -> u64 {
        let (shape, line) = (self.shape, &mut self.line);
        let offset = line.bytes.len() as u64;
        self.unit_lines = line.begin();
        line.u16(shape.version);
        if shape.version >= 5 {
            line.u8(shape.address as u8).u8(0);
        }
        line.offset(0);
        let after = line.bytes.len();
        line.u8(1);
        if shape.version >= 4 {
            line.u8(1);
        }
        // line_base −3, line_range 12, opcode_base 13
        line.u8(1).u8(0xfd).u8(12).u8(13);
        line.bytes.extend([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
        if shape.version >= 5 {
            line.u8(1).uleb(DW_LNCT_path.0.into()).uleb(DW_FORM_string.0.into());
            line.uleb(2).text("/comp").text("inc");
            line.u8(2).uleb(DW_LNCT_path.0.into()).uleb(DW_FORM_string.0.into());
            line.uleb(DW_LNCT_directory_index.0.into()).uleb(DW_FORM_udata.0.into());
            line.uleb(2).text("main.c").uleb(0).text("head.h").uleb(1);
        } else {
            line.text("inc").u8(0);
            line.text("main.c").uleb(0).uleb(0).uleb(0);
            line.text("head.h").uleb(1).uleb(0).uleb(0).u8(0);
        }
        let size = if shape.wide { 8 } else { 4 };
        let length = (line.bytes.len() - after) as u64;
        line.patch(after - size, length, size);
        offset
    }

    /// A row, with every register set.
    pub(super) fn row(&mut self, address: u64, file: u64, line: i64, column: u64) {
        self.set_address(address);
        let before = std::mem::replace(&mut self.last_line, line);
        let out = &mut self.line;
        out.u8(DW_LNS_set_file.0).uleb(file);
        out.u8(DW_LNS_set_column.0).uleb(column);
        out.u8(DW_LNS_advance_line.0).sleb(line - before);
        out.u8(DW_LNS_copy.0);
    }

    pub(super) fn set_address(&mut self, address: u64) {
        let size = self.shape.address as u64;
        self.line.u8(0).uleb(size + 1).u8(DW_LNE_set_address.0).address(address);
    }

    pub(super) fn end_sequence(&mut self, address: u64) {
        self.set_address(address);
        self.line.u8(0).uleb(1).u8(DW_LNE_end_sequence.0);
        self.last_line = 1;
    }

    pub(super) fn end_lines(&mut self) {
        self.line.end(self.unit_lines);
        self.last_line = 1;
    }

    /// A range list in the section of the version; its offset.
    pub(super) fn range_list(&mut self, ranges: &[(u64, u64)]) -> u64 {
        if self.shape.version >= 5 {
            let out = &mut self.rnglists;
            let offset = out.bytes.len() as u64;
            for &(start, end) in ranges {
                out.u8(DW_RLE_start_end.0).address(start).address(end);
            }
            out.u8(DW_RLE_end_of_list.0);
            return offset;
        }
        let out = &mut self.ranges;
        let offset = out.bytes.len() as u64;
        for &(start, end) in ranges {
            out.address(start).address(end);
        }
        out.address(0).address(0);
        offset
    }

    /// Where the DIE with a label is in `.debug_info`.
    pub(super) fn offset_of(&self, label: &str) -> u64 {
        self.labels[label].1 as u64
    }

    /// The sections, with all references in place.
    pub(super) fn build(mut self) -> DwarfSections<'static> {
        for (place, unit, label) in std::mem::take(&mut self.fixes) {
            let (_, target) = self.labels[label];
            let size = match unit {
                Some(_) => 4,
                None if self.shape.version == 2 => self.shape.address,
                None if self.shape.wide => 8,
                None => 4,
            };
            let value = target - unit.unwrap_or(0);
            self.info.patch(place, value as u64, size);
        }
        self.abbrev.u8(0);
        DwarfSections {
            abbrev: self.abbrev.bytes.leak(),
            addr: self.addr.bytes.leak(),
            info: self.info.bytes.leak(),
            line: self.line.bytes.leak(),
            ranges: self.ranges.bytes.leak(),
            rnglists: self.rnglists.bytes.leak(),
            ..DwarfSections::default()
        }
    }
}
