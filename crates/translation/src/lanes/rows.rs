//! One structure of several TLBs. Side by side, the ways of a set are rows, and each TLB has a
//! column, so that one comparison looks into all. Apart, each TLB has its sets to itself.

use super::EMPTY;

/// A structure of so many TLBs.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    ways: usize,
    sets: usize,
    /// By bank, set, way and lane of the bank. There is one bank if the TLBs are side by side, and a
    /// bank with one lane for each TLB if they are apart. In each lane the newest entry of a set
    /// stands in the first way, and empty ones last.
    entries: Vec<u32>,
    /// Whether anything was ever put in: where not, there is nothing to find.
    pub(super) used: bool,
}

impl Rows {
    pub(super) fn new(sets: usize, ways: usize, lanes: usize) -> Self {
        Self {
            ways,
            sets,
            entries: vec![EMPTY; sets * ways * lanes],
            used: false,
        }
    }

    /// Looks for an entry in those lanes of a set for which `wanted` is all ones, and makes it the newest where it is there. Answers the lanes
    /// where it is not; `None` where it is in all.
    #[inline(always)]
    pub(super) fn renew<const LANES: usize>(
        &mut self,
        set: usize,
        entry: u32,
        wanted: &[u32; LANES],
    ) -> Option<[u32; LANES]> {
        match self.ways {
            4 => self.renew_fixed::<LANES, 4>(set, entry, wanted),
            6 => self.renew_fixed::<LANES, 6>(set, entry, wanted),
            8 => self.renew_fixed::<LANES, 8>(set, entry, wanted),
            _ => self.renew_any(set, entry, wanted),
        }
    }

    #[inline(always)]
    fn set<const LANES: usize>(&mut self, set: usize) -> &mut [[u32; LANES]] {
        let size = self.ways * LANES;
        let (rows, _) = self.entries[set * size..(set + 1) * size].as_chunks_mut();
        rows
    }

    #[inline(always)]
    fn renew_fixed<const LANES: usize, const WAYS: usize>(
        &mut self,
        set: usize,
        entry: u32,
        wanted: &[u32; LANES],
    ) -> Option<[u32; LANES]> {
        let Some(rows) = self.set::<LANES>(set).first_chunk_mut::<WAYS>() else {
            return Some(*wanted);
        };
        renew_rows(rows, entry, wanted)
    }

    fn renew_any<const LANES: usize>(
        &mut self,
        set: usize,
        entry: u32,
        wanted: &[u32; LANES],
    ) -> Option<[u32; LANES]> {
        renew_rows(self.set::<LANES>(set), entry, wanted)
    }

    /// Puts an entry into one lane of a set as the newest; the oldest goes.
    #[inline(always)]
    pub(super) fn insert<const LANES: usize>(&mut self, set: usize, entry: u32, lane: usize) {
        self.used = true;
        // With one lane in a bank, each TLB has a bank to itself.
        let bank = lane / LANES;
        let rows = self.set::<LANES>(bank * self.sets + set);
        let lane = lane % LANES;
        match rows.len() {
            4 => insert_fixed::<LANES, 4>(rows, entry, lane),
            6 => insert_fixed::<LANES, 6>(rows, entry, lane),
            8 => insert_fixed::<LANES, 8>(rows, entry, lane),
            _ => insert_into(rows, entry, lane),
        }
    }

    /// Where a set of a lane begins, if a bank has that many lanes. Its ways are `lanes` apart.
    const fn start(&self, set: usize, lane: usize, lanes: usize) -> usize {
        (lane / lanes * self.sets + set) * self.ways * lanes + lane % lanes
    }

    /// The sets of one TLB. The TLBs are apart.
    pub(super) fn bank(&mut self, lane: usize) -> &mut [u32] {
        let size = self.sets * self.ways;
        &mut self.entries[lane * size..(lane + 1) * size]
    }

    /// Removes entries of one lane. What stays keeps its order.
    pub(super) fn remove_where(
        &mut self,
        lane: usize,
        lanes: usize,
        unwanted: &mut dyn FnMut(u32) -> bool,
    ) {
        for set in 0..self.sets {
            let start = self.start(set, lane, lanes);
            let mut kept = 0;
            for way in 0..self.ways {
                let entry = self.entries[start + way * lanes];
                if entry != EMPTY && !unwanted(entry) {
                    self.entries[start + kept * lanes] = entry;
                    kept += 1;
                }
            }
            for way in kept..self.ways {
                self.entries[start + way * lanes] = EMPTY;
            }
        }
    }

    /// Removes an entry from one lane of a set.
    pub(super) fn remove_from(&mut self, set: usize, lane: usize, lanes: usize, unwanted: u32) {
        let start = self.start(set, lane, lanes);
        let found = (0..self.ways).find(|way| self.entries[start + way * lanes] == unwanted);
        if let Some(found) = found {
            for way in found + 1..self.ways {
                self.entries[start + (way - 1) * lanes] = self.entries[start + way * lanes];
            }
            self.entries[start + (self.ways - 1) * lanes] = EMPTY;
        }
    }

    pub(super) const fn ways(&self) -> usize {
        self.ways
    }

    /// The entries of one lane, set by set.
    pub(super) fn lane(&self, lane: usize, lanes: usize) -> impl Iterator<Item = u32> + '_ {
        let size = self.sets * self.ways * lanes;
        let start = self.start(0, lane, lanes);
        let end = (lane / lanes + 1) * size;
        self.entries[start..end].iter().step_by(lanes).copied()
    }

    pub(super) fn copy_lane(&mut self, from: usize, to: usize, lanes: usize) {
        let (from, to) = (self.start(0, from, lanes), self.start(0, to, lanes));
        for at in (0..self.sets * self.ways * lanes).step_by(lanes) {
            self.entries[to + at] = self.entries[from + at];
        }
    }

    /// Makes room for `lanes` lanes in each of `banks` banks, which were `from` lanes in each. What
    /// the first `count` lanes hold stays.
    pub(super) fn resize(&mut self, count: usize, from: usize, lanes: usize, banks: usize) {
        let entries = vec![EMPTY; self.sets * self.ways * lanes * banks];
        let old = std::mem::replace(&mut self.entries, entries);
        for lane in 0..count {
            let (before, after) = (self.start(0, lane, from), self.start(0, lane, lanes));
            for at in 0..self.sets * self.ways {
                self.entries[after + at * lanes] = old[before + at * from];
            }
        }
    }
}

/// All ones where it holds, otherwise zero: what vector comparisons make.
#[inline(always)]
const fn mask(holds: bool) -> u32 {
    (holds as u32).wrapping_neg()
}

#[inline(always)]
fn insert_fixed<const LANES: usize, const WAYS: usize>(
    rows: &mut [[u32; LANES]],
    entry: u32,
    lane: usize,
) {
    if let Some(rows) = rows.first_chunk_mut::<WAYS>() {
        insert_into(rows, entry, lane);
    }
}

#[inline(always)]
fn insert_into<const LANES: usize>(rows: &mut [[u32; LANES]], entry: u32, lane: usize) {
    let mut before = entry;
    for row in rows {
        before = std::mem::replace(&mut row[lane], before);
    }
}

/// The loops over lanes have no branches, so that they become vector instructions. Which lanes are left is answered, not written where it would be read at
/// once: lane by lane it cannot be forwarded to a load of all.
#[inline(always)]
fn renew_rows<const LANES: usize>(
    rows: &mut [[u32; LANES]],
    entry: u32,
    wanted: &[u32; LANES],
) -> Option<[u32; LANES]> {
    // In most lookups that find anything, it is found as the newest everywhere, or nowhere.
    let Some(first) = rows.first() else {
        return Some(*wanted);
    };
    let mut left = [0; LANES];
    let mut any_left = 0;
    for lane in 0..LANES {
        left[lane] = wanted[lane] & !mask(first[lane] == entry);
        any_left |= left[lane];
    }
    if any_left == 0 {
        return None;
    }
    // Whether a lane has it further behind.
    let mut moves = [0; LANES];
    for row in &rows[1..] {
        for lane in 0..LANES {
            moves[lane] |= mask(row[lane] == entry);
        }
    }
    let mut any_moves = 0;
    for lane in 0..LANES {
        moves[lane] &= left[lane];
        any_moves |= moves[lane];
    }
    if any_moves != 0 {
        any_left = 0;
        for lane in 0..LANES {
            left[lane] &= !moves[lane];
            any_left |= left[lane];
        }
        // Each way takes over what stood before it, up to the one where the entry was.
        let mut before = [entry; LANES];
        for row in &mut *rows {
            for lane in 0..LANES {
                let old = row[lane];
                row[lane] = before[lane] & moves[lane] | old & !moves[lane];
                moves[lane] &= !mask(old == entry);
                before[lane] = old;
            }
        }
    }
    (any_left != 0).then_some(left)
}
