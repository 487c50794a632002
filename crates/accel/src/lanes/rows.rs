//! One structure of several TLBs side by side: the ways of a set are rows, and each TLB has a
//! column, so that one comparison looks into all.

use super::aligned::LineAligned;
use super::entry::EMPTY;
use super::row_moves::RowMoves;

/// One structure of several TLBs.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    ways: usize,
    /// By set, way and lane. In each lane the newest entry of a set is in the first way, and empty
    /// ones come last.
    entries: LineAligned,
    /// True if any entry was ever inserted. Otherwise lookups skip the structure.
    pub(super) used: bool,
}

impl Rows {
    pub(super) fn new(sets: usize, ways: usize, lanes: usize) -> Self {
        Self {
            ways,
            entries: LineAligned::empty(sets * ways * lanes),
            used: false,
        }
    }

    /// Looks for an entry in some lanes of a set, and makes it the newest where it is there.
    /// Returns the lanes where it is not.
    #[inline(always)]
    pub(super) fn renew<M: RowMoves, const LANES: usize>(
        &mut self,
        moves: M,
        set: usize,
        entry: u32,
        wanted: &M::Chosen<LANES>,
    ) -> M::Chosen<LANES> {
        // Loops over a known number of ways are faster.
        let rows = self.set::<LANES>(set);
        match rows.len() {
            4 => renew_fixed::<M, LANES, 4>(moves, rows, entry, wanted),
            6 => renew_fixed::<M, LANES, 6>(moves, rows, entry, wanted),
            8 => renew_fixed::<M, LANES, 8>(moves, rows, entry, wanted),
            _ => moves.renew_rows(rows, entry, wanted),
        }
    }

    /// Puts an entry into some lanes of a set, given as bits, as the newest. The oldest goes.
    #[inline(always)]
    pub(super) fn put_in<M: RowMoves, const LANES: usize>(
        &mut self,
        moves: M,
        set: usize,
        entry: u32,
        lanes: u64,
    ) {
        self.used = true;
        let rows = self.set::<LANES>(set);
        match rows.len() {
            4 => put_in_fixed::<M, LANES, 4>(moves, rows, entry, lanes),
            6 => put_in_fixed::<M, LANES, 6>(moves, rows, entry, lanes),
            8 => put_in_fixed::<M, LANES, 8>(moves, rows, entry, lanes),
            _ => moves.put_in_rows(rows, entry, lanes),
        }
    }

    /// Puts an entry into one lane of `lanes`, as the newest of its set.
    pub(super) fn put_in_lane(&mut self, set: usize, (lane, lanes): (usize, usize), entry: u32) {
        self.used = true;
        let mut before = entry;
        let set = &mut self.entries[set * self.ways * lanes..][..self.ways * lanes];
        for row in set.chunks_exact_mut(lanes) {
            before = std::mem::replace(&mut row[lane], before);
        }
    }

    #[inline(always)]
    fn set<const LANES: usize>(&mut self, set: usize) -> &mut [[u32; LANES]] {
        let size = self.ways * LANES;
        let (rows, _) = self.entries[set * size..(set + 1) * size].as_chunks_mut();
        rows
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
    pub(super) fn sets(&self) -> usize {
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
        let mut entries = LineAligned::empty(self.entries.len() / from * to);
        let kept = from.min(to);
        for (old, new) in (self.entries.chunks_exact(from)).zip(entries.chunks_exact_mut(to)) {
            new[..kept].copy_from_slice(&old[..kept]);
        }
        self.entries = entries;
    }
}

#[inline(always)]
fn renew_fixed<M: RowMoves, const LANES: usize, const WAYS: usize>(
    moves: M,
    rows: &mut [[u32; LANES]],
    entry: u32,
    wanted: &M::Chosen<LANES>,
) -> M::Chosen<LANES> {
    match rows.first_chunk_mut::<WAYS>() {
        Some(rows) => moves.renew_rows(rows, entry, wanted),
        None => *wanted,
    }
}

#[inline(always)]
fn put_in_fixed<M: RowMoves, const LANES: usize, const WAYS: usize>(
    moves: M,
    rows: &mut [[u32; LANES]],
    entry: u32,
    lanes: u64,
) {
    if let Some(rows) = rows.first_chunk_mut::<WAYS>() {
        moves.put_in_rows(rows, entry, lanes);
    }
}
