//! A part of the trace that is decoded and sieved ahead of its use.

use super::Lists;
use crate::sieve::Sieve;
use crate::sifted::{Fed, Sifted};
use crate::source::{Part, Piece};
use broadleaf_trace::reduced::Sums;
use std::collections::VecDeque;

/// How many visits are kept of what is decoded in one go, about: more would not stay in a cache until they are used.
const STEP_KEPT: usize = 1 << 16;
/// How many items are decoded in one go at most, since an item may hold no visit.
const STEP_ITEMS: usize = 1 << 12;

/// A part that is decoded ahead.
pub(super) struct Ahead<P: Part> {
    pub(super) part: P,
    pub(super) sieve: Sieve,
    /// How many low bits of a unit lie inside a base page.
    pub(super) shift: u32,
    /// What was decoded and not taken yet.
    pub(super) pieces: VecDeque<Fed>,
    /// Where its end was found, and how it ended.
    pub(super) end: Option<Result<(), P::Error>>,
    pub(super) lists: Lists,
}

impl<P: Part> Ahead<P> {
    /// Decodes a step further: about so many visits, or up to the end.
    pub(super) fn step(&mut self, most: usize) {
        let mut sifted = self.lists.take();
        let mut sums = Sums::default();
        let (mut visits, mut items, mut kept) = (0, 0, 0);
        while visits < most
            && items < STEP_ITEMS
            && kept + sifted.kept.len() <= STEP_KEPT
            && self.end.is_none()
        {
            items += 1;
            let (pieces, lists) = (&mut self.pieces, &self.lists);
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
                    put(pieces, &mut sifted, &mut sums, lists);
                    visits += some.len();
                    kept += some.len();
                    sifted.kept.extend_from_slice(some);
                    self.sieve.follow_kept(&mut sifted);
                    put(pieces, &mut sifted, &mut of_piece.clone(), lists);
                }
                Ok(Some(Piece::Event(event))) => {
                    self.sieve.catch_up(&mut sifted, &sums);
                    self.sieve.pass(event);
                    put(pieces, &mut sifted, &mut sums, lists);
                    pieces.push_back(Fed::Event(event.clone()));
                }
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
        self.sieve.catch_up(&mut sifted, &sums);
        self.sieve.rest(visits, sifted.kept.len());
        put(&mut self.pieces, &mut sifted, &mut sums, &self.lists);
        self.lists.put(sifted);
    }
}

/// What was sifted is a piece, if there is anything.
fn put(pieces: &mut VecDeque<Fed>, sifted: &mut Sifted, sums: &mut Sums, lists: &Lists) {
    debug_assert!(
        sifted.kept.is_sorted_by_key(|visit| visit.time),
        "visits out of order"
    );
    if *sums != Sums::default() {
        let next = lists.take();
        let before = std::mem::replace(sifted, next);
        pieces.push_back(Fed::Visits(before, std::mem::take(sums)));
    } else {
        // A file may hold visits that come to nothing.
        sifted.clear();
    }
}
