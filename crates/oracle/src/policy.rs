//! The policies of Zhu 2018 (`seeds` 10.3), Zhu's advice, and Linux-like THP, as values and one
//! literal function.

use std::fmt;

use crate::block::ResidentBlock;

/// A policy of the catalogue with its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicySpec {
    /// Never promotes.
    FourK,
    /// Full and evenly dirty blocks (Zhu 2018, section 2).
    FreeBsd,
    /// At the first fault, the blocks that `freebsd` promotes at some time.
    Foresight,
    /// At the first fault.
    Greedy,
    /// Promotes when this number of pages is populated.
    Pop(u64),
    /// Promotes when this number of pages is dirty.
    Dirty(u64),
    /// Promotes when this number of accesses has passed since the reservation.
    Life(u64),
    /// Linux's behaviour at the first fault of a covered anonymous block.
    ThpAlways,
    /// The advice of Zhu 2018, section 6.3.1. Memory without a file is promoted by populated pages.
    /// A file's block is promoted by populated pages while it is clean and write-protected, and by
    /// dirty pages after a store.
    Advice {
        /// Populated pages of other memory.
        anonymous: u64,
        /// Populated pages of a clean file.
        file: u64,
        /// Dirty pages of a file.
        file_dirty: u64,
    },
}

impl PolicySpec {
    /// The eighteen policies of Zhu 2018 and `thp-always`, nineteen in all.
    pub const ALL: [Self; 19] = [
        Self::FourK,
        Self::FreeBsd,
        Self::Foresight,
        Self::Greedy,
        Self::Pop(64),
        Self::Pop(128),
        Self::Pop(256),
        Self::Pop(461),
        Self::Pop(509),
        Self::Dirty(64),
        Self::Dirty(128),
        Self::Dirty(256),
        Self::Dirty(461),
        Self::Dirty(509),
        Self::Life(1_000_000),
        Self::Life(10_000_000),
        Self::Life(100_000_000),
        Self::Life(1_000_000_000),
        Self::ThpAlways,
    ];

    /// Returns true if the policy can promote.
    pub(crate) fn ever_promotes(self) -> bool {
        self != Self::FourK
    }
}

impl fmt::Display for PolicySpec {
    /// The name on the command line: `pop-64`, `life-1e6`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FourK => f.write_str("4k"),
            Self::FreeBsd => f.write_str("freebsd"),
            Self::Foresight => f.write_str("foresight"),
            Self::Greedy => f.write_str("greedy"),
            Self::Pop(n) => write!(f, "pop-{n}"),
            Self::Dirty(n) => write!(f, "dirty-{n}"),
            Self::Life(n) if n >= 10 && n == 10u64.pow(n.ilog10()) => {
                write!(f, "life-1e{}", n.ilog10())
            }
            Self::Life(n) => write!(f, "life-{n}"),
            Self::ThpAlways => f.write_str("thp-always"),
            Self::Advice {
                anonymous,
                file,
                file_dirty,
            } => write!(
                f,
                "advice(anonymous={anonymous},file={file},file_dirty={file_dirty})"
            ),
        }
    }
}

/// The view of a block with a reservation at a decision point.
pub(crate) struct BlockView<'a> {
    pub(crate) block: &'a ResidentBlock,
    /// True if a file backs the page in question.
    pub(crate) file: bool,
    /// Accesses since the reservation was created.
    pub(crate) age: u64,
    /// True if `freebsd` promotes this block at some time in this trace.
    pub(crate) foreseen: bool,
}

/// Rules 15 to 17: `Ok` to promote, otherwise the reason to stay. `4k` never decides, and
/// `thp-always` uses another view (rule 18), so neither is asked here.
pub(crate) fn decide(policy: PolicySpec, view: &BlockView<'_>) -> Result<(), &'static str> {
    let (promote, reason) = match policy {
        PolicySpec::Greedy => (view.block.populated() >= 1, "too_few_resident"),
        PolicySpec::Pop(n) => (view.block.populated() >= n, "too_few_resident"),
        PolicySpec::Dirty(n) => (view.block.dirty() >= n, "too_few_dirty"),
        PolicySpec::Life(x) => (view.age >= x, "too_young"),
        PolicySpec::Foresight => (view.foreseen, "not_foreseen"),
        PolicySpec::FreeBsd if view.block.populated() < 512 => (false, "too_few_resident"),
        PolicySpec::FreeBsd => (
            view.block.dirty() == 0 || view.block.dirty() == 512,
            "mixed_dirty",
        ),
        PolicySpec::Advice { anonymous, .. } if !view.file => {
            (view.block.populated() >= anonymous, "too_few_resident")
        }
        PolicySpec::Advice { file, .. } if view.block.dirty() == 0 => {
            (view.block.populated() >= file, "too_few_resident")
        }
        PolicySpec::Advice { file_dirty, .. } => {
            (view.block.dirty() >= file_dirty, "too_few_dirty")
        }
        PolicySpec::FourK | PolicySpec::ThpAlways => (false, "never_asked"),
    };
    if promote { Ok(()) } else { Err(reason) }
}
