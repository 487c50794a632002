//! Daemons of policies, which go round the address spaces from time to time; and time.

use super::{Place, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use crate::system::table::CHUNK;
use broadleaf_policy::{Point, PromotionOrder, Scan, Verdict};
use broadleaf_units::SpaceId;
use std::collections::{BTreeMap, BTreeSet};

/// A piece that a daemon would promote.
#[derive(Clone, Copy, Debug)]
struct ScannedPiece {
    piece: super::Piece,
    rank: u64,
}

impl System<'_> {
    /// The next time at which a daemon runs or a reservation falls due. Call [`System::pass`] then.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.next_due.min(self.next_scan)
    }

    /// Advances to a time, in accesses since the trace began. Daemons and reservations that are due
    /// run before the access at that time.
    pub fn pass(&mut self, spaces: &AddressSpaces, time: u64) {
        while self.next_time() <= time {
            if self.next_scan <= time && self.next_scan <= self.next_due {
                self.now = self.next_scan;
                self.turn(spaces);
            } else if self
                .streams
                .first()
                .is_some_and(|(due, _)| *due == self.next_due)
            {
                self.end_stream(spaces);
            } else {
                let stream = self.streams.first().map_or(u64::MAX, |(due, _)| *due);
                let before = self.next_scan.min(stream).saturating_sub(1);
                self.ask_due(spaces, time.min(before));
            }
        }
        self.now = time;
    }

    /// The time of the references to come.
    #[inline]
    pub fn set_time(&mut self, time: u64) {
        self.now = time;
    }

    fn turn(&mut self, spaces: &AddressSpaces) {
        let Some(scan) = self.needs.scan else {
            self.next_scan = u64::MAX;
            return;
        };
        self.next_scan = self.next_scan.saturating_add(self.scan_period);
        self.counters.daemon_turns += 1;
        let before = std::mem::take(&mut self.fault_cycles);
        self.zero_ahead(scan.period);
        let candidates = self.go_round(spaces, &scan);
        match scan.order {
            PromotionOrder::ByAddress => {}
            PromotionOrder::ByRank => self.promote_by_rank(spaces, &scan, candidates),
            PromotionOrder::Fair => self.promote_in_turns(spaces, &scan, candidates),
        }
        self.keep_frames_free(spaces);
        self.counters.daemon_cycles += std::mem::replace(&mut self.fault_cycles, before);
    }

    /// Zeroes the free frames that one period allows. The number does not depend on the accesses in
    /// the period.
    fn zero_ahead(&mut self, period: u64) {
        let frames = (u128::from(self.needs.zeroed_ahead) * u128::from(period) / 1_000_000) as u64;
        let zeroed = self.buddy.zero_some(frames);
        if zeroed > 0 {
            // Zeroing destroys the cached content of these frames.
            let gone = |frame: &Frame| self.buddy.zeroed_in(*frame, 0) > 0;
            let gone: Vec<Frame> = self.cache.keys().copied().filter(gone).collect();
            self.forget_cached(&gone);
        }
        self.counters.daemon_cycles += self.costs.zero(self.base, zeroed);
    }

    /// Continues the round at the end of the last turn, and asks about each piece. Promotes at once
    /// if the order does not matter.
    fn go_round(&mut self, spaces: &AddressSpaces, scan: &Scan) -> Vec<ScannedPiece> {
        let largest = self.sizes.largest();
        let chunks_each = (self.pages(largest) / CHUNK).max(1);
        let (mut looked_at, mut promoted) = (0, 0);
        let mut candidates = Vec::new();
        let unborn: BTreeSet<SpaceId> = self.forked.values().map(|(unborn, _)| *unborn).collect();
        let mut last = None;
        let from = self.scan_from;
        let (mut next, mut round) = (from, false);
        loop {
            let found = self.tables.chunk_from(next);
            let Some((space, number)) = found.filter(|at| !round || *at < from) else {
                if round {
                    break;
                }
                (next, round) = ((SpaceId(0), 0), true);
                continue;
            };
            next = (space, number + 1);
            if unborn.contains(&space) || self.kernels.contains(&space) {
                continue;
            }
            if scan.pages > 0 && looked_at >= scan.pages {
                self.scan_from = (space, number);
                return candidates;
            }
            looked_at += CHUNK;
            let first = Place {
                space,
                page: number / chunks_each * chunks_each * CHUNK,
            };
            if last != Some(first) {
                last = Some(first);
                for found in self.ask_of(spaces, first, chunks_each * CHUNK) {
                    if scan.order != PromotionOrder::ByAddress {
                        candidates.push(found);
                    } else if scan.promotions == 0 || promoted < scan.promotions {
                        promoted += u64::from(self.promote_found(spaces, found));
                    }
                }
            }
            self.tables.look_over(space, number);
        }
        self.scan_from = (SpaceId(0), 0);
        candidates
    }

    /// Asks about the pieces in a stretch of pages, largest first. A piece inside one that is to be
    /// promoted is skipped.
    fn ask_of(&mut self, spaces: &AddressSpaces, first: Place, pages: u64) -> Vec<ScannedPiece> {
        let mut found: Vec<ScannedPiece> = Vec::new();
        for level in (1..self.sizes.levels()).rev() {
            let each = self.pages(level);
            for page in (first.page..first.page + pages.max(each)).step_by(each as usize) {
                let piece = self.piece(Place { page, ..first }, level);
                let inside = |other: &ScannedPiece| {
                    let from = other.piece.first.page;
                    (from..from + self.pages(other.piece.level)).contains(&page)
                };
                let counts = self.tables.counts(piece.first, each);
                if counts.present + counts.swapped == 0 || found.iter().any(inside) {
                    continue;
                }
                let mapped = self.tables.get(piece.first).level();
                if mapped > level {
                    continue;
                }
                let view = self.view(spaces, piece, page, 0);
                match self.policy.decide(Point::Scan, &view) {
                    Verdict::Promote if mapped < level => {
                        let rank = self.policy.rank(&view);
                        found.push(ScannedPiece { piece, rank });
                    }
                    Verdict::Demote if mapped == level => self.demote(piece),
                    Verdict::Stay(reason) => self.refuse(piece, reason),
                    Verdict::Promote | Verdict::Demote | Verdict::Pass => {}
                }
            }
        }
        found
    }

    fn promote_found(&mut self, spaces: &AddressSpaces, found: ScannedPiece) -> bool {
        let page = found.piece.first.page;
        let view = self.view(spaces, found.piece, page, 0);
        let effort = self.policy.effort(Point::Scan, &view);
        self.promote(spaces, found.piece, &view, effort)
    }

    fn promote_by_rank(
        &mut self,
        spaces: &AddressSpaces,
        scan: &Scan,
        mut found: Vec<ScannedPiece>,
    ) {
        found.sort_by_key(|candidate| (std::cmp::Reverse(candidate.rank), candidate.piece));
        let mut promoted = 0;
        for candidate in found {
            if scan.promotions > 0 && promoted == scan.promotions {
                break;
            }
            promoted += u64::from(self.promote_found(spaces, candidate));
        }
    }

    /// Promotes one piece at a time, each time in the space with the smallest part in superpages
    /// (Kwon 2016, on fairness).
    fn promote_in_turns(
        &mut self,
        spaces: &AddressSpaces,
        scan: &Scan,
        mut found: Vec<ScannedPiece>,
    ) {
        found.sort_by_key(|candidate| (candidate.rank, std::cmp::Reverse(candidate.piece)));
        let mut of: BTreeMap<SpaceId, Vec<ScannedPiece>> = BTreeMap::new();
        for candidate in found {
            of.entry(candidate.piece.first.space)
                .or_default()
                .push(candidate);
        }
        let mut shares: BTreeMap<SpaceId, (u64, u64)> = BTreeMap::new();
        for (at, pte) in self.tables.iter() {
            let share = shares.entry(at.space).or_default();
            share.0 += u64::from(pte.level() > 0);
            share.1 += u64::from(pte.is_present());
        }
        let mut promoted = 0;
        while scan.promotions == 0 || promoted < scan.promotions {
            let share = |space: &SpaceId| shares.get(space).copied().unwrap_or((0, 1));
            let least = of.keys().copied().min_by(|a, b| {
                let ((of_a, all_a), (of_b, all_b)) = (share(a), share(b));
                let (left, right) = (
                    u128::from(of_a) * u128::from(all_b),
                    u128::from(of_b) * u128::from(all_a),
                );
                left.cmp(&right).then(a.cmp(b))
            });
            let Some(space) = least else { break };
            let Some(candidate) = of.get_mut(&space).and_then(Vec::pop) else {
                of.remove(&space);
                continue;
            };
            if self.promote_found(spaces, candidate) {
                promoted += 1;
                let pages = self.pages(candidate.piece.level);
                shares.entry(space).or_default().0 += pages;
            }
        }
    }
}
