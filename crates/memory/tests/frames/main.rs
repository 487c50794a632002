//! Physical memory, held against plain sets of frames.

mod buddy;
mod compaction;
mod contiguity;
mod large;
mod naive;
mod recorded;
mod seeded;
mod wired;
