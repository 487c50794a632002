//! What a pass over a trace keeps for the next: its reduced form, in memory, so that the trace need not be decoded again.

use broadleaf_filter::Fed;
use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::reduced::{ReducedHeader, ReducedPartReader, ReducedReader, ReducedWriter};
use broadleaf_trace::{Grain, TraceError, WriteError};
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

/// Keeps one part of a trace after the other, each by itself, so that several can be kept at the same time.
pub(crate) struct Keeper {
    /// None where a part was too much.
    writer: Option<ReducedWriter<Bounded>>,
    most: usize,
    /// The part that was ended last.
    ended: Option<Vec<u8>>,
}

impl Keeper {
    /// Keeps nothing yet, and no more than so many bytes of a part.
    pub(crate) fn new(most: usize) -> Self {
        let writer = ReducedWriter::new(Bounded::new(most), &ReducedHeader::default());
        Self {
            writer: writer.and_then(ReducedWriter::soon_read).ok(),
            most,
            ended: None,
        }
    }

    /// Keeps a piece.
    pub(crate) fn add(&mut self, piece: &Fed) {
        self.write(|writer| match piece {
            Fed::Visits(sifted, sums) => writer.visits(&sifted.kept, sums),
            Fed::Event(event) => writer.event(event),
        });
    }

    /// The part ends. What follows belongs to the next.
    pub(crate) fn end_part(&mut self) {
        let next = Bounded::new(self.most);
        let ended = self.write(|writer| writer.finish_and_begin(next, &ReducedHeader::default()));
        self.ended = ended.map(|(bounded, _)| {
            let mut part = bounded.bytes;
            // What is counted is what it holds.
            part.shrink_to_fit();
            part
        });
    }

    /// The part that was ended last; `None` where it, or one before, was too much.
    pub(crate) fn take_part(&mut self) -> Option<Vec<u8>> {
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

/// The reduced form of a trace, part by part.
pub(crate) struct Kept {
    parts: Vec<Vec<u8>>,
    /// How many bytes more may be kept.
    left: usize,
}

impl Kept {
    /// Nothing yet, and no more than so many bytes.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            parts: Vec::new(),
            left: most,
        }
    }

    /// How many bytes more may be kept.
    pub(crate) const fn left(&self) -> usize {
        self.left
    }

    /// The same with the next part; `None` where that is too much.
    pub(crate) fn with(mut self, part: Option<Vec<u8>>) -> Option<Self> {
        let part = part?;
        self.left = self.left.checked_sub(part.len())?;
        self.parts.push(part);
        Some(self)
    }

    /// The trace, from its start.
    pub(crate) fn source(&self) -> KeptSource<'_> {
        KeptSource {
            all: &self.parts,
            parts: &self.parts,
            reader: None,
            idle: Vec::new(),
        }
    }
}

/// A kept trace, being read.
pub(crate) struct KeptSource<'a> {
    all: &'a [Vec<u8>],
    /// Those that come behind the one that is being read.
    parts: &'a [Vec<u8>],
    reader: Option<ReducedReader<&'a [u8]>>,
    /// Readers of parts that are not in use.
    idle: Vec<ReducedPartReader>,
}

impl Source for KeptSource<'_> {
    type Error = TraceError;
    type Part = KeptPart;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        (self.parts, self.reader) = (self.all, None);
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<KeptPart>, TraceError> {
        loop {
            if let Some(reader) = &mut self.reader
                && let Some(part) = reader.next_part()?
            {
                let mut reader = self.idle.pop().unwrap_or_default();
                reader.begin(part);
                return Ok(Some(KeptPart(reader)));
            }
            let Some((next, rest)) = self.parts.split_first() else {
                return Ok(None);
            };
            self.parts = rest;
            self.reader = Some(ReducedReader::new(next.as_slice())?);
        }
    }

    fn close(&mut self, KeptPart(part): KeptPart) -> Result<ControlFlow<()>, TraceError> {
        self.idle.push(part);
        Ok(ControlFlow::Continue(()))
    }
}

/// A part of a kept trace.
pub(crate) struct KeptPart(ReducedPartReader);

impl SourcePart for KeptPart {
    type Error = TraceError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, TraceError> {
        Ok(self.0.next_item()?.map(SourcePiece::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_filter::Sifted;
    use broadleaf_trace::Event;
    use broadleaf_trace::reduced::{Kept as Visit, Manner, Sums};
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

    fn part(keeper: &mut Keeper, page: u64, count: u64) -> Option<Vec<u8>> {
        keeper.add(&Fed::Event(Event::SpaceSwitch(SpaceId(page as u32))));
        keeper.add(&visits(page, count));
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

    /// Parts that several keepers kept come in the order in which they were put together, and once more after going back.
    #[test]
    fn parts_come_in_their_order() {
        let mut keepers = [Keeper::new(1 << 20), Keeper::new(1 << 20)];
        let mut kept = Kept::new(1 << 20);
        let mut expected = Vec::new();
        for number in 0..9u64 {
            // Some fill several chunks, and some have no visits.
            let pieces = [1, 0, 4][number as usize % 3];
            let keeper = &mut keepers[number as usize % 2];
            for piece in 0..pieces {
                let first = (number << 20) + (piece << 14);
                keeper.add(&visits(first, 1 << 14));
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
        let one = part(&mut Keeper::new(1 << 20), 1, 10).expect("little enough");
        let most = 2 * one.len() + 1;
        let mut keeper = Keeper::new(one.len());
        let kept = Kept::new(most).with(part(&mut keeper, 1, 10));
        let kept = kept.and_then(|kept| kept.with(part(&mut keeper, 1, 10)));
        let kept = kept.expect("little enough");
        assert_eq!(kept.left(), 1);
        assert!(kept.with(part(&mut keeper, 1, 10)).is_none());
        // A keeper that had too much keeps nothing more.
        assert!(part(&mut keeper, 1, 30_000).is_none());
        assert!(part(&mut keeper, 1, 1).is_none());
    }
}
