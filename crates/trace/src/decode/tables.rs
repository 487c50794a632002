//! What a reader foretells from: the tables that are empty at the start of each chunk.

use crate::definitions::Definitions;

/// No pattern.
pub(super) const NO_PATTERN: u32 = u32::MAX;
/// No unit. Units are addresses without their lowest bits, so none is that large.
pub(super) const NO_UNIT: u64 = u64::MAX;
/// How many recent units there are.
pub(super) const RECENT: usize = 256;

/// Which patterns followed a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) next: u32,
    pub(super) other: u32,
}

const NO_LINK: Link = Link {
    next: NO_PATTERN,
    other: NO_PATTERN,
};

/// The tables. What was entered is noted, so that emptying them takes as long as filling them did, however large they are.
#[derive(Debug)]
pub(super) struct Tables {
    /// By pattern; the one behind the last is the state before any.
    pub(super) links: Vec<Link>,
    pub(super) masks: Vec<u8>,
    /// By reference: the unit that it went to last.
    pub(super) last: Vec<u64>,
    /// By place.
    pub(super) recent: [u64; RECENT],
    pub(super) last_told: u64,
    linked: Vec<u32>,
    masked: Vec<u32>,
    placed: Vec<u32>,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            links: Vec::new(),
            masks: Vec::new(),
            last: Vec::new(),
            recent: [0; RECENT],
            last_told: 0,
            linked: Vec::new(),
            masked: Vec::new(),
            placed: Vec::new(),
        }
    }
}

impl Tables {
    /// Empties the tables, and makes room for these patterns. Answers the state before any pattern.
    pub(super) fn empty(&mut self, definitions: &Definitions) -> u32 {
        for &pattern in &self.linked {
            self.links[pattern as usize] = NO_LINK;
        }
        for &pattern in &self.masked {
            self.masks[pattern as usize] = 0;
        }
        for &reference in &self.placed {
            self.last[reference as usize] = NO_UNIT;
        }
        self.linked.clear();
        self.masked.clear();
        self.placed.clear();
        self.recent = [0; RECENT];
        self.last_told = 0;

        let patterns = definitions.patterns.len();
        if self.links.len() < patterns + 1 {
            self.links.resize(patterns + 1, NO_LINK);
            self.masks.resize(patterns + 1, 0);
        }
        if self.last.len() < definitions.steps.len() {
            self.last.resize(definitions.steps.len(), NO_UNIT);
        }
        patterns as u32
    }

    /// `pattern` followed `before`, and was not what should have followed.
    #[inline]
    pub(super) fn link(&mut self, before: u32, pattern: u32) {
        let link = &mut self.links[before as usize];
        if link.next == NO_PATTERN {
            self.linked.push(before);
        }
        *link = Link {
            next: pattern,
            other: link.next,
        };
    }

    /// These references of `pattern` left their units.
    #[inline]
    pub(super) fn mask(&mut self, pattern: u32, mask: u8) {
        let old = &mut self.masks[pattern as usize];
        if *old == 0 && mask != 0 {
            self.masked.push(pattern);
        }
        *old = mask;
    }

    /// A reference went to `unit`.
    #[inline]
    pub(super) fn place(&mut self, reference: u32, unit: u64) {
        let last = &mut self.last[reference as usize];
        if *last == NO_UNIT {
            self.placed.push(reference);
        }
        *last = unit;
        self.last_told = unit;
    }
}

/// The place of a unit in the table of recent ones: 1..=254.
#[inline]
pub(crate) const fn recent_place(unit: u64) -> usize {
    1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32) as usize
}
