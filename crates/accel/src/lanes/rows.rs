//! One structure of several TLBs side by side: the ways of a set are rows, and each TLB has a
//! column, so that one comparison looks into all.

use super::entry::EMPTY;

/// One structure of several TLBs.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    ways: usize,
    /// By set, way and lane. In each lane the newest entry of a set is in the first way, and empty
    /// ones come last.
    entries: Vec<u32>,
    /// True if any entry was ever inserted. Otherwise lookups skip the structure.
    pub(super) used: bool,
}

impl Rows {
    pub(super) fn new(sets: usize, ways: usize, lanes: usize) -> Self {
        Self {
            ways,
            entries: vec![EMPTY; sets * ways * lanes],
            used: false,
        }
    }

    /// Looks for an entry in those lanes of a set for which `wanted` is all ones, and makes it the
    /// newest where it is there. Answers the lanes where it is not; `None` where it is in all.
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

    #[inline(always)]
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
        let rows = self.set::<LANES>(set);
        match rows.len() {
            4 => insert_fixed::<LANES, 4>(rows, entry, lane),
            6 => insert_fixed::<LANES, 6>(rows, entry, lane),
            8 => insert_fixed::<LANES, 8>(rows, entry, lane),
            _ => insert_into(rows, entry, lane),
        }
    }

    /// Removes entries of one lane. The other entries keep their order.
    pub(super) fn remove_where(
        &mut self,
        lane: usize,
        lanes: usize,
        unwanted: &mut dyn FnMut(u32) -> bool,
    ) {
        for set in self.entries.chunks_exact_mut(self.ways * lanes) {
            let mut kept = 0;
            for way in 0..self.ways {
                let entry = set[way * lanes + lane];
                if entry != EMPTY && !unwanted(entry) {
                    set[kept * lanes + lane] = entry;
                    kept += 1;
                }
            }
            for way in kept..self.ways {
                set[way * lanes + lane] = EMPTY;
            }
        }
    }

    /// Removes an entry from one lane of a set.
    pub(super) fn remove_from(&mut self, set: usize, lane: usize, lanes: usize, unwanted: u32) {
        let start = set * self.ways * lanes + lane;
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

    /// The number of sets. There is one lane.
    pub(super) const fn sets(&self) -> usize {
        self.entries.len() / self.ways
    }

    /// Replaces the entries of one lane, set by set.
    pub(super) fn fill_lane(
        &mut self,
        lane: usize,
        lanes: usize,
        entries: &mut impl Iterator<Item = u32>,
    ) {
        self.used = true;
        let places = self.entries[lane..].iter_mut().step_by(lanes);
        for (place, entry) in places.zip(entries) {
            *place = entry;
        }
    }

    /// The entries of one lane, set by set.
    pub(super) fn lane(&self, lane: usize, lanes: usize) -> impl Iterator<Item = u32> + '_ {
        self.entries[lane..].iter().step_by(lanes).copied()
    }

    pub(super) fn copy_lane(&mut self, from: usize, to: usize, lanes: usize) {
        for row in self.entries.chunks_exact_mut(lanes) {
            row[to] = row[from];
        }
    }

    /// Makes room for another number of lanes; of those that there are, as many stay as fit.
    pub(super) fn resize(&mut self, from: usize, to: usize) {
        let mut entries = vec![EMPTY; self.entries.len() / from * to];
        let kept = from.min(to);
        for (old, new) in (self.entries.chunks_exact(from)).zip(entries.chunks_exact_mut(to)) {
            new[..kept].copy_from_slice(&old[..kept]);
        }
        self.entries = entries;
    }
}

/// A mask of ones if the condition holds, otherwise zero, as vector comparisons return.
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

/// The loops over lanes have no branches, so that they become vector instructions. The mask of
/// remaining lanes is returned by value. If it were stored lane by lane, the processor could not
/// forward the stores to one load of all lanes.
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
    // Finds the lanes that hold the entry in a later row.
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
        // Each way takes the entry of the way before it, up to the way that held the entry.
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
