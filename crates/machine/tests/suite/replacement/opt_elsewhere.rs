//! OPT where it is a heuristic, against the fewest misses of all choices: pages of two sizes that
//! are invalidated, two levels, and blocks.

use broadleaf_machine::Machine;
use broadleaf_oracle::random::{Rng, loops};
use broadleaf_oracle::{SlowUse, fewest_walks, fewest_walks_of_blocks, fewest_walks_of_levels};
use broadleaf_tlb::{Lookup, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

/// The streams of each kind.
const STREAMS: u64 = 300;
const LENGTH: usize = 24;
/// Small pages of a page of 64 KiB.
const LARGE: u64 = 16;

/// A level of one set with OPT.
fn level(number: usize, ways: usize, keys: &str) -> String {
    format!(
        "[[tlb]]\nname = \"level-{number}\"\nlevel = {number}\nentries = {ways}\nways = {ways}\n\
         replacement = \"opt\"\n{keys}\n"
    )
}

fn tlb(levels: &[String], walks: &str) -> Tlb {
    let levels = levels.concat();
    let text = format!("name = \"opt\"\nsummary = \"opt\"\n{levels}[walk-cycles]\n{walks}\n");
    Tlb::new(&Machine::from_toml(&text).expect("a machine").design)
}

/// The walks of a stream. Each lookup knows the next use of its translation.
fn walks(tlb: &mut Tlb, stream: &[SlowUse]) -> u64 {
    let translation = |step: &SlowUse| match *step {
        SlowUse::Page { page, large } if large => Some((page / LARGE, true)),
        SlowUse::Page { page, .. } => Some((page, false)),
        SlowUse::Invalidate { .. } => None,
    };
    // Invalidations are no lookups, and have no number.
    let lookups: Vec<(u64, bool)> = stream.iter().filter_map(translation).collect();
    let (mut walks, mut now) = (0, 0);
    for step in stream {
        match *step {
            SlowUse::Page { page, large } => {
                let later = lookups[now + 1..].iter();
                let next = later.copied().position(|later| later == lookups[now]);
                tlb.foresee(next.map_or(u64::MAX, |next| (now + 1 + next) as u64));
                now += 1;
                if tlb.lookup(Asid::ZERO, PageNumber(page)) != Lookup::Miss {
                    continue;
                }
                let size = match large {
                    true => PageSize::from_shift(16).expect("64 KiB"),
                    false => PageSize::SIZE_4K,
                };
                tlb.load(&Walk::plain(Asid::ZERO, PageNumber(page), size));
                walks += 1;
            }
            SlowUse::Invalidate { large } => {
                tlb.invalidate_range(Asid::ZERO, PageNumber(large * LARGE), LARGE);
            }
        }
    }
    walks
}

/// The misses of OPT and the fewest ones over many streams, and the streams in which OPT has more.
#[derive(Debug, Default, PartialEq, Eq)]
struct OptExcess {
    opt: u64,
    fewest: u64,
    streams: u64,
}

impl OptExcess {
    fn note(&mut self, opt: u64, fewest: u64, stream: &[SlowUse]) {
        assert!(opt >= fewest, "{opt} of {fewest}: {stream:?}");
        self.opt += opt;
        self.fewest += fewest;
        self.streams += u64::from(opt > fewest);
    }

    /// Checks the misses of OPT for each 1,000 of the fewest misses, which its explanation states.
    /// `streams` is the least number of streams in which OPT has more misses.
    fn is_a_heuristic(&self, of_thousand: u64, streams: u64) {
        let found = self.opt * 1000 / self.fewest;
        assert!(found == of_thousand && self.streams >= streams, "{self:?}");
    }
}

fn pages(rng: &mut Rng, case: u64, among: u64) -> Vec<u64> {
    match case % 2 {
        0 => loops(rng, 1, among, LENGTH)
            .0
            .into_iter()
            .map(|(_, page)| page)
            .collect(),
        _ => (0..LENGTH).map(|_| rng.below(among)).collect(),
    }
}

fn small(pages: &[u64]) -> Vec<SlowUse> {
    let use_of = |page: &u64| SlowUse::Page {
        page: *page,
        large: false,
    };
    pages.iter().map(use_of).collect()
}

#[test]
fn with_two_sizes_and_invalidations() {
    let (mut rng, mut excess) = (Rng::new(1), OptExcess::default());
    for case in 0..STREAMS {
        let ways = 2 + rng.below(2) as usize;
        // Promotions and demotions invalidate what was there.
        let mut are_large = [false; 3];
        let mut stream = Vec::new();
        for page in pages(&mut rng, case, 7) {
            let (large, place) = (page % 3, page / 3);
            if rng.one_in(8) {
                are_large[large as usize] ^= true;
                stream.push(SlowUse::Invalidate { large });
            }
            let (page, large) = (large * LARGE + place, are_large[large as usize]);
            stream.push(SlowUse::Page { page, large });
        }
        let keys = "index = { 4k = \"none\", 64k = \"none\" }";
        let mut tlb = tlb(&[level(1, ways, keys)], "4k = 30\n64k = 30");
        let opt = walks(&mut tlb, &stream);
        excess.note(opt, fewest_walks(&stream, LARGE, ways), &stream);
    }
    excess.is_a_heuristic(1002, 5);
}

#[test]
fn with_two_levels() {
    let (mut rng, mut excess) = (Rng::new(2), OptExcess::default());
    for case in 0..STREAMS {
        let pages = pages(&mut rng, case, 6);
        let stream = small(&pages);
        let keys = "index = { 4k = \"none\" }";
        let mut tlb = tlb(&[level(1, 2, keys), level(2, 3, keys)], "4k = 30");
        let opt = walks(&mut tlb, &stream);
        excess.note(opt, fewest_walks_of_levels(&pages, [2, 3]), &stream);
    }
    excess.is_a_heuristic(1306, 200);
}

#[test]
fn with_blocks() {
    let (mut rng, mut excess) = (Rng::new(3), OptExcess::default());
    for case in 0..STREAMS {
        let ways = 2 + rng.below(2) as usize;
        let pages = pages(&mut rng, case, 12);
        let stream = small(&pages);
        let keys = "organisation = \"complete-subblock\"\nblock = \"16k\"\n\
                    index = { 4k = \"none\" }";
        let opt = walks(&mut tlb(&[level(1, ways, keys)], "4k = 30"), &stream);
        excess.note(opt, fewest_walks_of_blocks(&pages, 4, ways), &stream);
    }
    excess.is_a_heuristic(1048, 80);
}

#[test]
fn a_use_that_the_first_level_answers_tells_the_next() {
    let keys = "index = { 4k = \"none\" }";
    let walks_of = |pages: &[u64]| {
        let mut tlb = tlb(&[level(1, 1, keys), level(2, 2, keys)], "4k = 30");
        walks(&mut tlb, &small(pages))
    };
    // The first level answers the second use of page 1, which is not used again: it makes room.
    assert_eq!(walks_of(&[1, 1, 2, 3, 2]), 3);
    // Here page 1 is used before page 2, which makes room.
    assert_eq!(walks_of(&[1, 1, 2, 3, 1, 2]), 4);
    assert_eq!(walks_of(&[1, 1, 2, 3, 1]), 3);
}
