//! TLB organisations: how one structure of a TLB holds and finds translations.
//!
//! An organisation is one file of this folder and one line of [`ORGANISATIONS`].

mod compatibility;
mod hints;
mod set_indices;
mod shape;
mod subblock_entry;
mod subblock_parameters;
mod subblock_rules;
mod subblocks;

pub use shape::{BlockOfPage, EntryShape, GridName};

pub(crate) use set_associative::REPLICATE;

use crate::{
    Field, Parametric, ReplacementState, Structure, StructureParameter, SystemSupport, TlbLog,
    TlbRequest, Translation, Walk,
};
use broadleaf_units::{Described, PageNumber, PageSize, catalogue};

catalogue! {
    /// The catalogue of organisations.
    pub static ORGANISATIONS: Organisation = [
        set_associative::SET_ASSOCIATIVE,
        complete_subblock::COMPLETE_SUBBLOCK,
        partial_subblock::PARTIAL_SUBBLOCK,
        coalesced::COALESCED,
        scattered::SCATTERED,
    ];
}

/// An organisation of the catalogue.
pub struct Organisation {
    /// Its name and its texts.
    pub described: Described,
    /// Its parameters. A machine's description sets a parameter by a key of that name.
    pub parameters: &'static [StructureParameter],
    /// Returns the wrong part and the reason why a structure cannot have the organisation, if there
    /// is one.
    pub refuses: fn(&Structure) -> Option<(Field, String)>,
    /// Builds an empty structure. The structure was validated.
    pub build: fn(&Structure) -> Box<dyn Entries>,
    /// True if entries depend on the frames and the attributes of pages, or on their neighbours in
    /// the page table.
    pub wants_tables: fn(&Structure) -> bool,
    /// True if a load takes no translation from the structure but those of the entry that makes
    /// room, and those that the new entry has too. Each page then has one entry at a time.
    pub keeps_pages: fn(&Structure) -> bool,
    /// True if each reference to a page counts, and not the first of several in a row alone.
    pub counts_uses: fn(&Structure) -> bool,
    /// Other names of its TLBs in grids.
    pub grids: &'static [GridName],
    /// The blocks whose pages need one set. `None` if any index function fits, because an entry
    /// covers no more than its page.
    pub block_of: Option<BlockOfPage>,
    /// The shape of an entry, from which the price follows. `None` if no priced kind of entry
    /// describes the structure's entries.
    pub entry: fn(&Structure) -> Option<EntryShape>,
    /// The support by the system without which entries hold one page each. `None` if they need
    /// none. Superpages need support of their own ([`crate::Design::support`]).
    pub support: Option<SystemSupport>,
}

/// The answer of one structure to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryLookup {
    /// The structure holds the translation, which is given as it was before a store.
    Hit(Translation),
    /// An entry has the page's block, but not the page (a subblock miss).
    Block,
    /// No entry has the page or its block.
    Nothing,
}

/// The translations in one structure.
pub trait Entries: Send + std::fmt::Debug {
    /// Looks up a page of 4 KiB as part of a page of `size`. A hit counts as a use. A
    /// store that hits sets the modified bit.
    fn find(&mut self, request: &TlbRequest, size: PageSize, log: &mut TlbLog) -> EntryLookup;

    /// Loads the translation that a walk found. The log receives the translations that made room.
    fn load(&mut self, walk: &Walk<'_>, log: &mut TlbLog);

    /// Loads a translation that another structure held. No page table is read. An organisation that
    /// preloads takes neighbours from `beside`, the translations in the other structure's entry.
    fn receive(
        &mut self,
        request: &TlbRequest,
        translation: &Translation,
        _beside: &[Translation],
        log: &mut TlbLog,
    ) {
        self.load(&Walk::alone(*request, *translation), log);
    }

    /// Sets the modified bit in the copies of a translation. This is no use and no counted fault.
    /// An organisation without modified bits ignores the call.
    fn mark(&mut self, _translation: &Translation, _log: &mut TlbLog) {}

    /// The translations that go up together with a page of `size` from the entry that holds it: all
    /// that share one frame number. This is no use.
    fn beside(&self, _request: &TlbRequest, _size: PageSize) -> Vec<Translation> {
        Vec::new()
    }

    /// Returns true if the structure holds a translation of the same page. This is no use.
    fn holds(&self, translation: &Translation) -> bool;

    /// Drops the translations for which `stale` returns true. The log receives other translations
    /// that leave with them.
    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool, log: &mut TlbLog);

    /// The state of the replacement rule: the user of the structure gives the rule what it needs
    /// besides hits and fills. A hit that is repeated may change something unless the rule has a
    /// quiet epoch ([`ReplacementState::quiet_epoch`]). With a quiet epoch, the hit changes nothing
    /// until one of these happens: the epoch's number changes, the page leaves, a load disturbs the
    /// page ([`Self::disturbed`]), or a store finds a clear modified bit.
    fn replacement(&self) -> Option<&ReplacementState> {
        None
    }

    /// The state of the replacement rule, as [`Self::replacement`].
    fn replacement_mut(&mut self) -> Option<&mut ReplacementState> {
        None
    }

    /// Notes that `times` more references to the last page followed, which was found or loaded.
    fn repeat(&mut self, times: u64, _log: &mut TlbLog) {
        if let Some(rule) = self.replacement_mut() {
            rule.repeat(times);
        }
    }

    /// The quiet epoch of the replacement rule ([`ReplacementState::quiet_epoch`]). `None` if a hit
    /// that is repeated changes something of the structure.
    fn quiet_epoch(&self) -> Option<u64> {
        self.replacement()?.quiet_epoch()
    }

    /// The pages of 4 KiB, first and after last, whose lookups may change after a load for this
    /// page of this size. Pages that the log receives need not be among them.
    fn disturbed(&self, _page: PageNumber, _size: PageSize) -> (u64, u64) {
        (0, u64::MAX)
    }

    /// Gives `each` the pages of 4 KiB, first and after last, of every entry in the set of a page
    /// of this size. Returns false if the structure does not know them.
    fn pages_of_set(
        &self,
        _page: PageNumber,
        _size: PageSize,
        _each: &mut dyn FnMut((u64, u64)),
    ) -> bool {
        false
    }

    /// The number of entries in use.
    fn occupied(&self) -> usize;

    /// Asserts the invariants: no page has two entries of one set, for example.
    ///
    /// # Panics
    /// If an invariant does not hold.
    fn check(&self) {}

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
}

impl Parametric for Organisation {
    const KIND: &'static str = "organisation";

    fn name(&self) -> &'static str {
        self.described.name
    }

    fn parameters(&self) -> &'static [StructureParameter] {
        self.parameters
    }

    fn catalogue() -> &'static [&'static Self] {
        ORGANISATIONS
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

/// For organisations that every structure can have.
const fn any_structure(_: &Structure) -> Option<(Field, String)> {
    None
}
