//! Compaction: frames are moved until an extent is free.

use super::{Buddy, Choice, Frame};

/// The obstacle to reusing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameState {
    /// No obstacle: the frame holds no page, and its owner gives it up. A frame that is free in the
    /// buddy allocator is always in this state.
    Free,
    /// A page that can be moved to another frame.
    Movable,
    /// A page that cannot be moved: a wired page, or part of an extent that must stay.
    Unmovable,
}

/// The owner of frames, who knows their contents.
pub trait Occupancy {
    /// The obstacle to reusing a frame. Compaction asks only for frames that are not free in the
    /// buddy allocator.
    fn state(&self, frame: Frame) -> FrameState;
}

impl<F: Fn(Frame) -> FrameState> Occupancy for F {
    fn state(&self, frame: Frame) -> FrameState {
        self(frame)
    }
}

/// The moves that free an extent. A plan changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionPlan {
    /// The extent's first frame.
    pub first: Frame,
    /// The extent's order.
    pub order: u8,
    /// The frames whose pages have to move elsewhere, by address.
    pub moves: Vec<Frame>,
}

/// The result of a search for an extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The plan, if any scanned extent can be freed.
    pub plan: Option<CompactionPlan>,
    /// The number of scanned extents.
    pub scanned: u64,
    /// The start of the next search: the frame after the last scanned extent.
    pub next: Frame,
}

/// Finds the extent of an order that compaction frees with the fewest moves. The extent has no
/// unmovable frame, and enough free frames lie elsewhere for its movable pages.
///
/// Scans at most `most_scanned` extents of the pool, from the one that holds `from` on. The scan
/// wraps around at the end of the pool, as Linux's migrate scanner resumes where it stopped
/// (`mm/compaction.c`). Linux takes the first extent that it can free, and ends at its free scanner
/// instead of a number. Of several extents with equally few moves, the first one scanned wins. An
/// extent without moves ends the scan. No scan looks at more than `pool frames >> order` extents,
/// so `u64::MAX` scans all. An order above the buddy allocator's greatest finds nothing.
///
/// A move copies one page, changes its mappings and shoots translations down. The caller knows the
/// cost in cycles.
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
        let fewest = scan.plan.as_ref().map(CompactionPlan::cost);
        if let Some(moves) = moves(buddy, host, first, order, fewest) {
            scan.plan = Some(CompactionPlan {
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

/// The frames to move out of an extent, if fewer than `below` moves free the extent.
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
                FrameState::Free => {}
                FrameState::Movable if (moves.len() as u64) < most => moves.push(frame),
                FrameState::Movable | FrameState::Unmovable => return None,
            }
        }
        at = start + length;
    }
    Some(moves)
}

impl CompactionPlan {
    /// The number of pages to move.
    pub const fn cost(&self) -> u64 {
        self.moves.len() as u64
    }

    /// Carries the plan out in the buddy allocator. The free parts of the extent are allocated, and
    /// so is a target outside the extent for each move, by `choice`. Returns the targets in the
    /// order of the moves. The caller then owns the extent and the targets, and moves the pages.
    /// Returns `None` and changes nothing if memory has changed so that the plan cannot be carried
    /// out.
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
