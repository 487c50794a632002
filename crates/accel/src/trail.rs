//! Every page that is looked up, in order: what TLBs of other geometries than the machines' have to be shown.
//!
//! The sieve leaves out what hits the first level of the plan's machines, which others may miss. What it leaves in is for memories and the machines; beside it goes this.

use broadleaf_memory::BlockId;
use broadleaf_units::PageNumber;

/// Whether somebody follows what all visits look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    Nothing,
    Pages,
    /// Pages and their times: something may be decided between two lookups.
    Times,
}

/// Pages that were looked up, none twice in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    pub(crate) pages: Vec<PageNumber>,
    /// How many accesses were made before each lookup's own, since the piece began: one before it where the piece begins with the rest of an access. None where nobody asks.
    pub(crate) times: Vec<i64>,
    /// For each visit that is kept, how many of these come before it.
    pub(crate) before: Vec<u32>,
    last: Option<PageNumber>,
}

impl Trail {
    /// A page is looked up; says whether it is another than the last.
    #[inline]
    pub(crate) fn add(&mut self, page: PageNumber) -> bool {
        let is_other = self.last != Some(page);
        if is_other {
            self.last = Some(page);
            self.pages.push(page);
        }
        is_other
    }

    /// The same, behind so many accesses, of which the last is its own where it leads.
    #[inline]
    pub(crate) fn add_at(&mut self, page: PageNumber, time: u64, leads: bool) {
        if self.add(page) {
            self.times.push(time as i64 - i64::from(leads));
        }
    }

    /// So many visits are kept now; those that are new come behind `before` pages.
    pub(crate) fn keep(&mut self, kept: usize, before: usize) {
        self.before.resize(kept, before as u32);
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.times.clear();
        self.before.clear();
        self.last = None;
    }
}

/// A stretch of a trail, prepared for replays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followed {
    pub(crate) pages: Vec<(PageNumber, BlockId)>,
    /// The time of each, and behind them that of the page that comes next, which is in the next stretch; the last time there can be where none does. None where nobody
    /// asks.
    pub(crate) times: Vec<u64>,
    /// For each visit of the batch, how many of these come before it.
    pub(crate) before: Vec<u32>,
}

impl Followed {
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.times.clear();
        self.before.clear();
    }
}
