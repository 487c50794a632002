//! Twins: machines whose TLBs answer every lookup alike, so that one of them makes the lookups.
//!
//! A study of page tables has the same TLB in front of many tables. No table decides what the TLB
//! holds: the memory does. The leader looks up, and the others walk their tables at its misses.

use super::Mmu;
use broadleaf_machine::Machine;
use broadleaf_tlb::{RuleNeed, Structure, TlbCounts, TlbRequest};
use broadleaf_units::PageNumber;

/// The part of a machine in a group of twins.
#[derive(Debug, Default)]
pub(super) enum Twin {
    /// The machine has no twin.
    #[default]
    Alone,
    /// The machine makes the lookups, and keeps its misses for the others.
    Leads(Misses),
    /// The machine walks its table at the misses of another. These are the counts of its TLB.
    Follows(TlbCounts),
}

/// Misses that the followers have not walked for.
#[derive(Debug, Default)]
pub(crate) struct Misses {
    misses: Vec<KeptMiss>,
    /// The pages that the TLB loaded beside the missing ones.
    beside: Vec<PageNumber>,
}

/// A miss of the leader.
#[derive(Clone, Copy, Debug)]
struct KeptMiss {
    request: TlbRequest,
    /// The level of the page that maps the reference.
    level: usize,
    /// The number of pages beside, up to this miss.
    beside: usize,
}

/// Returns true if the TLBs of both machines answer every lookup alike, whatever their page tables
/// are.
fn are_twins(one: &Machine, other: &Machine) -> bool {
    // A table entry gives a scattered page its configuration, and a TLB can hold entries of tables.
    let holds_pages =
        |of: &Structure| of.walk_entries.is_empty() && of.configuration_bits_of_entry() == 0;
    let has_caches = one.caches.is_some() || other.caches.is_some();
    one.design == other.design
        && one.fractured == other.fractured
        && !has_caches
        && !one.design.needs(RuleNeed::Future)
        && one.design.structures().iter().all(holds_pages)
}

impl Mmu<'_> {
    /// Follows the other machine, if both are twins. Both have made no lookup.
    pub(crate) fn follow(&mut self, leader: &mut Self) -> bool {
        let leads = !matches!(leader.twin, Twin::Follows(_));
        let is_twin = leads && are_twins(self.machine, leader.machine);
        if is_twin {
            self.twin = Twin::Follows(TlbCounts::default());
            leader.twin = Twin::Leads(Misses::default());
        }
        is_twin
    }

    /// Counts from zero. The leader begins too.
    pub(super) fn begin_following(&mut self) {
        if let Twin::Follows(counts) = &mut self.twin {
            *counts = TlbCounts::default();
        }
    }

    /// Returns true if another machine makes the lookups.
    #[inline]
    pub(crate) const fn follows(&self) -> bool {
        matches!(self.twin, Twin::Follows(_))
    }

    /// Returns true if other machines walk their tables at the misses of this one.
    #[inline]
    pub(super) const fn leads(&self) -> bool {
        matches!(self.twin, Twin::Leads(_))
    }

    /// Keeps a miss for the followers, if there are any.
    #[inline]
    pub(super) fn keep_miss(&mut self, request: &TlbRequest, level: usize, beside: &[PageNumber]) {
        if let Twin::Leads(kept) = &mut self.twin {
            kept.beside.extend_from_slice(beside);
            kept.misses.push(KeptMiss {
                request: *request,
                level,
                beside: kept.beside.len(),
            });
        }
    }

    /// Takes the misses that the followers have not walked for, if there are any.
    #[inline]
    pub(crate) fn take_misses(&mut self) -> Option<Misses> {
        match &mut self.twin {
            Twin::Leads(kept) if !kept.misses.is_empty() => Some(std::mem::take(kept)),
            _ => None,
        }
    }

    /// Gives misses back whose memory is used again.
    pub(crate) fn give_back(&mut self, mut misses: Misses) {
        misses.misses.clear();
        misses.beside.clear();
        if let Twin::Leads(kept) = &mut self.twin {
            *kept = misses;
        }
    }

    /// Walks the table of a follower at the leader's misses.
    pub(crate) fn walk_for(&mut self, misses: &Misses) {
        let mut from = 0;
        for miss in &misses.misses {
            self.walk(&miss.request, miss.level);
            self.end_walk(&misses.beside[from..miss.beside]);
            from = miss.beside;
        }
    }

    /// Takes over the counts of the leader's TLB.
    pub(crate) fn count_as(&mut self, leader: &Self) {
        self.twin = Twin::Follows(leader.tlb_counts());
        (self.second_hits, self.third_hits) = (leader.second_hits, leader.third_hits);
        self.kernel = leader.kernel;
    }

    /// The counts of the TLB beside hits and misses, since counting began.
    pub(super) fn tlb_counts(&self) -> TlbCounts {
        let own = self.tlb.counts().since(self.counts_before);
        match &self.twin {
            // The reads of a walk depend on the table.
            Twin::Follows(counts) => TlbCounts {
                walk_reads: own.walk_reads,
                ..*counts
            },
            _ => own,
        }
    }
}
