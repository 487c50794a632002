//! The trace as a stream of pieces in order, decoded and sieved ahead of their use, several parts at a time.

use crate::sieve::Sieve;
use crate::source::{Part, Piece, Source};
use crate::trail::Trail;
use broadleaf_memory::GEOMETRY;
use broadleaf_trace::Event;
use broadleaf_trace::reduced::{Kept, Sums};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// How many visits are decoded in one go: enough that sharing them out costs nothing beside.
const STEP: usize = 1 << 16;
/// The same where several threads share the work: waking one costs as much as decoding a thousand visits.
const SHARED_STEP: usize = 1 << 19;
/// How many items at most, since an item may hold no visit.
const STEP_ITEMS: usize = 1 << 12;
/// How many pieces, visits that were kept and pages of the trail may wait in one part, but for what a step adds to the last that fit.
const MOST_WAITING: usize = 1 << 22;

/// What the sieve makes of visits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sifted {
    /// Those that may change something.
    pub(crate) kept: Vec<Kept>,
    /// What all look up, where somebody follows that.
    pub(crate) trail: Trail,
}

impl Sifted {
    fn clear(&mut self) {
        self.kept.clear();
        self.trail.clear();
    }
}

/// A piece of the trace.
pub(crate) enum Fed {
    /// Visits that were sifted, and what all come to.
    Visits(Sifted, Sums),
    Event(Event),
}

/// A part that is decoded ahead.
struct Ahead<P: Part> {
    part: P,
    sieve: Sieve,
    shift: u32,
    waiting: Waiting,
    /// Where its end was found, and how it ended.
    end: Option<Result<(), P::Error>>,
    spare: Vec<Sifted>,
}

impl<P: Part> Ahead<P> {
    const fn has_room(&self) -> bool {
        self.end.is_none() && self.waiting.size < MOST_WAITING
    }

    /// Decodes a step further.
    fn step(&mut self, most: usize) {
        let mut sifted = self.spare.pop().unwrap_or_default();
        let mut sums = Sums::default();
        let (mut visits, mut items) = (0, 0);
        let waiting = &mut self.waiting;
        while visits < most && items < STEP_ITEMS && self.end.is_none() {
            items += 1;
            match self.part.next() {
                Ok(Some(Piece::Visits(some))) => {
                    visits += some.len();
                    self.sieve.sift(some, self.shift, &mut sifted, &mut sums);
                }
                Ok(Some(Piece::Phrased(some))) => {
                    visits += some.words.len();
                    let (sifted, sums) = (&mut sifted, &mut sums);
                    self.sieve.sift_phrased(&some, self.shift, sifted, sums);
                }
                Ok(Some(Piece::Reduced(some, of_piece))) => {
                    // It counts its time from its own beginning, and of what it leaves out nothing is known.
                    self.sieve.catch_up(&mut sifted, &sums);
                    self.sieve.forget();
                    waiting.put(std::mem::take(&mut sifted), std::mem::take(&mut sums));
                    visits += some.len();
                    let mut own = self.spare.pop().unwrap_or_default();
                    own.kept.extend_from_slice(some);
                    self.sieve.follow_kept(&mut own);
                    waiting.put(own, of_piece);
                }
                Ok(Some(Piece::Event(event))) => {
                    self.sieve.catch_up(&mut sifted, &sums);
                    self.sieve.pass(event);
                    waiting.put(std::mem::take(&mut sifted), std::mem::take(&mut sums));
                    waiting.put_event(event.clone());
                }
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
        self.sieve.catch_up(&mut sifted, &sums);
        self.sieve.rest(visits, sifted.kept.len());
        waiting.put(sifted, sums);
    }
}

/// What was decoded and not used yet.
#[derive(Default)]
struct Waiting {
    pieces: VecDeque<Fed>,
    /// Pieces, and visits in them.
    size: usize,
}

impl Waiting {
    fn put_event(&mut self, event: Event) {
        self.size += 1;
        self.pieces.push_back(Fed::Event(event));
    }

    fn put(&mut self, sifted: Sifted, sums: Sums) {
        debug_assert!(
            sifted.kept.is_sorted_by_key(|visit| visit.time),
            "visits out of order"
        );
        if sums != Sums::default() {
            self.size += size(&sifted);
            self.pieces.push_back(Fed::Visits(sifted, sums));
        }
    }

    fn take(&mut self) -> Option<Fed> {
        let piece = self.pieces.pop_front()?;
        self.size -= match &piece {
            Fed::Visits(sifted, _) => size(sifted),
            Fed::Event(_) => 1,
        };
        Some(piece)
    }
}

/// How much room sifted visits take: a page of the trail about as much as a visit.
const fn size(sifted: &Sifted) -> usize {
    1 + sifted.kept.len() + sifted.trail.pages.len()
}

/// The trace as a stream of pieces in order.
pub(crate) struct Feed<'a, S: Source> {
    source: &'a mut S,
    /// What the sieve of each part begins as.
    sieve: Sieve,
    ahead: VecDeque<Ahead<S::Part>>,
    /// How many parts are decoded at a time.
    width: usize,
    /// The source has no more parts, or failed after those that it had.
    end: Option<Option<S::Error>>,
    spare: Vec<Sifted>,
}

impl<'a, S: Source> Feed<'a, S> {
    /// The trace of a source, sifted; `width` parts at a time.
    pub(crate) fn new(source: &'a mut S, sieve: Sieve, width: usize) -> Self {
        Self {
            source,
            sieve,
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
                    sieve: self.sieve.clone(),
                    shift: u32::from(GEOMETRY.base().shift() - self.source.grain().shift()),
                    waiting: Waiting::default(),
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
        let most = if self.width > 1 { SHARED_STEP } else { STEP };
        with_room.map(move |ahead| move || ahead.step(most))
    }

    /// The next piece, as far as it was decoded. `Ok(None)` where it was not, or the trace is at its end.
    ///
    /// # Errors
    /// Where the trace is damaged here.
    pub(crate) fn next(&mut self) -> Result<Option<Fed>, S::Error> {
        loop {
            let Some(ahead) = self.ahead.front_mut() else {
                // An error of the source stands behind all that it handed out.
                return match self.end.as_mut().and_then(Option::take) {
                    Some(error) => Err(error),
                    None => Ok(None),
                };
            };
            if let Some(piece) = ahead.waiting.take() {
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
    pub(crate) fn give_back(&mut self, mut sifted: Sifted) {
        sifted.clear();
        if let Some(ahead) = self.ahead.front_mut() {
            ahead.spare.push(sifted);
        }
    }
}
