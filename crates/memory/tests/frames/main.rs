//! Physical memory, held against plain sets of frames.

mod buddy;
mod contiguity;
mod large;
mod naive;
mod recorded;
mod seeded;
