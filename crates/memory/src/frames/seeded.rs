//! Occupied pieces at random places.

use super::lists::{Free, Zeroed};
use super::random::SplitMix64;
use super::{Buddy, Frame, StartError, extents_of};

/// How often a place is drawn for a piece before the next one above the last draw is taken that is free. So many draws in a row fail only where few
/// places are left; that the ones behind long occupied stretches are then taken more often than others is accepted.
const DRAWS: usize = 64;

/// The smallest and the largest order of a piece.
#[derive(Clone, Copy)]
pub(super) struct Run {
    least: u8,
    most: u8,
}

impl Run {
    pub(super) fn new((least, most): (u8, u8), greatest: u8) -> Result<Self, StartError> {
        if least <= most && most <= greatest {
            Ok(Self { least, most })
        } else {
            Err(StartError::Run {
                least,
                most,
                greatest,
            })
        }
    }

    fn draw(self, random: &mut SplitMix64) -> u8 {
        self.least + random.below(u64::from(self.most - self.least) + 1) as u8
    }
}

/// Takes that many frames of the pool in pieces of those orders, of which the last is cut off where it would be too much. Returns the
/// pieces: first frames and orders.
pub(super) fn fill(
    buddy: &mut Buddy,
    occupied: u64,
    run: Run,
    random: &mut SplitMix64,
) -> Vec<(u64, u8)> {
    let mut pieces = Vec::new();
    let mut left = occupied.min(buddy.free_frames());
    // Frames are only taken: where no piece of an order fits, none ever will again.
    let mut most = run.most;
    while left > 0 {
        let order = run.draw(random).min(most);
        let Some(Frame(first)) = take_somewhere(buddy, order, random) else {
            most = order.saturating_sub(1);
            continue;
        };
        let end = first + (1 << order);
        let taken = end.min(first + left);
        pieces.extend(extents_of(first..taken, order));
        for (first, order) in extents_of(taken..end, order) {
            buddy.merge(Free {
                first,
                order,
                zeroed: Zeroed::None,
            });
        }
        left -= taken - first;
    }
    pieces
}

/// Takes an extent of that order, if there is one.
fn take_somewhere(buddy: &mut Buddy, order: u8, random: &mut SplitMix64) -> Option<Frame> {
    let places = buddy.frames() >> order;
    if places == 0 {
        return None;
    }
    let mut place = Frame(0);
    for _ in 0..DRAWS {
        place = Frame(random.below(places) << order);
        if buddy.take(place, order) {
            return Some(place);
        }
    }
    let next = buddy.next_free(place, order);
    let place = next.or_else(|| buddy.next_free(Frame(0), order))?;
    buddy.take(place, order).then_some(place)
}
