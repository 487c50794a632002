//! Twins of a world: observers that walk their page tables at the misses of another machine.

use super::World;
use crate::mmu::{Misses, Mmu};

/// For each observer, the number of the machine that it follows. Number 0 is the first machine, and
/// the observers come after it. `None` for an observer that makes its own lookups.
pub(super) type Leaders = Vec<Option<usize>>;

impl World<'_> {
    /// Lets observers follow machines whose TLBs answer alike. No lookup was made so far.
    pub(crate) fn pair_twins(&mut self) {
        self.leaders = vec![None; self.observers.len()];
        for number in 0..self.observers.len() {
            let (before, from) = self.observers.split_at_mut(number);
            let Some(observer) = from.first_mut() else {
                return;
            };
            let mut machines = std::iter::once(&mut self.mmu).chain(before);
            self.leaders[number] = machines.position(|leader| observer.follow(leader));
        }
    }

    /// Lets the followers of a machine walk their tables at its misses.
    pub(super) fn follow_misses(&mut self, leader: usize, misses: Misses) {
        let followers = self.observers.iter_mut().zip(&self.leaders);
        for (mmu, _) in followers.filter(|(_, of)| **of == Some(leader)) {
            mmu.walk_for(&misses);
        }
        self.mmu_mut(leader).give_back(misses);
    }

    /// Gives the followers the counts of their leaders. A part of the trace has ended.
    pub(super) fn count_followers(&mut self) {
        for number in 0..self.leaders.len() {
            let Some(leader) = self.leaders[number] else {
                continue;
            };
            let (before, from) = self.observers.split_at_mut(number);
            let leader: &Mmu<'_> = match leader.checked_sub(1) {
                None => &self.mmu,
                Some(at) => &before[at],
            };
            from[0].count_as(leader);
        }
    }
}
