//! Cache hierarchies between a processor and memory.
//!
//! A cache knows no address translation: it receives physical addresses. A hierarchy is one file of
//! this folder and one line of [`CACHES`].
#![forbid(unsafe_code)]
#![no_std]
extern crate alloc;

use alloc::boxed::Box;
use broadleaf_units::{Described, catalogue};

catalogue! {
    /// The catalogue of cache hierarchies.
    pub static CACHES: CacheKind = [
        none::NONE,
    ];
}

/// A cache hierarchy of the catalogue.
pub struct CacheKind {
    /// Its name and its texts.
    pub described: Described,
    /// Builds an empty hierarchy. `None` if there is nothing to simulate: then a machine's walk
    /// costs hold for every walk.
    pub build: Option<fn() -> Box<dyn Caches>>,
}

/// The caches of one core.
pub trait Caches: Send + core::fmt::Debug {
    /// Accesses the line of a physical address. Returns the cycles of the access.
    fn access(&mut self, address: u64, store: bool) -> u64;
}

impl CacheKind {
    /// The hierarchy of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = CACHES.iter().copied();
        all.find(|caches| caches.described.name == name)
    }

    /// No caches.
    pub const fn none() -> &'static Self {
        &none::NONE
    }
}

impl PartialEq for CacheKind {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for CacheKind {}

impl core::fmt::Debug for CacheKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.described.name)
    }
}
