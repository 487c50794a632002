//! The views that policies decide on.

use super::{Piece, Place, Schedule, System};
use crate::AddressSpaces;
use broadleaf_policy::{Coverage, Point, Refusal, Verdict, View};
use broadleaf_units::{BlockNumber, PageSize, SpaceId};
use std::collections::BTreeSet;
use std::ops::Range;

/// Knowledge of a trace before the trace begins.
#[derive(Clone, Copy, Debug)]
pub enum Foreseen<'a> {
    /// Blocks of 2 MiB that another policy promotes. A piece of another size counts as the block
    /// that holds the piece.
    Blocks(&'a BTreeSet<(SpaceId, BlockNumber)>),
    /// When which pieces become superpages, and which superpages are broken.
    Schedule(&'a Schedule),
}

impl System<'_> {
    /// The view of a piece, seen from one of its pages. `more` pages are about to become resident.
    pub(super) fn view(&self, spaces: &AddressSpaces, piece: Piece, page: u64, more: u32) -> View {
        let pages = self.pages(piece.level);
        let counts = self.tables.counts(piece.first, pages);
        let facts = self.facts(spaces, piece, page);
        let reservation = self.reservation_of(spaces, piece);
        let promoted = self.tables.get(piece.first).level() >= piece.level && piece.level > 0;
        let order = self.sizes.order(piece.level);
        View {
            populated: self
                .used_of_object(spaces, piece, page, more)
                .unwrap_or(counts.present + more)
                .min(pages as u32),
            dirty: counts.dirty,
            pages: pages as u32,
            base_bytes: self.base.bytes(),
            place: facts.place,
            reservation_age: reservation.map(|(.., made)| self.now.saturating_sub(made)),
            promoted,
            coverage: facts.coverage,
            backing: facts.backing,
            writable: facts.writable,
            advised_against: facts.advised_against,
            advised_for: facts.advised_for,
            referenced: counts.referenced,
            referenced_on_average: self.tables.average(piece.first, pages),
            swapped: counts.swapped,
            shared: counts.shared,
            zero: counts.zero,
            extent_free: reservation.is_some() || self.has_extent(order),
            memory_short: self.is_short(),
            foreseen: self.is_foreseen(piece),
            copy_cycles: self.costs.copy(self.base, pages),
            ..View::BLANK
        }
    }

    /// The view of a piece of that level that was charged for misses, before the piece itself is
    /// read.
    pub fn charged(&self, level: usize) -> View {
        let pages = self.pages(level);
        View {
            pages: pages as u32,
            base_bytes: self.base.bytes(),
            copy_cycles: self.costs.copy(self.base, pages),
            ..View::BLANK
        }
    }

    /// Asks the policy at a TLB miss about the piece of that level around a page. `charged` holds
    /// the charges of the piece. A promotion happens while the program waits. Returns true if the
    /// piece became a superpage.
    pub fn ask_at_miss(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        level: usize,
        charged: &View,
    ) -> bool {
        let piece = self.piece(at, level);
        let is_asked = self.asked_levels(at.space).contains(&level);
        if !is_asked || self.tables.get(piece.first).level() >= level {
            return false;
        }
        if !self.policy.may_be_due(charged) {
            self.refuse(piece, Refusal::TooFewMisses);
            return false;
        }
        let view = View {
            misses: charged.misses,
            prefetch_charge: charged.prefetch_charge,
            capacity_charge: charged.capacity_charge,
            miss_cycles: charged.miss_cycles,
            ..self.view(spaces, piece, piece.first.page, 0)
        };
        self.pinned = Some(at);
        let before = std::mem::take(&mut self.fault_cycles);
        let promoted = match self.policy.decide(Point::Miss, &view) {
            Verdict::Promote => {
                let effort = self.policy.effort(Point::Miss, &view);
                self.promote(spaces, piece, &view, effort)
            }
            Verdict::Stay(reason) => {
                self.refuse(piece, reason);
                false
            }
            Verdict::Demote | Verdict::Pass => false,
        };
        self.pinned = None;
        self.counters.fault_cycles += std::mem::replace(&mut self.fault_cycles, before);
        promoted
    }

    /// The levels of superpages that the policy may be asked about in a space: none in the space of
    /// a recorded kernel.
    pub(super) fn asked_levels(&self, space: SpaceId) -> Range<usize> {
        match self.kernels.contains(&space) {
            true => 1..1,
            false => 1..self.sizes.levels(),
        }
    }

    /// The level of the page that maps a place.
    pub fn level_at(&self, at: Place) -> usize {
        self.tables.get(at).level()
    }

    fn is_foreseen(&self, piece: Piece) -> bool {
        match self.foreseen {
            None => false,
            Some(Foreseen::Blocks(blocks)) => {
                let shift = PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift();
                let block = BlockNumber(self.units(piece.first.page, 1).start >> shift);
                blocks.contains(&(piece.first.space, block))
            }
            Some(Foreseen::Schedule(schedule)) => {
                let Piece { first, level } = piece;
                if self.tables.get(first).level() >= level {
                    schedule.demotes(first, level, self.moment)
                } else {
                    schedule.promotes(first, level, self.moment)
                }
            }
        }
    }

    /// Why a piece cannot be mapped as one page, whatever the policy says.
    pub(super) fn cannot_be_mapped(coverage: Coverage) -> Option<broadleaf_policy::Refusal> {
        match coverage {
            Coverage::Covered => None,
            Coverage::NotCovered => Some(broadleaf_policy::Refusal::NotCovered),
            Coverage::MixedProtection => Some(broadleaf_policy::Refusal::MixedProtection),
        }
    }
}
