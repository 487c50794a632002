//! Edits of address spaces: what the tests of tables draw, and a plain list of leaves.

use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, Rights, SpaceId};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Sizes in pages of 4 KiB: base pages, sizes of a level, and sizes between levels.
pub(crate) const SHIFTS: [u8; 5] = [12, 16, 21, 23, 25];

/// The number of spaces.
pub(crate) const SPACES: u32 = 3;

/// A change of an address space.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Edit {
    /// Maps a page of a size to frames of its own.
    Map(u32, u64, usize),
    /// Maps the frames of a page at the same place of another space: shared memory.
    Share(u32, usize, u32),
    /// Unmaps a page.
    Unmap(u32, usize),
    /// Gives a page other rights.
    Protect(u32, usize, bool),
    /// Breaks a page into pages of a smaller size.
    Demote(u32, usize, usize),
    /// Breaks a page, and keeps some of its parts alone.
    DemotePart(u32, usize, usize, u64),
    /// Joins the pages of a block into one page of this size in new frames.
    Promote(u32, usize, usize),
    /// Maps what a space maps into another space, which loses what it had.
    Fork(u32, u32),
    /// Ends a space.
    End(u32),
}

/// Edits whose pages lie close together, far apart, and at the end of the address space.
pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let page = prop_oneof![0..2048_u64, 0..1_u64 << 20, (1 << 44) - 4096..1_u64 << 44];
    let (space, number, shift) = (0..SPACES, 0..40_usize, 0..SHIFTS.len());
    let at = (space.clone(), number);
    let edit = prop_oneof![
        8 => (space.clone(), page, shift.clone()).prop_map(|(a, b, c)| Edit::Map(a, b, c)),
        3 => (at.clone(), space.clone()).prop_map(|((a, b), c)| Edit::Share(a, b, c)),
        4 => at.clone().prop_map(|(a, b)| Edit::Unmap(a, b)),
        2 => (at.clone(), any::<bool>()).prop_map(|((a, b), c)| Edit::Protect(a, b, c)),
        1 => (at.clone(), shift.clone()).prop_map(|((a, b), c)| Edit::Demote(a, b, c)),
        1 => (at.clone(), shift.clone(), any::<u64>())
            .prop_map(|((a, b), c, d)| Edit::DemotePart(a, b, c, d)),
        1 => (at, shift).prop_map(|((a, b), c)| Edit::Promote(a, b, c)),
        1 => (space.clone(), space.clone()).prop_map(|(a, b)| Edit::Fork(a, b)),
        1 => space.prop_map(Edit::End),
    ];
    prop::collection::vec(edit, 1..80)
}

/// What a table hears of an edit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HeardEdit {
    Mapped(SpaceId, Leaf),
    Protected(SpaceId, Leaf),
    Unmapped(SpaceId, Leaf),
    Ended(SpaceId),
}

/// The leaves by space and first page.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListedMappings {
    pub(crate) leaves: BTreeMap<(u32, u64), Leaf>,
    /// The number of pages that were given frames.
    given: u64,
}

/// The most parts of a page that is broken.
const MOST_PARTS: u64 = 32;

impl ListedMappings {
    /// The leaves that meet pages of a space.
    pub(crate) fn overlapping(&self, space: u32, first: u64, count: u64) -> Vec<(u32, u64)> {
        let leaves = self.leaves.range((space, 0)..(space, first + count));
        let overlaps = leaves.filter(|((_, start), leaf)| start + leaf.run.pages() > first);
        overlaps.map(|(key, _)| *key).collect()
    }

    fn nth(&self, space: u32, number: usize) -> Option<Leaf> {
        let own = self.leaves.range((space, 0)..(space + 1, 0));
        own.map(|(_, leaf)| *leaf).nth(number)
    }

    /// Frames that no page had, aligned to the largest size, some without.
    fn frames(&mut self) -> Option<u64> {
        self.given += 1;
        let pages = 1_u64 << (SHIFTS[SHIFTS.len() - 1] - SHIFTS[0]);
        Some(self.given * pages).filter(|_| !self.given.is_multiple_of(8))
    }

    fn clear(&mut self, space: u32, run: AlignedRun, heard: &mut Vec<HeardEdit>) {
        for key in self.overlapping(space, run.first.0, run.pages()) {
            let old = self.leaves.remove(&key).expect("a leaf");
            heard.push(HeardEdit::Unmapped(SpaceId(space), old));
        }
    }

    fn put(&mut self, space: u32, leaf: Leaf, heard: &mut Vec<HeardEdit>) {
        self.clear(space, leaf.run, heard);
        self.leaves.insert((space, leaf.run.first.0), leaf);
        heard.push(HeardEdit::Mapped(SpaceId(space), leaf));
    }

    /// Applies an edit. Returns what a table hears of it.
    pub(crate) fn apply(&mut self, edit: Edit) -> Vec<HeardEdit> {
        let mut heard = Vec::new();
        match edit {
            Edit::Map(space, page, shift) => {
                let run = AlignedRun::around(PageNumber(page), size(shift));
                let frame = self.frames();
                self.put(space, Leaf::new(run, frame), &mut heard);
            }
            Edit::Share(space, number, other) => {
                if let Some(leaf) = self.nth(space, number).filter(|_| space != other) {
                    self.put(other, leaf, &mut heard);
                }
            }
            Edit::Unmap(space, number) => {
                if let Some(leaf) = self.nth(space, number) {
                    self.clear(space, leaf.run, &mut heard);
                }
            }
            Edit::Protect(space, number, write) => {
                if let Some(leaf) = self.nth(space, number) {
                    let rights = Rights {
                        write,
                        ..leaf.rights
                    };
                    let leaf = Leaf { rights, ..leaf };
                    self.leaves.insert((space, leaf.run.first.0), leaf);
                    heard.push(HeardEdit::Protected(SpaceId(space), leaf));
                }
            }
            Edit::Demote(space, number, shift) => {
                self.demote(space, number, shift, u64::MAX, &mut heard);
            }
            Edit::DemotePart(space, number, shift, kept) => {
                self.demote(space, number, shift, kept, &mut heard);
            }
            Edit::Promote(space, number, shift) => {
                if let Some(leaf) = self.nth(space, number) {
                    let run = AlignedRun::around(leaf.run.first, size(shift));
                    let frame = self.frames();
                    if run.size > leaf.run.size {
                        self.put(space, Leaf { run, frame, ..leaf }, &mut heard);
                    }
                }
            }
            Edit::Fork(space, child) => {
                if space != child {
                    self.end(child, &mut heard);
                    let own = self.leaves.range((space, 0)..(space + 1, 0));
                    let own: Vec<Leaf> = own.map(|(_, leaf)| *leaf).collect();
                    own.into_iter()
                        .for_each(|leaf| self.put(child, leaf, &mut heard));
                }
            }
            Edit::End(space) => self.end(space, &mut heard),
        }
        heard
    }

    fn end(&mut self, space: u32, heard: &mut Vec<HeardEdit>) {
        self.leaves.retain(|(of, _), _| *of != space);
        heard.push(HeardEdit::Ended(SpaceId(space)));
    }

    /// Breaks a page into parts, and unmaps those whose bit of `kept` is clear.
    fn demote(
        &mut self,
        space: u32,
        number: usize,
        shift: usize,
        kept: u64,
        heard: &mut Vec<HeardEdit>,
    ) {
        let Some(leaf) = self.nth(space, number) else {
            return;
        };
        let part = AlignedRun::around(leaf.run.first, size(shift));
        let parts = leaf.run.pages() / part.pages().max(1);
        if !(2..=MOST_PARTS).contains(&parts) {
            return;
        }
        self.clear(space, leaf.run, heard);
        for at in (0..parts).filter(|at| kept >> at & 1 == 1) {
            let beyond = at * part.pages();
            let first = PageNumber(leaf.run.first.0 + beyond);
            let leaf = Leaf {
                run: AlignedRun { first, ..part },
                frame: leaf.frame.map(|frame| frame + beyond),
                ..leaf
            };
            self.put(space, leaf, heard);
        }
    }
}

/// A size by its number.
pub(crate) fn size(number: usize) -> PageSize {
    PageSize::from_shift(SHIFTS[number]).expect("a size")
}
