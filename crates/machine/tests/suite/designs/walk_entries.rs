//! Walk entries: entries of the page table that live in lower levels of the TLB.

use super::differential::{SPANS, compare};
use super::families::TRACES;
use super::hierarchies::hierarchy;
use super::machine_of;
use super::refusals::refused;
use super::rig::{fully_associative, sets};
use broadleaf_oracle::design::SlowFills;
use broadleaf_tlb::{Design, Lookup, Tlb, TlbCounts, TlbRequest, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

#[test]
fn walk_entries_share_any_design() {
    compare("walk entries", 2 * TRACES, |rng| {
        let mut drawn = hierarchy(rng);
        while drawn.iter().all(|(_, of, _)| of.level == 1) {
            drawn = hierarchy(rng);
        }
        for (_, of, _) in &mut drawn {
            if of.level > 1 && of.fills == SlowFills::Walks {
                let spans = SPANS.into_iter().filter(|_| rng.one_in(2));
                of.walk_entries = spans.map(|span| (span, span)).collect();
            }
        }
        drawn
    });
}

/// A first level of one page and a second level with these keys, without the rest of a machine.
fn two_levels(second: &str) -> String {
    fully_associative(1, &["4k"], "") + &sets("second", 2, (1, 8), &[("4k", "none")]) + second
}

/// The TLB of a description, and the ranges of its page table's entries.
struct Walked {
    tlb: Tlb,
    spans: Vec<PageSize>,
}

impl Walked {
    fn new(tables: &str) -> Self {
        let machine = machine_of(tables).unwrap_or_else(|error| panic!("{error}"));
        Self {
            tlb: Tlb::new(&machine.design),
            spans: machine.walk_spans(),
        }
    }

    /// Loads from a page of 4 KiB. Returns the walk's counts.
    fn load(&mut self, page: u64) -> TlbCounts {
        let before = self.tlb.counts();
        let (page, size) = (PageNumber(page), PageSize::SIZE_4K);
        let request = TlbRequest::load(Asid::ZERO, page);
        if self.tlb.access(&request) == Lookup::Miss {
            self.tlb.shorten_walk(&request, size, &self.spans);
            self.tlb.load(&Walk::plain(Asid::ZERO, page, size));
        }
        self.tlb.check();
        self.tlb.counts().since(before)
    }

    /// The entries of the page table that the walk of a load reads.
    fn reads(&mut self, page: u64) -> u64 {
        self.load(page).walk_reads
    }
}

const DIRECTORIES: &str = "walk-entries = { 2m = \"none\" }\n";
const ALL_LEVELS: &str = "walk-entries = { 2m = \"none\", 1g = \"none\", 512g = \"none\" }\n";

#[test]
fn a_walk_begins_at_the_lowest_entry_that_the_second_level_holds() {
    let mut without = Walked::new(&two_levels("wired = 1\n"));
    assert_eq!([0, 1, 512].map(|page| without.reads(page)), [4, 4, 4]);
    let mut with = Walked::new(&two_levels(DIRECTORIES));
    // The first walk of a directory reads four levels, the others one.
    assert_eq!(
        [0, 1, 2, 512, 513].map(|page| with.reads(page)),
        [4, 1, 1, 4, 1]
    );
    let mut all = Walked::new(&two_levels(ALL_LEVELS));
    // The second directory of a GiB is found through the entry above, and so on.
    let pages = [0, 1, 512, 513, 1 << 18, 1 << 27];
    assert_eq!(pages.map(|page| all.reads(page)), [4, 1, 2, 1, 3, 4]);
}

#[test]
fn walk_entries_take_room_from_pages_and_lose_it_to_them() {
    let chase = |keys: &str, pages: u64| {
        let mut walked = Walked::new(&two_levels(keys));
        for _ in 0..4 {
            (0..pages).for_each(|page| _ = walked.load(page));
        }
        (0..pages)
            .map(|page| walked.reads(page))
            .collect::<Vec<_>>()
    };
    // Eight pages fit the second level, unless the directory's entry takes one. Each miss uses the
    // directory's entry, so that one stays.
    assert_eq!(
        chase("wired = 0\nfills = \"walks\"\ninclusive = true\n", 8),
        [0; 8]
    );
    assert_eq!(chase(DIRECTORIES, 8), [1; 8]);
    // Seven pages leave the directory's entry where it is, unused: it is the oldest.
    assert_eq!(chase(DIRECTORIES, 7), [0; 7]);
    // Nine directories with a page each: neither pages nor directories fit.
    let mut walked = Walked::new(&two_levels(DIRECTORIES));
    for _ in 0..4 {
        (0..9).for_each(|page| _ = walked.load(512 * page));
    }
    assert!((0..9).all(|page| walked.reads(512 * page) == 4));
}

#[test]
fn an_invalidation_drops_the_walk_entries_that_lead_to_its_pages() {
    let mut walked = Walked::new(&two_levels(DIRECTORIES));
    walked.load(0);
    walked.load(512);
    let size = PageSize::SIZE_4K;
    walked.tlb.invalidate(Asid::ZERO, PageNumber(5), size);
    assert_eq!([1, 513].map(|page| walked.reads(page)), [4, 1]);
    walked.tlb.invalidate_range(Asid::ZERO, PageNumber(500), 20);
    assert_eq!([2, 514].map(|page| walked.reads(page)), [4, 4]);
    walked.tlb.invalidate_space(Asid::ZERO);
    assert_eq!(walked.tlb.occupied(), 0);
    walked.load(3);
    // Another space has a page table of its own.
    let other = Asid::new(1).expect("a tag");
    walked.tlb.invalidate_space(other);
    assert_eq!(walked.reads(4), 1);
}

#[test]
fn machines_whose_second_level_holds_walk_entries() {
    let held = |name: &str| {
        let machine = broadleaf_machine::machine(name).expect("a machine");
        let spans = |design: &Design| {
            let held = design.structures().iter().flat_map(|of| &of.walk_entries);
            let names = held.map(|(span, _)| span.short_name().to_string());
            names.collect::<Vec<_>>()
        };
        spans(&machine.design)
    };
    assert_eq!(held("zen2"), ["2m"]);
    assert_eq!(held("neoverse-n1"), ["2m", "1g", "512g"]);
    assert_eq!(held("neoverse-n1-16k"), ["32m", "64g", "128t"]);
    assert!(held("skylake").is_empty());
}

#[test]
fn walk_entries_that_cannot_be_are_refused() {
    let of = |keys: &str| two_levels(keys);
    let case = |keys: &str, line: usize, key: &str, reason: &str| {
        refused(&of(keys), line, key, reason);
    };
    let unknown = "walk-entries = { 4m = \"none\" }\n";
    case(
        unknown,
        17,
        "walk-entries",
        "cover 2m, 1g, 512g, and none 4m",
    );
    let sets_of_two = "walk-entries = { 2m = \"va[21]\" }\n";
    case(
        sets_of_two,
        17,
        "walk-entries",
        "va[21:21] distinguishes 2 sets of 1",
    );
    let victims = DIRECTORIES.to_owned() + "fills = \"victims\"\n";
    case(&victims, 17, "walk-entries", "fills = \"walks\"");
    let first = fully_associative(8, &["4k"], DIRECTORIES);
    refused(&first, 10, "walk-entries", "below the first level");
    let inside = fully_associative(1, &["4k"], "")
        + &sets("second", 2, (4, 2), &[("4k", "va[13:12]")])
        + "walk-entries = { 2m = \"va[13:12]\" }\n";
    refused(
        &inside,
        17,
        "walk-entries",
        "va[13:12] looks at bits inside a walk entry of 2m",
    );
}
