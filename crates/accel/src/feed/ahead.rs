//! A part of the trace that is decoded and sieved ahead of its use.

use super::{ListPool, Waiting};
use crate::kept::Keeper;
use broadleaf_filter::Sieve;
use broadleaf_filter::{Fed, Sifted};
use broadleaf_model::{SourcePart, SourcePiece};
use broadleaf_trace::reduced::Sums;
use std::collections::VecDeque;

/// The approximate number of visits kept of one step. More visits would leave the cache before
/// their use.
const STEP_KEPT: usize = 1 << 16;
/// The number of words kept of one step. The tables for words are large, and no other part can use
/// them during a step.
const STEP_KEPT_OF_WORDS: usize = 1 << 17;
/// The approximate number of visits kept of one piece. More visits would leave the cache before the
/// keeper reads them.
pub(super) const PIECE_KEPT: usize = 1 << 14;
/// The minimum number of visits of a piece that is kept unpacked.
const FEWEST_PLAIN: usize = 1 << 10;
/// The maximum number of items in a step. An item may hold no visit.
const STEP_ITEMS: usize = 1 << 12;

/// A part that is decoded ahead.
pub(super) struct Ahead<P: SourcePart> {
    pub(super) part: P,
    pub(super) sieve: Sieve,
    /// The number of a unit's low bits that lie inside a base page.
    pub(super) shift: u32,
    pub(super) output: Output,
    /// The result of the part, if decoding has reached its end.
    pub(super) end: Option<Result<(), P::Error>>,
}

/// The decoded and sieved pieces of a part.
pub(super) struct Output {
    /// Pieces that were not taken yet.
    pub(super) pieces: VecDeque<Fed>,
    /// The visits in these pieces.
    pub(super) waiting: Waiting,
    /// Keeps all of the part, if a later pass needs it.
    pub(super) keeper: Option<Keeper>,
    pub(super) lists: ListPool,
}

impl Output {
    /// Appends a piece to the queue. `plain` says that its visits do not repeat.
    fn put(&mut self, piece: Fed, plain: bool) {
        if let Some(keeper) = &mut self.keeper {
            keeper.add(&piece, plain);
        }
        self.waiting.add(&piece);
        self.pieces.push_back(piece);
    }

    /// Appends `sifted` to the queue as a piece, unless the sums are zero, and empties `sifted`.
    /// The piece was sifted from `visits` visits. Returns the number of kept visits.
    fn put_visits(&mut self, sifted: &mut Sifted, sums: &mut Sums, visits: usize) -> usize {
        let kept = sifted.kept.len();
        // Visits do not repeat if the sieve leaves hardly any of them out.
        let plain = kept >= FEWEST_PLAIN && kept > visits - visits / 16;
        debug_assert!(
            sifted.kept.is_sorted_by_key(|visit| visit.time),
            "visits out of order"
        );
        if *sums != Sums::default() {
            let visits = self.lists.cut(sifted);
            self.put(Fed::Visits(visits, std::mem::take(sums)), plain);
        } else {
            // A file may hold visits without any access.
            sifted.clear();
        }
        kept
    }
}

impl<P: SourcePart> Ahead<P> {
    /// Returns true if another step can follow before the pieces are taken.
    pub(super) fn goes_on(&self) -> bool {
        self.end.is_none() && self.output.waiting.has_room()
    }

    /// Decodes a step further: about `most` visits, or up to the end. Returns true if another step
    /// can follow before the pieces are taken.
    pub(super) fn step(&mut self, most: usize) -> bool {
        let most = self.sieve.most_visits(most);
        let mut sifted = self.output.lists.take();
        let mut sums = Sums::default();
        let (mut visits, mut items) = (0, 0);
        // The number of visits when the last piece was appended.
        let mut before = 0;
        // The number of visits that this sieve kept, and of visits that were reduced before.
        let (mut kept, mut kept_before) = (0, 0);
        let mut most_kept = STEP_KEPT;
        while visits + kept_before < most
            && items < STEP_ITEMS
            && kept + kept_before + sifted.kept.len() <= most_kept
            && self.end.is_none()
        {
            items += 1;
            let output = &mut self.output;
            match self.part.next() {
                Ok(Some(SourcePiece::Visits(some))) => {
                    visits += some.len();
                    self.sieve.sift(some, self.shift, &mut sifted, &mut sums);
                }
                Ok(Some(SourcePiece::Phrased(some))) => {
                    visits += some.words.len();
                    most_kept = STEP_KEPT_OF_WORDS;
                    let (sifted, sums) = (&mut sifted, &mut sums);
                    self.sieve.sift_phrased(&some, self.shift, sifted, sums);
                }
                Ok(Some(SourcePiece::Reduced(some, of_piece))) => {
                    // A reduced piece counts time from its own start. The visits that it leaves out
                    // are unknown, so the sieve forgets everything.
                    self.sieve.catch_up(&mut sifted, &sums);
                    self.sieve.forget();
                    kept += output.put_visits(&mut sifted, &mut sums, visits - before);
                    before = visits;
                    sifted.kept.extend_from_slice(some);
                    self.sieve.follow_kept(&mut sifted);
                    kept_before +=
                        output.put_visits(&mut sifted, &mut of_piece.clone(), usize::MAX);
                }
                Ok(Some(SourcePiece::Event(event))) => {
                    self.sieve.catch_up(&mut sifted, &sums);
                    self.sieve.pass(event);
                    kept += output.put_visits(&mut sifted, &mut sums, visits - before);
                    before = visits;
                    output.put(Fed::Event(event.clone()), false);
                }
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
            if sifted.kept.len() >= PIECE_KEPT {
                self.sieve.catch_up(&mut sifted, &sums);
                kept += output.put_visits(&mut sifted, &mut sums, visits - before);
                before = visits;
            }
        }
        self.sieve.catch_up(&mut sifted, &sums);
        kept += (self.output).put_visits(&mut sifted, &mut sums, visits - before);
        self.sieve.rest(visits, kept);
        self.output.lists.put(sifted);
        if self.end.is_some()
            && let Some(keeper) = &mut self.output.keeper
        {
            keeper.end_part();
        }
        self.goes_on()
    }
}
