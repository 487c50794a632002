//! The keeper of a trace's parts.

use super::KeptStretch;
use super::plain::PlainVisits;
use broadleaf_filter::Fed;
use broadleaf_trace::WriteError;
use broadleaf_trace::reduced::{ReducedHeader, ReducedWriter};
use std::io::{self, Write};

/// A buffer with a maximum size.
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

/// A part may keep this many visits before their share counts.
const FREE_VISITS: u64 = 1 << 18;
/// The share of accesses, one in this many, above which kept visits are many. Writing one down
/// takes 20 ns, decoding an access 20 ns.
const FEW_OF: u64 = 8;

/// Returns true if the kept visits are too many for a later replay to gain much.
const fn are_many(visits: u64, accesses: u64) -> bool {
    visits > FREE_VISITS && visits.saturating_mul(FEW_OF) > accesses
}

/// Keeps the parts of a trace, one after the other. Several keepers can work at the same time.
pub(crate) struct Keeper {
    /// `None` if a part exceeded the bound.
    writer: Option<ReducedWriter<Bounded>>,
    /// True if anything was written since the last stretch ended.
    is_begun: bool,
    /// The maximum number of bytes of a part.
    most: usize,
    /// Gives up a part if the filter leaves too many of its visits.
    only_few: bool,
    /// The number of visits of a part that are always packed.
    packed: u64,
    /// The visits kept of the part so far, and the part's accesses.
    visits: u64,
    accesses: u64,
    /// The part's stretches so far, and the current stretch of unpacked visits.
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
            packed: FREE_VISITS,
            visits: 0,
            accesses: 0,
            stretches: Vec::new(),
            plain: PlainVisits::default(),
            ended: None,
        }
    }

    /// Packs no visits that do not repeat. Then the parts serve no later replay.
    pub(crate) const fn only_read_soon(mut self, only_read_soon: bool) -> Self {
        self.packed = if only_read_soon { 0 } else { FREE_VISITS };
        self
    }

    /// Keeps a piece. `plain` says that its visits do not repeat.
    pub(crate) fn add(&mut self, piece: &Fed, plain: bool) {
        // Few visits are always packed, so that the part can be kept for later replays.
        self.add_as(piece, plain && self.visits >= self.packed);
    }

    pub(super) fn add_as(&mut self, piece: &Fed, plain: bool) {
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

    /// Ends the part. Later pieces belong to the next part.
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
            // The bound counts the length, so the capacity must not exceed it.
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

    /// The part that ended last; `None` if this part or an earlier one exceeded the bound.
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
