//! One process of the recorded program. It turns the tool's words into definitions, events and
//! chunks.

use std::time::{Duration, Instant};

use broadleaf_trace::{Event, Range, Totals};

use super::encode::{BadExecution, ExecutionEncoder};
use super::order::Fork;
use super::ring::Segment;
use super::sites::ProcessSites;
use super::stack::Stack;
use super::streams::Streams;
use super::wire::{Payload, RECORD, WireItem, items, kind};

/// The receiver of a process's blocks, events and chunks. The writer of the trace implements it.
pub(super) trait Sink {
    type Error;
    /// Takes a block. Blocks come in the order of their numbers.
    fn block(&mut self, items: impl Iterator<Item = WireItem>);
    /// Takes an event before the execution of the next head. `heads` is the number of heads in this
    /// chunk so far.
    fn event(&mut self, heads: usize, event: &Event);
    /// Ends a chunk, at this fork if there is one. The sink may exchange the streams for others.
    fn chunk(
        &mut self,
        streams: &mut Streams,
        totals: Totals,
        fork: Option<Fork>,
    ) -> Result<(), Self::Error>;
}

/// Words that a correct tool does not write.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadWords {
    #[error(transparent)]
    Execution(#[from] BadExecution),
    #[error("the recorder's memory holds a record that is cut short")]
    Short,
}

pub(super) struct TracedProcess {
    encoder: ExecutionEncoder,
    /// The time at which the last chunk ended.
    ended: Instant,
    /// The fork in progress. No execution came since.
    forking: Option<u64>,
    /// True if the child of the last fork was reported before the process named it.
    child_reported: bool,
    /// True if other processes wait for the first chunk.
    awaited: bool,
    /// True if the process has written anything.
    heard: bool,
    /// The allocation sites; `None` if they are not recorded.
    sites: Option<ProcessSites>,
    /// The number of processes that this one forked.
    forks: u64,
}

/// The maximum time for which the references of a pausing program are missing in the file. A parent
/// waits at most as long for a child's first chunk.
const SAFE_AFTER: Duration = Duration::from_secs(1);
/// The longest time for which a running program's references are not yet in the file. A killed
/// recorder loses them.
const UNWRITTEN: Duration = Duration::from_secs(2);

impl TracedProcess {
    /// Creates a process. With `awaited`, other processes wait for its first chunk. With `sites`,
    /// allocation sites are recorded.
    pub(super) fn new(unit_shift: u32, awaited: bool, sites: bool) -> Self {
        Self {
            encoder: ExecutionEncoder::new(unit_shift),
            ended: Instant::now(),
            forking: None,
            child_reported: false,
            awaited,
            heard: false,
            sites: sites.then(ProcessSites::default),
            forks: 0,
        }
    }

    /// Processes one segment.
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
            self.encoder
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
        if self.encoder.is_enough() || self.ended.elapsed() >= UNWRITTEN {
            return Ok(self.end_chunk(sink));
        }
        if self.awaited {
            return Ok(self.idle(sink));
        }
        Ok(Ok(()))
    }

    /// Ends the chunk if the program has paused, or if other processes wait, unless a chunk has
    /// just ended.
    pub(super) fn idle<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.ended.elapsed() < SAFE_AFTER {
            return Ok(());
        }
        self.end_chunk(sink)
    }

    fn event<S: Sink>(&mut self, event: &Event, sink: &mut S) {
        self.forks += u64::from(matches!(event, Event::Fork { .. }));
        sink.event(self.encoder.streams().heads.end(), event);
    }

    /// Reports the growth of the stack if the kernel touches a range below it. A reference has the
    /// same effect.
    fn stack_grows_by<S: Sink>(&mut self, range: Range, sink: &mut S) {
        let mut stack = self.encoder.stack();
        if stack.grows_by(range.start.0) {
            stack.grow(range.start.0);
            self.encoder.set_stack(stack);
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
                self.encoder.block(items(words))?;
                sink.block(items(words));
            }
            kind::STACK => {
                let (low, top, floor) = (read.number(), read.number(), read.number());
                self.encoder.set_stack(Stack { low, top, floor });
            }
            kind::FORKING => {
                self.forking = Some(read.number());
                self.child_reported = false;
            }
            kind::FORK if self.child_reported => self.child_reported = false,
            kind::SITE | kind::ALLOCATION => {
                let sites = self.sites.as_mut();
                let event = sites.and_then(|sites| match record {
                    kind::SITE => sites.site(&mut read),
                    _ => sites.allocation(&mut read),
                });
                if let Some(event) = event {
                    self.event(&event, sink);
                }
            }
            _ => {
                if let Some(event) = read.event(record) {
                    if let Event::Populate { range, .. } = event {
                        self.stack_grows_by(range, sink);
                    }
                    self.event(&event, sink);
                    let sites = self.sites.as_mut();
                    for made in sites.map_or_else(Vec::new, |sites| sites.note(&event)) {
                        self.event(&made, sink);
                    }
                    if let (Event::Fork { child }, Some(number)) = (event, self.forking) {
                        self.forking = None;
                        return Ok(self.end_chunk_at(Some(Fork { number, child }), sink));
                    }
                }
            }
        }
        Ok(Ok(()))
    }

    /// Returns the number of processes that this one forked.
    pub(super) const fn forks(&self) -> u64 {
        self.forks
    }

    /// Returns the fork in progress, if the process has not reported its outcome.
    pub(super) const fn forking(&self) -> Option<u64> {
        self.forking
    }

    /// Names the child of the fork in progress. With `vfork`, the child announces itself before the
    /// parent continues.
    pub(super) fn bore<S: Sink>(&mut self, child: u32, sink: &mut S) -> Result<(), S::Error> {
        let Some(number) = self.forking.take() else {
            return Ok(());
        };
        self.event(&Event::Fork { child }, sink);
        self.child_reported = true;
        self.end_chunk_at(Some(Fork { number, child }), sink)
    }

    /// Ends the current chunk.
    pub(super) fn end_chunk<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.end_chunk_at(None, sink)
    }

    fn end_chunk_at<S: Sink>(&mut self, fork: Option<Fork>, sink: &mut S) -> Result<(), S::Error> {
        let totals = self.encoder.totals();
        sink.chunk(self.encoder.streams(), totals, fork)?;
        self.encoder.forget();
        self.ended = Instant::now();
        self.awaited &= !self.heard;
        Ok(())
    }
}

/// Takes a record's payload from the end of the numbers.
fn payload<'a>(numbers: &mut &'a [u64]) -> Option<&'a [u64]> {
    let (&length, rest) = numbers.split_last()?;
    let at = rest.len().checked_sub(usize::try_from(length).ok()?)?;
    let (rest, payload) = rest.split_at(at);
    *numbers = rest;
    Some(payload)
}
