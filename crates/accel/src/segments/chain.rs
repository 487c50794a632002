//! The chain of segments: each begins with the TLBs that the segment before it leaves.

use super::segment::{GuessedSegment, Repaired, ReplaySegment, SegmentTurn};
use crate::teams::Prepared;
use crate::translation::TeamTranslation;
use broadleaf_model::Guesses;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The fewest and the most segments that begin with known TLBs after a guess that was wrong to the
/// end of its segment. Such a guess made all lookups twice. Each doubles the number.
const FEWEST_WITHOUT_GUESS: usize = 15;
const MOST_WITHOUT_GUESS: usize = 1 << 10;

/// All segments of a pass. Any thread may replay any segment, and take the chain further.
pub(super) struct Chain<'a> {
    guesses: Guesses,
    /// The TLBs before the first segment.
    first: Vec<TeamTranslation<'a>>,
    /// True if guesses are not checked. A test shows that the check matters.
    believes: bool,
    links: Mutex<Links<'a>>,
}

/// The chain as far as it is known.
struct Links<'a> {
    /// The number of segments whose end is known.
    known: usize,
    /// The TLBs at the end of these segments; `None` while a thread takes them through the next.
    tlbs: Option<Vec<TeamTranslation<'a>>>,
    /// The last known TLBs, from which guesses begin.
    last: Vec<TeamTranslation<'a>>,
    /// Later segments, by number.
    later: BTreeMap<usize, Later<'a>>,
    /// Batches of finished segments, whose memory is used again.
    spare: Vec<Prepared>,
    /// The number of segments that may not guess, and that number after the next wrong guess.
    without_guess: usize,
    next_without_guess: usize,
    work: SegmentWork,
}

/// A segment whose start was not known when a thread was free for it.
enum Later<'a> {
    Waits(ReplaySegment),
    Guessed(Box<GuessedSegment<'a>>),
}

/// The numbers of segments, and of the guesses among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentWork {
    pub(crate) segments: usize,
    /// Segments that began with guessed TLBs.
    pub(crate) guessed: usize,
    /// Guessed segments whose TLBs met the known ones before the end.
    pub(crate) met: usize,
    /// Batches of guessed segments that were replayed again.
    pub(crate) repaired_batches: usize,
}

impl SegmentWork {
    /// Reports the numbers to the test that runs on this thread.
    pub(crate) fn report(self) {
        #[cfg(test)]
        super::tests::WORK.set(self);
    }
}

impl<'a> Chain<'a> {
    /// A chain that begins with these TLBs.
    pub(super) fn new(tlbs: Vec<TeamTranslation<'a>>, guesses: Guesses) -> Self {
        Self {
            guesses,
            first: tlbs.clone(),
            believes: false,
            links: Mutex::new(Links {
                known: 0,
                last: tlbs.clone(),
                tlbs: Some(tlbs),
                later: BTreeMap::new(),
                spare: Vec::new(),
                without_guess: 0,
                next_without_guess: FEWEST_WITHOUT_GUESS,
                work: SegmentWork::default(),
            }),
        }
    }

    /// Takes every guess for true.
    #[cfg(test)]
    pub(super) const fn believing(mut self) -> Self {
        self.believes = true;
        self
    }

    fn links(&self) -> MutexGuard<'_, Links<'a>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of segments whose end is known.
    pub(super) fn known(&self) -> usize {
        self.links().known
    }

    /// Batches whose memory can be used again.
    pub(super) fn spare(&self) -> Option<Prepared> {
        self.links().spare.pop()
    }

    /// The TLBs at the end of all segments, which were all replayed.
    pub(super) fn end(&self) -> (Vec<TeamTranslation<'a>>, SegmentWork) {
        let mut links = self.links();
        debug_assert!(links.later.is_empty(), "a segment was not replayed");
        (links.tlbs.take().unwrap_or_default(), links.work)
    }

    /// Replays a segment: at once if its start is known, otherwise from a guess. Then takes the
    /// chain as far as it goes.
    pub(super) fn replay(&self, segment: ReplaySegment) {
        let mut links = self.links();
        let number = segment.number;
        let is_known = links.known == number && links.tlbs.is_some();
        let guesses = match self.guesses {
            Guesses::FromEmpty => number > 0,
            Guesses::WhenBehind => !is_known && links.without_guess == 0,
        };
        if !guesses && !is_known {
            links.without_guess = links.without_guess.saturating_sub(1);
        }
        let later = if guesses {
            let start = match self.guesses {
                Guesses::FromEmpty => self.first.clone(),
                Guesses::WhenBehind => links.last.clone(),
            };
            drop(links);
            let guessed = Later::Guessed(Box::new(segment.guess(start)));
            links = self.links();
            links.work.guessed += 1;
            guessed
        } else {
            Later::Waits(segment)
        };
        links.later.insert(number, later);
        self.link(links);
    }

    /// Takes the known TLBs through all segments that were replayed from a guess, or wait.
    fn link<'l>(&'l self, mut links: MutexGuard<'l, Links<'a>>) {
        loop {
            let next = links.known;
            if links.tlbs.is_none() {
                // The thread that has them goes on with this segment.
                return;
            }
            let Some(later) = links.later.remove(&next) else {
                return;
            };
            let Some(mut tlbs) = links.tlbs.take() else {
                return;
            };
            drop(links);
            let (segment, repaired) = match later {
                Later::Waits(segment) => {
                    segment.replay_all(&mut tlbs);
                    (segment, None)
                }
                Later::Guessed(guessed) => {
                    let (segment, repaired) = guessed.repair(&mut tlbs, self.believes);
                    (segment, Some(repaired))
                }
            };
            links = self.links();
            links.note(repaired);
            links.known += 1;
            links.last.clone_from(&tlbs);
            links.tlbs = Some(tlbs);
            let turns = segment.turns.into_iter();
            let spare = turns.filter_map(|SegmentTurn { prepared, .. }| Arc::into_inner(prepared));
            links.spare.extend(spare.map(Prepared::emptied));
        }
    }
}

impl Links<'_> {
    fn note(&mut self, repaired: Option<Repaired>) {
        self.work.segments += 1;
        if let Some(Repaired { batches, met }) = repaired {
            self.work.repaired_batches += batches;
            self.work.met += usize::from(met);
            if met {
                self.next_without_guess = FEWEST_WITHOUT_GUESS;
            } else {
                self.without_guess = self.next_without_guess;
                self.next_without_guess = (2 * self.without_guess).min(MOST_WITHOUT_GUESS);
            }
        }
    }
}
