//! TLB designs of every organisation and every replacement rule, beside their oracle.
//!
//! [`catalogue`] lists the designs, [`stream`] has the lookups of a recorded program, and
//! [`timing`] times both. The model and the oracle make the same lookups, in equal page tables.

pub mod catalogue;
pub mod stream;
pub mod timing;

use crate::Failed;
use broadleaf_machine::Machine;
use broadleaf_oracle::design::{ListedTlb, SlowPage, SlowReference, SlowStructure};
use broadleaf_tlb::{Design, Lookup, RuleNeed, Tlb, TlbCounts, TlbRequest, Translation, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize, Rights};
use stream::{SmallTable, Stream};

/// The pages of 4 KiB that an entry of each level of the page table above the base pages covers.
const SPANS: [u64; 3] = [1 << 9, 1 << 18, 1 << 27];

/// A design, as a machine's description and as the oracle has it.
pub struct TimedDesign {
    /// The name in results.
    pub name: String,
    structures: Vec<SlowStructure>,
    design: Design,
}

/// The counts of a TLB: hits of each level, walks, and further counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DesignCounts {
    /// Hits of each level, and walks at last.
    pub found: [u64; 4],
    /// The counts beside hits and misses.
    pub beside: TlbCounts,
}

impl TimedDesign {
    /// A design of these structures. Structures of a level that serve the same references take
    /// turns.
    ///
    /// # Errors
    /// Returns an error if the description is refused.
    pub fn new(name: &str, structures: Vec<SlowStructure>) -> Result<Self, Failed> {
        Self::described(name, structures, |tables| tables)
    }

    /// A design of these structures, whose tables are described in another way. The counts are the
    /// same.
    ///
    /// # Errors
    /// Returns an error if the description is refused.
    pub fn described(
        name: &str,
        structures: Vec<SlowStructure>,
        describe: fn(String) -> String,
    ) -> Result<Self, Failed> {
        let mut tables = String::new();
        for (at, of) in structures.iter().enumerate() {
            let takes_turns = structures.iter().enumerate().any(|(other_at, other)| {
                let is_alike = other.serves == of.serves && other.fills == of.fills;
                let shares = other.sizes.iter().any(|size| of.sizes.contains(size));
                other_at != at && other.level == of.level && is_alike && shares
            });
            tables += &of.table(&format!("structure-{at}"), takes_turns);
        }
        let machine = Machine::from_toml(&format!(
            "name = \"timed\"\nsummary = \"timed\"\n{}\n\
             [walk-cycles]\n4k = 30\n16k = 30\n64k = 30\n",
            describe(tables)
        ))?;
        Ok(Self {
            name: name.to_owned(),
            structures,
            design: machine.design,
        })
    }

    /// The model's counts of a stream.
    pub fn by_model(&self, stream: &Stream) -> DesignCounts {
        let mut tlb = Tlb::new(&self.design);
        let mut table = stream.table(self.has_superpages());
        let mut found = [0; 4];
        let knows_future = self.design.needs(RuleNeed::Future);
        for step in stream.steps() {
            let request = TlbRequest {
                tag: Asid::ZERO,
                page: PageNumber(step.page),
                kind: step.kind,
            };
            if step.is_first_store {
                table.store(step.page);
            }
            if knows_future {
                tlb.foresee(step.next_use);
            }
            let answer = tlb.access(&request);
            found[place(answer)] += 1;
            if answer == Lookup::Miss {
                miss(&mut tlb, request, &table);
            }
        }
        let beside = tlb.counts();
        DesignCounts { found, beside }
    }

    /// The oracle's counts of a stream.
    pub fn by_oracle(&self, stream: &Stream) -> DesignCounts {
        let mut tlb = ListedTlb::new(&self.structures);
        let mut table = stream.table(self.has_superpages());
        let mut found = [0; 4];
        let knows_future = self.design.needs(RuleNeed::Future);
        for step in stream.steps() {
            if step.is_first_store {
                table.store(step.page);
            }
            if knows_future {
                tlb.foresee(step.next_use);
            }
            let (level, _) = tlb.access((0, step.page), kind_of(step.kind));
            found[level.map_or(3, |level| level - 1)] += 1;
            if level.is_none() {
                let kind = kind_of(step.kind);
                let page = table.page(step.page);
                tlb.load((step.page, kind), page, &|page| table.read(page), &SPANS);
            }
        }
        let counts = tlb.counts();
        // Packed sets count nothing beside hits and misses.
        let walk_reads = match Tlb::new(&self.design) {
            Tlb::Packed(_) => 0,
            Tlb::Composed(_) => counts.walk_reads,
        };
        let beside = TlbCounts {
            subblock_misses: counts.subblock_misses,
            table_reads: counts.table_reads,
            modified_faults: counts.modified_faults,
            marked_pages: counts.marked_pages,
            extra_probes: counts.extra_probes,
            victim_hits: counts.victim_hits,
            prefetch_hits: counts.prefetch_hits,
            walk_entry_hits: counts.walk_entry_hits,
            walk_reads,
            // No page of the benchmark lies in colour regions.
            scatter_cycles: 0,
        };
        DesignCounts { found, beside }
    }

    fn has_superpages(&self) -> bool {
        let sizes = self.structures.iter().flat_map(|of| &of.sizes);
        sizes
            .into_iter()
            .any(|(size, _)| *size == stream::SUPERPAGE)
    }
}

/// Walks and loads after a miss.
fn miss(tlb: &mut Tlb, request: TlbRequest, table: &SmallTable<'_>) {
    let walk = Walk {
        request,
        translation: translation(table.page(request.page.0)),
        read: &|page| table.read(page.0).map(translation),
    };
    tlb.shorten_walk(&request, walk.translation.size, &SPANS.map(size_of));
    tlb.load(&walk);
}

const fn place(answer: Lookup) -> usize {
    match answer {
        Lookup::First => 0,
        Lookup::Second => 1,
        Lookup::Third => 2,
        Lookup::Miss => 3,
    }
}

const fn kind_of(kind: broadleaf_tlb::ReferenceKind) -> SlowReference {
    match kind {
        broadleaf_tlb::ReferenceKind::Fetch => SlowReference::Fetch,
        broadleaf_tlb::ReferenceKind::Load => SlowReference::Load,
        broadleaf_tlb::ReferenceKind::Store => SlowReference::Store,
    }
}

fn size_of(pages: u64) -> PageSize {
    PageSize::from_shift(12 + pages.trailing_zeros() as u8).unwrap_or(PageSize::SIZE_4K)
}

fn translation(page: SlowPage) -> Translation {
    Translation {
        tag: Asid::ZERO,
        first: PageNumber(page.first),
        size: size_of(page.pages),
        frame: page.frame,
        rights: Rights::READ_WRITE,
        modified: page.modified,
        share: None,
    }
}
