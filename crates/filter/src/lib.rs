//! Trace filtering: leaves out visits that change neither a memory nor a TLB.
//!
//! A [`Sieve`] drops a visit if it hits the first level of every TLB and changes no order of last
//! use. It also drops a visit if a later lookup restores the order ([`Recency`]). A [`Family`]
//! is the fingerprint of everything about TLBs that the filter relies on. The filter knows no
//! policy: the visits that it leaves out change nothing under any policy.
#![forbid(unsafe_code)]

mod events;
mod family;
mod last_pages;
mod recency;
mod sieve;
mod sifted;
#[cfg(test)]
mod testing;
mod trail;
mod version;

pub use events::is_seen_by_no_policy;
pub use family::Family;
pub use last_pages::LastPages;
pub use recency::{LeavingOut, Made, Recency, RecencyPlace, RecencyPlaces};
pub use sieve::Sieve;
pub use sifted::{Fed, Sifted, Stretch, stretches};
pub use trail::{Follows, Trail};
pub use version::filter_in_words;
