//! What a pass over a trace keeps for the next: its reduced form, in memory, so that the trace need
//! not be decoded again.
//!
//! Visits that repeat are packed. Visits of random updates do not repeat, so packing them takes
//! longer than decoding the trace again: they are kept as they are, mostly a word for each.

mod plain;

use broadleaf_filter::Fed;
use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::reduced::{ReducedHeader, ReducedPartReader, ReducedReader, ReducedWriter};
use broadleaf_trace::{Grain, TraceError, WriteError};
use plain::{PlainReader, PlainVisits};
use std::io::{self, Write};
use std::ops::ControlFlow;

/// Bytes, up to a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Bounded {
    const fn new(most: usize) -> Self {
        Self {
            bytes: Vec::new(),
            most,
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, some: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + some.len() > self.most {
            return Err(io::Error::other("more than may be kept"));
        }
        self.bytes.extend_from_slice(some);
        Ok(some.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stretch of a kept part.
pub(crate) enum KeptStretch {
    /// A reduced trace of its own.
    Packed(Vec<u8>),
    /// Visits as they are.
    Plain(PlainVisits),
}

impl KeptStretch {
    fn bytes(&self) -> usize {
        match self {
            Self::Packed(bytes) => bytes.len(),
            Self::Plain(visits) => visits.bytes(),
        }
    }
}

/// Keeps one part of a trace after the other, each by itself, so that several can be kept at the
/// same time.
pub(crate) struct Keeper {
    /// None where a part was too much.
    writer: Option<ReducedWriter<Bounded>>,
    /// Whether anything was written since the last stretch ended.
    is_begun: bool,
    /// How many bytes of a part are kept.
    most: usize,
    /// Gives up a part of which too many visits are left.
    only_few: bool,
    /// The visits that the part keeps so far, and its accesses.
    visits: u64,
    accesses: u64,
    /// The part's stretches so far, and the one that visits are added to as they are.
    stretches: Vec<KeptStretch>,
    plain: PlainVisits,
    /// The part that was ended last.
    ended: Option<Vec<KeptStretch>>,
}

impl Keeper {
    /// Creates an empty keeper of at most `most` bytes of a part.
    pub(crate) fn new(most: usize, only_few: bool) -> Self {
        let writer = ReducedWriter::new(Bounded::new(most), &ReducedHeader::default());
        Self {
            writer: writer.and_then(ReducedWriter::soon_read).ok(),
            is_begun: false,
            most,
            only_few,
            visits: 0,
            accesses: 0,
            stretches: Vec::new(),
            plain: PlainVisits::default(),
            ended: None,
        }
    }

    /// Keeps a piece. `plain` says that its visits do not repeat.
    pub(crate) fn add(&mut self, piece: &Fed, plain: bool) {
        // Few visits are packed in any case: then the part can be kept for later replays.
        self.add_as(piece, plain && self.visits > FREE_VISITS);
    }

    fn add_as(&mut self, piece: &Fed, plain: bool) {
        if let Fed::Visits(sifted, sums) = piece {
            self.visits += sifted.kept.len() as u64;
            self.accesses += sums.accesses();
            if self.only_few && are_many(self.visits, self.accesses) {
                self.give_up();
            }
        }
        if self.writer.is_none() {
            return;
        }
        if let Fed::Visits(sifted, sums) = piece
            && plain
        {
            if self.is_begun {
                self.end_packed();
            }
            self.plain.add(&sifted.kept, sums);
            if self.plain.is_enough() {
                self.end_plain();
            }
            return;
        }
        self.end_plain();
        self.is_begun = true;
        self.write(|writer| match piece {
            Fed::Visits(sifted, sums) => writer.visits(&sifted.kept, sums),
            Fed::Event(event) => writer.event(event),
        });
    }

    /// The part ends. What follows belongs to the next.
    pub(crate) fn end_part(&mut self) {
        (self.visits, self.accesses) = (0, 0);
        self.end_plain();
        if self.is_begun || self.stretches.is_empty() {
            self.end_packed();
        }
        let part = std::mem::take(&mut self.stretches);
        self.ended = self.writer.is_some().then_some(part);
    }

    fn end_packed(&mut self) {
        self.is_begun = false;
        let next = Bounded::new(self.most);
        let ended = self.write(|writer| writer.finish_and_begin(next, &ReducedHeader::default()));
        if let Some((bounded, _)) = ended {
            let mut bytes = bounded.bytes;
            // What is counted is what it holds.
            bytes.shrink_to_fit();
            self.end_stretch(KeptStretch::Packed(bytes));
        }
    }

    fn end_plain(&mut self) {
        if !self.plain.is_empty() {
            let visits = std::mem::take(&mut self.plain);
            self.end_stretch(KeptStretch::Plain(visits));
        }
    }

    fn end_stretch(&mut self, stretch: KeptStretch) {
        self.stretches.push(stretch);
        if self.stretches.iter().map(KeptStretch::bytes).sum::<usize>() > self.most {
            self.give_up();
        }
    }

    /// Keeps nothing from here on.
    fn give_up(&mut self) {
        self.writer = None;
        self.stretches.clear();
        self.plain = PlainVisits::default();
    }

    /// The part that was ended last; `None` where it, or one before, was too much.
    pub(crate) fn take_part(&mut self) -> Option<Vec<KeptStretch>> {
        self.ended.take()
    }

    fn write<T>(
        &mut self,
        write: impl FnOnce(&mut ReducedWriter<Bounded>) -> Result<T, WriteError>,
    ) -> Option<T> {
        let written = write(self.writer.as_mut()?).ok();
        if written.is_none() {
            self.writer = None;
        }
        written
    }
}

/// A part may keep this many visits before their share counts.
const FREE_VISITS: u64 = 1 << 18;
/// The share of accesses, one in this many, above which kept visits are many. Writing one down
/// takes 20 ns, decoding an access 20 ns.
const FEW_OF: u64 = 8;

/// Returns true if the kept visits are too many for a later replay to gain much.
const fn are_many(visits: u64, accesses: u64) -> bool {
    visits > FREE_VISITS && visits.saturating_mul(FEW_OF) > accesses
}

/// The reduced form of a trace, part by part.
pub(crate) struct Kept {
    stretches: Vec<KeptStretch>,
    /// How many bytes more may be kept.
    left: usize,
    only_few: bool,
}

impl Kept {
    /// An empty form of at most `most` bytes.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            stretches: Vec::new(),
            left: most,
            only_few: false,
        }
    }

    /// Gives up a trace of which too many visits are left, because a later replay gains little.
    pub(crate) const fn only_few(mut self, only_few: bool) -> Self {
        self.only_few = only_few;
        self
    }

    /// A keeper of one part after the other.
    pub(crate) fn keeper(&self) -> Keeper {
        Keeper::new(self.left, self.only_few)
    }

    /// All parts, each a whole reduced trace. `None` if visits that do not repeat are kept as they
    /// are: a reduced trace of them saves no time.
    pub(crate) fn into_parts(self) -> Option<Vec<Vec<u8>>> {
        let parts = self.stretches.into_iter().map(|stretch| match stretch {
            KeptStretch::Packed(bytes) => Some(bytes),
            KeptStretch::Plain(_) => None,
        });
        parts.collect()
    }

    /// How many bytes more may be kept.
    #[cfg(test)]
    const fn left(&self) -> usize {
        self.left
    }

    /// The same with the next part; `None` where that is too much.
    pub(crate) fn with(mut self, part: Option<Vec<KeptStretch>>) -> Option<Self> {
        let part = part?;
        let bytes = part.iter().map(KeptStretch::bytes).sum();
        self.left = self.left.checked_sub(bytes)?;
        self.stretches.extend(part);
        Some(self)
    }

    /// The trace, from its start.
    pub(crate) fn source(&self) -> KeptSource<'_> {
        KeptSource {
            all: &self.stretches,
            stretches: &self.stretches,
            reader: None,
            idle: Vec::new(),
        }
    }
}

/// A kept trace, being read.
pub(crate) struct KeptSource<'a> {
    all: &'a [KeptStretch],
    /// The stretches after the one that is being read.
    stretches: &'a [KeptStretch],
    reader: Option<ReducedReader<&'a [u8]>>,
    /// Readers of parts that are not in use.
    idle: Vec<ReducedPartReader>,
}

impl<'a> Source for KeptSource<'a> {
    type Error = TraceError;
    type Part = KeptPart<'a>;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn is_reduced(&self) -> bool {
        true
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        (self.stretches, self.reader) = (self.all, None);
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<KeptPart<'a>>, TraceError> {
        loop {
            if let Some(reader) = &mut self.reader
                && let Some(part) = reader.next_part()?
            {
                let mut reader = self.idle.pop().unwrap_or_default();
                reader.begin(part);
                return Ok(Some(KeptPart::Packed(Box::new(reader))));
            }
            self.reader = None;
            let Some((next, rest)) = self.stretches.split_first() else {
                return Ok(None);
            };
            self.stretches = rest;
            match next {
                KeptStretch::Packed(bytes) => {
                    self.reader = Some(ReducedReader::new(bytes.as_slice())?);
                }
                KeptStretch::Plain(visits) => {
                    return Ok(Some(KeptPart::Plain(visits.read())));
                }
            }
        }
    }

    fn close(&mut self, part: KeptPart<'a>) -> Result<ControlFlow<()>, TraceError> {
        if let KeptPart::Packed(part) = part {
            self.idle.push(*part);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// A part of a kept trace.
pub(crate) enum KeptPart<'a> {
    Packed(Box<ReducedPartReader>),
    Plain(PlainReader<'a>),
}

impl SourcePart for KeptPart<'_> {
    type Error = TraceError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, TraceError> {
        match self {
            Self::Packed(part) => Ok(part.next_item()?.map(SourcePiece::from)),
            Self::Plain(visits) => {
                Ok((visits.next_piece()).map(|(visits, sums)| SourcePiece::Reduced(visits, sums)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_filter::Sifted;
    use broadleaf_trace::Event;
    use broadleaf_trace::reduced::{KeptVisit as Visit, Manner, Sums};
    use broadleaf_units::SpaceId;

    fn visits(page: u64, count: u64) -> Fed {
        let visit = |time| Visit {
            page: page + time,
            time,
            loads_before_store: 0,
            manner: Manner::LOAD,
        };
        let sums = Sums {
            loads: count,
            data: true,
            ..Sums::default()
        };
        let sifted = Sifted {
            kept: (0..count).map(visit).collect(),
            ..Sifted::default()
        };
        Fed::Visits(sifted, sums)
    }

    fn part(keeper: &mut Keeper, page: u64, count: u64) -> Option<Vec<KeptStretch>> {
        keeper.add_as(&Fed::Event(Event::SpaceSwitch(SpaceId(page as u32))), false);
        keeper.add_as(&visits(page, count), false);
        keeper.end_part();
        keeper.take_part()
    }

    /// The pages of a source's visits, in order.
    fn pages(source: &mut KeptSource<'_>) -> Vec<u64> {
        let mut pages = Vec::new();
        while let Some(mut part) = source.next_part().expect("no damage") {
            while let Some(piece) = part.next().expect("no damage") {
                match piece {
                    SourcePiece::Reduced(visits, _) => {
                        pages.extend(visits.iter().map(|visit| visit.page))
                    }
                    piece => assert!(matches!(piece, SourcePiece::Event(Event::SpaceSwitch(_)))),
                }
            }
            let end = source.close(part).expect("no damage");
            assert!(end.is_continue());
        }
        pages
    }

    /// Parts that several keepers kept come in the order in which they were put together, and once
    /// more after going back.
    #[test]
    fn parts_come_in_their_order() {
        come_in_their_order(|_, _| false);
    }

    /// The same where some visits, or all, are kept as they are.
    #[test]
    fn plain_visits_come_in_their_order() {
        come_in_their_order(|_, _| true);
        come_in_their_order(|number, piece| (number + piece) % 3 == 0);
    }

    fn come_in_their_order(plain: impl Fn(u64, u64) -> bool) {
        let mut keepers = [Keeper::new(1 << 20, false), Keeper::new(1 << 20, false)];
        let mut kept = Kept::new(1 << 24);
        let mut expected = Vec::new();
        for number in 0..9u64 {
            // Some fill several chunks, and some have no visits.
            let pieces = [1, 0, 4][number as usize % 3];
            let keeper = &mut keepers[number as usize % 2];
            for piece in 0..pieces {
                let first = (number << 20) + (piece << 14);
                keeper.add_as(&visits(first, 1 << 14), plain(number, piece));
                expected.extend(first..first + (1 << 14));
            }
            kept = kept
                .with(part(keeper, number << 20, 0))
                .expect("little enough");
        }
        let mut source = kept.source();
        let mut parts = 0;
        while source.next_part().expect("no damage").is_some() {
            parts += 1;
        }
        assert!(parts > 9, "{parts} parts");
        source.rewind().expect("no damage");
        assert!(pages(&mut source) == expected);
        source.rewind().expect("no damage");
        assert!(pages(&mut source) == expected);
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let one = part(&mut Keeper::new(1 << 20, false), 1, 10).expect("little enough");
        let length = one.iter().map(KeptStretch::bytes).sum();
        let most = 2 * length + 1;
        let mut keeper = Keeper::new(length, false);
        let kept = Kept::new(most).with(part(&mut keeper, 1, 10));
        let kept = kept.and_then(|kept| kept.with(part(&mut keeper, 1, 10)));
        let kept = kept.expect("little enough");
        assert_eq!(kept.left(), 1);
        assert!(kept.with(part(&mut keeper, 1, 10)).is_none());
        // A keeper that had too much keeps nothing more.
        assert!(part(&mut keeper, 1, 30_000).is_none());
        assert!(part(&mut keeper, 1, 1).is_none());
    }

    /// A part of which all visits are left is given up where only few are wanted.
    #[test]
    fn many_visits_are_not_worth_keeping() {
        for (only_few, rounds, is_kept) in [(false, 40, true), (true, 40, false), (true, 2, true)] {
            for plain in [false, true] {
                let mut keeper = Keeper::new(1 << 24, only_few);
                for round in 0..rounds {
                    keeper.add_as(&visits(round << 14, 1 << 14), plain);
                }
                let kept = part(&mut keeper, 1, 0);
                assert_eq!(kept.is_some(), is_kept, "{only_few} {rounds} {plain}");
            }
        }
    }

    /// A short part can be kept for later replays, and a long one of random visits cannot.
    #[test]
    fn few_visits_are_packed() {
        for (rounds, is_packed) in [(2, true), (40, false)] {
            let kept = Kept::new(1 << 24);
            let mut keeper = kept.keeper();
            (0..rounds).for_each(|round| keeper.add(&visits(round << 14, 1 << 14), true));
            keeper.end_part();
            let kept = kept.with(keeper.take_part()).expect("little enough");
            assert_eq!(kept.into_parts().is_some(), is_packed, "{rounds} rounds");
        }
    }

    #[test]
    fn no_more_plain_visits_are_kept_than_may_be() {
        let kept = |most| {
            let mut keeper = Keeper::new(most, false);
            for page in 0..8 {
                keeper.add_as(&visits(page << 14, 1 << 14), true);
            }
            keeper.end_part();
            keeper.take_part()
        };
        let part = kept(1 << 24).expect("little enough");
        let bytes = part.iter().map(KeptStretch::bytes).sum();
        assert!(bytes < (9 * 8) << 14, "{bytes} bytes");
        assert!(kept(bytes).is_some());
        assert!(kept(bytes - 1).is_none());
    }
}
