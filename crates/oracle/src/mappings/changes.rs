//! The changes of an address space's mappings.

use broadleaf_units::Rights;
use std::ops::Range;

use broadleaf_trace::{Backing, Mapping};

use super::{MappingPiece, Mappings, overlap, pages_in};

impl Mappings {
    pub(super) fn put(&mut self, piece: MappingPiece) {
        self.carve(&piece.pages.clone());
        if piece.pages.is_empty() {
            return;
        }
        let index = self
            .pieces
            .iter()
            .take_while(|other| other.pages.start < piece.pages.start)
            .count();
        self.pieces.insert(index, piece);
    }

    /// Removes the pieces within `pages` and returns them.
    fn carve(&mut self, pages: &Range<u64>) -> Vec<MappingPiece> {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for piece in &self.pieces {
            let inside = overlap(&piece.pages, pages);
            if inside.is_empty() {
                left.push(piece.clone());
                continue;
            }
            if piece.pages.start < inside.start {
                left.push(piece.cut(piece.pages.start..inside.start));
            }
            if inside.end < piece.pages.end {
                left.push(piece.cut(inside.end..piece.pages.end));
            }
            taken.push(piece.cut(inside));
        }
        self.pieces = left;
        taken
    }

    /// Maps memory over any old mapping, and clears the advice of its pages.
    pub(crate) fn map(&mut self, mapping: &Mapping) {
        let pages = pages_in(mapping.range);
        self.clear_advice(&pages);
        if mapping.backing == Backing::Heap {
            self.heap = Some(pages.clone());
        }
        self.put(MappingPiece {
            pages,
            protection: mapping.protection,
            shared: mapping.shared,
            backing: mapping.backing,
        });
    }

    /// Unmaps `pages` and clears their advice.
    pub(crate) fn unmap(&mut self, pages: &Range<u64>) {
        self.carve(pages);
        self.fall_back(pages);
        self.clear_advice(pages);
    }

    /// Gives `pages` these rights. Returns the ranges that had others (rule 21: equal rights change
    /// nothing).
    pub(crate) fn protect(&mut self, pages: &Range<u64>, protection: Rights) -> Vec<Range<u64>> {
        let mut changed: Vec<Range<u64>> = Vec::new();
        for piece in self.pieces.clone() {
            let inside = overlap(&piece.pages, pages);
            if inside.is_empty() || piece.protection == protection {
                continue;
            }
            // A range may cover a block in several pieces that count as one mapping.
            match changed.last_mut() {
                Some(before) if before.end == inside.start => before.end = inside.end,
                _ => changed.push(inside.clone()),
            }
            self.put(MappingPiece {
                protection,
                ..piece.cut(inside)
            });
        }
        changed
    }

    /// Extends the mapping that ends at `end`, if any, to `new_end`.
    pub(crate) fn extend(&mut self, end: u64, new_end: u64) {
        self.carve(&(end..new_end));
        if let Some(piece) = self.pieces.iter_mut().find(|piece| piece.pages.end == end) {
            piece.pages.end = new_end;
        }
    }

    /// Sets the heap to `pages`. Returns the pages that a shrinking heap gives up.
    pub(crate) fn set_heap(&mut self, pages: Range<u64>) -> Range<u64> {
        let old = self
            .heap
            .replace(pages.clone())
            .unwrap_or(pages.start..pages.start);
        if pages.end > old.end {
            self.clear_advice(&(old.end..pages.end));
            let protection = Rights::READ_WRITE;
            self.put(MappingPiece {
                pages: old.end..pages.end,
                protection,
                shared: false,
                backing: Backing::Heap,
            });
        }
        pages.end..old.end.max(pages.end)
    }

    /// Sets the stack to `pages`: its lowest mapping grows down to their start.
    pub(crate) fn grow_stack(&mut self, pages: Range<u64>) {
        let inside = |piece: &&mut MappingPiece| {
            piece.backing == Backing::Stack && !overlap(&piece.pages, &pages).is_empty()
        };
        if let Some(piece) = self.pieces.iter_mut().find(inside) {
            let added = pages.start.min(piece.pages.start)..piece.pages.start;
            piece.pages.start = added.start;
            self.clear_advice(&added);
        } else {
            let protection = Rights::READ_WRITE;
            self.clear_advice(&pages);
            self.put(MappingPiece {
                pages,
                protection,
                shared: false,
                backing: Backing::Stack,
            });
        }
    }

    /// Moves the mappings and the advice of `from` to `to`, which is free. A longer `to` extends
    /// the last mapping.
    pub(crate) fn move_to(&mut self, from: &Range<u64>, to: &Range<u64>) {
        let advised: Vec<u64> = self.advised_against.range(from.clone()).copied().collect();
        self.clear_advice(from);
        for page in advised {
            self.advised_against.insert(page - from.start + to.start);
        }
        let taken = self.carve(from);
        self.fall_back(from);
        for mut piece in taken {
            let reaches_end = piece.pages.end == from.end;
            piece.pages =
                piece.pages.start - from.start + to.start..piece.pages.end - from.start + to.start;
            if reaches_end {
                piece.pages.end = to.end.max(piece.pages.end);
            }
            self.put(piece);
        }
    }
}
