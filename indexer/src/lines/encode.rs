//! Encoding: all that is known of lines, and the settled symbols, in; the
//! bytes of the line and inline sections out.
//!
//! Each piece's nodes are written once, in address order, so that what a
//! lookup follows lies close together; rows refer to nodes by their place.

use std::collections::HashMap;

use symidx::format::lines::{
    FileEntry, FunctionEntry, LineSpan, MAX_FRAMES, NODE_FIELDS, ROOT_IS_SYMBOL,
};

use super::functions::{Functions, Written, base_of};
use super::overlap::{Claim, Segment, fill, settle};
use super::pack::Rows;
use super::window::{Origin, Windows, is_far};
use super::{Lines, PackedPiece, PackedUnit, files};
use crate::model::lines::{NONE, Node, Row};
use crate::model::{AddressKind, Image, Report};
use crate::normalise::Normalised;
use crate::varint::{Numbers, zigzag};

/// Bytes of lines that a byte of DWARF can be worth; real ones come to a tenth
/// of one. Sections and functions may claim any size, so something must end.
const LINES_PER_BYTE: u64 = 4;

/// So many rows with far lines are worth a function of their own: it takes 12
/// bytes and its node 6, and a far line takes 2 more than a near one.
const WORTH_A_FUNCTION: usize = 12;

/// The line and inline sections, names still apart.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// # let normalised = symidx_indexer::normalise::normalise(&mut image, Default::default());
/// use symidx_indexer::lines::{EncodedLines, Lines, encode};
///
/// let lines = Lines::from_units(&[unit]);
/// let encoded: EncodedLines<'_> = encode(&lines, &image, &normalised, &mut report);
/// assert_eq!(encoded.functions.len(), encoded.function_names.len()); // names get places later
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct EncodedLines<'data> {
    /// Key order.
    pub spans: Vec<LineSpan>,
    /// Window starts of all spans.
    pub windows: Vec<u32>,
    /// Windows, end to end.
    pub lines: Vec<u8>,
    /// Nodes, end to end.
    pub inlines: Vec<u8>,
    /// Functions; their names are not placed yet.
    pub functions: Vec<FunctionEntry>,
    /// The name of each.
    pub function_names: Vec<&'data [u8]>,
    /// Files; their names are not placed yet.
    pub files: Vec<FileEntry>,
    /// Directory and name of each.
    pub file_names: Vec<(Vec<u8>, &'data [u8])>,
    /// Rows: neighbours that say the same are one.
    pub rows: u64,
    /// Functions inlined somewhere, each place counted.
    pub inlined: u64,
}

/// Encodes the lines of an image whose symbols are settled.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// # let normalised = symidx_indexer::normalise::normalise(&mut image, Default::default());
/// let lines = symidx_indexer::lines::Lines::from_units(&[unit]);
/// let encoded = symidx_indexer::lines::encode(&lines, &image, &normalised, &mut report);
/// assert!(encoded.function_names.contains(&&b"leaf"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode<'data>(
    lines: &Lines<'data>,
    image: &Image<'data>,
    normalised: &Normalised<'data>,
    report: &mut Report,
) -> EncodedLines<'data> {
    let mut encoder = Encoder::new(lines, normalised, report);
    let relocatable = image.addresses == AddressKind::SectionOffset;
    // One run of claims for each section of a relocatable image, else one.
    let key = |piece: &PackedPiece| if relocatable { piece.section } else { NONE };
    let mut order: Vec<u32> = (0..u32::try_from(lines.pieces.len()).unwrap_or(NONE)).collect();
    let piece = |number: u32| usize::try_from(number).ok().and_then(|at| lines.pieces.get(at));
    order.sort_by_key(|&number| piece(number).map(|piece| (key(piece), piece.start)));
    let same = |a: &u32, b: &u32| piece(*a).map(key) == piece(*b).map(key);
    for run in order.chunk_by(same) {
        let section = run.first().and_then(|&first| piece(first)).map_or(NONE, key);
        let (mut functions, mut outside) = (Vec::new(), Vec::new());
        let mut start_before = None;
        for (i, &number) in run.iter().enumerate() {
            let Some(this) = piece(number) else { continue };
            let start_next = run.get(i.saturating_add(1)).and_then(|&n| piece(n)).map(|p| p.start);
            let shared = start_before == Some(this.start) || start_next == Some(this.start);
            start_before = Some(this.start);
            let named = shared && this.inside && is_primary(lines, normalised, section, this);
            let rank = (!named, this.unit, std::cmp::Reverse(number));
            let end = this.start.saturating_add(this.size);
            let claim = Claim { start: this.start, end, piece: number, rank };
            if this.inside { functions.push(claim) } else { outside.push(claim) }
        }
        let segments = fill(settle(&mut functions), &mut outside);
        for segment in segments {
            encoder.segment(section, &segment, report);
        }
        // Pieces whose rest others cover.
        encoder.interrupted.clear();
    }
    encoder.finish()
}

/// True when the symbol at the start of a function has the function's name:
/// of folded functions the one that the index names by address.
fn is_primary(
    lines: &Lines<'_>,
    normalised: &Normalised<'_>,
    section: u32,
    piece: &PackedPiece,
) -> bool {
    let wanted = usize::try_from(piece.function).ok().and_then(|at| lines.functions.get(at));
    let key = |space: &crate::normalise::Space| (space.section.unwrap_or(NONE), space.start);
    let after = normalised.spaces.partition_point(|space| key(space) <= (section, piece.start));
    let space = after.checked_sub(1).and_then(|at| normalised.spaces.get(at));
    let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let owners = space.and_then(|space| {
        normalised.owners.get(place(space.owners.start)..place(space.owners.end))
    });
    let owners = owners.unwrap_or(&[]);
    let first = owners.partition_point(|owner| owner.address < piece.start);
    let here = owners.get(first..).unwrap_or(&[]);
    here.iter().take_while(|owner| owner.address == piece.start).any(|owner| {
        let primary = normalised.primary(owner).map(|symbol| symbol.name);
        primary.is_some() && primary == wanted.map(|(function, _)| function.name)
    })
}

struct Encoder<'a, 'data> {
    lines: &'a Lines<'data>,
    symbols: &'a Normalised<'data>,
    /// Bytes of lines after which no more are written.
    limit: u64,
    functions: Functions<'data>,
    /// For each file of `lines` its number in the file.
    files: Vec<u32>,
    /// The one node of each function without a name.
    outside_nodes: HashMap<u32, u32>,
    out: EncodedLines<'data>,
    windows: Windows,
    nodes: Vec<Node>,
    /// For each node of the piece its offset, and the function it is of.
    placed: Vec<Placed>,
    /// Further roots of the piece, for rows whose lines are far from the function's;
    /// by function and line.
    far: Vec<FarRoot>,
    /// Pieces that others interrupt, by number: where they go on.
    interrupted: HashMap<u32, Interrupted<'a>>,
    known: HashMap<(u32, Node), u32>,
}

/// The function that a piece is of.
#[derive(Clone, Copy, Debug)]
struct Root {
    /// Of `lines`.
    function: u32,
    /// In the file.
    number: u32,
    /// Every symbol that covers a part of the piece has the name it has there.
    is_symbol: bool,
    /// Its number with DWARF's name, where that is another.
    stated: Option<u32>,
}

/// A root for rows that count from another line than the function's own.
#[derive(Clone, Copy, Debug)]
struct FarRoot {
    offset: u32,
    /// Of `lines`.
    function: u32,
    written: Written,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    offset: u32,
    function: u32,
    depth: u32,
}

/// A piece of which a part is written: its nodes, the row at hand and those
/// behind it.
struct Interrupted<'a> {
    placed: Vec<Placed>,
    far: Vec<FarRoot>,
    row: Option<Row>,
    rest: Rows<'a>,
}

impl Root {
    /// The fields of a root node: the piece's own, or one of another function.
    fn node(&self, function: u32, number: u32) -> [u32; 4] {
        match (self.is_symbol && self.function == function, self.stated) {
            (false, _) => [number, 0, 0, 0],
            (true, None) => [self.number, 0, ROOT_IS_SYMBOL, 0],
            (true, Some(stated)) => [self.number, 0, ROOT_IS_SYMBOL, stated.saturating_add(1)],
        }
    }
}

impl<'a, 'data> Encoder<'a, 'data> {
    fn new(lines: &'a Lines<'data>, symbols: &'a Normalised<'data>, report: &mut Report) -> Self {
        let mut this = Self {
            lines,
            symbols,
            // Half of what a node's offset and its link can reach.
            limit: lines.weight.saturating_mul(LINES_PER_BYTE).saturating_add(1 << 20).min(1 << 30),
            functions: Functions::default(),
            files: Vec::new(),
            outside_nodes: HashMap::new(),
            out: EncodedLines::default(),
            windows: Windows::default(),
            nodes: Vec::new(),
            placed: Vec::new(),
            far: Vec::new(),
            interrupted: HashMap::new(),
            known: HashMap::new(),
        };
        this.number_files(report);
        this.functions = Functions::new(&lines.functions, |file| this.file(file));
        this
    }

    /// Files whose parts come to the same path are one. Many may share a long
    /// directory, which is joined for each: so this is bounded as lines are.
    fn number_files(&mut self, report: &mut Report) {
        let mut known: HashMap<(Vec<u8>, &[u8]), u32> = HashMap::new();
        let mut left = self.limit;
        for file in &self.lines.files {
            match left.checked_sub(u64::try_from(file.len()).unwrap_or(u64::MAX)) {
                Some(rest) => left = rest,
                None => {
                    report.skip("source files beyond what their DWARF can hold");
                    self.files.push(NONE);
                    continue;
                }
            }
            let path = (files::directory(file), file.name);
            let next = u32::try_from(self.out.file_names.len()).unwrap_or(NONE);
            let number = *known.entry(path).or_insert_with_key(|path| {
                self.out.file_names.push(path.clone());
                next
            });
            self.files.push(number);
        }
        let entry = FileEntry {
            directory: 0.into(),
            name: 0.into(),
            directory_len: 0.into(),
            name_len: 0.into(),
        };
        self.out.files = vec![entry; self.out.file_names.len()];
    }

    /// The number in the file of one of `lines`' files.
    fn file(&self, file: u32) -> u32 {
        usize::try_from(file).ok().and_then(|at| self.files.get(at)).copied().unwrap_or(NONE)
    }

    /// Writes the rows of a segment. Those of one piece come in order: each
    /// goes on where the last one stopped, or the work would be quadratic.
    fn segment(&mut self, section: u32, segment: &Segment, report: &mut Report) {
        let lines = self.lines;
        let at = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let Some(piece) = lines.pieces.get(at(segment.piece)) else { return };
        let Some(unit) = lines.units.get(at(piece.unit)) else { return };
        let (mut row, mut rest) = match self.interrupted.remove(&segment.piece) {
            Some(Interrupted { placed, far, row, rest }) => {
                (self.placed, self.far) = (placed, far);
                (row, rest)
            }
            None => {
                let mut rows = self.begin(section, piece, unit, report);
                (rows.next(), rows)
            }
        };
        let place = |offset: u32| piece.start.saturating_add(offset.into());
        let piece_end = piece.start.saturating_add(piece.size);
        while let Some(this) = row {
            let mut behind = rest;
            let next = behind.next();
            let row_end = next.map_or(piece_end, |next| place(next.offset));
            let start = place(this.offset).max(segment.start);
            let end = row_end.min(segment.end);
            if start < end {
                let file = self.file(unit.file(this.file));
                let written = self.windows.lines.len().max(self.out.inlines.len());
                if u64::try_from(written).unwrap_or(u64::MAX) > self.limit {
                    report.skip("line rows beyond what their DWARF can hold");
                } else if let Some(origin) = self.origin(&this, file) {
                    self.windows.push(section, start, end, origin);
                }
            }
            if row_end > segment.end {
                break;
            }
            (row, rest) = (next, behind);
        }
        if row.is_some() {
            let (placed, far) = (std::mem::take(&mut self.placed), std::mem::take(&mut self.far));
            self.interrupted.insert(segment.piece, Interrupted { placed, far, row, rest });
        }
    }

    /// Places the nodes of a piece; its rows.
    fn begin(
        &mut self,
        section: u32,
        piece: &PackedPiece,
        unit: &'a PackedUnit,
        report: &mut Report,
    ) -> Rows<'a> {
        let at = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let bytes = unit.bytes.get(at(piece.bytes.0)..at(piece.bytes.1)).unwrap_or(&[]);
        let mut numbers = Numbers::new(bytes);
        let mut nodes = std::mem::take(&mut self.nodes);
        numbers.nodes(&mut nodes);
        for node in &mut nodes {
            node.function = unit.functions.get(at(node.function)).copied().unwrap_or(NONE);
            node.call_file = self.file(unit.file(node.call_file));
            if self.lines.no_columns {
                node.call_column = 0;
            }
        }
        // A function without a declared place counts from its first row.
        self.settle_places(&nodes, unit, numbers.rows());
        let range = piece.start..piece.start.saturating_add(piece.size);
        let root = self.root(piece.function, self.symbols.name_of_range(section, range));
        self.place_nodes(&nodes, root, report);
        self.place_far_roots(root, numbers.rows());
        self.nodes = nodes;
        numbers.rows()
    }

    fn settle_places(
        &mut self,
        nodes: &[Node],
        unit: &PackedUnit,
        rows: impl Iterator<Item = Row>,
    ) {
        if !nodes.iter().any(|node| self.functions.is_open(node.function)) {
            return;
        }
        let function = |node: u32| {
            let node = usize::try_from(node).ok().and_then(|at| nodes.get(at));
            node.map_or(NONE, |node| node.function)
        };
        for row in rows {
            let file = self.file(unit.file(row.file));
            self.functions.settle(function(row.node), file, row.line);
        }
        for node in nodes {
            self.functions.settle(function(node.parent), node.call_file, node.call_line);
        }
    }

    /// Writes the piece's nodes; equal calls of one function are one.
    fn place_nodes(&mut self, nodes: &[Node], root: Root, report: &mut Report) {
        self.placed.clear();
        self.known.clear();
        for node in nodes {
            let parent =
                usize::try_from(node.parent).ok().and_then(|at| self.placed.get(at)).copied();
            let placed = match parent {
                // The chain is full: what is inlined deeper counts as its caller's.
                Some(parent) if parent.depth.saturating_add(1) >= MAX_FRAMES => {
                    report.skip("inlined functions nested deeper than 512 frames");
                    parent
                }
                _ => self.place_node(node, parent, root),
            };
            self.placed.push(placed);
        }
    }

    fn place_node(&mut self, node: &Node, parent: Option<Placed>, root: Root) -> Placed {
        let depth = parent.map_or(0, |parent| parent.depth.saturating_add(1));
        let key = (parent.map_or(NONE, |parent| parent.offset), Node { parent: 0, ..*node });
        if let Some(&offset) = self.known.get(&key) {
            return Placed { offset, function: node.function, depth };
        }
        let offset = u32::try_from(self.out.inlines.len()).unwrap_or(NONE);
        let written = self.functions.written(node.function);
        let caller = parent.map(|parent| (parent.offset, self.functions.written(parent.function)));
        let out = &mut self.out.inlines;
        match caller {
            None => put_node(out, root.node(node.function, written.number), None),
            Some((parent, caller)) => {
                let file = (node.call_file != caller.file).then_some(node.call_file);
                let distance = offset.saturating_sub(parent);
                let link = distance.saturating_mul(2) | u32::from(file.is_some());
                let line = line_from(node.call_line, caller.base);
                put_node(out, [written.number, link, line, node.call_column], file);
                self.out.inlined = self.out.inlined.saturating_add(1);
            }
        }
        self.known.insert(key, offset);
        Placed { offset, function: node.function, depth }
    }

    /// Writes further roots of a piece whose function was declared nowhere (those
    /// of assembly) where many rows are far from the line that it counts from.
    fn place_far_roots(&mut self, root: Root, rows: impl Iterator<Item = Row>) {
        self.far.clear();
        if self.functions.number(root.function) == NONE {
            return;
        }
        let own = self.functions.written(root.function);
        if own.declared {
            return;
        }
        let rows = rows.filter(|row| self.is_root(row.node, root.function));
        let mut bases: Vec<u32> =
            rows.filter(|row| is_far(row.line, own.base)).map(|row| base_of(row.line)).collect();
        bases.sort_unstable();
        for run in bases.chunk_by(|a, b| a == b).filter(|run| run.len() >= WORTH_A_FUNCTION) {
            let Some(&line) = run.first() else { continue };
            let number = if root.is_symbol { root.number } else { own.number };
            let written = self.functions.further(root.function, number, line);
            let offset = u32::try_from(self.out.inlines.len()).unwrap_or(NONE);
            let node = Root { number: written.number, ..root }.node(root.function, written.number);
            put_node(&mut self.out.inlines, node, None);
            self.far.push(FarRoot { offset, function: root.function, written });
        }
    }

    /// True for a node that is a root, of that function.
    fn is_root(&self, node: u32, function: u32) -> bool {
        let placed = usize::try_from(node).ok().and_then(|at| self.placed.get(at));
        placed.is_some_and(|placed| placed.depth == 0 && placed.function == function)
    }

    /// The function of a piece, which its symbol may know by another name than
    /// DWARF does: then it is written with that too, as this is what readers are told.
    fn root(&mut self, function: u32, symbol: Option<(&'data [u8], bool)>) -> Root {
        let at = usize::try_from(function).unwrap_or(usize::MAX);
        let number = self.functions.number(function);
        let known = self.lines.functions.get(at).filter(|_| number != NONE);
        let (Some((symbol, whole)), Some((known, _))) = (symbol, known) else {
            return Root { function, number, is_symbol: false, stated: None };
        };
        let same = symbol.is_empty() || symbol == known.name;
        if same || !whole {
            return Root { function, number, is_symbol: same, stated: None };
        }
        let renamed = self.functions.renamed(function, symbol);
        Root { function, number: renamed, is_symbol: true, stated: Some(number) }
    }

    /// What a row says; `None` when it says nothing.
    fn origin(&mut self, row: &Row, file: u32) -> Option<Origin> {
        let column = if self.lines.no_columns { 0 } else { row.column };
        let placed = usize::try_from(row.node).ok().and_then(|at| self.placed.get(at)).copied();
        let Some(placed) = placed else { return self.outside_origin(row, file, column) };
        let mut function = self.functions.written(placed.function);
        let mut node = placed.offset;
        if placed.depth == 0 && !self.far.is_empty() && is_far(row.line, function.base) {
            let key = |far: &FarRoot| (far.function, far.written.base);
            let found = self.far.binary_search_by_key(&(placed.function, base_of(row.line)), key);
            if let Some(far) = found.ok().and_then(|at| self.far.get(at)) {
                (node, function) = (far.offset, far.written);
            }
        }
        Some(Origin {
            node,
            file: (file != function.file).then_some(file),
            line: row.line,
            base: function.base,
            column,
        })
    }

    /// A row outside every function: a nameless one stands for its part of the file.
    fn outside_origin(&mut self, row: &Row, file: u32, column: u32) -> Option<Origin> {
        if file == NONE {
            return None;
        }
        let base = base_of(row.line);
        let function = self.functions.nameless(file, base);
        let node = self.nameless_node(function.number);
        Some(Origin { node, file: None, line: row.line, base, column })
    }

    fn nameless_node(&mut self, number: u32) -> u32 {
        if let Some(&offset) = self.outside_nodes.get(&number) {
            return offset;
        }
        let offset = u32::try_from(self.out.inlines.len()).unwrap_or(NONE);
        put_node(&mut self.out.inlines, [number, 0, 0, 0], None);
        self.outside_nodes.insert(number, offset);
        offset
    }

    fn finish(mut self) -> EncodedLines<'data> {
        self.windows.finish();
        if !self.out.inlines.is_empty() {
            // The numbers of any node can be read at once.
            self.out.inlines.extend_from_slice(&[0; NODE_FIELDS]);
        }
        let mut out = self.out;
        (out.functions, out.function_names) = self.functions.finish();
        out.spans = self.windows.spans;
        out.windows = self.windows.windows;
        out.lines = self.windows.lines;
        out.rows = self.windows.rows;
        out
    }
}

/// Writes a node: function, link, line and column, each as short as can be.
fn put_node(out: &mut Vec<u8>, fields: [u32; 4], file: Option<u32>) {
    let size = |value: u32| match value {
        0 => 0usize,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    };
    // 0, 1, 2 and 4 bytes are 0, 1, 2 and 3.
    let code = |value: u32| u8::try_from(size(value).min(3)).unwrap_or(3);
    let head = fields.iter().rev().fold(0u8, |head, &field| (head << 2) | code(field));
    out.push(head);
    for field in fields {
        out.extend(field.to_le_bytes().iter().take(size(field)));
    }
    if let Some(file) = file {
        out.extend_from_slice(&file.to_le_bytes());
    }
}

/// A line as a node states it: 0 unknown, else from its function's, plus one.
/// A distance that does not fit is as good as unknown.
fn line_from(line: u32, base: u32) -> u32 {
    if line == 0 {
        return 0;
    }
    let distance = zigzag(i64::from(line).saturating_sub(base.into())).saturating_add(1);
    u32::try_from(distance).unwrap_or(0)
}
