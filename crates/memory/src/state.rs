//! The packed state of a block under one policy. Most of a block's state follows from its history.

use crate::{History, PAGES_PER_BLOCK, PageMap, UnpackedBlock};

/// No reservation.
const NEVER: u64 = u64::MAX;

/// The resident pages of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Residency {
    /// The referenced pages.
    #[default]
    Used,
    /// All pages. The pages without a reference hold zeroes.
    Zeroed,
    /// All pages. The pages without a reference were read from a file.
    Read,
    /// The pages of a map, by the map's number. Part of a superpage was removed, or a superpage was
    /// filled from more than one source.
    Odd(u32),
}

/// The packed state of a block under one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedBlock {
    /// The time of the reservation in accesses, or [`NEVER`].
    reserved_at: u64,
    residency: Residency,
    /// The numbers of resident pages and, in the upper half, of dirty pages. Both are written and
    /// read at once: a load of two fields that were stored apart would wait for both stores.
    counts: u32,
    pub(crate) promoted: bool,
}

/// One dirty page in the counts of a block.
const ONE_DIRTY: u32 = 1 << 16;

/// The documented limit of memory for each touched block of each policy, in bytes.
const _: () = assert!(size_of::<PackedBlock>() <= 24);

impl Default for PackedBlock {
    fn default() -> Self {
        Self {
            reserved_at: NEVER,
            residency: Residency::Used,
            counts: 0,
            promoted: false,
        }
    }
}

/// The maps of a block whose residency does not follow from anything else.
#[derive(Clone, Debug)]
struct Maps {
    resident: PageMap,
    /// Pages that were read from a file. Bits of pages that were referenced since have no meaning.
    from_file: PageMap,
}

/// The maps of odd blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct OddBlocks {
    maps: Vec<Maps>,
    free: Vec<u32>,
}

impl OddBlocks {
    fn keep(&mut self, maps: Maps) -> u32 {
        if let Some(number) = self.free.pop() {
            self.maps[number as usize] = maps;
            return number;
        }
        self.maps.push(maps);
        (self.maps.len() - 1) as u32
    }
}

impl PackedBlock {
    /// The number of resident pages.
    #[inline]
    pub(crate) const fn populated(&self) -> u32 {
        self.counts % ONE_DIRTY
    }

    /// The number of dirty pages.
    #[inline]
    pub(crate) const fn dirty(&self) -> u32 {
        self.counts / ONE_DIRTY
    }

    /// Counts clean pages that become dirty.
    #[inline]
    pub(crate) fn add_dirty(&mut self, pages: u16) {
        self.counts += u32::from(pages) * ONE_DIRTY;
    }

    pub(crate) fn reserved_at(&self) -> Option<u64> {
        (self.reserved_at != NEVER).then_some(self.reserved_at)
    }

    pub(crate) fn reserve(&mut self, now: u64) {
        self.reserved_at = now;
    }

    /// Returns true if a page is resident, given whether it was referenced.
    #[inline]
    pub(crate) fn is_resident(&self, offset: usize, used: bool, odd: &OddBlocks) -> bool {
        match self.residency {
            Residency::Used => used,
            Residency::Zeroed | Residency::Read => true,
            Residency::Odd(at) => odd.maps[at as usize].resident.get(offset),
        }
    }

    /// Makes a page resident at its reference.
    pub(crate) fn add(&mut self, offset: usize, odd: &mut OddBlocks) {
        self.counts += 1;
        if let Residency::Odd(at) = self.residency {
            odd.maps[at as usize].resident.set(offset);
        }
    }

    /// Makes all pages resident. Missing ones are read from a file, or zeroed.
    pub(crate) fn fill(&mut self, read: bool, odd: &mut OddBlocks) {
        self.counts += PAGES_PER_BLOCK as u32 - self.populated();
        match self.residency {
            Residency::Used if read => self.residency = Residency::Read,
            Residency::Used => self.residency = Residency::Zeroed,
            Residency::Zeroed | Residency::Read => {}
            Residency::Odd(at) => {
                let maps = &mut odd.maps[at as usize];
                if read {
                    let missing = PageMap::FULL.without(&maps.resident);
                    maps.from_file = maps.from_file.or(&missing);
                }
                maps.resident = PageMap::FULL;
            }
        }
    }

    /// Returns the whole state of the block.
    pub(crate) fn unpack(&self, history: &History, odd: &OddBlocks) -> UnpackedBlock {
        let (resident, from_file) = match self.residency {
            Residency::Used => (history.used, PageMap::EMPTY),
            Residency::Zeroed => (PageMap::FULL, PageMap::EMPTY),
            Residency::Read => (PageMap::FULL, PageMap::FULL),
            Residency::Odd(at) => {
                let maps = &odd.maps[at as usize];
                (maps.resident, maps.from_file)
            }
        };
        UnpackedBlock {
            used: history.used,
            dirty: history.dirty,
            resident,
            from_file: from_file.without(&history.used),
            reserved_at: self.reserved_at(),
            populated: self.populated(),
            dirty_pages: self.dirty(),
            promoted: self.promoted,
        }
    }

    /// Packs the state of a block.
    pub(crate) fn pack(&mut self, block: &UnpackedBlock, odd: &mut OddBlocks) {
        if let Residency::Odd(at) = self.residency {
            odd.free.push(at);
        }
        let residency = if block.resident == block.used {
            Residency::Used
        } else if block.resident == PageMap::FULL && block.from_file.is_empty() {
            Residency::Zeroed
        } else if block.resident == PageMap::FULL && block.from_file == block.filled() {
            Residency::Read
        } else {
            Residency::Odd(odd.keep(Maps {
                resident: block.resident,
                from_file: block.from_file,
            }))
        };
        *self = Self {
            reserved_at: block.reserved_at.unwrap_or(NEVER),
            residency,
            counts: block.populated + block.dirty_pages * ONE_DIRTY,
            promoted: block.promoted,
        };
    }
}
