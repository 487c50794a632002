//! Replacement rules: which entry of a set makes room for a new translation.
//!
//! A rule is one file of this folder and one line of [`REPLACEMENTS`].

mod parts;
mod state;

pub use state::{ReplacementState, WayUse};

use crate::{Parametric, ReplacementChoice, StructureParameter};
use broadleaf_units::{Described, catalogue};

catalogue! {
    /// The catalogue of replacement rules.
    pub static REPLACEMENTS: Replacement = [
        lru::LRU,
        gods::GODS,
        clock::CLOCK,
        fifo::FIFO,
        round_robin::{ROUND_ROBIN, NOT_LAST_USED},
        lfu::LFU,
        random::RANDOM,
        tree_plru::TREE_PLRU,
        bit_plru::BIT_PLRU,
        grouped::{MRU3_PLRU, LRU3_PLRU},
        srrip::SRRIP,
        opt::OPT,
        bit_plru_random::BIT_PLRU_RANDOM,
    ];
}

/// A rule of the catalogue.
pub struct Replacement {
    /// Its name and its texts.
    pub described: Described,
    /// Its parameters. A machine's description sets a parameter by a key of that name.
    pub parameters: &'static [StructureParameter],
    /// Returns the reason why a set of this number of ways cannot have the rule, if there is one.
    pub refuses: fn(ways: usize) -> Option<String>,
    /// What the rule needs besides hits and fills.
    pub needs: &'static [RuleNeed],
    /// True if a hit changes nothing. Then the contents of the TLB follow from misses alone.
    pub ignores_hits: bool,
    /// The number of translations used last that surely stay in a set of that many ways, if none is
    /// locked and the state of the set depends on the order of last use of its ways alone. `None`
    /// in all other cases. The filter relies on this.
    pub keeps_last: fn(ways: usize) -> Option<usize>,
    /// Builds the state of the rule for empty sets.
    pub build: fn(&RuleShape<'_>) -> Box<dyn Replace>,
}

/// A need of a replacement rule, besides the first use of a translation at each visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleNeed {
    /// All uses ([`Replace::repeat`]).
    Uses,
    /// The time of the next use ([`Replace::foresee`]).
    Future,
}

/// The sets of a structure and the parameters of its rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleShape<'a> {
    /// The number of sets.
    pub sets: usize,
    /// The number of ways of a set.
    pub ways: usize,
    /// The first ways of each set, which are locked for good.
    pub wired: usize,
    /// The rule's parameters.
    pub choice: &'a ReplacementChoice,
}

impl RuleShape<'_> {
    /// The number that a parameter of the rule has.
    fn number(&self, parameter: &StructureParameter) -> u64 {
        let default = parameter.default.number().unwrap_or(0);
        self.choice.number(parameter.name).unwrap_or(default)
    }
}

/// The state of a replacement rule for all sets of a structure.
///
/// Organisations do not call it: they own a [`ReplacementState`], which knows the unused and the
/// locked ways too.
pub trait Replace: Send + std::fmt::Debug {
    /// Notes a hit in this way.
    fn hit(&mut self, set: usize, way: usize);

    /// Notes a new translation in this way.
    fn fill(&mut self, set: usize, way: usize);

    /// Returns the way that makes room. At least one way of the set is not locked, and the rule
    /// returns no locked way.
    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize;

    /// Returns true if a new translation takes the first unused way, if there is one. Otherwise the
    /// rule is asked for a victim while the set has unused ways.
    fn fills_unused_first(&self) -> bool {
        true
    }

    /// Notes that `times` more hits followed the last hit or fill. Most rules ignore the call: the
    /// hits of an entry that was used last change nothing. The number is complete only for a rule
    /// that needs [`RuleNeed::Uses`].
    fn repeat(&mut self, _set: usize, _way: usize, _times: u64) {}

    /// Notes when the translation that is looked up next is used again: the number of that call of
    /// this method, from 0, or `u64::MAX` if there is none. A lookup without a call has no number.
    /// Only a rule that knows the future needs the number.
    fn foresee(&mut self, _next: u64) {}

    /// Returns a number if a hit of a way changes nothing that an earlier hit of the way has not
    /// changed, until the way is filled anew or the number changes. `None`: any hit may change
    /// something.
    fn quiet_epoch(&self) -> Option<u64> {
        None
    }

    /// Returns true if a change of [`Self::quiet_epoch`] concerns the hits of one set alone: the
    /// set of the last hit or fill.
    fn is_quiet_by_set(&self) -> bool {
        false
    }

    /// A copy.
    fn copy(&self) -> Box<dyn Replace>;
}

impl Replacement {
    /// The rule of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = REPLACEMENTS.iter().copied();
        all.find(|rule| rule.described.name == name)
    }

    /// Exact LRU.
    pub fn lru() -> ReplacementChoice {
        ReplacementChoice::from(&lru::LRU)
    }
}

/// The first way that is not locked, from `from` on and round the set.
fn first_free(ways: &[WayUse], from: usize) -> usize {
    let free = |way: &usize| ways[*way] != WayUse::Locked;
    let mut round = (from..ways.len()).chain(0..from);
    round.find(free).unwrap_or(from)
}

/// The ways that are not locked, lowest first.
fn free_ways(ways: &[WayUse]) -> impl Iterator<Item = usize> + '_ {
    let free = |way: &usize| ways[*way] != WayUse::Locked;
    (0..ways.len()).filter(free)
}

/// For rules whose state depends on more than the order of last use, or that keep no number of the
/// translations used last.
const fn keeps_none(_ways: usize) -> Option<usize> {
    None
}

/// For rules that sets of any number of ways can have.
const fn any_ways(_ways: usize) -> Option<String> {
    None
}

impl Parametric for Replacement {
    const KIND: &'static str = "replacement";

    fn name(&self) -> &'static str {
        self.described.name
    }

    fn parameters(&self) -> &'static [StructureParameter] {
        self.parameters
    }

    fn catalogue() -> &'static [&'static Self] {
        REPLACEMENTS
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
