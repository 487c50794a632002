//! The built-in machines, implemented a second time: sets, ways and index functions.

use crate::RuleSpec;
use std::fmt;

/// An index function: it maps a page number, in units of the page size, to a set.
pub(crate) type Index = fn(u64) -> u64;

/// One TLB structure: its geometry, and the index function of each page size.
#[derive(Clone, Copy)]
pub(crate) struct TlbStructure {
    pub(crate) sets: usize,
    pub(crate) ways: usize,
    /// The index of base pages; `None` if the structure holds none.
    pub(crate) base: Option<Index>,
    /// The index of superpages; `None` if the structure holds none.
    pub(crate) large: Option<Index>,
}

/// The machine whose TLBs are modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OracleMachine {
    /// Zhu 2018, section 4.
    #[default]
    Skylake,
    /// Skylake with the lowest bits of a superpage's number as its first-level index.
    SkylakeVa23,
    /// Skylake with one first-level structure of 64 entries (decision 11: 16 sets of 4 ways).
    SkylakeUnified64,
    /// Skylake with one first-level structure of 96 entries (decision 11: 16 sets of 6 ways).
    SkylakeUnified96,
    /// Skylake in a guest whose host maps base pages: a superpage enters the TLB in base pages.
    SkylakeFractured,
}

/// A machine with one replacement rule in each structure whose ways can have it, and LRU elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuledMachine {
    /// The machine.
    pub machine: OracleMachine,
    /// The rule.
    pub rule: RuleSpec,
}

impl From<OracleMachine> for RuledMachine {
    /// The machine with the rule of its source: exact LRU.
    fn from(machine: OracleMachine) -> Self {
        let rule = RuleSpec::Lru;
        Self { machine, rule }
    }
}

impl OracleMachine {
    /// All built-in machines.
    pub const ALL: [Self; 4] = [
        Self::Skylake,
        Self::SkylakeVa23,
        Self::SkylakeUnified64,
        Self::SkylakeUnified96,
    ];

    /// The first level. One structure holds each page size.
    pub(crate) fn first_level(self) -> Vec<TlbStructure> {
        let split = |large: Index| {
            vec![
                TlbStructure {
                    sets: 16,
                    ways: 4,
                    base: Some(|number| number % 16),
                    large: None,
                },
                TlbStructure {
                    sets: 8,
                    ways: 4,
                    base: None,
                    large: Some(large),
                },
            ]
        };
        let unified = |ways| {
            vec![TlbStructure {
                sets: 16,
                ways,
                base: Some(|number| number % 16),
                large: Some(|number| number % 16),
            }]
        };
        match self {
            // va[24:22]: bit 21 is not used.
            Self::Skylake => split(|number| number / 2 % 8),
            Self::SkylakeVa23 => split(|number| number % 8),
            Self::SkylakeUnified64 => unified(4),
            Self::SkylakeUnified96 => unified(6),
            Self::SkylakeFractured => split(|_| 0).into_iter().take(1).collect(),
        }
    }

    /// Returns true if a superpage enters the TLB in base pages.
    pub(crate) fn fractures(self) -> bool {
        self == Self::SkylakeFractured
    }

    /// The second level of all machines: 1536 entries for both sizes.
    pub(crate) fn second_level(self) -> Vec<TlbStructure> {
        vec![TlbStructure {
            sets: 128,
            ways: 12,
            base: Some(|number| (number % 128) ^ (number / 128 % 128)),
            large: Some(|number| number % 128),
        }]
    }
}

impl fmt::Display for OracleMachine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Skylake => "skylake",
            Self::SkylakeVa23 => "skylake-va23",
            Self::SkylakeUnified64 => "skylake-unified-64",
            Self::SkylakeUnified96 => "skylake-unified-96",
            Self::SkylakeFractured => "skylake-fractured",
        })
    }
}
