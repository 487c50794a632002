//! The resident pages and their page sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_trace::{KernelTouch, Mapping};
use broadleaf_units::{FileId, Rights, SpaceId};

use super::piece::RomerPiece;
use crate::Foreknowledge;
use crate::mappings::{FileSizes, Mappings, pages_in};

/// The memory of all address spaces: the resident base pages, and their superpages.
pub(super) struct RomerMemory {
    /// The policy's sizes in base pages, smallest first.
    sizes: Vec<u64>,
    known: Foreknowledge,
    files: FileSizes,
    mappings: BTreeMap<SpaceId, Mappings>,
    pub(super) resident: BTreeSet<(SpaceId, u64)>,
    pub(super) superpages: BTreeSet<RomerPiece>,
    pub(super) promotions: BTreeMap<u64, u64>,
    pub(super) demotions: u64,
    pub(super) peak: u64,
}

impl RomerMemory {
    pub(super) fn new(sizes: Vec<u64>, known: Foreknowledge) -> Self {
        Self {
            sizes,
            known,
            files: FileSizes::new(),
            mappings: BTreeMap::new(),
            resident: BTreeSet::new(),
            superpages: BTreeSet::new(),
            promotions: BTreeMap::new(),
            demotions: 0,
            peak: 0,
        }
    }

    fn mappings(&mut self, space: SpaceId) -> &mut Mappings {
        let everything = !self.known.spaces_with_maps.contains(&space);
        self.mappings
            .entry(space)
            .or_insert_with(|| Mappings::new(everything))
    }

    /// The page around a base page: a superpage, or the base page itself.
    pub(super) fn page_around(&self, space: SpaceId, page: u64) -> RomerPiece {
        let pieces = self
            .sizes
            .iter()
            .map(|&size| RomerPiece::around(space, page, size));
        let mut around = pieces.filter(|piece| self.superpages.contains(piece));
        around.next().unwrap_or(RomerPiece::around(space, page, 1))
    }

    pub(super) fn is_resident(&self, space: SpaceId, page: u64) -> bool {
        self.resident.contains(&(space, page))
    }

    pub(super) fn bring_in(&mut self, space: SpaceId, page: u64) {
        self.resident.insert((space, page));
        self.note_peak();
    }

    fn note_peak(&mut self) {
        self.peak = self.peak.max(self.resident.len() as u64);
    }

    /// Returns true if the kernel touches a page when it populates memory.
    pub(super) fn is_touched_by_kernel(
        &mut self,
        space: SpaceId,
        page: u64,
        touch: KernelTouch,
    ) -> bool {
        self.mappings(space);
        let mappings = &self.mappings[&space];
        mappings.kernel_stores(page, touch, &self.files).is_some()
    }

    /// The number of resident base pages of `piece`.
    pub(super) fn population(&self, piece: RomerPiece) -> u64 {
        let pages = piece.pages();
        let range = (piece.space, pages.start)..(piece.space, pages.end);
        self.resident.range(range).count() as u64
    }

    /// Makes `piece` a superpage if one mapping spans it. All its pages become resident.
    pub(super) fn promote(&mut self, piece: RomerPiece) -> bool {
        self.mappings(piece.space);
        if !self.mappings[&piece.space].is_piece_covered(&piece.pages(), &self.files) {
            return false;
        }
        self.superpages.retain(|&other| !piece.contains(other));
        self.superpages.insert(piece);
        for page in piece.pages() {
            self.resident.insert((piece.space, page));
        }
        *self.promotions.entry(piece.size).or_default() += 1;
        self.note_peak();
        true
    }

    /// Breaks superpages that lie partly in `pages` into the next smaller size, until none does.
    fn break_around(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.break_where(|piece| {
            piece.space == space && piece.meets(pages) && !piece.lies_in(pages)
        });
    }

    fn break_where(&mut self, too_large: impl Fn(RomerPiece) -> bool) {
        while let Some(piece) = self
            .superpages
            .iter()
            .copied()
            .find(|&piece| too_large(piece))
        {
            self.superpages.remove(&piece);
            self.demotions += 1;
            let smaller = self.sizes.iter().rev().find(|&&size| size < piece.size);
            if let Some(&size) = smaller.filter(|&&size| size > 1) {
                for first in piece.pages().step_by(size as usize) {
                    self.superpages.insert(RomerPiece {
                        size,
                        space: piece.space,
                        first,
                    });
                }
            }
        }
    }

    // ---- events ----

    /// Removes the pages. The caller changes the mapping.
    pub(super) fn lose_pages(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.break_around(space, pages);
        self.superpages
            .retain(|piece| piece.space != space || !piece.meets(pages));
        self.resident
            .retain(|&(of, page)| of != space || !pages.contains(&page));
    }

    pub(super) fn file(&mut self, id: FileId, size: u64) {
        self.files.insert(id, size);
    }

    pub(super) fn map(&mut self, space: SpaceId, mapping: &Mapping) {
        self.lose_pages(space, &pages_in(mapping.range));
        self.mappings(space).map(mapping);
    }

    pub(super) fn unmap(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.lose_pages(space, pages);
        self.mappings(space).unmap(pages);
    }

    /// Spec model 21. Returns the pages whose rights changed.
    pub(super) fn protect(
        &mut self,
        space: SpaceId,
        pages: &Range<u64>,
        protection: Rights,
    ) -> Vec<Range<u64>> {
        let changed = self.mappings(space).protect(pages, protection);
        for range in &changed {
            self.break_around(space, range);
        }
        changed
    }

    /// Returns the pages that a shrinking heap gives up.
    pub(super) fn set_heap(&mut self, space: SpaceId, pages: Range<u64>) -> Range<u64> {
        let gone = self.mappings(space).set_heap(pages);
        self.unmap(space, &gone);
        gone
    }

    pub(super) fn grow_stack(&mut self, space: SpaceId, pages: Range<u64>) {
        self.mappings(space).grow_stack(pages);
    }

    /// The space begins anew or ends.
    pub(super) fn release(&mut self, space: SpaceId) {
        self.lose_pages(space, &(0..u64::MAX));
        self.mappings.remove(&space);
    }

    /// Spec model 23. A superpage moves whole if all of it moves to an aligned place.
    pub(super) fn remap(&mut self, space: SpaceId, from: &Range<u64>, to: &Range<u64>) {
        let moved = (from.end - from.start).min(to.end - to.start);
        let source = from.start..from.start + moved;
        self.unmap(space, &(source.end..from.end));
        if from.start == to.start {
            self.unmap(space, &(source.end..to.end));
            if to.end > from.end {
                self.mappings(space).extend(from.end, to.end);
            }
            return;
        }
        self.unmap(space, to);
        self.break_around(space, &source);
        let there = |page: u64| page - from.start + to.start;
        self.break_where(|piece| {
            piece.space == space
                && piece.lies_in(&source)
                && !there(piece.first).is_multiple_of(piece.size)
        });
        let superpages = std::mem::take(&mut self.superpages).into_iter();
        self.superpages = superpages
            .map(
                |piece| match piece.space == space && piece.lies_in(&source) {
                    true => RomerPiece {
                        first: there(piece.first),
                        ..piece
                    },
                    false => piece,
                },
            )
            .collect();
        let resident = std::mem::take(&mut self.resident).into_iter();
        self.resident = resident
            .map(|(of, page)| match of == space && source.contains(&page) {
                true => (of, there(page)),
                false => (of, page),
            })
            .collect();
        self.mappings(space).move_to(&source, to);
    }

    /// The number of pages of each size.
    pub(super) fn page_sizes(&self) -> BTreeMap<u64, u64> {
        let mut sizes = BTreeMap::new();
        for &(space, page) in &self.resident {
            let around = self.page_around(space, page);
            if around.first == page {
                *sizes.entry(around.size).or_default() += 1;
            }
        }
        sizes
    }
}
