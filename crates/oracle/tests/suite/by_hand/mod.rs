//! The oracle against counts calculated by hand.

mod mappings;
mod policies;
mod trace;
