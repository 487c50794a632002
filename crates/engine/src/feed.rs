//! The trace as a stream of pieces in order, decoded and sieved ahead of their use, several parts at a time.

use crate::sieve::{Kept, Sieve, Sums};
use crate::source::{Part, Source};
use broadleaf_memory::GEOMETRY;
use broadleaf_trace::{Event, Item};
use broadleaf_translation::Recency;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// How many visits are decoded in one go: enough that sharing them out costs nothing beside.
const STEP: usize = 1 << 16;
/// How many items at most, since an item may hold no visit.
const STEP_ITEMS: usize = 1 << 12;
/// How many visits that were kept may wait in one part.
const MOST_WAITING: usize = 1 << 22;

/// A piece of the trace.
pub(crate) enum Piece {
    /// Visits that may change something, and what they and those that do not come to.
    Visits(Vec<Kept>, Sums),
    Event(Event),
}

/// A part that is decoded ahead.
struct Ahead<P: Part> {
    part: P,
    sieve: Sieve,
    shift: u32,
    pieces: VecDeque<Piece>,
    waiting: usize,
    /// Where its end was found, and how it ended.
    end: Option<Result<(), P::Error>>,
    spare: Vec<Vec<Kept>>,
}

impl<P: Part> Ahead<P> {
    const fn has_room(&self) -> bool {
        self.end.is_none() && self.waiting < MOST_WAITING
    }

    /// Decodes a step further.
    fn step(&mut self) {
        let mut kept = self.spare.pop().unwrap_or_default();
        let mut sums = Sums::default();
        let (mut visits, mut items) = (0, 0);
        while visits < STEP && items < STEP_ITEMS && self.end.is_none() {
            items += 1;
            match self.part.next() {
                Ok(Some(Item::Visits(some))) => {
                    visits += some.len();
                    self.sieve.sift(some, self.shift, &mut kept, &mut sums);
                }
                Ok(Some(Item::Event(event))) => {
                    self.sieve.pass(event);
                    let event = event.clone();
                    let done = std::mem::take(&mut kept);
                    self.put(done, std::mem::take(&mut sums));
                    self.pieces.push_back(Piece::Event(event));
                }
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
        self.put(kept, sums);
    }

    fn put(&mut self, kept: Vec<Kept>, sums: Sums) {
        if sums != Sums::default() {
            self.waiting += kept.len();
            self.pieces.push_back(Piece::Visits(kept, sums));
        }
    }
}

/// The trace as a stream of pieces in order.
pub(crate) struct Feed<'a, S: Source> {
    source: &'a mut S,
    recency: Recency,
    ahead: VecDeque<Ahead<S::Part>>,
    /// How many parts are decoded at a time.
    width: usize,
    /// The source has no more parts, or failed after those that it had.
    end: Option<Option<S::Error>>,
    spare: Vec<Vec<Kept>>,
}

impl<'a, S: Source> Feed<'a, S> {
    /// The trace of a source, for machines whose lookups that change nothing `recency` tells; `width` parts at a time.
    pub(crate) fn new(source: &'a mut S, recency: Recency, width: usize) -> Self {
        Self {
            source,
            recency,
            ahead: VecDeque::new(),
            width,
            end: None,
            spare: Vec::new(),
        }
    }

    /// Opens as many parts as are decoded at a time.
    pub(crate) fn open(&mut self) {
        while self.end.is_none() && self.ahead.len() < self.width {
            match self.source.next_part() {
                Ok(Some(part)) => self.ahead.push_back(Ahead {
                    part,
                    sieve: Sieve::new(self.recency.clone()),
                    shift: u32::from(GEOMETRY.base().shift() - self.source.grain().shift()),
                    pieces: VecDeque::new(),
                    waiting: 0,
                    end: None,
                    spare: std::mem::take(&mut self.spare),
                }),
                Ok(None) => self.end = Some(None),
                Err(error) => self.end = Some(Some(error)),
            }
        }
    }

    /// What can be done at the same time to have more of the trace decoded: one step of each part that has room.
    pub(crate) fn steps(&mut self) -> impl Iterator<Item = impl FnOnce() + Send> {
        let with_room = self.ahead.iter_mut().filter(|ahead| ahead.has_room());
        with_room.map(|ahead| move || ahead.step())
    }

    /// The next piece, as far as it was decoded. `Ok(None)` where it was not, or the trace is at its end.
    ///
    /// # Errors
    /// Where the trace is damaged here.
    pub(crate) fn next(&mut self) -> Result<Option<Piece>, S::Error> {
        loop {
            let Some(ahead) = self.ahead.front_mut() else {
                // An error of the source stands behind all that it handed out.
                return match self.end.as_mut().and_then(Option::take) {
                    Some(error) => Err(error),
                    None => Ok(None),
                };
            };
            if let Some(piece) = ahead.pieces.pop_front() {
                if let Piece::Visits(kept, _) = &piece {
                    ahead.waiting -= kept.len();
                }
                return Ok(Some(piece));
            }
            match ahead.end.take() {
                None => return Ok(None),
                Some(Err(error)) => return Err(error),
                Some(Ok(())) => {}
            }
            let Some(done) = self.ahead.pop_front() else {
                return Ok(None);
            };
            self.spare = done.spare;
            if self.source.close(done.part)? == ControlFlow::Break(()) {
                self.ahead.clear();
                self.end = Some(None);
            }
        }
    }

    /// Whether all was handed out.
    pub(crate) fn is_at_end(&self) -> bool {
        self.ahead.is_empty() && matches!(self.end, Some(None))
    }

    /// Takes a list back that is no longer needed.
    pub(crate) fn give_back(&mut self, mut kept: Vec<Kept>) {
        kept.clear();
        if let Some(ahead) = self.ahead.front_mut() {
            ahead.spare.push(kept);
        }
    }
}
