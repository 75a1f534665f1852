//! Batching: the parts of a unit as they come in, the packed unit out.
//!
//! Nothing of a part is kept but what is packed. Which units are read together
//! is not decided here.

use super::PackedPiece;
use super::pack::Packer;
use crate::input::dwarf::Names;
use crate::model::Report;
use crate::model::lines::{NONE, Piece, UnitLines};

/// A unit as its thread leaves it.
pub(super) struct Batched<'data> {
    /// What its numbers mean.
    pub(super) names: Names<'data>,
    /// How often each function has a node; those behind the last have none.
    pub(super) uses: Vec<u32>,
    /// `unit` is not known yet, `function` is the unit's.
    pub(super) pieces: Vec<PackedPiece>,
    /// The pieces, packed.
    pub(super) bytes: Vec<u8>,
}

/// A unit while its parts come.
pub(super) struct Batching<'a> {
    packer: &'a mut Packer,
    uses: Vec<u32>,
    pieces: Vec<PackedPiece>,
    bytes: Vec<u8>,
    full: bool,
}

impl<'a> Batching<'a> {
    /// Of a unit, with a packer that other units may have used.
    pub(super) fn new(packer: &'a mut Packer) -> Self {
        let (uses, pieces, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Self { packer, uses, pieces, bytes, full: false }
    }

    /// Packs a part: the pieces of each function one after the other.
    pub(super) fn take(&mut self, part: &UnitLines<'_>, report: &mut Report) {
        self.packer.begin(part);
        let mut by_root: Vec<&Piece> = part.pieces.iter().collect();
        if !by_root.is_sorted_by_key(|piece| piece.root) {
            by_root.sort_by_key(|piece| piece.root);
        }
        self.pieces.reserve(by_root.len());
        for piece in by_root {
            if self.full {
                break;
            }
            let start = u32::try_from(self.bytes.len());
            if !self.packer.piece(part, piece, &mut self.uses, &mut self.bytes) {
                report.skip("functions whose inlined ones lie in too many of their parts");
            }
            let (Ok(start), Ok(end)) = (start, u32::try_from(self.bytes.len())) else {
                report.skip("units whose packed rows pass 4 GiB, cut there");
                self.full = true;
                break;
            };
            let root = usize::try_from(piece.root).ok().and_then(|root| part.nodes.get(root));
            self.pieces.push(PackedPiece {
                start: piece.start,
                size: piece.size,
                section: piece.section,
                unit: NONE,
                bytes: (start, end),
                function: root.map_or(NONE, |root| root.function),
                inside: piece.root != NONE,
                entry: piece.entry,
            });
        }
    }

    /// The unit; its pieces are in order, those of one place as they came.
    pub(super) fn finish<'data>(mut self, names: Names<'data>) -> Batched<'data> {
        let place = |piece: &PackedPiece| (piece.section, piece.start, piece.size);
        if !self.pieces.is_sorted_by_key(place) {
            self.pieces.sort_by_key(place);
        }
        self.bytes.shrink_to_fit();
        self.pieces.shrink_to_fit();
        Batched { names, uses: self.uses, pieces: self.pieces, bytes: self.bytes }
    }
}
