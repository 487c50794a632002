//! Tests of charges against their definitions: scans of a TLB's content, counts over an LRU list,
//! and replays with the candidate as a superpage from the start.

mod batched;
mod capacity;
mod figure;
mod prefetch;
mod replayed;
mod slow;
