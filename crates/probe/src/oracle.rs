//! The oracle of an analysis: it answers whether chases fit.

use crate::Chase;

/// A level of a TLB, as an analysis distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlbLevel {
    /// The first level.
    First,
    /// All levels together. A page that misses them is walked.
    All,
}

/// The answer of an oracle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// True if the pages come to fit.
    pub fits: bool,
    /// The agreement of repeated trials, from 0 to 1. Counters of a model are certain.
    pub confidence: f64,
}

impl Verdict {
    /// A certain answer.
    pub const fn certain(fits: bool) -> Self {
        Self {
            fits,
            confidence: 1.0,
        }
    }
}

/// A TLB whose chases are counted or timed.
pub trait ChaseOracle {
    /// Returns whether the pages of a chase come to fit a level. `None` if the oracle cannot run
    /// the chase.
    fn fits(&mut self, level: TlbLevel, chase: &Chase) -> Option<Verdict>;

    /// Returns the steady share of the references of a string that miss a level. The string is
    /// repeated in its own order, from a state that `start` determines or that is arbitrary.
    /// `None` if the oracle does not know. `all_miss` is a string whose references all miss.
    fn miss_ratio(
        &mut self,
        level: TlbLevel,
        string: &[u64],
        all_miss: &[u64],
        start: u64,
    ) -> Option<f64>;

    /// The lowest address bit above every index.
    fn above(&self) -> u32;

    /// The bytes that one entry covers.
    fn unit(&self) -> u64;

    /// The most pages of a chase.
    fn most_pages(&self) -> usize;

    /// The number of times that a capacity is determined. The median counts. 1 for a model.
    fn repeats(&self) -> usize;

    /// The share of a level's entries that other translations may take meanwhile, such as those of
    /// the chase's own code. 0 for a model.
    fn intruders(&self) -> f64;
}
