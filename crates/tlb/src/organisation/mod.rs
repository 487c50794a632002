//! TLB organisations: how one structure of a TLB holds and finds translations.
//!
//! An organisation is one file of this folder and one line of [`ORGANISATIONS`].

use crate::Structure;
use broadleaf_units::{Asid, Described, PageNumber, PageSize, catalogue};

catalogue! {
    /// The catalogue of organisations.
    pub static ORGANISATIONS: Organisation = [
        set_associative::SET_ASSOCIATIVE,
    ];
}

/// An organisation of the catalogue.
pub struct Organisation {
    /// Its name and its texts.
    pub described: Described,
    /// Builds an empty structure. The structure was validated.
    pub build: fn(&Structure) -> Box<dyn Entries>,
    /// The order of the block of base pages whose frames an entry can hold: 2^order pages. 0 if an
    /// entry holds one page.
    pub neighbours: u32,
}

/// A translation that a walk found and a TLB loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The address space.
    pub tag: Asid,
    /// The first page of 4 KiB.
    pub first: PageNumber,
    /// The size of the page.
    pub size: PageSize,
    /// The number of the first base frame. `None` if no structure of the TLB wants the frame.
    pub frame: Option<u64>,
    /// Bit `i` is set if page `i` of the aligned block around the page is mapped to frame `i` of
    /// one aligned block of frames ([`Organisation::neighbours`]). 0 if no structure wants the
    /// bits.
    pub placed: u64,
}

impl Translation {
    /// The pages of 4 KiB, first and after last.
    pub const fn pages(&self) -> (u64, u64) {
        let pages = 1 << self.size.shift().saturating_sub(PageSize::SIZE_4K.shift());
        (self.first.0, self.first.0.saturating_add(pages))
    }
}

/// The translations in one structure.
pub trait Entries: Send + std::fmt::Debug {
    /// Looks up a page of 4 KiB as part of a page of `size`. A hit counts as a use.
    fn find(&mut self, tag: Asid, page: PageNumber, size: PageSize) -> Option<Translation>;

    /// Loads a translation. Returns the translation that made room, if one did.
    fn insert(&mut self, new: &Translation) -> Option<Translation>;

    /// Returns true if the structure holds the translation. This is no use.
    fn holds(&self, translation: &Translation) -> bool;

    /// Drops the translations for which `stale` returns true.
    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool);

    /// Notes the time of the next use of the page that is looked up next. An organisation with a
    /// replacement rule passes the time on ([`crate::ReplacementState::foresee`]).
    fn foresee(&mut self, _next: u64) {}

    /// Notes that so many more uses followed the last hit or insertion
    /// ([`crate::ReplacementState::repeat`]).
    fn repeat(&mut self, _times: u64) {}

    /// The number of translations.
    fn occupied(&self) -> usize;

    /// A copy.
    fn copy(&self) -> Box<dyn Entries>;
}

impl Organisation {
    /// The organisation of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = ORGANISATIONS.iter().copied();
        all.find(|organisation| organisation.described.name == name)
    }

    /// Sets of ways, one page in each entry.
    pub const fn set_associative() -> &'static Self {
        &set_associative::SET_ASSOCIATIVE
    }

    /// Returns true for sets of ways with one page in each entry. Accelerators rely on sets.
    pub fn is_set_associative(&self) -> bool {
        self == Self::set_associative()
    }
}

impl PartialEq for Organisation {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for Organisation {}

impl std::fmt::Debug for Organisation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.described.name)
    }
}
