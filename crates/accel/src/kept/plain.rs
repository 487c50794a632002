//! Unpacked visits: one word for each visit, or four words if one has no room.

use broadleaf_trace::reduced::{KeptVisit, Manner, Sums};

/// The approximate number of visits in a stretch: few enough that several threads find work.
const ENOUGH: usize = 1 << 16;

/// The bit positions of a word's fields: accesses since the visit before, the manner, loads before
/// the first store, and the page.
const MANNER: u32 = 8;
const LOADS: u32 = 12;
const PAGE: u32 = 20;
/// In place of the accesses: the page, the accesses and the loads are words of their own.
const NO_ROOM: u64 = 0xff;

/// Visits, piece by piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainVisits {
    words: Vec<u64>,
    /// For each piece: its end in `words`, the number of its kept visits, and the sums of all its
    /// visits.
    pieces: Vec<(usize, usize, Sums)>,
}

impl PlainVisits {
    pub(super) const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns true if the visits are enough for a stretch.
    pub(super) const fn is_enough(&self) -> bool {
        self.words.len() >= ENOUGH
    }

    pub(super) const fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice()) + size_of_val(self.pieces.as_slice())
    }

    /// Adds a piece. Its visits are in the order of their times.
    pub(super) fn add(&mut self, visits: &[KeptVisit], sums: &Sums) {
        let mut time = 0;
        if self.words.capacity() == 0 {
            self.words.reserve_exact(ENOUGH + visits.len());
        }
        for visit in visits {
            let since = visit.time - time;
            time = visit.time;
            let manner = u64::from(visit.manner.number()) << MANNER;
            let loads = u64::from(visit.loads_before_store);
            if since < NO_ROOM && loads < 1 << (PAGE - LOADS) && visit.page < 1 << (64 - PAGE) {
                let word = since | manner | loads << LOADS | visit.page << PAGE;
                self.words.push(word);
            } else {
                let words = [NO_ROOM | manner, visit.page, since, loads];
                self.words.extend_from_slice(&words);
            }
        }
        self.pieces.push((self.words.len(), visits.len(), *sums));
    }

    /// Reads the visits from the start.
    pub(super) fn read(&self) -> PlainReader<'_> {
        PlainReader {
            words: &self.words,
            from: 0,
            pieces: self.pieces.iter(),
            visits: Vec::new(),
        }
    }
}

/// Reads visits piece by piece.
pub(crate) struct PlainReader<'a> {
    words: &'a [u64],
    from: usize,
    pieces: std::slice::Iter<'a, (usize, usize, Sums)>,
    visits: Vec<KeptVisit>,
}

impl PlainReader<'_> {
    /// The next piece.
    pub(super) fn next_piece(&mut self) -> Option<(&[KeptVisit], Sums)> {
        let (end, count, sums) = self.pieces.next()?;
        let mut words = self.words[self.from..*end].iter();
        self.from = *end;
        self.visits.clear();
        self.visits.reserve(*count);
        let mut time = 0;
        while let Some(&word) = words.next() {
            // The number came from a valid manner.
            let manner = Manner::of_number((word >> MANNER) as u8 & 0xf).unwrap_or(Manner::LOAD);
            let mut visit = KeptVisit {
                page: word >> PAGE,
                time: time + (word & NO_ROOM),
                loads_before_store: (word >> LOADS) as u32 & ((1 << (PAGE - LOADS)) - 1),
                manner,
            };
            if word & NO_ROOM == NO_ROOM
                && let [page, since, loads, ..] = *words.as_slice()
            {
                words.nth(2);
                visit.page = page;
                visit.time = time + since;
                visit.loads_before_store = loads as u32;
            }
            time = visit.time;
            self.visits.push(visit);
        }
        Some((&self.visits, *sums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::synth::SplitMix64;

    #[test]
    fn what_is_read_is_what_was_added() {
        let mut random = SplitMix64::new(7);
        let mut plain = PlainVisits::default();
        let mut pieces = Vec::new();
        for _ in 0..100 {
            let mut time = 0;
            let mut visits = Vec::new();
            for _ in 0..random.below(200) {
                let mut small_or_large = |bits| {
                    let bits = if random.below(8) == 0 { bits } else { 7 };
                    random.next() >> (64 - bits)
                };
                time += small_or_large(40);
                visits.push(KeptVisit {
                    page: small_or_large(52),
                    time,
                    loads_before_store: small_or_large(32) as u32,
                    manner: [Manner::LOAD, Manner::LEAD][random.below(2) as usize],
                });
            }
            let sums = Sums {
                loads: time,
                data: true,
                ..Sums::default()
            };
            plain.add(&visits, &sums);
            pieces.push((visits, sums));
        }
        let mut reader = plain.read();
        for (visits, sums) in &pieces {
            assert_eq!(reader.next_piece(), Some((visits.as_slice(), *sums)));
        }
        assert_eq!(reader.next_piece(), None);
    }
}
