//! Replacement rules of caches: which line of a set makes room for a new one.
//!
//! A rule is one file of this folder and one line of [`LINE_REPLACEMENTS`].

mod predictions;

use crate::sets::CacheArray;
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::{CatalogueChoice, Described, Parametric, StructureParameter, catalogue};

catalogue! {
    /// The catalogue of replacement rules of caches.
    pub static LINE_REPLACEMENTS: LineReplacement = [
        lru::LRU,
        tree_plru::TREE_PLRU,
        srrip::SRRIP,
        drrip::DRRIP,
        random::RANDOM,
    ];
}

/// A replacement rule of the catalogue.
pub struct LineReplacement {
    /// Its name and its texts.
    pub described: Described,
    /// Its parameters. A machine's description sets a parameter by a key of that name.
    pub parameters: &'static [StructureParameter],
    /// Returns the reason why a cache of this many sets and ways cannot have the rule, if there is
    /// one.
    pub refuses: fn(sets: usize, ways: usize) -> Option<String>,
    /// Builds an empty cache with the rule.
    pub build: fn(&CacheShape<'_>) -> Box<dyn CacheArray>,
}

/// A rule with the values of its parameters.
pub type LineReplacementChoice = CatalogueChoice<LineReplacement>;

/// The sets of a cache and the parameters of its rule.
#[derive(Clone, Copy, Debug)]
pub struct CacheShape<'a> {
    /// The number of sets, a power of two.
    pub sets: usize,
    /// The number of ways of a set.
    pub ways: usize,
    /// The rule's parameters.
    pub choice: &'a LineReplacementChoice,
}

impl CacheShape<'_> {
    /// The number that a parameter of the rule has.
    fn number(&self, parameter: &StructureParameter) -> u64 {
        let default = parameter.default.number().unwrap_or(0);
        self.choice.number(parameter.name).unwrap_or(default)
    }
}

/// The state of a replacement rule for all sets of a cache. The sets fill unused ways first, the
/// lowest first, without a question to the rule.
pub(crate) trait LineRule: Send + core::fmt::Debug {
    /// Notes a hit of this way.
    fn hit(&mut self, set: usize, way: usize);

    /// Notes an access that missed.
    fn miss(&mut self, _set: usize) {}

    /// Notes a new line in this way.
    fn fill(&mut self, set: usize, way: usize);

    /// Returns true if a second hit of the line that was used last can change the rule's state.
    fn counts_repeats(&self) -> bool {
        false
    }

    /// The way of the set whose further hits change nothing, if the rule knows one.
    #[inline]
    fn newest(&self, _set: usize) -> Option<usize> {
        None
    }

    /// Returns the way that makes room in a set without unused ways.
    fn victim(&mut self, set: usize) -> usize;
}

impl LineReplacement {
    /// The rule of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = LINE_REPLACEMENTS.iter().copied();
        all.find(|rule| rule.described.name == name)
    }

    /// Exact LRU.
    pub fn lru() -> LineReplacementChoice {
        LineReplacementChoice::from(&lru::LRU)
    }
}

/// For rules that caches of any shape can have.
const fn any_shape(_sets: usize, _ways: usize) -> Option<String> {
    None
}

impl Parametric for LineReplacement {
    const KIND: &'static str = "cache replacement";

    fn name(&self) -> &'static str {
        self.described.name
    }

    fn parameters(&self) -> &'static [StructureParameter] {
        self.parameters
    }

    fn catalogue() -> &'static [&'static Self] {
        LINE_REPLACEMENTS
    }
}

impl PartialEq for LineReplacement {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for LineReplacement {}

impl core::fmt::Debug for LineReplacement {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.described.name)
    }
}
