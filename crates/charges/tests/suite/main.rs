//! Charges against what they are defined as: scans of a TLB's content, counts over a list in the
//! order of last use, and the references replayed with the candidate a superpage from the start.

mod batched;
mod capacity;
mod figure;
mod prefetch;
mod replayed;
mod slow;
