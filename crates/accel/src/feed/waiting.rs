//! Decoded visits that wait for their use, of all parts together.

use super::PIECE_KEPT;
use broadleaf_filter::Fed;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of waiting visits at which parts are decoded no further: about 100 MB.
const MOST: usize = 1 << 22;
/// A part with fewer waiting visits is decoded further in any case, so that the first part goes on.
const LEAST_OF_PART: usize = 1 << 17;
/// The number of full pieces that wait at most, without the steps that pass the limit.
pub(super) const MOST_PIECES: usize = MOST / PIECE_KEPT;

/// The visits of one part that wait, and those of all.
///
/// Parts have no equal shares. The next part to be used is decoded first, and with a share it would
/// stop in the middle, though the parts after it hold little.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    own: usize,
    room: Arc<Room>,
}

/// The room for waiting visits of all parts.
#[derive(Debug)]
struct Room {
    taken: AtomicUsize,
    most: usize,
    least_of_part: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            taken: AtomicUsize::new(0),
            most: MOST,
            least_of_part: LEAST_OF_PART,
        }
    }
}

impl Waiting {
    /// Another part, of which nothing waits.
    pub(super) fn of_another(&self) -> Self {
        Self {
            own: 0,
            room: Arc::clone(&self.room),
        }
    }

    /// A piece waits.
    pub(super) fn add(&mut self, piece: &Fed) {
        let visits = visits_of(piece);
        self.own += visits;
        self.room.taken.fetch_add(visits, Ordering::Relaxed);
    }

    /// A piece is used.
    pub(super) fn remove(&mut self, piece: &Fed) {
        let visits = visits_of(piece);
        self.own -= visits;
        self.room.taken.fetch_sub(visits, Ordering::Relaxed);
    }

    /// Takes the pieces of another part over.
    pub(super) fn take_over(&mut self, other: &mut Self) {
        self.own += std::mem::take(&mut other.own);
    }

    /// Returns true if the part may be decoded further.
    pub(super) fn has_room(&self) -> bool {
        let Room {
            taken,
            most,
            least_of_part,
        } = &*self.room;
        self.own < *least_of_part || taken.load(Ordering::Relaxed) < *most
    }
}

/// The visits of a piece and the pages of its trail, and one for the piece.
fn visits_of(piece: &Fed) -> usize {
    match piece {
        Fed::Visits(sifted, _) => sifted.kept.len() + sifted.trail.pages.len() + 1,
        Fed::Event(_) => 1,
    }
}

#[cfg(test)]
impl Waiting {
    /// No visits, with other limits.
    pub(super) fn within(most: usize, least_of_part: usize) -> Self {
        let taken = AtomicUsize::new(0);
        let room = Room {
            taken,
            most,
            least_of_part,
        };
        Self {
            own: 0,
            room: Arc::new(room),
        }
    }

    /// The waiting visits of all parts.
    pub(super) fn of_all(&self) -> usize {
        self.room.taken.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::Event;
    use broadleaf_units::SpaceId;

    #[test]
    fn a_part_has_room_while_all_hold_little_and_in_any_case_for_some() {
        let piece = Fed::Event(Event::SpaceSwitch(SpaceId(0)));
        let mut first = Waiting::within(4, 2);
        let [mut one, mut other] = [first.of_another(), first.of_another()];
        (0..3).for_each(|_| one.add(&piece));
        assert!(one.has_room() && other.has_room());
        one.add(&piece);
        assert!(!one.has_room() && other.has_room());
        (0..2).for_each(|_| other.add(&piece));
        assert!(!other.has_room());
        first.take_over(&mut one);
        assert!(one.has_room() && !other.has_room() && !first.has_room());
        (0..3).for_each(|_| first.remove(&piece));
        assert!(other.has_room() && first.of_all() == 3);
    }
}
