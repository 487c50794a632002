//! Trails: all pages that are looked up, in order, for TLBs of any geometry.
//!
//! The filter leaves out lookups that hit the first level of the machines of a plan. TLBs of other
//! geometries may miss at these lookups. A trail keeps them.

use broadleaf_units::PageNumber;

/// The contents of a trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// No lookups.
    Nothing,
    /// The pages of all lookups.
    Pages,
    /// The pages and their times: a policy may decide between two lookups.
    Times,
}

/// The pages of all lookups, none twice in a row.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The pages.
    pub pages: Vec<PageNumber>,
    /// The accesses before each lookup, since the piece began: -1 if the piece begins with the rest
    /// of an access. Empty unless times are followed.
    pub times: Vec<i64>,
    /// For each visit that is kept, the number of pages before it.
    pub before: Vec<u32>,
    last: Option<PageNumber>,
}

impl Trail {
    /// Adds a lookup. Returns true if its page differs from the last.
    #[inline]
    pub fn add(&mut self, page: PageNumber) -> bool {
        let is_other = self.last != Some(page);
        if is_other {
            self.last = Some(page);
            self.pages.push(page);
        }
        is_other
    }

    /// Adds a lookup after `time` accesses. If the visit leads, the last of these is its own.
    #[inline]
    pub fn add_at(&mut self, page: PageNumber, time: u64, leads: bool) {
        if self.add(page) {
            self.times.push(time as i64 - i64::from(leads));
        }
    }

    /// Notes that `kept` visits are kept. The new ones come after `before` pages.
    pub fn keep(&mut self, kept: usize, before: usize) {
        self.before.resize(kept, before as u32);
    }

    /// Drops all lookups, and keeps the memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.times.clear();
        self.before.clear();
        self.last = None;
    }
}
