//! Assignment of page sizes by lists of pages and frames: reservation, gather, repair and the
//! working set (Talluri 1995, sections 6.2, 6.4 and 6.6; rules 13 to 17 of `docs/spec/memory.md`).
//!
//! The rules leave open which free frames a page or a block gets. The model therefore receives the
//! frames that were chosen, refuses those that no rule allows, and computes everything else.

use std::collections::{BTreeMap, BTreeSet};

/// A rule that assigns one superpage size. Shares are percentages of a block's base pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignmentRule {
    /// A block is promoted when its resident pages reach the share.
    Share {
        /// The share.
        share: u64,
        /// A first fault reserves a block.
        reserves: bool,
        /// Pages that lie apart are copied together.
        gathers: bool,
    },
    /// Blocks are reserved and stay base pages. Pages that lie apart are moved to their places when
    /// the resident ones reach the share.
    Repair {
        /// The share.
        share: u64,
    },
    /// A round promotes blocks of which this share was referenced since the round before, and
    /// breaks superpages of which fewer pages were referenced, but some.
    WorkingSet {
        /// The share that promotes.
        promote: u64,
        /// The share below which a superpage breaks.
        demote: u64,
    },
}

/// The cycles of the parts of a gather.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatherCosts {
    /// Finding, locking and freeing a page, and removing its one mapping everywhere.
    pub page: u64,
    /// Copying a page.
    pub copy: u64,
    /// Zeroing a page.
    pub zero: u64,
    /// Allocating the block.
    pub extent: u64,
    /// Making a superpage.
    pub promotion: u64,
}

/// The counts of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssignedCounts {
    /// Faults.
    pub faults: u64,
    /// Blocks that became superpages.
    pub promotions: u64,
    /// Superpages that broke.
    pub demotions: u64,
    /// Pages that were copied.
    pub copied: u64,
    /// Blocks whose pages were moved to their places, and stayed base pages.
    pub repaired: u64,
    /// The cycles of all gathers and repairs.
    pub gather_cycles: u64,
}

/// A frame that a page has between a fault and the move of its block.
const UNKNOWN: u64 = u64::MAX;

/// The frames that were chosen, by page.
pub type Frames = BTreeMap<u64, u64>;

/// The anonymous memory of one process, with frames that never run short.
#[derive(Clone, Debug)]
pub struct AssignedMemory {
    rule: AssignmentRule,
    costs: GatherCosts,
    /// The base pages of a block.
    block: u64,
    mapped: BTreeSet<u64>,
    frames: Frames,
    /// The first frames of the reserved blocks.
    reserved: BTreeMap<u64, u64>,
    superpages: BTreeSet<u64>,
    /// The pages that were referenced since the last round.
    referenced: BTreeSet<u64>,
    /// What happened.
    pub counts: AssignedCounts,
}

impl AssignedMemory {
    /// Memory in which nothing is mapped, with blocks of `pages` base pages.
    pub fn new(rule: AssignmentRule, block: u64, costs: GatherCosts) -> Self {
        Self {
            rule,
            costs,
            block,
            mapped: BTreeSet::new(),
            frames: Frames::new(),
            reserved: BTreeMap::new(),
            superpages: BTreeSet::new(),
            referenced: BTreeSet::new(),
            counts: AssignedCounts::default(),
        }
    }

    /// Maps pages, which were not mapped before.
    pub fn map(&mut self, pages: impl IntoIterator<Item = u64>) {
        self.mapped.extend(pages);
    }

    /// The frame of each resident page.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The blocks that are superpages.
    pub fn superpages(&self) -> &BTreeSet<u64> {
        &self.superpages
    }

    fn pages_of(&self, block: u64) -> std::ops::Range<u64> {
        block * self.block..(block + 1) * self.block
    }

    fn resident(&self, block: u64) -> u64 {
        self.frames.range(self.pages_of(block)).count() as u64
    }

    fn is_mapped(&self, block: u64) -> bool {
        self.pages_of(block).all(|page| self.mapped.contains(&page))
    }

    /// Returns true if a frame holds no page, and no reservation keeps the frame.
    fn is_free(&self, frame: u64) -> bool {
        let is_used = self.frames.values().any(|used| *used == frame);
        let mut kept = self.reserved.values();
        !is_used && !kept.any(|first| (*first..first + self.block).contains(&frame))
    }

    /// The first frame of an aligned block of free frames in which a page lies at its place, if the
    /// page got this frame.
    fn new_extent(&self, page: u64, frame: u64) -> Result<u64, String> {
        let first = frame.checked_sub(page % self.block);
        let first = first.filter(|first| first % self.block == 0);
        let first = first.ok_or_else(|| format!("frame {frame} is no place of page {page}"))?;
        match (first..first + self.block).find(|frame| !self.is_free(*frame)) {
            Some(used) => Err(format!("frame {used} of the block at {first} is in use")),
            None => Ok(first),
        }
    }

    /// The first frame of the aligned block in which all resident pages of a block lie at their
    /// places, if there is one.
    fn place_of(&self, block: u64) -> Option<u64> {
        let resident = self.frames.range(self.pages_of(block));
        let mut firsts = resident.map(|(page, frame)| frame.checked_sub(page % self.block));
        let first = firsts.next()??;
        let is_aligned = first % self.block == 0;
        (is_aligned && firsts.all(|other| other == Some(first))).then_some(first)
    }

    /// Refers to a page. `chosen` are the frames of all pages after the reference.
    ///
    /// # Errors
    /// The frame that no rule allows, in a sentence.
    pub fn refer(&mut self, page: u64, chosen: &Frames) -> Result<(), String> {
        self.referenced.insert(page);
        if self.frames.contains_key(&page) {
            return Ok(());
        }
        self.counts.faults += 1;
        let block = page / self.block;
        let reserves = match self.rule {
            AssignmentRule::Share { reserves, .. } => reserves,
            AssignmentRule::Repair { .. } => true,
            AssignmentRule::WorkingSet { .. } => false,
        };
        let may_reserve = reserves && self.is_mapped(block) && self.resident(block) == 0;
        let frame = self.frame_of_fault(page, may_reserve, chosen)?;
        self.frames.insert(page, frame);
        let share = match self.rule {
            AssignmentRule::Share { share, .. } | AssignmentRule::Repair { share } => share,
            AssignmentRule::WorkingSet { .. } => return Ok(()),
        };
        if self.resident(block) * 100 >= share * self.block
            && self.is_mapped(block)
            && !self.superpages.contains(&block)
        {
            self.reach(block, chosen)?;
        }
        Ok(())
    }

    /// The frame that a page gets. If the block moves at once, the frame in between is unknown.
    fn frame_of_fault(
        &mut self,
        page: u64,
        may_reserve: bool,
        chosen: &Frames,
    ) -> Result<u64, String> {
        let block = page / self.block;
        if let Some(first) = self.reserved.get(&block) {
            return Ok(first + page % self.block);
        }
        let mut others = self.frames.range(self.pages_of(block));
        if others.any(|(page, frame)| chosen.get(page) != Some(frame)) {
            return Ok(UNKNOWN);
        }
        let frame = *chosen.get(&page).ok_or("a page without a frame")?;
        if may_reserve {
            let first = self.new_extent(page, frame)?;
            self.reserved.insert(block, first);
        } else if !self.is_free(frame) {
            return Err(format!("frame {frame} of page {page} is in use"));
        }
        Ok(frame)
    }

    /// A block reached its share at a fault.
    fn reach(&mut self, block: u64, chosen: &Frames) -> Result<(), String> {
        match self.rule {
            AssignmentRule::Share { gathers, .. } => self.promote(block, gathers, chosen),
            AssignmentRule::Repair { .. } if self.place_of(block).is_none() => {
                let first = self.move_together(block, chosen)?;
                self.reserved.insert(block, first);
                self.counts.repaired += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes a superpage of a block: in place, or by copying if that is allowed.
    fn promote(&mut self, block: u64, copies: bool, chosen: &Frames) -> Result<(), String> {
        let missing = self.block - self.resident(block);
        let place = self.place_of(block);
        let kept = self.reserved.get(&block).copied();
        let first = match place {
            Some(first) if missing == 0 || kept == Some(first) => first,
            _ if copies => {
                let first = self.move_together(block, chosen)?;
                self.counts.gather_cycles += missing * self.costs.zero + self.costs.promotion;
                first
            }
            _ => return Ok(()),
        };
        for page in self.pages_of(block) {
            self.frames.insert(page, first + page % self.block);
        }
        self.superpages.insert(block);
        self.counts.promotions += 1;
        Ok(())
    }

    /// Copies the resident pages of a block to a block of free frames, whose first frame it
    /// returns. The reservation of the block ends.
    fn move_together(&mut self, block: u64, chosen: &Frames) -> Result<u64, String> {
        let resident: Vec<u64> = (self.frames.range(self.pages_of(block)))
            .map(|(page, _)| *page)
            .collect();
        let page = resident[0];
        let frame = *chosen.get(&page).ok_or("a page without a frame")?;
        let first = self.new_extent(page, frame)?;
        self.reserved.remove(&block);
        for page in &resident {
            self.frames.insert(*page, first + page % self.block);
        }
        let moved = resident.len() as u64;
        self.counts.copied += moved;
        let each = self.costs.page + self.costs.copy;
        self.counts.gather_cycles += moved * each + self.costs.extent;
        Ok(first)
    }

    /// A round of the working set. `chosen` are the frames of all pages after it.
    ///
    /// # Errors
    /// As [`AssignedMemory::refer`].
    pub fn round(&mut self, chosen: &Frames) -> Result<(), String> {
        if let AssignmentRule::WorkingSet { promote, demote } = self.rule {
            let blocks: BTreeSet<u64> = self.frames.keys().map(|page| page / self.block).collect();
            for block in blocks {
                let used = self.referenced.range(self.pages_of(block)).count() as u64;
                if self.superpages.contains(&block) {
                    if used > 0 && used * 100 < demote * self.block {
                        self.superpages.remove(&block);
                        self.counts.demotions += 1;
                    }
                } else if used * 100 >= promote * self.block && self.is_mapped(block) {
                    self.promote(block, true, chosen)?;
                }
            }
        }
        self.referenced.clear();
        Ok(())
    }

    /// Discards pages, which stay mapped. A superpage breaks if some of its pages stay.
    pub fn discard(&mut self, pages: std::ops::Range<u64>) {
        let superpages = self.superpages.clone();
        for block in superpages {
            let of_block = self.pages_of(block);
            let is_whole = pages.start <= of_block.start && of_block.end <= pages.end;
            let is_met = pages.start < of_block.end && of_block.start < pages.end;
            if is_met {
                self.superpages.remove(&block);
                self.counts.demotions += u64::from(!is_whole);
            }
        }
        for page in pages {
            self.frames.remove(&page);
            self.referenced.remove(&page);
        }
        let blocks: Vec<u64> = self.reserved.keys().copied().collect();
        for block in blocks {
            if self.resident(block) == 0 {
                self.reserved.remove(&block);
            }
        }
    }
}
