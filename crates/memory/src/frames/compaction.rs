//! Compaction: frames are moved until an extent is free.

use super::{Buddy, Choice, Frame};

/// What stands in the way of using a frame for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing: it holds no page, and whoever keeps it gives it up. A frame that is free in the
    /// buddy allocator is always so.
    Free,
    /// A page that can be moved to another frame.
    Movable,
    /// A page that cannot: wired, or part of something that has to stay.
    Unmovable,
}

/// Who knows what is in the frames.
pub trait Occupancy {
    /// What a frame is in the way of being used otherwise. Asked only of frames that are not free
    /// in the buddy allocator.
    fn state(&self, frame: Frame) -> State;
}

impl<F: Fn(Frame) -> State> Occupancy for F {
    fn state(&self, frame: Frame) -> State {
        self(frame)
    }
}

/// What to move for an extent. A plan changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The extent's first frame.
    pub first: Frame,
    /// The extent's order.
    pub order: u8,
    /// The frames whose pages have to move elsewhere, by address.
    pub moves: Vec<Frame>,
}

/// What a search for an extent found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// What to move, if anything that was looked at can be freed.
    pub plan: Option<Plan>,
    /// How many extents were looked at.
    pub scanned: u64,
    /// Where the next search should begin: after the last extent that was looked at.
    pub next: Frame,
}

/// Finds the extent of that order that compaction frees with the fewest moves: one without an
/// unmovable frame, for whose movable ones there are enough free frames elsewhere.
///
/// Looks at no more than `most_scanned` extents of the pool, from the one that holds `from` on and
/// from the pool's start after its end, as the migrate scanner of Linux goes on where it stopped
/// (`mm/compaction.c`; which takes the first that it can, and meets a second scanner instead of a
/// number). Of several with equally few moves it is the first that was met, and an extent that
/// needs none ends the search. No more than `pool frames >> order` are ever looked at, so
/// `u64::MAX` looks at all. An order above the buddy allocator's greatest finds nothing.
///
/// A move costs the copying of one page, the change of its mappings and a shootdown: what that is
/// in cycles is the host's to say.
pub fn plan(
    buddy: &Buddy,
    host: &impl Occupancy,
    order: u8,
    from: Frame,
    most_scanned: u64,
) -> Scan {
    let extents = if order > buddy.most_order() {
        0
    } else {
        buddy.frames() >> order
    };
    let mut scan = Scan {
        plan: None,
        scanned: 0,
        next: from,
    };
    if extents == 0 {
        return scan;
    }
    let mut number = (from.0 >> order) % extents;
    for _ in 0..extents.min(most_scanned) {
        let first = Frame(number << order);
        let fewest = scan.plan.as_ref().map(Plan::cost);
        if let Some(moves) = moves(buddy, host, first, order, fewest) {
            scan.plan = Some(Plan {
                first,
                order,
                moves,
            });
        }
        scan.scanned += 1;
        number = (number + 1) % extents;
        if scan.plan.as_ref().is_some_and(|plan| plan.moves.is_empty()) {
            break;
        }
    }
    scan.next = Frame(number << order);
    scan
}

/// The frames to move out of an extent, if it can be freed with fewer than that many moves.
fn moves(
    buddy: &Buddy,
    host: &impl Occupancy,
    first: Frame,
    order: u8,
    fewer_than: Option<u64>,
) -> Option<Vec<Frame>> {
    let targets = buddy.free_frames() - buddy.free_frames_in(first, order);
    let most = fewer_than.map_or(targets, |fewest| targets.min(fewest - 1));
    let mut moves = Vec::new();
    let mut at = first.0;
    let end = first.0 + (1 << order);
    let free = buddy
        .free_in(first, order)
        .map(|(first, order)| (first.0, 1 << order));
    for (start, length) in free.chain([(end, 0)]) {
        for frame in (at..start).map(Frame) {
            match host.state(frame) {
                State::Free => {}
                State::Movable if (moves.len() as u64) < most => moves.push(frame),
                State::Movable | State::Unmovable => return None,
            }
        }
        at = start + length;
    }
    Some(moves)
}

impl Plan {
    /// How many pages have to be moved.
    pub const fn cost(&self) -> u64 {
        self.moves.len() as u64
    }

    /// Carries the plan out in the buddy allocator: what is free of the extent is given out, and a
    /// target for each move, outside of the extent, as chosen. Returns the targets in the order of
    /// the moves. From then on the whole extent is the caller's, who moves the pages, and so are
    /// the targets. `None` where memory has changed since the plan was made so that it cannot be
    /// carried out; nothing has changed then.
    pub fn carry_out(&self, buddy: &mut Buddy, choice: Choice) -> Option<Vec<Frame>> {
        buddy.extent(self.first, self.order)?;
        let targets = buddy.free_frames() - buddy.free_frames_in(self.first, self.order);
        if targets < self.cost() || self.moves.iter().any(|frame| buddy.is_free(*frame)) {
            return None;
        }
        buddy.isolate(self.first, self.order);
        let targets = self.moves.iter().map(|_| buddy.allocate_by(0, choice));
        targets.map(|given| Some(given?.first)).collect()
    }
}
