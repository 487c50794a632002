//! The mappings of one address space, and the blocks that one mapping covers (rules 2 to 5, 7 and
//! 10).
//!
//! All positions are in base pages. Events cut mappings into pieces; each question decides anew
//! which neighbours count as one mapping.

mod changes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_trace::{Backing, KernelTouch};
use broadleaf_units::{FileId, Rights};

/// The sizes of the trace's files, in bytes.
pub(crate) type FileSizes = BTreeMap<FileId, u64>;

/// The base pages of `block`.
pub(crate) fn pages_of(block: u64) -> Range<u64> {
    block * 512..(block + 1) * 512
}

/// The base pages of an event's range.
pub(crate) fn pages_in(range: broadleaf_trace::Range) -> Range<u64> {
    let end = range.start.0.saturating_add(range.len);
    range.start.0 / 4096..end.div_ceil(4096)
}

/// The part of `a` that lies in `b`; may be empty.
pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// The host's answer about a block that a policy wants to promote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OracleCoverage {
    /// One mapping spans the block.
    Covered,
    /// Mappings span the block, with different rights.
    MixedProtection,
    /// Any other state.
    NotCovered,
}

#[derive(Clone, Debug)]
struct MappingPiece {
    pages: Range<u64>,
    protection: Rights,
    shared: bool,
    backing: Backing,
}

impl MappingPiece {
    /// Cuts this piece down to `pages`, which lie inside it. A file's offset moves with the start.
    fn cut(&self, pages: Range<u64>) -> Self {
        let mut piece = self.clone();
        if let Backing::File { offset, .. } = &mut piece.backing {
            *offset = offset.wrapping_add((pages.start - self.pages.start) * 4096);
        }
        piece.pages = pages;
        piece
    }

    /// Rule 2: returns true if `next` continues this piece. Stacks and shared memory have no
    /// numbers to show continuation.
    fn continues_in(&self, next: &Self) -> bool {
        let backing = match (self.backing, next.backing) {
            (Backing::Anonymous, Backing::Anonymous) | (Backing::Heap, Backing::Heap) => true,
            (Backing::File { file: f, offset: o }, Backing::File { file: g, offset: p }) => {
                f == g && p == o.wrapping_add((self.pages.end - self.pages.start) * 4096)
            }
            _ => false,
        };
        backing
            && self.pages.end == next.pages.start
            && self.shared == next.shared
            && self.protection == next.protection
    }
}

/// The mappings of one address space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings {
    /// Rule 4: the space has no map events, so all unmapped memory counts as anonymous and
    /// writable.
    everything: bool,
    /// Disjoint pieces in order of address.
    pieces: Vec<MappingPiece>,
    /// The heap of the last `Brk`, or of its mapping.
    heap: Option<Range<u64>>,
    /// Pages under `MADV_NOHUGEPAGE`.
    advised_against: BTreeSet<u64>,
}

impl Mappings {
    /// A space without mappings; with `everything`, a space without map events.
    pub(crate) fn new(everything: bool) -> Self {
        let mut mappings = Self {
            everything,
            ..Self::default()
        };
        // All pages that 64 bits can address.
        mappings.fall_back(&(0..1 << 52));
        mappings
    }

    /// Rule 4: in a space without map events, `pages` return to their initial state.
    fn fall_back(&mut self, pages: &Range<u64>) {
        if self.everything {
            self.put(MappingPiece {
                pages: pages.clone(),
                protection: Rights::READ_WRITE,
                shared: false,
                backing: Backing::Anonymous,
            });
        }
    }

    fn index_of(&self, page: u64) -> Option<usize> {
        self.pieces
            .iter()
            .position(|piece| piece.pages.contains(&page))
    }

    fn at(&self, page: u64) -> Option<&MappingPiece> {
        self.index_of(page).map(|index| &self.pieces[index])
    }

    /// The whole mapping around `page`, by rule 2.
    fn mapping_around(&self, page: u64) -> Option<Range<u64>> {
        let index = self.index_of(page)?;
        let (mut first, mut last) = (index, index);
        while first > 0 && self.pieces[first - 1].continues_in(&self.pieces[first]) {
            first -= 1;
        }
        while last + 1 < self.pieces.len() && self.pieces[last].continues_in(&self.pieces[last + 1])
        {
            last += 1;
        }
        Some(self.pieces[first].pages.start..self.pieces[last].pages.end)
    }

    /// Rule 3, of a block.
    pub(crate) fn is_covered(&self, block: u64, files: &FileSizes) -> bool {
        self.is_piece_covered(&pages_of(block), files)
    }

    /// Rule 3, for an aligned piece of any size: the rule's 512 pages become the pages of `wanted`.
    pub(crate) fn is_piece_covered(&self, wanted: &Range<u64>, files: &FileSizes) -> bool {
        let bytes = (wanted.end - wanted.start) * 4096;
        let Some(mapping) = self.mapping_around(wanted.start) else {
            return false;
        };
        if mapping.end < wanted.end {
            return false;
        }
        let Some(first) = self.at(wanted.start) else {
            return false;
        };
        match first.backing {
            Backing::Kernel => false,
            Backing::File { file, offset } => {
                let at_piece = offset.wrapping_add((wanted.start - first.pages.start) * 4096);
                // A file's last page counts as a whole page.
                let reaches = files.get(&file).is_some_and(|&size| {
                    at_piece.saturating_add(bytes) <= size.div_ceil(4096).saturating_mul(4096)
                });
                at_piece % bytes == 0 && reaches
            }
            Backing::Anonymous | Backing::Heap | Backing::Stack | Backing::SharedMemory => true,
        }
    }

    /// Rules 3 and 10.
    pub(crate) fn coverage(&self, block: u64, files: &FileSizes) -> OracleCoverage {
        if self.is_covered(block, files) {
            return OracleCoverage::Covered;
        }
        let right = |page| self.at(page).map(|piece| piece.protection);
        let first = right(block * 512);
        let mut differ = false;
        for page in pages_of(block) {
            match right(page) {
                None => return OracleCoverage::NotCovered,
                here => differ |= here != first,
            }
        }
        if differ {
            OracleCoverage::MixedProtection
        } else {
            OracleCoverage::NotCovered
        }
    }

    /// Rule 7: returns true if `page` lies in a growing mapping that contains its `block`, except
    /// for a part past the growing end. That part must not be larger than the mapping.
    pub(crate) fn grows_into(&self, page: u64, block: u64) -> bool {
        let wanted = pages_of(block);
        let (Some(piece), Some(mapping)) = (self.at(page), self.mapping_around(page)) else {
            return false;
        };
        let size = mapping.end - mapping.start;
        match piece.backing {
            Backing::Heap => {
                mapping.start <= wanted.start && wanted.end.saturating_sub(mapping.end) <= size
            }
            Backing::Stack => {
                wanted.end <= mapping.end && mapping.start.saturating_sub(wanted.start) <= size
            }
            _ => false,
        }
    }

    /// The backing of `page`, if it is mapped.
    pub(crate) fn backing(&self, page: u64) -> Option<Backing> {
        self.at(page).map(|piece| piece.backing)
    }

    pub(crate) fn is_writable(&self, page: u64) -> bool {
        self.at(page).is_some_and(|piece| piece.protection.write)
    }

    /// Returns true if the kernel stores to a page that it populates (rule 33); `None` if it does
    /// not touch the page.
    pub(crate) fn kernel_stores(
        &self,
        page: u64,
        touch: KernelTouch,
        files: &FileSizes,
    ) -> Option<bool> {
        let piece = self.at(page)?;
        let at = (page - piece.pages.start) * 4096;
        match piece.backing {
            Backing::Kernel => return None,
            Backing::File { file, offset }
                if files
                    .get(&file)
                    .is_some_and(|&size| offset.saturating_add(at) >= size) =>
            {
                return None;
            }
            _ => {}
        }
        let rights = piece.protection;
        match touch {
            KernelTouch::Load => Some(false),
            KernelTouch::Store => Some(true),
            KernelTouch::AsMapped | KernelTouch::Collapse => {
                let any = rights.read || rights.write || rights.execute;
                any.then_some(rights.write && !piece.shared)
            }
        }
    }

    /// Rule 18: a block counts as advised against if any of its pages is.
    pub(crate) fn is_advised_against(&self, block: u64) -> bool {
        self.advised_against.range(pages_of(block)).next().is_some()
    }

    pub(crate) fn advise_against(&mut self, pages: Range<u64>) {
        self.advised_against.extend(pages);
    }

    pub(crate) fn clear_advice(&mut self, pages: &Range<u64>) {
        let within: Vec<u64> = self.advised_against.range(pages.clone()).copied().collect();
        for page in within {
            self.advised_against.remove(&page);
        }
    }
}
