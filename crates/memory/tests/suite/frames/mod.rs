//! Physical memory, held against plain sets of frames.

mod allocators;
mod buddy;
mod by_type;
mod compaction;
mod contiguity;
mod grouped;
mod large;
mod naive;
mod recorded;
mod wired;
