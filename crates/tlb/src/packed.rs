//! The state of a TLB of sets with exact LRU replacement, as packed arrays.
//!
//! Entries of a set are in the order of their last use, newest first, so that exact LRU needs no
//! ages. A hit moves its entry to the front, a fill pushes the last one out, and empty entries come
//! last.

mod evicting;

use crate::{Compiled, Design, Lookup, set};
use broadleaf_units::{PageNumber, PageSize, SpaceTag};

/// A page number, its space's tag and the code of its size.
type PackedEntry = u64;

/// The number of bits of an entry for the space's tag (ASID).
const TAG_BITS: u32 = SpaceTag::BITS;
/// The number of bits of an entry for the code of the page size.
const SIZE_BITS: u32 = 4;
/// The number of bits of an entry for the page number: all bits of canonical 57-bit addresses.
const PAGE_BITS: u32 = u64::BITS - TAG_BITS - SIZE_BITS;

/// The bits of a base-page number that are above those, and set in canonical addresses of the upper
/// half.
const UPPER: u64 = ((1 << 52) - 1) & !(u64::MAX >> (u64::BITS - PAGE_BITS));

/// A probe: the position of a structure's entries for pages of one size.
#[derive(Clone, Copy, Debug)]
struct Probe {
    index: Compiled,
    /// The index of the structure's first entry.
    base: usize,
    ways: usize,
    /// The mask of the page-number bits that an entry of this size keeps.
    keep: u64,
    code: u64,
}

impl Probe {
    #[inline]
    fn entry(&self, tag: SpaceTag, page: PageNumber) -> PackedEntry {
        ((page.0 & self.keep) << (TAG_BITS + SIZE_BITS))
            | (u64::from(tag.number()) << SIZE_BITS)
            | self.code
    }

    #[inline]
    fn set<'a>(&self, entries: &'a mut [PackedEntry], page: PageNumber) -> &'a mut [PackedEntry] {
        let start = self.base + self.index.set_of(page) * self.ways;
        &mut entries[start..start + self.ways]
    }

    /// Looks an entry up. A hit becomes the newest of its set.
    #[inline]
    fn find(&self, entries: &mut [PackedEntry], tag: SpaceTag, page: PageNumber) -> bool {
        let wanted = self.entry(tag, page);
        let set = self.set(entries, page);
        set[0] == wanted || set::renew(set, wanted)
    }

    #[inline]
    fn insert(&self, entries: &mut [PackedEntry], tag: SpaceTag, page: PageNumber) {
        let entry = self.entry(tag, page);
        set::insert(self.set(entries, page), entry);
    }

    fn remove(&self, entries: &mut [PackedEntry], tag: SpaceTag, page: PageNumber) {
        let unwanted = self.entry(tag, page);
        set::remove_where(self.set(entries, page), |entry| entry == unwanted);
    }
}

/// The probes for one page size.
#[derive(Clone, Copy, Debug)]
struct Sized {
    size: PageSize,
    first: Probe,
    second: Option<Probe>,
}

/// The state of a TLB of sets with exact LRU replacement.
#[derive(Clone, Debug)]
pub struct Packed {
    /// Largest size first: the order of lookup at each level.
    sizes: Vec<Sized>,
    /// The sizes that were ever filled in, largest first. Other sizes cannot hit.
    filled: Vec<Sized>,
    entries: Vec<PackedEntry>,
    /// The first entry of each structure, and the number of ways of its sets.
    structures: Vec<(usize, usize)>,
}

impl Packed {
    /// An empty TLB of that design.
    pub fn new(design: &Design) -> Self {
        let mut structures = Vec::new();
        let mut total = 0;
        for structure in design.structures() {
            structures.push((total, structure.ways));
            total += structure.entries;
        }
        let probe = |level: usize, code: usize, size: PageSize| {
            let (number, structure) = design.holding(level, size)?;
            let pages = size.bytes() / PageSize::SIZE_4K.bytes();
            Some(Probe {
                index: structure.index(size)?.compile(),
                base: structures[number].0,
                ways: structure.ways,
                keep: !(pages - 1) & (u64::MAX >> (u64::BITS - PAGE_BITS)),
                code: code as u64 + 1,
            })
        };
        // The design guarantees that the first level holds every size.
        let sizes: Vec<Sized> = (design.sizes().iter().enumerate().rev())
            .filter_map(|(code, size)| {
                let (first, second) = (probe(1, code, *size)?, probe(2, code, *size));
                Some(Sized {
                    size: *size,
                    first,
                    second,
                })
            })
            .collect();
        Self {
            filled: Vec::with_capacity(sizes.len()),
            sizes,
            entries: vec![0; total],
            structures,
        }
    }

    /// Returns true if an entry can represent the page: its addresses are canonical with 57 bits.
    pub const fn can_translate(page: PageNumber) -> bool {
        // A base-page number has 52 bits. Its bits from 44 up must be equal, and the bits above
        // must be clear.
        page.0 >> (PAGE_BITS - 1) == 0 || page.0 >> (PAGE_BITS - 1) == 0xff
    }

    /// Looks up the translation of a base page, larger sizes first at each level. A hit becomes the
    /// newest of its set. A hit in the second level alone is copied to the first.
    #[inline]
    pub fn lookup(&mut self, tag: SpaceTag, page: PageNumber) -> Lookup {
        for sized in &self.filled {
            if sized.first.find(&mut self.entries, tag, page) {
                return Lookup::First;
            }
        }
        self.lookup_second(tag, page)
    }

    fn lookup_second(&mut self, tag: SpaceTag, page: PageNumber) -> Lookup {
        for sized in &self.filled {
            if let Some(second) = sized.second
                && second.find(&mut self.entries, tag, page)
            {
                sized.first.insert(&mut self.entries, tag, page);
                return Lookup::Second;
            }
        }
        Lookup::Miss
    }

    /// Fills in a walk's result after a [`Lookup::Miss`]: the page of a size around the base page,
    /// at both levels. A size that the design does not hold is ignored.
    pub fn fill(&mut self, tag: SpaceTag, page: PageNumber, size: PageSize) {
        if let Some(sized) = self.filled.iter().find(|sized| sized.size == size) {
            sized.first.insert(&mut self.entries, tag, page);
            if let Some(second) = sized.second {
                second.insert(&mut self.entries, tag, page);
            }
        } else if let Some(sized) = self.sizes.iter().find(|sized| sized.size == size) {
            let at = self.filled.partition_point(|other| other.size > size);
            self.filled.insert(at, *sized);
            self.fill(tag, page, size);
        }
    }

    /// Removes the entry of that size for the page that holds this base page.
    pub fn invalidate(&mut self, tag: SpaceTag, page: PageNumber, size: PageSize) {
        // No entry represents a page that cannot be translated, though one may have equal kept
        // bits.
        if !Self::can_translate(page) {
            return;
        }
        if let Some(sized) = self.sizes.iter().find(|sized| sized.size == size) {
            sized.first.remove(&mut self.entries, tag, page);
            if let Some(second) = sized.second {
                second.remove(&mut self.entries, tag, page);
            }
        }
    }

    /// Removes every entry, of any size, that overlaps `pages` base pages from `start` on.
    pub fn invalidate_range(&mut self, tag: SpaceTag, start: PageNumber, pages: u64) {
        // A small range is removed page by page. For a range larger than the TLB, all entries are
        // compared.
        if pages <= self.entries.len() as u64 / 16 {
            for page in start.0..start.0.saturating_add(pages) {
                for at in 0..self.sizes.len() {
                    self.invalidate(tag, PageNumber(page), self.sizes[at].size);
                }
            }
            return;
        }
        let last = start.0.saturating_add(pages - 1);
        let spans: Vec<(u64, u64)> = self
            .sizes
            .iter()
            .map(|sized| {
                (
                    sized.first.code,
                    sized.size.bytes() / PageSize::SIZE_4K.bytes(),
                )
            })
            .collect();
        self.remove_where(|entry| {
            let span = spans
                .iter()
                .find(|(code, _)| *code == entry & ((1 << SIZE_BITS) - 1));
            let page = page_of(entry);
            tag_of(entry) == tag
                && span.is_some_and(|(_, span)| page <= last && page + (span - 1) >= start.0)
        });
    }

    /// Removes every entry of a space.
    pub fn invalidate_space(&mut self, tag: SpaceTag) {
        self.remove_where(|entry| tag_of(entry) == tag);
    }

    fn remove_where(&mut self, unwanted: impl Fn(PackedEntry) -> bool) {
        let ends = self
            .structures
            .iter()
            .skip(1)
            .map(|(start, _)| *start)
            .chain([self.entries.len()]);
        let spans: Vec<(usize, usize, usize)> = self
            .structures
            .iter()
            .zip(ends)
            .map(|((start, ways), end)| (*start, end, *ways))
            .collect();
        for (start, end, ways) in spans {
            for set in self.entries[start..end].chunks_mut(ways) {
                set::remove_where(set, &unwanted);
            }
        }
    }

    /// Returns true if both TLBs hold equal entries in equal order. They then return equal answers
    /// for ever.
    pub fn holds_as(&self, other: &Self) -> bool {
        self.entries == other.entries
    }

    /// The number of used entries.
    pub fn occupied(&self) -> usize {
        self.entries.iter().filter(|entry| **entry != 0).count()
    }

    /// Asserts the invariants: no set holds an entry twice, and empty entries come last.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self) {
        let ends = self
            .structures
            .iter()
            .skip(1)
            .map(|(start, _)| *start)
            .chain([self.entries.len()]);
        for ((start, ways), end) in self.structures.iter().zip(ends) {
            self.entries[*start..end].chunks(*ways).for_each(set::check);
        }
    }
}

fn tag_of(entry: PackedEntry) -> SpaceTag {
    SpaceTag::wrapping((entry >> SIZE_BITS) as u16)
}

/// The first base page of an entry's page. The upper bits, which the entry does not keep, equal its
/// highest kept bit, as in canonical addresses.
fn page_of(entry: PackedEntry) -> u64 {
    let kept = entry >> (TAG_BITS + SIZE_BITS);
    if kept >> (PAGE_BITS - 1) == 0 {
        kept
    } else {
        kept | UPPER
    }
}
