//! The entries of subblock organisations.

use super::compatibility::ValidBits;
use crate::{TlbLog, Translation};
use broadleaf_units::{AlignedRun, Asid, PageNumber};

/// An entry: a block of pages.
#[derive(Clone, Debug)]
pub(super) struct SubblockEntry {
    pub(super) tag: Asid,
    pub(super) run: AlignedRun,
    /// For each subblock, the translation that covers it.
    pub(super) pages: Vec<Option<Translation>>,
}

impl SubblockEntry {
    /// The number of 4 KiB pages in a subblock.
    #[inline]
    pub(super) fn step(&self) -> u64 {
        self.run.pages() / self.pages.len() as u64
    }

    #[inline]
    pub(super) fn subblock_of(&self, page: PageNumber) -> usize {
        ((page.0 - self.run.first.0) / self.step()) as usize
    }

    /// The translations in the subblocks, each with the first page of its subblock.
    pub(super) fn used(&self) -> impl Iterator<Item = (PageNumber, &Translation)> {
        let (first, step) = (self.run.first.0, self.step());
        let pages = (0_u64..).zip(&self.pages);
        pages.filter_map(move |(at, page)| Some((PageNumber(first + at * step), page.as_ref()?)))
    }

    /// The translations, each once.
    pub(super) fn translations(&self) -> Vec<Translation> {
        let mut all: Vec<Translation> = self.pages.iter().flatten().copied().collect();
        all.dedup();
        all
    }

    /// Returns true if the entry holds a translation whose modified bit is clear.
    pub(super) fn has_clean(&self, of: &Translation) -> bool {
        let mut pages = self.pages.iter().flatten();
        pages.any(|page| page.is_of_same_page(of) && !page.modified)
    }

    /// Sets the modified bit of a translation, in all subblocks that it covers.
    pub(super) fn mark(&mut self, marked: &Translation) {
        let pages = self.pages.iter_mut().flatten();
        for page in pages.filter(|page| page.is_of_same_page(marked)) {
            page.modified = true;
        }
    }

    /// Sets the modified bit of all pages. A page that covers several subblocks counts once.
    pub(super) fn mark_all(&mut self, log: &mut TlbLog) {
        for page in self.translations() {
            log.counts.marked_pages += u64::from(!page.modified);
            self.mark(&page);
        }
    }
}

/// Returns true if valid bits can express these pages.
pub(super) fn can_express(valid: ValidBits, pages: &[Option<Translation>]) -> bool {
    let used = pages.iter().flatten().count();
    match valid {
        ValidBits::Vector => true,
        ValidBits::All => {
            let mut used_pages = pages.iter().flatten();
            let first = used_pages.next();
            let is_one = first.is_none_or(|one| used_pages.all(|page| page.is_of_same_page(one)));
            is_one || used == pages.len()
        }
        ValidBits::Run => {
            let first = pages.iter().position(Option::is_some);
            let last = pages.iter().rposition(Option::is_some);
            first
                .zip(last)
                .is_none_or(|(first, last)| last - first + 1 == used)
        }
    }
}

/// Asserts that no page has a valid bit in both entries of an address space, and that they have
/// different tags if blocks have `one_tag`.
pub(super) fn check_pair(one: &SubblockEntry, other: &SubblockEntry, one_tag: bool) {
    assert!(!one_tag || other.run != one.run, "two entries with one tag");
    let starts = |entry: &SubblockEntry| {
        let (first, step) = (entry.run.first.0, entry.step());
        let used = (0_u64..)
            .zip(&entry.pages)
            .filter(|(_, page)| page.is_some());
        let starts: Vec<(u64, u64)> = used.map(|(at, _)| (first + at * step, step)).collect();
        starts
    };
    for (first, step) in starts(one) {
        let doubled = |(start, pages): (u64, u64)| start < first + step && first < start + pages;
        assert!(
            !starts(other).into_iter().any(doubled),
            "page {first} has two entries"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::PageSize;

    /// An entry of the block of 16 KiB at page 0 with these pages.
    fn entry(pages: &[u64]) -> SubblockEntry {
        let page = |page| {
            let is_there = pages.contains(&page);
            is_there.then(|| Translation::plain(Asid::ZERO, PageNumber(page), PageSize::SIZE_4K))
        };
        let block = PageSize::from_shift(14).expect("a size");
        SubblockEntry {
            tag: Asid::ZERO,
            run: AlignedRun::around(PageNumber(0), block),
            pages: (0..4).map(page).collect(),
        }
    }

    #[test]
    fn entries_of_one_block_may_have_different_pages() {
        check_pair(&entry(&[0, 2]), &entry(&[1, 3]), false);
    }

    #[test]
    #[should_panic(expected = "page 2 has two entries")]
    fn a_duplicate_fails() {
        check_pair(&entry(&[0, 2]), &entry(&[2, 3]), false);
    }

    #[test]
    #[should_panic(expected = "two entries with one tag")]
    fn two_entries_of_a_block_with_one_tag_fail() {
        check_pair(&entry(&[0, 2]), &entry(&[1, 3]), true);
    }
}
