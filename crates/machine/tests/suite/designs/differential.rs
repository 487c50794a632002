//! One random trace: the model and the oracle answer alike.

use super::design_of;
use super::world::{Forgotten, FrameChances, PAGES, RandomTable};
use crate::cases;
use broadleaf_oracle::design::{
    ListedTlb, SlowNames, SlowPage, SlowReference, SlowStructure, index_text,
};
use broadleaf_oracle::random::Rng;
use broadleaf_tlb::{
    Design, Evicted, IndexFunction, Lookup, ReferenceKind, Tlb, TlbCounts, TlbRequest, Translation,
    Walk,
};
use broadleaf_units::{Asid, PageNumber, PageSize, Rights};

/// A random design: structures, each with a name and whether its level takes turns.
pub(crate) type DrawnDesign = Vec<(String, SlowStructure, bool)>;

/// The pages of 4 KiB that an entry of each level of the page table above the base pages covers.
pub(crate) const SPANS: [u64; 3] = [16, 32, 64];

/// Compares random traces of random designs.
pub(crate) fn compare(family: &str, traces: u64, draw: impl Fn(&mut Rng) -> DrawnDesign) {
    for seed in 0..cases(traces) {
        let mut rng = Rng::new(
            seed.wrapping_mul(0x9e37_79b9)
                .wrapping_add(family.len() as u64),
        );
        let drawn = draw(&mut rng);
        RandomTrace::new(drawn, rng, format!("{family}, trace {seed}")).run(240);
    }
}

struct RandomTrace {
    model: Tlb,
    oracle: ListedTlb,
    world: RandomTable,
    rng: Rng,
    kinds: Vec<SlowReference>,
    last: (u32, u64),
    hot: Vec<u64>,
    text: String,
}

impl RandomTrace {
    fn new(drawn: DrawnDesign, mut rng: Rng, name: String) -> Self {
        let tables: Vec<String> = drawn
            .iter()
            .map(|(name, of, alternates)| of.table(name, *alternates))
            .collect();
        let tables = tables.join("\n");
        let structures: Vec<SlowStructure> = drawn.into_iter().map(|(_, of, _)| of).collect();
        let mut sizes: Vec<u64> = structures
            .iter()
            .flat_map(|of| of.sizes.iter().map(|(size, _)| *size))
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        if rng.one_in(8) {
            // A size that no structure or not every structure holds.
            sizes.push(rng.pick(&[2, 4, 8]));
        }
        let mut kinds: Vec<SlowReference> = structures
            .iter()
            .flat_map(|of| of.serves.iter().copied())
            .collect();
        kinds.dedup();
        let placement = FrameChances {
            placed: rng.pick(&[0, 50, 80, 95]),
            inside: rng.pick(&[0, 5]),
            zero: rng.pick(&[10, 1000]),
        };
        let hot = (0..6).map(|_| rng.below(PAGES)).collect();
        Self {
            model: Tlb::new(&with_walk_entries(&design_of(&tables), &structures)),
            oracle: ListedTlb::new(&structures),
            world: RandomTable::new(placement, &sizes),
            rng,
            kinds,
            last: (0, 0),
            hot,
            text: format!("{name}\n{tables}\n{structures:?}"),
        }
    }

    fn run(&mut self, steps: usize) {
        let spaces = 1 + self.rng.below(2);
        for step in 0..steps {
            let page = match self.rng.below(8) {
                0..=3 => (self.last.1 + self.rng.below(4)).min(PAGES - 1),
                4..=6 => self.rng.pick(&self.hot),
                _ => self.rng.below(PAGES),
            };
            let space = match self.rng.one_in(4) {
                true => self.rng.below(spaces) as u32,
                false => self.last.0,
            };
            if self.rng.one_in(6) {
                let shootdown = self.world.change(&mut self.rng, space, page);
                self.forget(shootdown);
            } else if self.rng.one_in(120) {
                self.model.invalidate_space(tag(space));
                self.oracle.remove(|page| page.space == space);
                self.oracle.remove_walk_entries(space, 0, u64::MAX);
            } else {
                self.last = (space, page);
                let kind = self.rng.pick(&self.kinds);
                self.refer(step, space, page, kind);
            }
            let counts = self.model.counts();
            assert_eq!(counts, self.counts(), "step {step}\n{}", self.text);
            if step % 8 == 0 || step + 1 == steps {
                self.model.check();
                let occupied = (self.model.occupied(), self.oracle.occupied());
                assert_eq!(
                    occupied.0, occupied.1,
                    "entries, step {step}\n{}",
                    self.text
                );
            }
        }
    }

    /// The oracle's counts. Packed sets count nothing beside hits and misses.
    fn counts(&self) -> TlbCounts {
        let counts = self.oracle.counts();
        let is_packed = matches!(self.model, Tlb::Packed(_));
        TlbCounts {
            subblock_misses: counts.subblock_misses,
            table_reads: counts.table_reads,
            modified_faults: counts.modified_faults,
            marked_pages: counts.marked_pages,
            extra_probes: counts.extra_probes,
            victim_hits: counts.victim_hits,
            prefetch_hits: counts.prefetch_hits,
            walk_entry_hits: counts.walk_entry_hits,
            walk_reads: if is_packed { 0 } else { counts.walk_reads },
            scatter_cycles: 0,
        }
    }

    fn forget(&mut self, shootdown: Forgotten) {
        match shootdown {
            Forgotten::None => {}
            Forgotten::Page(page) => {
                let (first, size) = (PageNumber(page.first), size_of(page.pages));
                self.model.invalidate(tag(page.space), first, size);
                self.oracle.remove(|other| other.name() == page.name());
                self.oracle
                    .remove_walk_entries(page.space, page.first, page.pages);
            }
            Forgotten::Range(space, first, pages) => {
                self.model
                    .invalidate_range(tag(space), PageNumber(first), pages);
                self.oracle.remove(|other| {
                    let overlaps = other.first < first + pages && first < other.first + other.pages;
                    other.space == space && overlaps
                });
                self.oracle.remove_walk_entries(space, first, pages);
            }
        }
    }

    fn refer(&mut self, step: usize, space: u32, page: u64, kind: SlowReference) {
        let store = kind == SlowReference::Store;
        let found = self.world.refer(&mut self.rng, space, page, store);
        let request = TlbRequest {
            tag: tag(space),
            page: PageNumber(page),
            kind: match kind {
                SlowReference::Fetch => ReferenceKind::Fetch,
                SlowReference::Load => ReferenceKind::Load,
                SlowReference::Store => ReferenceKind::Store,
            },
        };
        // OPT may learn anything: equal next uses occur, and past ones.
        let (near, now) = (self.rng.below(16), step as u64);
        let later = now + self.rng.below(64);
        let next_use = self.rng.pick(&[near, now, later, u64::MAX]);
        self.model.foresee(next_use);
        self.oracle.foresee(next_use);
        let mut gone = SlowNames::new();
        let lookup = self
            .model
            .access_evicting(&request, |one| gone.push(name(one)));
        let answer = self.oracle.access((space, page), kind);
        let level = [None, Some(1), Some(2), Some(3)].map(Some);
        let level = match lookup {
            Lookup::Miss => level[0],
            Lookup::First => level[1],
            Lookup::Second => level[2],
            Lookup::Third => level[3],
        };
        gone.sort_unstable();
        let at = format!(
            "step {step}, {kind:?} of {found:?} at {page}\n{}",
            self.text
        );
        assert_eq!((level, &gone), (Some(answer.0), &answer.1), "lookup, {at}");
        if lookup != Lookup::Miss {
            return;
        }
        gone.clear();
        let world = &self.world;
        let walk = Walk {
            request,
            translation: translation(found),
            read: &|page| world.read(space, page.0).map(translation),
        };
        self.model
            .shorten_walk(&request, walk.translation.size, &SPANS.map(size_of));
        self.model.load_evicting(&walk, |one| gone.push(name(one)));
        let read = |page| world.read(space, page);
        let left = self.oracle.load((page, kind), found, &read, &SPANS);
        gone.sort_unstable();
        assert_eq!(gone, left, "walk, {at}");
    }
}

/// The design with the walk entries of the oracle's structures. Real page tables have larger ones,
/// so no description can name these.
fn with_walk_entries(design: &Design, structures: &[SlowStructure]) -> Design {
    let mut changed = design.structures().to_vec();
    for (structure, slow) in changed.iter_mut().zip(structures) {
        let walk_entries = slow.walk_entries.iter().map(|(span, with_one_index)| {
            let index = IndexFunction::parse(&index_text(slow.sets as u64, *with_one_index));
            (size_of(*span), index.expect("an index"))
        });
        structure.walk_entries = walk_entries.collect();
    }
    Design::new(changed).expect("a design")
}

const fn tag(space: u32) -> Asid {
    Asid::wrapping(space as u16)
}

fn size_of(pages: u64) -> PageSize {
    PageSize::from_shift(12 + pages.trailing_zeros() as u8).expect("a size")
}

fn name(of: Evicted) -> (u32, u64, u64) {
    let pages = of.size.bytes() / 4096;
    (u32::from(of.tag.number()), of.page.0, pages)
}

pub(crate) fn translation(page: SlowPage) -> Translation {
    Translation {
        tag: tag(page.space),
        first: PageNumber(page.first),
        size: size_of(page.pages),
        frame: page.frame,
        rights: Rights {
            read: true,
            write: page.rights != 1,
            execute: page.rights == 2,
        },
        modified: page.modified,
        share: None,
    }
}
