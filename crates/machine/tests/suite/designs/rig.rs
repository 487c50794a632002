//! A TLB and a page table for hand-made references.

use super::design_of;
use super::differential::translation;
use broadleaf_oracle::design::SlowPage;
use broadleaf_tlb::{Lookup, ReferenceKind, Tlb, TlbCounts, TlbRequest, Walk};
use broadleaf_units::{Asid, PageNumber};
use std::collections::BTreeMap;

/// The first frame of placed pages: a multiple of every block.
pub(crate) const FRAMES: u64 = 1 << 20;

/// A TLB and a page table.
pub(crate) struct Rig {
    pub(crate) tlb: Tlb,
    pages: BTreeMap<u64, SlowPage>,
    pub(crate) misses: u64,
}

/// A fully associative `[[tlb]]` table of the first level. `keys` are further lines.
pub(crate) fn fully_associative(entries: usize, sizes: &[&str], keys: &str) -> String {
    sets(
        "dtlb",
        1,
        (1, entries),
        &sizes.iter().map(|size| (*size, "none")).collect::<Vec<_>>(),
    ) + keys
}

/// A `[[tlb]]` table with LRU, unless `name` says otherwise: name, level, sets and ways, indices.
pub(crate) fn sets(
    name: &str,
    level: usize,
    (sets, ways): (usize, usize),
    index: &[(&str, &str)],
) -> String {
    let index: Vec<String> = index
        .iter()
        .map(|(size, bits)| format!("{size} = \"{bits}\""))
        .collect();
    format!(
        "[[tlb]]\nname = \"{name}\"\nlevel = {level}\nentries = {}\nways = {ways}\n\
         index = {{ {} }}\nreplacement = \"lru\"\n",
        sets * ways,
        index.join(", ")
    )
}

impl Rig {
    pub(crate) fn new(tables: &str) -> Self {
        Self {
            tlb: Tlb::new(&design_of(tables)),
            pages: BTreeMap::new(),
            misses: 0,
        }
    }

    /// Maps a page to a frame. `pages` is the size of the page in base pages.
    pub(crate) fn map(&mut self, first: u64, pages: u64, frame: u64) -> &mut SlowPage {
        let new = SlowPage {
            space: 0,
            first,
            pages,
            frame: Some(frame),
            rights: 0,
            modified: false,
        };
        self.pages
            .retain(|page, _| !(first..first + pages).contains(page));
        self.pages.entry(first).or_insert(new)
    }

    /// Maps base pages, each at its place.
    pub(crate) fn map_placed(&mut self, pages: impl IntoIterator<Item = u64>) {
        for page in pages {
            self.map(page, 1, FRAMES + page);
        }
    }

    fn refer(&mut self, page: u64, kind: ReferenceKind) -> Lookup {
        let pages = &mut self.pages;
        let found = pages.range_mut(..=page).next_back();
        let (_, found) = found.expect("a mapped page");
        found.modified |= kind == ReferenceKind::Store;
        let found = *found;
        assert!(found.covers(0, page), "page {page} is not mapped");
        let request = TlbRequest {
            tag: Asid::ZERO,
            page: PageNumber(page),
            kind,
        };
        let answer = self.tlb.access(&request);
        if answer == Lookup::Miss {
            self.misses += 1;
            let pages = &self.pages;
            let read = |page: PageNumber| {
                let found = pages.range(..=page.0).next_back().map(|(_, found)| *found);
                found
                    .filter(|found| found.covers(0, page.0))
                    .map(translation)
            };
            self.tlb.load(&Walk {
                request,
                translation: translation(found),
                read: &read,
            });
        }
        self.tlb.check();
        answer
    }

    /// Loads from a page. Returns true if a level had it.
    pub(crate) fn load(&mut self, page: u64) -> bool {
        self.refer(page, ReferenceKind::Load) != Lookup::Miss
    }

    /// Loads from a page. Returns the answer.
    pub(crate) fn look(&mut self, page: u64) -> Lookup {
        self.refer(page, ReferenceKind::Load)
    }

    pub(crate) fn store(&mut self, page: u64) -> bool {
        self.refer(page, ReferenceKind::Store) != Lookup::Miss
    }

    pub(crate) fn fetch(&mut self, page: u64) -> bool {
        self.refer(page, ReferenceKind::Fetch) != Lookup::Miss
    }

    /// Loads from pages in order. Returns the number of misses.
    pub(crate) fn load_all(&mut self, pages: impl IntoIterator<Item = u64>) -> u64 {
        let before = self.misses;
        pages.into_iter().for_each(|page| {
            self.load(page);
        });
        self.misses - before
    }

    /// The misses of the last of five rounds through pages.
    pub(crate) fn steady(&mut self, pages: impl Iterator<Item = u64> + Clone) -> u64 {
        for _ in 0..4 {
            self.load_all(pages.clone());
        }
        self.load_all(pages)
    }

    pub(crate) fn counts(&self) -> TlbCounts {
        self.tlb.counts()
    }

    pub(crate) fn occupied(&self) -> usize {
        self.tlb.occupied()
    }
}
