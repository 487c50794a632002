//! Replacement rules: which translation of a full set makes room for a new one.
//!
//! A rule is one file of this folder and one line of [`REPLACEMENTS`].

use broadleaf_units::{Described, catalogue};

catalogue! {
    /// The catalogue of replacement rules.
    pub static REPLACEMENTS: Replacement = [
        lru::LRU,
    ];
}

/// A rule of the catalogue.
pub struct Replacement {
    /// Its name and its texts.
    pub described: Described,
    /// The decisions of the rule.
    pub rule: &'static dyn Replace,
}

/// The decisions of a replacement rule about one set.
///
/// `order` is the state of the set: one word for each way. The rule alone gives the words a
/// meaning. A TLB fills unused ways first and asks for a victim if the set is full.
pub trait Replace: Sync {
    /// Sets the state of an empty set. `order` holds zeroes.
    fn start(&self, order: &mut [u16]);

    /// Notes a hit in this way.
    fn hit(&self, order: &mut [u16], way: usize);

    /// Notes a new translation in this way.
    fn fill(&self, order: &mut [u16], way: usize);

    /// Returns the way that makes room, of a full set.
    fn victim(&self, order: &mut [u16]) -> usize;
}

impl Replacement {
    /// The rule of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = REPLACEMENTS.iter().copied();
        all.find(|rule| rule.described.name == name)
    }

    /// Exact LRU.
    pub const fn lru() -> &'static Self {
        &lru::LRU
    }

    /// Returns true if the rule is exact LRU. Accelerators rely on the order of last use.
    pub fn is_lru(&self) -> bool {
        self == Self::lru()
    }
}

impl PartialEq for Replacement {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for Replacement {}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.described.name)
    }
}
