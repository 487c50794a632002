//! The trace as a stream of pieces in order, decoded and sieved ahead of their use, several parts
//! at a time.

mod ahead;
mod lists;
mod waiting;

use crate::kept::{Keeper, Kept};
use crate::slot::TaskCell;
use ahead::{Ahead, Output, PIECE_KEPT};
use broadleaf_filter::Fed;
use broadleaf_filter::Sieve;
use broadleaf_memory::GEOMETRY;
use broadleaf_model::pool::Crew;
use broadleaf_model::{Source, SourcePart};
pub(crate) use lists::ListPool;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use waiting::Waiting;

/// The visits of a step without a crew: so few that the kept visits stay in the cache.
const STEP: usize = 1 << 16;
/// The visits of a step with a crew. Where few visits are kept, this number ends the step.
const SHARED_STEP: usize = (1 << 19) + 1;

/// A part, and how it ended.
type Ended<P> = (P, Result<(), <P as SourcePart>::Error>);

/// A part that is decoded ahead, wherever it is.
type SharedPart<P> = Arc<TaskCell<Box<Ahead<P>>>>;

/// The trace as a stream of pieces in order.
pub(crate) struct Feed<'a, S: Source> {
    source: &'a mut S,
    /// The sieve at the start of each part.
    sieve: Sieve,
    /// Parts that are decoded, in order.
    ahead: VecDeque<SharedPart<S::Part>>,
    /// The maximum length of `ahead`.
    most: usize,
    /// Steps have one length, with a crew or without.
    even: bool,
    /// Decoded pieces that come before the parts in `ahead`.
    pieces: VecDeque<Fed>,
    /// The part whose last pieces those are, and how it ended.
    ended: Option<Ended<S::Part>>,
    /// The source has no more parts, or failed after those that it had.
    end: Option<Option<S::Error>>,
    /// The visits in `pieces`.
    waiting: Waiting,
    /// Lists that are used again.
    lists: ListPool,
    sieves: Vec<Sieve>,
    /// The pieces that were handed out; `None` if they are not kept, or are too many.
    kept: Option<Kept>,
    keepers: Vec<Keeper>,
}

impl<'a, S: Source> Feed<'a, S> {
    /// The sifted trace of a source. With a crew, at most `most` parts are decoded at a time.
    pub(crate) fn new(source: &'a mut S, sieve: Sieve, most: usize, lists: ListPool) -> Self {
        Self {
            source,
            sieve,
            ahead: VecDeque::new(),
            most,
            even: false,
            pieces: VecDeque::new(),
            ended: None,
            end: None,
            waiting: Waiting::default(),
            lists,
            sieves: Vec::new(),
            kept: None,
            keepers: Vec::new(),
        }
    }

    /// Decodes in steps of one length, so that the pieces depend on no number of threads.
    pub(crate) const fn in_even_steps(mut self) -> Self {
        self.even = true;
        self
    }

    /// Keeps all pieces that the feed hands out in `kept`.
    pub(crate) fn keeping(mut self, kept: Option<Kept>) -> Self {
        self.kept = kept;
        self
    }

    /// Drops all kept pieces, and keeps no later ones.
    pub(crate) fn keep_nothing(&mut self) {
        self.kept = None;
    }

    /// The kept pieces; `None` if pieces were not kept, or were too many.
    pub(crate) fn into_kept(self) -> Option<Kept> {
        self.kept
    }

    /// A keeper for one part; `None` if parts are not kept.
    fn keeper(&mut self) -> Option<Keeper> {
        let kept = self.kept.as_ref()?;
        Some(self.keepers.pop().unwrap_or_else(|| kept.keeper()))
    }

    /// Opens as many parts as are decoded at a time, and hands them to the crew.
    fn open<'scope>(&mut self, crew: Crew<'_, 'scope>)
    where
        S::Part: 'scope,
        S::Error: 'scope,
    {
        let most = if crew.is_empty() { 1 } else { self.most };
        while self.end.is_none() && self.ahead.len() < most {
            match self.source.next_part() {
                Ok(Some(part)) => {
                    let sieve = match self.sieves.pop() {
                        Some(mut sieve) => {
                            sieve.renew(&self.sieve);
                            sieve
                        }
                        None => self.sieve.clone(),
                    };
                    let slot = Arc::new(TaskCell::new(Box::new(Ahead {
                        part,
                        sieve,
                        shift: u32::from(GEOMETRY.base().shift() - self.source.grain().shift()),
                        output: Output {
                            pieces: VecDeque::new(),
                            waiting: self.waiting.of_another(),
                            keeper: self.keeper(),
                            lists: self.lists.clone(),
                        },
                        end: None,
                    })));
                    hand(&slot, crew);
                    self.ahead.push_back(slot);
                }
                Ok(None) => self.end = Some(None),
                Err(error) => self.end = Some(Some(error)),
            }
        }
    }

    /// Lets parts go on that stopped for want of room, in order.
    fn resume<'scope>(&self, crew: Crew<'_, 'scope>)
    where
        S::Part: 'scope,
        S::Error: 'scope,
    {
        // The first part goes on when its pieces are taken.
        for slot in self.ahead.iter().skip(1) {
            if slot.resume(|ahead| ahead.goes_on()) {
                hand(slot, crew);
            }
        }
    }

    /// Returns the next decoded piece; `Ok(None)` if no decoded piece is left, or at the end of the
    /// trace. The crew decodes later pieces meanwhile.
    ///
    /// # Errors
    /// Returns an error if the trace is damaged here.
    pub(crate) fn next<'scope>(&mut self, crew: Crew<'_, 'scope>) -> Result<Option<Fed>, S::Error>
    where
        S::Part: 'scope,
        S::Error: 'scope,
    {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                self.waiting.remove(&piece);
                return Ok(Some(piece));
            }
            self.resume(crew);
            if let Some((part, ended)) = self.ended.take() {
                ended?;
                if self.source.close(part)? == ControlFlow::Break(()) {
                    self.ahead.clear();
                    self.end = Some(None);
                }
            }
            self.open(crew);
            let Some(slot) = self.ahead.front().cloned() else {
                // An error of the source comes after all pieces that the source handed out.
                return match self.end.as_mut().and_then(Option::take) {
                    Some(error) => Err(error),
                    None => Ok(None),
                };
            };
            let Some(mut ahead) = slot.take() else {
                return Ok(None);
            };
            std::mem::swap(&mut self.pieces, &mut ahead.output.pieces);
            self.waiting.take_over(&mut ahead.output.waiting);
            if let Some(ended) = ahead.end.take() {
                self.ended = Some((ahead.part, ended));
                self.sieves.push(ahead.sieve);
                if let Some(mut keeper) = ahead.output.keeper {
                    let part = keeper.take_part();
                    self.kept = self.kept.take().and_then(|kept| kept.with(part));
                    self.keepers.push(keeper);
                }
                self.ahead.pop_front();
                // Alone, the part's reader is used again for the next, when it was closed.
                if !crew.is_empty() {
                    self.open(crew);
                }
            } else {
                slot.put(ahead);
                hand(&slot, crew);
            }
        }
    }

    /// Decodes a step of the first part that no thread decodes. Returns false if there is none.
    pub(crate) fn work(&self, crew: Crew<'_, '_>) -> bool {
        let alone = crew.is_empty() && !self.even;
        let most = if alone { STEP } else { SHARED_STEP };
        self.ahead
            .iter()
            .any(|slot| slot.work_on(|ahead| ahead.step(most)).is_some())
    }

    /// Makes progress if [`Feed::next`] has no piece yet. Decodes a step of the first free part, or
    /// waits for the step that the crew decodes.
    pub(crate) fn advance(&self, crew: Crew<'_, '_>) {
        if let Some(first) = self.ahead.front()
            && !self.work(crew)
        {
            first.wait();
        }
    }

    /// Returns true if the feed has handed out all pieces.
    pub(crate) fn is_at_end(&self) -> bool {
        self.pieces.is_empty()
            && self.ended.is_none()
            && self.ahead.is_empty()
            && matches!(self.end, Some(None))
    }

    /// The pool for lists of used pieces.
    pub(crate) const fn lists(&self) -> &ListPool {
        &self.lists
    }
}

/// Has the crew decode a part, step by step, as far as its pieces may wait. A step ends early
/// enough that the first pieces can be taken while the crew goes on.
fn hand<'scope, P: SourcePart + 'scope>(slot: &SharedPart<P>, crew: Crew<'_, 'scope>)
where
    P::Error: Send + 'scope,
{
    // A part is not decoded once its feed is dropped.
    let slot = Arc::downgrade(slot);
    crew.queue(move || {
        while let Some(slot) = slot.upgrade()
            && slot.work_on(|ahead| ahead.step(SHARED_STEP)) == Some(true)
        {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_filter::Recency;
    use broadleaf_model::Items;
    use broadleaf_model::pool::Pool;
    use broadleaf_trace::{Event, Grain, Visit};
    use broadleaf_units::SpaceId;

    /// One visit in each of `spaces` spaces, each to another page, and a sieve for them.
    fn many_spaces(spaces: u32) -> (Items, Sieve) {
        let mut items = Items::new(Grain::Page);
        for space in 0..spaces {
            items.event(Event::SpaceSwitch(SpaceId(space)));
            items.visits([Visit {
                unit: u64::from(space),
                loads: 1,
                ..Visit::default()
            }]);
        }
        let machine = broadleaf_machine::machine("skylake").expect("a machine");
        (items, Sieve::new(Recency::new([&machine.design])))
    }

    /// Parts of several short steps go to and fro between all who decode, and come in their order.
    #[test]
    fn pieces_come_in_order_whoever_decodes() {
        let spaces = 30_000;
        let (items, sieve) = many_spaces(spaces);
        for threads in [1, 2, 3, 4].into_iter().cycle().take(24) {
            let mut source = items.clone().in_parts_of(20_000);
            let mut feed = Feed::new(&mut source, sieve.clone(), threads + 2, ListPool::default());
            let mut next = 0;
            Pool::new(threads).expect("threads").with(|crew| {
                while !feed.is_at_end() {
                    while let Some(piece) = feed.next(crew).expect("no error") {
                        if let Fed::Visits(sifted, _) = &piece {
                            assert_eq!(sifted.kept.len(), 1);
                            assert_eq!(sifted.kept[0].page, next);
                            next += 1;
                        }
                        feed.lists().give_back(piece);
                    }
                    feed.advance(crew);
                }
            });
            assert_eq!(next, u64::from(spaces), "{threads} threads");
        }
    }
    /// Three parts have 30,000 waiting visits and events each, about 6,000 a step. Room for 40,000
    /// is used by the first ones. The last part goes on as soon as the first is used.
    #[test]
    fn parts_stop_without_room_and_go_on_before_they_are_first() {
        let (items, sieve) = many_spaces(30_000);
        let mut source = items.in_parts_of(20_000);
        let mut feed = Feed::new(&mut source, sieve, 3, ListPool::default());
        feed.waiting = Waiting::within(40_000, 4000);
        let rest = |feed: &Feed<'_, _>| {
            while !feed.ahead.iter().all(|slot| slot.is_done()) {
                std::thread::yield_now();
            }
        };
        Pool::new(2).expect("threads").with(|crew| {
            feed.open(crew);
            rest(&feed);
            let waiting = feed.waiting.of_all();
            assert!((40_000..60_000).contains(&waiting), "{waiting}");
            let mut taken = 0;
            while feed.ahead.len() > 2 || !feed.pieces.is_empty() || taken == 0 {
                let piece = feed.next(crew).expect("no error").expect("a piece");
                feed.lists().give_back(piece);
                taken += 1;
            }
            assert!(feed.next(crew).expect("no error").is_some());
            rest(&feed);
            let last = feed.ahead.back().expect("the last part");
            let ahead = last.take().expect("it is done");
            assert!(ahead.end.is_some(), "the last part did not go on");
            last.put(ahead);
            while !feed.is_at_end() {
                while let Some(piece) = feed.next(crew).expect("no error") {
                    feed.lists().give_back(piece);
                }
                feed.advance(crew);
            }
        });
        assert_eq!(feed.waiting.of_all(), 0);
    }
}
