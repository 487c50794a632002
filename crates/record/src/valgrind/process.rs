//! One process of the recorded program: its words in, definitions, events and chunks out.

use broadleaf_trace::{Event, Range};
use broadleaf_units::VirtAddr;

use super::tell::{Streams, Teller, Totals, UnknownPattern};
use super::wire::{LEFT, Payload, RECORD, item, kind};

/// What a process's words become. Implemented by the writer of the trace.
pub(super) trait Sink {
    type Error;
    /// A block's items, in the tool's own words; blocks come in the order of their numbers.
    fn block(&mut self, items: &[u64]);
    /// An event before the execution that the next head will tell; `heads` were told in this chunk.
    fn event(&mut self, heads: usize, event: &Event);
    /// The end of a chunk.
    fn chunk(&mut self, streams: &Streams, totals: Totals) -> Result<(), Self::Error>;
}

/// The main thread's stack, which grows by being touched.
#[derive(Clone, Copy, Default)]
struct Stack {
    low: u64,
    top: u64,
    floor: u64,
}

impl Stack {
    fn grows_by(&self, address: u64) -> bool {
        address.wrapping_sub(self.floor) < self.low - self.floor
    }
}

/// Something that the tool cannot have meant.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadWords {
    #[error(transparent)]
    UnknownPattern(#[from] UnknownPattern),
    #[error("the recorder's memory holds a record that is cut short")]
    Short,
}

pub(super) struct Process {
    teller: Teller,
    stack: Stack,
}

impl Process {
    pub(super) fn new(unit_shift: u32) -> Self {
        Self {
            teller: Teller::new(unit_shift),
            stack: Stack::default(),
        }
    }

    /// Works through one segment.
    pub(super) fn words<S: Sink>(
        &mut self,
        words: &[u64],
        sink: &mut S,
    ) -> Result<Result<(), S::Error>, BadWords> {
        let mut rest = words;
        while let [first, after @ ..] = rest {
            if first & RECORD != 0 {
                let (payload, after) = after
                    .split_at_checked((first >> 32) as usize)
                    .ok_or(BadWords::Short)?;
                if let Err(e) = self.record(*first as u8, payload, sink) {
                    return Ok(Err(e));
                }
                rest = after;
            } else if first & LEFT == 0 {
                self.teller.stayed(*first as u32)?;
                rest = after;
            } else {
                let pattern = *first as u32;
                let (addresses, after) = after
                    .split_at_checked(self.teller.steps(pattern)?)
                    .ok_or(BadWords::Short)?;
                if addresses.iter().any(|&a| self.stack.grows_by(a)) {
                    self.grow_stack(addresses, sink);
                }
                self.teller.left(pattern, addresses);
                rest = after;
            }
        }
        Ok(Ok(()))
    }

    fn event<S: Sink>(&mut self, event: &Event, sink: &mut S) {
        sink.event(self.teller.streams().heads.len(), event);
    }

    fn grow_stack<S: Sink>(&mut self, addresses: &[u64], sink: &mut S) {
        const PAGE: u64 = 4096;
        let deepest = addresses
            .iter()
            .copied()
            .filter(|&a| self.stack.grows_by(a))
            .min();
        self.stack.low = deepest.unwrap_or(self.stack.low) & !(PAGE - 1);
        let range = Range {
            start: VirtAddr(self.stack.low),
            len: self.stack.top - self.stack.low,
        };
        self.event(&Event::StackGrow(range), sink);
    }

    fn record<S: Sink>(
        &mut self,
        record: u8,
        payload: &[u64],
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let mut read = Payload(payload);
        match record {
            kind::BLOCK => {
                let items = payload.get(2..).unwrap_or_default();
                self.teller.block(items);
                sink.block(items);
            }
            kind::RESET => self.end_chunk(sink)?,
            kind::STACK => {
                self.stack = Stack {
                    low: read.number(),
                    top: read.number(),
                    floor: read.number(),
                };
            }
            _ => {
                if let Some(event) = read.event(record) {
                    self.event(&event, sink);
                }
            }
        }
        Ok(())
    }

    /// What was told since the last chunk becomes one.
    pub(super) fn end_chunk<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let totals = self.teller.totals();
        sink.chunk(self.teller.streams(), totals)?;
        self.teller.forget();
        Ok(())
    }
}

/// Whether a word of a block is an instruction, and where.
pub(super) fn instruction(word: u64) -> Option<u64> {
    (word & 0xff == item::INSTRUCTION).then_some(word >> 8)
}
