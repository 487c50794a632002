//! Physical memory: frames and their allocation.
//!
//! [`Buddy`] holds the free extents of a pool of frames, and the free frames known to hold zeroes.
//! [`Allocator`] names the rule that chooses among them.
//! [`Start`] describes the pool before a run. [`Wired`] keeps frames that can never move together.
//! [`plan`] finds the extent that compaction frees with the fewest moves. [`Contiguity`] measures
//! free memory. This module does not know the use of a frame. Its caller knows, frees frames and
//! reports which can move.
//!
//! An *extent of order k* is 2^k frames, the first of which is a multiple of 2^k. Its *buddy* is
//! the other half of the extent of order k + 1 that it lies in.
//!
//! ```
//! use broadleaf_memory::frames::{Buddy, Frame};
//!
//! let mut buddy = Buddy::new(1024, 9);
//! let page = buddy.allocate(0).expect("a frame");
//! assert_eq!(page, Frame(0));
//! assert_eq!(buddy.allocate(9), Some(Frame(512)));
//! // The rest of the first half is free, but not in one piece.
//! assert_eq!((buddy.free_frames(), buddy.possible(9)), (511, 0));
//! buddy.free(page, 0).expect("it was allocated");
//! assert_eq!(buddy.possible(9), 1);
//! ```

mod allocate;
mod allocators;
mod buddy;
mod buddyinfo;
mod check;
mod colours;
mod compaction;
mod contiguity;
mod grouped;
mod lists;
mod mobility;
mod pagetypeinfo;
mod recorded;
mod runs;
mod scattered;
mod start;
mod wired;
mod zeroes;

pub use allocate::{Choice, Given};
pub use allocators::{ALLOCATORS, Allocator};
pub use buddy::{Buddy, FreeError};
pub use buddyinfo::{Buddyinfo, BuddyinfoError, Zone};
pub use compaction::{CompactionPlan, FrameState, Occupancy, Scan, plan};
pub use contiguity::Contiguity;
pub use mobility::Mobility;
pub use pagetypeinfo::{Pagetypeinfo, PagetypeinfoError, TypeCounts};
pub use recorded::room_for;
pub use start::{Layout, Occupied, Start, StartError};
pub use wired::Wired;

pub(crate) use runs::Runs;

/// The number of a base frame: a physical address in units of the base page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame(pub u64);

/// The greatest order that an extent may have.
pub const MOST_ORDER: u8 = 30;

/// The most frames that a pool may have: what 64-bit physical addresses can name.
pub const MOST_FRAMES: u64 = 1 << 52;

/// Cuts a range of frames into the largest aligned extents there are in it, up to an order: first
/// frames and orders, by address.
fn extents_of(
    frames: std::ops::Range<u64>,
    most_order: u8,
) -> impl Iterator<Item = (u64, u8)> + Clone {
    let std::ops::Range { mut start, end } = frames;
    std::iter::from_fn(move || {
        let length = end.checked_sub(start)?.checked_ilog2()?;
        let order = u32::from(most_order)
            .min(length)
            .min(start.trailing_zeros()) as u8;
        let extent = (start, order);
        start += 1 << order;
        Some(extent)
    })
}
