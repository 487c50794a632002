//! All geometries in one pass against a TLB of each, on random references and removals.

use broadleaf_oracle::PlainTlb;
use broadleaf_oracle::random::Rng;
use broadleaf_tlb::Stacks;
use broadleaf_units::SpaceId;

/// A page and its space.
type StackKey = (usize, u64);

/// Both models, with the same references.
struct BothStacks {
    fast: Stacks,
    slow: Vec<PlainTlb<usize>>,
    references: u64,
}

impl BothStacks {
    fn new(geometries: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let slow = geometries
            .into_iter()
            .map(|(sets, ways)| PlainTlb::new(sets, ways));
        Self {
            fast: Stacks::new(),
            slow: slow.collect(),
            references: 0,
        }
    }

    fn reference(&mut self, key: StackKey) {
        self.fast.reference(tag(key.0), key.1);
        self.slow.iter_mut().for_each(|slow| slow.reference(key));
        self.references += 1;
    }

    fn remove(&mut self, key: StackKey) {
        self.fast.remove(tag(key.0), key.1);
        self.keep(|held| *held != key);
    }

    fn remove_range(&mut self, space: usize, start: u64, pages: u64) {
        self.fast.remove_range(tag(space), start, pages);
        let range = start..start.saturating_add(pages);
        self.keep(|held| held.0 != space || !range.contains(&held.1));
    }

    fn remove_space(&mut self, space: usize) {
        self.fast.remove_space(tag(space));
        self.keep(|held| held.0 != space);
    }

    fn keep(&mut self, keep: impl Fn(&StackKey) -> bool) {
        self.slow.iter_mut().for_each(|slow| slow.keep(&keep));
    }

    fn compare(&self, what: &str) {
        self.fast.check();
        for slow in &self.slow {
            let fast = misses(&self.fast, slow.sets, slow.ways);
            assert_eq!(
                fast, slow.misses,
                "{what}, {} sets of {} ways, after {} references",
                slow.sets, slow.ways, self.references
            );
        }
    }
}

fn tag(space: usize) -> SpaceId {
    SpaceId(space as u32)
}

fn misses(stacks: &Stacks, sets: usize, ways: usize) -> u64 {
    let found = stacks
        .misses()
        .find(|one| (one.sets, one.ways) == (sets, ways));
    found.expect("a geometry that is counted").misses
}

fn every_geometry() -> Vec<(usize, usize)> {
    let stacks = Stacks::new();
    stacks.misses().map(|one| (one.sets, one.ways)).collect()
}

#[test]
fn the_geometries_are_those_that_are_promised() {
    let all = every_geometry();
    let mut expected = Vec::new();
    for sets in (0..=12).map(|power| 1 << power) {
        expected.extend((1..=16).map(|ways| (sets, ways)));
        if sets == 1 {
            expected.extend((5..=12).map(|power| (1, 1 << power)));
        }
    }
    assert_eq!(all, expected);
}

/// Removals of each kind, once in `rare` references.
fn disturb(both: &mut BothStacks, rng: &mut Rng, rare: u64, page: &dyn Fn(&mut Rng) -> StackKey) {
    if !rng.one_in(rare) {
        return;
    }
    let key = page(rng);
    match rng.below(12) {
        0 => both.remove_space(key.0),
        1 => both.remove_range(key.0, key.1, rng.pick(&[1, 7, 600, 5000, u64::MAX])),
        2 => both.remove_range(key.0, key.1.saturating_sub(8), 16),
        _ => both.remove(key),
    }
}

#[test]
fn every_geometry_misses_as_a_tlb_of_its_own() {
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let mut both = BothStacks::new(every_geometry());
        // From a few pages that all fit to more than most geometries hold, in strides that share
        // sets.
        let many = rng.pick(&[6, 20, 40, 150, 600]);
        let stride = rng.pick(&[1, 1, 16, 512, 4096, 3 << 9]);
        let spaces = rng.pick(&[1, 1, 3]);
        let rare = rng.pick(&[5, 40, 400, 1_000_000]);
        let page = |rng: &mut Rng| {
            // Half of the references are to a tenth of the pages.
            let below = if rng.one_in(2) { many } else { many / 10 + 1 };
            (rng.below(spaces) as usize, 99 + rng.below(below) * stride)
        };
        for _ in 0..4000 {
            let key = page(&mut rng);
            both.reference(key);
            disturb(&mut both, &mut rng, rare, &page);
        }
        both.compare(&format!("seed {seed}"));
    }
}

#[test]
fn large_fully_associative_ones_miss_as_a_tlb_of_their_own() {
    let large = || (4..=12).map(|power| (1, 1 << power)).chain([(4096, 16)]);
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let mut both = BothStacks::new(large());
        let rare = [1_000_000, 3, 50, 500, 5, 2000][seed as usize];
        let page = |rng: &mut Rng| {
            let below = rng.pick(&[30, 200, 1500, 4000, 6000]);
            (rng.below(2) as usize, rng.below(below))
        };
        for step in 0..40_000 {
            let key = page(&mut rng);
            both.reference(key);
            // Whole spaces rarely, or nothing would ever be deep.
            if rng.one_in(rare) {
                let key = page(&mut rng);
                match rng.below(20) {
                    0 => both.remove_range(key.0, key.1, 100),
                    1 if rng.one_in(30) => both.remove_space(key.0),
                    _ => both.remove(key),
                }
            }
            if step % 10_000 == 0 {
                both.fast.check();
            }
        }
        both.compare(&format!("seed {seed}"));
        let deepest = misses(&both.fast, 1, 2048) - misses(&both.fast, 1, 4096);
        assert!(deepest > 50, "seed {seed}: {deepest} found below 2048");
    }
}

/// A chase through `n` pages misses nowhere but at first where there is room for all, and always
/// where there is not.
#[test]
fn a_chase_finds_how_many_entries_there_are() {
    for pages in [15, 16, 17, 31, 32, 33, 63, 64, 65, 4095, 4096, 4097] {
        let mut stacks = Stacks::new();
        for _ in 0..3 {
            for page in 0..pages {
                stacks.reference(tag(0), page);
            }
        }
        stacks.check();
        for ways in (0..=12).map(|power| 1 << power) {
            let expected = if ways >= pages { pages } else { 3 * pages };
            assert_eq!(misses(&stacks, 1, ways as usize), expected, "{pages} pages");
        }
    }
}

/// Pages far apart, more regions than there is room for: names have to be given to others, and
/// nothing changes by that.
#[test]
fn memory_does_not_grow_with_what_was_referenced() {
    let mut rng = Rng::new(7);
    let mut both = BothStacks::new([(1, 1), (1, 64), (1, 4096), (2, 5), (64, 4), (4096, 16)]);
    for step in 0..60_000u64 {
        // New places now and then, and old ones again.
        let place = if rng.one_in(3) {
            step
        } else {
            step.saturating_sub(rng.below(300))
        };
        both.reference((rng.below(2) as usize, place * 777_777));
        if rng.one_in(1000) {
            both.remove(((rng.below(2)) as usize, step * 777_777));
        }
    }
    both.compare("far apart");
}

/// A page whose entry was removed is no longer the newest.
#[test]
fn what_was_removed_last_is_missed_again() {
    let mut both = BothStacks::new(every_geometry());
    for _ in 0..3 {
        both.reference((0, 5));
        both.reference((0, 5));
        both.remove((0, 5));
        both.reference((0, 5));
        both.remove_range(0, 0, 10);
        both.reference((0, 5));
        both.remove_range(0, 0, 10_000);
        both.reference((0, 5));
        both.remove_space(0);
    }
    both.compare("one page");
    assert_eq!(misses(&both.fast, 1, 4096), 12);
}

/// Counts begin again while the TLBs keep what they hold.
#[test]
fn counting_begins_anew() {
    for seed in 0..8 {
        let mut rng = Rng::new(seed);
        let mut both = BothStacks::new(every_geometry());
        for part in 0..3 {
            for _ in 0..1500 {
                both.reference((0, 5 + rng.below(60)));
            }
            both.compare(&format!("seed {seed}, part {part}"));
            both.fast.begin_counting();
            both.slow.iter_mut().for_each(|slow| slow.misses = 0);
            both.compare(&format!("seed {seed}, after part {part}"));
        }
    }
}
