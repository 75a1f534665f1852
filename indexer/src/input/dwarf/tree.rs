//! The DIE tree: which functions a unit has, and what was inlined where.
//!
//! In: the DIEs of one unit. Out: [`Tree`], functions with their code and the
//! inline tree below them. Names are not read here, only where to find them.

use gimli::constants;

use super::limits::Allowance;
use super::ranges::{Extent, Range};
use super::unit::{Dwarf, Slice, Target, Unit, target};
use crate::model::lines::NONE;
use crate::model::{AddressMap, Report};

/// One function, or one place where it was inlined.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeNode {
    /// The DIE to start from for its name.
    pub(super) declared: Option<Target>,
    /// The node it was inlined into; `NONE` for a function's own.
    pub(super) parent: u32,
    /// Index of the caller's file in the unit's file table; `NONE` when there is none.
    pub(super) call_file: u32,
    /// Line of the call; 0 unknown.
    pub(super) call_line: u32,
    /// Column of the call; 0 unknown.
    pub(super) call_column: u32,
}

/// One range of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    /// First address, as DWARF states it.
    pub(super) start: u64,
    /// First address after it.
    pub(super) end: u64,
    /// The function's node.
    pub(super) root: u32,
    /// The function starts here.
    pub(super) entry: bool,
}

/// One range of one inlined function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Inlined {
    /// The node of the function that holds the code.
    pub(super) root: u32,
    /// First address.
    pub(super) start: u64,
    /// Its node: later DIEs have greater ones.
    pub(super) node: u32,
    /// First address after it.
    pub(super) end: u64,
}

/// What the DIEs of a unit say.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Every parent before its children.
    pub(super) nodes: Vec<TreeNode>,
    /// Ranges of functions, in DIE order.
    pub(super) code: Vec<Code>,
    /// Ranges of inlined functions, in DIE order.
    pub(super) inlined: Vec<Inlined>,
}

impl Tree {
    fn clear(&mut self) {
        self.nodes.clear();
        self.code.clear();
        self.inlined.clear();
    }
}

/// An open DIE that what is below belongs to.
#[derive(Clone, Copy)]
struct Scope {
    depth: isize,
    /// The function's node; `NONE` when it has no code.
    root: u32,
    /// The innermost node.
    node: u32,
}

/// Walks the DIEs of a unit, without recursion: only functions and inlined
/// functions are kept on a stack. The tree comes in parts of whole functions.
pub(super) struct Walk<'a, 'data> {
    dwarf: &'a Dwarf<'data>,
    unit: &'a Unit<'data>,
    addresses: &'a AddressMap,
    allowance: &'a Allowance,
    ranges: Vec<Range>,
    tree: Tree,
    scopes: Vec<Scope>,
    /// Those of them that are of a function with code.
    in_code: usize,
    /// DIEs to come; `None` after the last one.
    entries: Option<gimli::EntriesRaw<'a, Slice<'data>>>,
    damaged: bool,
    /// Bytes of the largest part so far.
    largest: u64,
}

impl<'a, 'data> Walk<'a, 'data> {
    /// At the root of `unit`.
    pub(super) fn new(
        dwarf: &'a Dwarf<'data>,
        unit: &'a Unit<'data>,
        addresses: &'a AddressMap,
        allowance: &'a Allowance,
    ) -> Self {
        let entries = unit.entries_raw(None);
        Self {
            dwarf,
            unit,
            addresses,
            allowance,
            ranges: Vec::new(),
            tree: Tree::default(),
            scopes: Vec::new(),
            in_code: 0,
            damaged: entries.is_err(),
            entries: entries.ok(),
            largest: 0,
        }
    }

    /// True when there is nothing to come.
    pub(super) fn is_done(&self) -> bool {
        self.entries.is_none()
    }

    /// Bytes of the largest part so far.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// The part at hand.
    pub(super) fn tree(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Reads on: about `bytes` of DIEs, and then to the end of the function at
    /// hand. Nodes are numbered anew in each part.
    pub(super) fn part(&mut self, bytes: u64, report: &mut Report) -> &mut Tree {
        self.tree.clear();
        if let Some(mut entries) = self.entries.take() {
            let from = entries.next_offset().0;
            let read = self.read(&mut entries, bytes, report);
            let read_bytes = entries.next_offset().0.saturating_sub(from);
            self.largest = self.largest.max(super::wide(read_bytes));
            match read {
                Ok(true) => {}
                Ok(false) => self.entries = Some(entries),
                Err(_) => self.damaged = true,
            }
        }
        if std::mem::take(&mut self.damaged) {
            report.skip("damaged DIE trees");
        }
        &mut self.tree
    }

    /// True at the end of the unit.
    fn read(
        &mut self,
        entries: &mut gimli::EntriesRaw<'a, Slice<'data>>,
        bytes: u64,
        report: &mut Report,
    ) -> gimli::Result<bool> {
        let end = super::wide(entries.next_offset().0).saturating_add(bytes);
        while !entries.is_empty() {
            let depth = entries.next_depth();
            let offset = entries.next_offset();
            while let Some(scope) = self.scopes.pop_if(|scope| scope.depth >= depth) {
                self.in_code = self.in_code.saturating_sub(usize::from(scope.root != NONE));
            }
            // Here nothing is open that what is read so far has to be with.
            if super::wide(offset.0) >= end && self.in_code == 0 {
                return Ok(false);
            }
            let Some(abbreviation) = entries.read_abbreviation()? else {
                if entries.next_depth() <= 0 {
                    break;
                }
                continue;
            };
            let specs = abbreviation.attributes();
            let node = match abbreviation.tag() {
                constants::DW_TAG_subprogram => {
                    let mut extent = Extent::default();
                    for spec in specs {
                        extent.take(&entries.read_attribute(*spec)?);
                    }
                    let node = self.function(&extent, offset.0, report);
                    Some((node, node))
                }
                constants::DW_TAG_inlined_subroutine => match self.scopes.last() {
                    Some(&scope) if scope.root != NONE => {
                        let mut call = Call::default();
                        for spec in specs {
                            call.take(&entries.read_attribute(*spec)?);
                        }
                        Some((scope.root, self.inlined(&call, scope, offset.0, report)))
                    }
                    _ => {
                        entries.skip_attributes(specs)?;
                        None
                    }
                },
                _ => {
                    entries.skip_attributes(specs)?;
                    None
                }
            };
            if let (Some((root, node)), true) = (node, abbreviation.has_children()) {
                self.scopes.push(Scope { depth, root, node });
                self.in_code = self.in_code.saturating_add(usize::from(root != NONE));
            }
        }
        Ok(true)
    }

    /// Reads what a DIE covers into `self.ranges`.
    fn extent(&mut self, extent: &Extent<'data>, report: &mut Report) {
        let read = extent.read(self.dwarf, self.unit, self.allowance, &mut self.ranges);
        if let Err(fault) = read {
            report.skip(fault.reason());
        }
    }

    /// The node of a new function; `NONE` when none of its ranges is code.
    fn function(&mut self, extent: &Extent<'data>, offset: usize, report: &mut Report) -> u32 {
        self.extent(extent, report);
        let root = super::count32(self.tree.nodes.len());
        let before = self.tree.code.len();
        for (place, &Range { start, end }) in self.ranges.iter().enumerate() {
            if is_code(self.addresses, start, end) {
                self.tree.code.push(Code { start, end, root, entry: place == 0 });
            } else {
                report.skip("functions of dead code");
            }
        }
        if self.tree.code.len() == before {
            return NONE;
        }
        self.tree.nodes.push(TreeNode {
            declared: Some(Target::Unit(offset)),
            parent: NONE,
            call_file: NONE,
            call_line: 0,
            call_column: 0,
        });
        root
    }

    /// The node of a new inlined function; that of its caller when there are
    /// more than the unit can hold.
    fn inlined(
        &mut self,
        call: &Call<'data>,
        scope: Scope,
        offset: usize,
        report: &mut Report,
    ) -> u32 {
        if !self.allowance.node() {
            report.skip("inlined functions beyond what their unit can hold");
            return scope.node;
        }
        self.extent(&call.extent, report);
        let node = super::count32(self.tree.nodes.len());
        self.tree.nodes.push(TreeNode {
            declared: if call.named { Some(Target::Unit(offset)) } else { call.origin },
            parent: scope.node,
            call_file: call.file.unwrap_or(NONE),
            call_line: call.line,
            call_column: call.column,
        });
        for &Range { start, end } in self.ranges.iter().filter(|range| range.start < range.end) {
            self.tree.inlined.push(Inlined { root: scope.root, start, node, end });
        }
        node
    }
}

/// The attributes of an inlined function that matter.
#[derive(Default)]
struct Call<'data> {
    extent: Extent<'data>,
    origin: Option<Target>,
    named: bool,
    file: Option<u32>,
    line: u32,
    column: u32,
}

impl<'data> Call<'data> {
    fn take(&mut self, attribute: &gimli::Attribute<Slice<'data>>) {
        let number = || attribute.udata_value().and_then(|value| u32::try_from(value).ok());
        match attribute.name() {
            constants::DW_AT_abstract_origin => self.origin = target(&attribute.value()),
            constants::DW_AT_call_file => self.file = number(),
            constants::DW_AT_call_line => self.line = number().unwrap_or(0),
            constants::DW_AT_call_column => self.column = number().unwrap_or(0),
            constants::DW_AT_name
            | constants::DW_AT_linkage_name
            | constants::DW_AT_MIPS_linkage_name
            | constants::DW_AT_specification => self.named = true,
            _ => self.extent.take(attribute),
        }
    }
}

/// True when a range is code of the image: it lies wholly inside one mapping.
/// A tombstone (0, −1, −2, or whatever a linker left there) does not.
pub(super) fn is_code(addresses: &AddressMap, start: u64, end: u64) -> bool {
    start < end
        && end.wrapping_sub(start) <= super::LONGEST
        && addresses
            .find(start)
            .is_some_and(|mapping| end.wrapping_sub(mapping.start) <= mapping.size)
}
