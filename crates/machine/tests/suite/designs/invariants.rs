//! Designs that count alike, and tendencies (Talluri 1995, chapters 3 to 5).

use super::rig::{FRAMES, Rig, fully_associative, sets};
use broadleaf_oracle::random::Rng;

/// References with locality to pages below a bound.
fn references(seed: u64, bound: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    let mut last = 0;
    let pages = (0..2000).map(|_| {
        last = match rng.below(4) {
            0 => rng.below(bound),
            _ => (last + rng.below(5)) % bound,
        };
        last
    });
    pages.collect()
}

/// Asserts that designs hit and miss alike on random references. `map` maps the pages.
fn alike(tables: [&str; 2], bound: u64, maps: [fn(&mut Rig, u64); 2]) {
    for seed in 0..10 {
        let mut rigs = tables.map(Rig::new);
        for (rig, map) in rigs.iter_mut().zip(maps) {
            (0..bound).for_each(|page| map(rig, page));
        }
        for page in references(seed, bound) {
            let [one, other] = rigs.each_mut().map(|rig| rig.load(page));
            assert_eq!(one, other, "page {page}, seed {seed}");
        }
    }
}

fn placed(rig: &mut Rig, page: u64) {
    rig.map_placed([page]);
}

fn nowhere_placed(rig: &mut Rig, page: u64) {
    rig.map(page, 1, FRAMES + 16 * page + (page + 1) % 16);
}

fn superpages(rig: &mut Rig, page: u64) {
    match page / 4 % 3 {
        0 => placed(rig, page),
        _ if page.is_multiple_of(4) => {
            rig.map(page, 4, FRAMES + page);
        }
        _ => {}
    }
}

fn rules(table: &str) -> Vec<String> {
    let rules = ["lru", "fifo", "gods", "clock", "bit-plru"].iter();
    rules
        .map(|rule| table.replace("\"lru\"", &format!("\"{rule}\"")))
        .collect()
}

#[test]
fn a_superpage_tlb_without_superpages_is_one_of_base_pages() {
    let single = rules(&fully_associative(16, &["4k"], ""));
    let superpage = rules(&fully_associative(16, &["4k", "16k", "64k"], ""));
    for tables in single.iter().zip(&superpage) {
        alike([tables.0, tables.1], 48, [placed, placed]);
    }
}

#[test]
fn a_partial_subblock_tlb_without_placement_is_one_of_base_pages() {
    let single = rules(&fully_associative(16, &["4k"], ""));
    for preload in [false, true] {
        let keys =
            format!("organisation = \"partial-subblock\"\nblock = \"64k\"\npreload = {preload}\n");
        let partial = rules(&fully_associative(16, &["4k"], &keys));
        for tables in single.iter().zip(&partial) {
            alike([tables.0, tables.1], 48, [placed, nowhere_placed]);
        }
    }
}

// The pages of a superpage are in different sets, so each set sees one page of the superpage.
#[test]
fn a_base_page_index_counts_as_base_pages() {
    let single = sets("dtlb", 1, (8, 2), &[("4k", "va[14:12]")]);
    let index = [("4k", "va[14:12]"), ("16k", "va[14:12]")];
    let superpage = sets("dtlb", 1, (8, 2), &index) + "replicate = true\n";
    for tables in rules(&single).iter().zip(&rules(&superpage)) {
        alike([tables.0, tables.1], 72, [placed, superpages]);
    }
}

#[test]
fn probes_in_turn_and_split_structures_miss_as_probes_at_once() {
    let index = [("4k", "va[13:12]"), ("16k", "va[15:14]")];
    let at_once = sets("dtlb", 1, (4, 4), &index);
    let in_turn = at_once.clone() + "probes = \"largest-first\"\n";
    alike([&at_once, &in_turn], 72, [superpages, superpages]);
    let large = sets("dtlb", 1, (4, 4), &index[1..]);
    let only_large: fn(&mut Rig, u64) = |rig, page| {
        if page.is_multiple_of(4) {
            rig.map(page, 4, FRAMES + page);
        }
    };
    let split = sets("small", 1, (4, 4), &index[..1]) + &large;
    alike([&at_once, &split], 96, [only_large, only_large]);
}

/// The misses of a design on all traces.
fn misses(table: &str, map: fn(&mut Rig, u64)) -> u64 {
    let of_seed = |seed| {
        let mut rig = Rig::new(table);
        (0..96).for_each(|page| map(&mut rig, page));
        rig.load_all(references(seed, 96))
    };
    (0..50).map(of_seed).sum()
}

// Tendencies, not laws: the thesis has exceptions.
#[test]
fn complete_entries_do_no_worse_than_partial_ones_and_preloading_helps() {
    for block in ["8k", "16k", "32k"] {
        let of = |name: &str, preload: bool| {
            let keys = format!(
                "organisation = \"{name}-subblock\"\nblock = \"{block}\"\npreload = {preload}\n"
            );
            misses(&fully_associative(8, &["4k"], &keys), |rig, page| {
                match page % 5 {
                    0 => nowhere_placed(rig, page),
                    _ => placed(rig, page),
                }
            })
        };
        let single = misses(&fully_associative(8, &["4k"], ""), placed);
        let [complete, ahead] = [false, true].map(|preload| of("complete", preload));
        let [partial, partial_ahead] = [false, true].map(|preload| of("partial", preload));
        assert!(ahead < complete && complete <= partial, "{block}");
        assert!(partial_ahead < partial && partial < single, "{block}");
        assert!(ahead <= partial_ahead, "{block}");
    }
}
