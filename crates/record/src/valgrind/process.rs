//! One process of the recorded program: its words in, definitions, events and chunks out.

use std::time::{Duration, Instant};

use broadleaf_trace::{Event, Range, Totals};

use super::order::Fork;
use super::ring::Segment;
use super::stack::Stack;
use super::streams::Streams;
use super::tell::{BadExecution, Teller};
use super::wire::{Item, Payload, RECORD, items, kind};

/// What a process's words become. Implemented by the writer of the trace.
pub(super) trait Sink {
    type Error;
    /// What a block does; blocks come in the order of their numbers.
    fn block(&mut self, items: impl Iterator<Item = Item>);
    /// An event before the execution that the next head will tell; `heads` were told in this chunk.
    fn event(&mut self, heads: usize, event: &Event);
    /// The end of a chunk, at this fork if it is one. The streams may be exchanged for others.
    fn chunk(
        &mut self,
        streams: &mut Streams,
        totals: Totals,
        fork: Option<Fork>,
    ) -> Result<(), Self::Error>;
}

/// Something that the tool cannot have meant.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadWords {
    #[error(transparent)]
    Execution(#[from] BadExecution),
    #[error("the recorder's memory holds a record that is cut short")]
    Short,
}

pub(super) struct Process {
    teller: Teller,
    /// When the last chunk did.
    ended: Instant,
    /// The fork at which the process is; nothing was told since.
    forking: Option<u64>,
    /// The child of the last fork was told before the process said which it is.
    child_told: bool,
    /// Others wait for the first chunk.
    awaited: bool,
    /// The process has said something.
    heard: bool,
}

/// The longest that a program which pauses has references outside the file, and that a parent waits
/// for a child's first chunk.
const SAFE_AFTER: Duration = Duration::from_secs(1);
/// The longest time for which a running program's references are not yet in the file. A killed
/// recorder loses them.
const UNWRITTEN: Duration = Duration::from_secs(2);

impl Process {
    /// One whose first chunk others wait for, or not.
    pub(super) fn new(unit_shift: u32, awaited: bool) -> Self {
        Self {
            teller: Teller::new(unit_shift),
            ended: Instant::now(),
            forking: None,
            child_told: false,
            awaited,
            heard: false,
        }
    }

    /// Works through one segment.
    pub(super) fn segment<S: Sink>(
        &mut self,
        segment: &Segment,
        sink: &mut S,
    ) -> Result<Result<(), S::Error>, BadWords> {
        self.heard = true;
        let mut words = &segment.words[..];
        let mut numbers = &segment.numbers[..];
        while !words.is_empty() {
            let is_record = |word: &u32| word & RECORD != 0;
            let run = words.iter().position(is_record).unwrap_or(words.len());
            let (executions, rest) = words.split_at(run);
            self.teller
                .executions(executions, &mut numbers, &mut |heads, event| {
                    sink.event(heads, event);
                })?;
            let Some((&record, rest)) = rest.split_first() else {
                break;
            };
            words = rest;
            let payload = payload(&mut numbers).ok_or(BadWords::Short)?;
            if let Err(stopped) = self.record(record as u8, payload, sink)? {
                return Ok(Err(stopped));
            }
        }
        if self.teller.is_enough() || self.ended.elapsed() >= UNWRITTEN {
            return Ok(self.end_chunk(sink));
        }
        if self.awaited {
            return Ok(self.idle(sink));
        }
        Ok(Ok(()))
    }

    /// The program has done nothing for a while, or others wait. What it did before is put where it is safe, unless that has just been done.
    pub(super) fn idle<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.ended.elapsed() < SAFE_AFTER {
            return Ok(());
        }
        self.end_chunk(sink)
    }

    fn event<S: Sink>(&mut self, event: &Event, sink: &mut S) {
        sink.event(self.teller.streams().heads.end(), event);
    }

    /// The kernel touches a range: a stack that it reaches below grows first, as by a reference.
    fn stack_grows_by<S: Sink>(&mut self, range: Range, sink: &mut S) {
        let mut stack = self.teller.stack();
        if stack.grows_by(range.start.0) {
            stack.grow(range.start.0);
            self.teller.set_stack(stack);
            self.event(&stack.event(), sink);
        }
    }

    fn record<S: Sink>(
        &mut self,
        record: u8,
        payload: &[u64],
        sink: &mut S,
    ) -> Result<Result<(), S::Error>, BadWords> {
        let mut read = Payload(payload);
        match record {
            kind::BLOCK => {
                let words = payload.get(2..).unwrap_or_default();
                self.teller.block(items(words))?;
                sink.block(items(words));
            }
            kind::STACK => {
                let (low, top, floor) = (read.number(), read.number(), read.number());
                self.teller.set_stack(Stack { low, top, floor });
            }
            kind::FORKING => {
                self.forking = Some(read.number());
                self.child_told = false;
            }
            kind::FORK if self.child_told => self.child_told = false,
            _ => {
                if let Some(event) = read.event(record) {
                    if let Event::Populate { range, .. } = event {
                        self.stack_grows_by(range, sink);
                    }
                    self.event(&event, sink);
                    if let (Event::Fork { child }, Some(number)) = (event, self.forking) {
                        self.forking = None;
                        return Ok(self.end_chunk_at(Some(Fork { number, child }), sink));
                    }
                }
            }
        }
        Ok(Ok(()))
    }

    /// The fork at which the process is, if it has not said how that went.
    pub(super) const fn forking(&self) -> Option<u64> {
        self.forking
    }

    /// The fork at which the process is made this child, which was heard of before its parent said so: that of a `vfork` is until the parent goes on.
    pub(super) fn bore<S: Sink>(&mut self, child: u32, sink: &mut S) -> Result<(), S::Error> {
        let Some(number) = self.forking.take() else {
            return Ok(());
        };
        self.event(&Event::Fork { child }, sink);
        self.child_told = true;
        self.end_chunk_at(Some(Fork { number, child }), sink)
    }

    /// What was told since the last chunk becomes one.
    pub(super) fn end_chunk<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.end_chunk_at(None, sink)
    }

    fn end_chunk_at<S: Sink>(&mut self, fork: Option<Fork>, sink: &mut S) -> Result<(), S::Error> {
        let totals = self.teller.totals();
        sink.chunk(self.teller.streams(), totals, fork)?;
        self.teller.forget();
        self.ended = Instant::now();
        self.awaited &= !self.heard;
        Ok(())
    }
}

/// Takes a record's payload off the end of the numbers.
fn payload<'a>(numbers: &mut &'a [u64]) -> Option<&'a [u64]> {
    let (&length, rest) = numbers.split_last()?;
    let at = rest.len().checked_sub(usize::try_from(length).ok()?)?;
    let (rest, payload) = rest.split_at(at);
    *numbers = rest;
    Some(payload)
}
