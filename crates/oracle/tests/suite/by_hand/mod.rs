//! The oracle against counts that were worked out by hand.

mod mappings;
mod policies;
mod trace;
