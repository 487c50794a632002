//! What is mapped where in one address space, and which blocks one mapping covers (rules 2 to 5, 7 and 10).
//!
//! Everything is counted in base pages. Pieces are kept as the events cut them; whether neighbours count as one mapping
//! is found out anew at each question.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_trace::{Backing, KernelTouch, Mapping, Protection};
use broadleaf_units::FileId;

/// Sizes of the files of a trace in bytes.
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

/// The part of `a` that lies in `b`; empty where there is none.
pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// What the host says of a block that a policy wants to promote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// One mapping spans it.
    Covered,
    /// Mapped throughout, but with different rights.
    MixedProtection,
    /// Anything else.
    NotCovered,
}

#[derive(Clone, Debug)]
struct Piece {
    pages: Range<u64>,
    protection: Protection,
    shared: bool,
    backing: Backing,
}

impl Piece {
    /// This piece cut down to `pages`, which lie inside it; a file's offset moves with the start.
    fn cut(&self, pages: Range<u64>) -> Self {
        let mut piece = self.clone();
        if let Backing::File { offset, .. } = &mut piece.backing {
            *offset = offset.wrapping_add((pages.start - self.pages.start) * 4096);
        }
        piece.pages = pages;
        piece
    }

    /// Rule 2: whether `next` carries on where this piece ends. Stacks and shared memory bear no number that could tell
    /// that one carries on the other.
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
    /// Rule 4: no map event tells of this space, so what nothing else is known of counts as anonymous and writable.
    everything: bool,
    /// In order of address, apart from each other.
    pieces: Vec<Piece>,
    /// What `Brk` last said, or the heap that was mapped.
    heap: Option<Range<u64>>,
    /// Pages under `MADV_NOHUGEPAGE`.
    advised_against: BTreeSet<u64>,
}

impl Mappings {
    /// A space in which nothing is mapped or, where no map event ever tells of it, `everything`.
    pub(crate) fn new(everything: bool) -> Self {
        let mut mappings = Self {
            everything,
            ..Self::default()
        };
        // As many pages as 64 bits can address.
        mappings.fall_back(&(0..1 << 52));
        mappings
    }

    /// Rule 4: where the space's mappings are not told, `pages` are what all of it was at first.
    fn fall_back(&mut self, pages: &Range<u64>) {
        if self.everything {
            self.put(Piece {
                pages: pages.clone(),
                protection: Protection {
                    read: true,
                    write: true,
                    execute: false,
                },
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

    fn at(&self, page: u64) -> Option<&Piece> {
        self.index_of(page).map(|index| &self.pieces[index])
    }

    /// The whole mapping, in the sense of rule 2, around `page`.
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

    /// Rule 3, of an aligned piece of any size: what the rule says of 512 pages holds for as many as `wanted` has.
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
    pub(crate) fn coverage(&self, block: u64, files: &FileSizes) -> Coverage {
        if self.is_covered(block, files) {
            return Coverage::Covered;
        }
        let right = |page| self.at(page).map(|piece| piece.protection);
        let first = right(block * 512);
        let mut differ = false;
        for page in pages_of(block) {
            match right(page) {
                None => return Coverage::NotCovered,
                here => differ |= here != first,
            }
        }
        if differ {
            Coverage::MixedProtection
        } else {
            Coverage::NotCovered
        }
    }

    /// Rule 7: whether `page` lies in a mapping that grows, and its `block` in that mapping but for a part past the
    /// growing end that is no larger than the mapping.
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

    /// What stands behind `page`, if anything.
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

    /// Rule 18: a block counts as advised against when any of its pages is.
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

    fn put(&mut self, piece: Piece) {
        self.carve(&piece.pages.clone());
        if piece.pages.is_empty() {
            return;
        }
        let index = self
            .pieces
            .iter()
            .take_while(|other| other.pages.start < piece.pages.start)
            .count();
        self.pieces.insert(index, piece);
    }

    /// Takes the pieces within `pages` out and hands them back.
    fn carve(&mut self, pages: &Range<u64>) -> Vec<Piece> {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for piece in &self.pieces {
            let inside = overlap(&piece.pages, pages);
            if inside.is_empty() {
                left.push(piece.clone());
                continue;
            }
            if piece.pages.start < inside.start {
                left.push(piece.cut(piece.pages.start..inside.start));
            }
            if inside.end < piece.pages.end {
                left.push(piece.cut(inside.end..piece.pages.end));
            }
            taken.push(piece.cut(inside));
        }
        self.pieces = left;
        taken
    }

    /// A new mapping over whatever stood there; it clears the advice of its pages.
    pub(crate) fn map(&mut self, mapping: &Mapping) {
        let pages = pages_in(mapping.range);
        self.clear_advice(&pages);
        if mapping.backing == Backing::Heap {
            self.heap = Some(pages.clone());
        }
        self.put(Piece {
            pages,
            protection: mapping.protection,
            shared: mapping.shared,
            backing: mapping.backing,
        });
    }

    /// What was mapped in `pages` is so no longer, and advice to it is gone.
    pub(crate) fn unmap(&mut self, pages: &Range<u64>) {
        self.carve(pages);
        self.fall_back(pages);
        self.clear_advice(pages);
    }

    /// Gives `pages` these rights and says which ranges had others (rule 21: the same rights again change nothing).
    pub(crate) fn protect(
        &mut self,
        pages: &Range<u64>,
        protection: Protection,
    ) -> Vec<Range<u64>> {
        let mut changed: Vec<Range<u64>> = Vec::new();
        for piece in self.pieces.clone() {
            let inside = overlap(&piece.pages, pages);
            if inside.is_empty() || piece.protection == protection {
                continue;
            }
            // A range may cover a block in several pieces that count as one mapping.
            match changed.last_mut() {
                Some(before) if before.end == inside.start => before.end = inside.end,
                _ => changed.push(inside.clone()),
            }
            self.put(Piece {
                protection,
                ..piece.cut(inside)
            });
        }
        changed
    }

    /// The mapping that ends at `end`, if one does, reaches to `new_end`.
    pub(crate) fn extend(&mut self, end: u64, new_end: u64) {
        self.carve(&(end..new_end));
        if let Some(piece) = self.pieces.iter_mut().find(|piece| piece.pages.end == end) {
            piece.pages.end = new_end;
        }
    }

    /// The heap now spans `pages`. Returns the pages that a shrinking heap gives up.
    pub(crate) fn set_heap(&mut self, pages: Range<u64>) -> Range<u64> {
        let old = self
            .heap
            .replace(pages.clone())
            .unwrap_or(pages.start..pages.start);
        if pages.end > old.end {
            self.clear_advice(&(old.end..pages.end));
            let protection = Protection {
                read: true,
                write: true,
                execute: false,
            };
            self.put(Piece {
                pages: old.end..pages.end,
                protection,
                shared: false,
                backing: Backing::Heap,
            });
        }
        pages.end..old.end.max(pages.end)
    }

    /// A stack now spans `pages`: the lowest mapping of it reaches down to their start.
    pub(crate) fn grow_stack(&mut self, pages: Range<u64>) {
        let inside = |piece: &&mut Piece| {
            piece.backing == Backing::Stack && !overlap(&piece.pages, &pages).is_empty()
        };
        if let Some(piece) = self.pieces.iter_mut().find(inside) {
            let added = pages.start.min(piece.pages.start)..piece.pages.start;
            piece.pages.start = added.start;
            self.clear_advice(&added);
        } else {
            let protection = Protection {
                read: true,
                write: true,
                execute: false,
            };
            self.clear_advice(&pages);
            self.put(Piece {
                pages,
                protection,
                shared: false,
                backing: Backing::Stack,
            });
        }
    }

    /// Moves the mappings and the advice of `from` to `to`, which is free; a longer `to` makes the last of them longer.
    pub(crate) fn move_to(&mut self, from: &Range<u64>, to: &Range<u64>) {
        let advised: Vec<u64> = self.advised_against.range(from.clone()).copied().collect();
        self.clear_advice(from);
        for page in advised {
            self.advised_against.insert(page - from.start + to.start);
        }
        let taken = self.carve(from);
        self.fall_back(from);
        for mut piece in taken {
            let reaches_end = piece.pages.end == from.end;
            piece.pages =
                piece.pages.start - from.start + to.start..piece.pages.end - from.start + to.start;
            if reaches_end {
                piece.pages.end = to.end.max(piece.pages.end);
            }
            self.put(piece);
        }
    }
}
