//! Skipped lookups on random machines: a filtered TLB misses as often as one that makes every
//! lookup.

use broadleaf_filter::Recency;
use broadleaf_machine::Machine;
use broadleaf_oracle::random::Rng;
use broadleaf_tlb::{Design, Lookup, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

const BLOCKS: u64 = 128;

/// A TLB with the numbers of its hits.
struct Counting {
    tlb: Tlb,
    second: u64,
    walks: u64,
}

/// TLBs of some designs under one page table.
struct RandomMachines {
    tlbs: Vec<Counting>,
}

impl RandomMachines {
    fn new(designs: &[Design]) -> Self {
        let tlbs = designs.iter().map(|design| Counting {
            tlb: Tlb::new(design),
            second: 0,
            walks: 0,
        });
        Self {
            tlbs: tlbs.collect(),
        }
    }

    fn look_up(&mut self, page: PageNumber, promoted: &[bool]) {
        let tag = Asid::default();
        for counting in &mut self.tlbs {
            match counting.tlb.lookup(tag, page) {
                Lookup::First => {}
                Lookup::Second | Lookup::Third => counting.second += 1,
                Lookup::Miss => {
                    counting.walks += 1;
                    let size = if promoted[(page.0 >> 9) as usize] {
                        PageSize::SIZE_2M
                    } else {
                        PageSize::SIZE_4K
                    };
                    counting.tlb.load(&Walk::plain(tag, page, size));
                }
            }
        }
    }

    fn found(&self) -> Vec<(u64, u64)> {
        let found = self
            .tlbs
            .iter()
            .map(|counting| (counting.second, counting.walks));
        found.collect()
    }

    fn holds_as(&self, other: &Self) -> bool {
        let both = self.tlbs.iter().zip(&other.tlbs);
        both.into_iter()
            .all(|(one, other)| one.tlb.holds_as(&other.tlb))
    }
}

fn index(low: u32, width: u32, folded: bool) -> String {
    let bits = |low: u32| format!("va[{}:{low}]", low + width - 1);
    match (width, folded) {
        (0, _) => "none".to_owned(),
        (_, false) => bits(low),
        (_, true) => format!("{} ^ {}", bits(low), bits(low + width)),
    }
}

/// A structure for pages of these sizes, indexed from these bits on.
fn structure(level: u32, rng: &mut Rng, width: u32, pages: &[(&str, u32)]) -> String {
    let (ways, folded) = (1 + rng.below(6), rng.below(2) == 0);
    let indices: Vec<String> = (pages.iter())
        .map(|(size, low)| format!("{size} = \"{}\"", index(*low, width, folded)))
        .collect();
    let (name, entries) = (rng.below(1 << 40), ways << width);
    format!(
        "[[tlb]]\nname = \"t{name}\"\nlevel = {level}\nentries = {entries}\nways = {ways}\n\
         replacement = \"lru\"\nindex = {{ {} }}\n",
        indices.join(", ")
    )
}

/// 1 to 6 ways, 1 to 256 sets, one structure for both sizes or one for each, with and without a
/// second level.
fn design(rng: &mut Rng) -> Design {
    let mut text = String::from("name = \"x\"\nsummary = \"x\"\nsource = \"x\"\n");
    let width = [0, 1, 2, 3, 4, 6, 7, 8][rng.below(8) as usize];
    if rng.below(4) == 0 {
        text += &structure(1, rng, width, &[("4k", 12), ("2m", 21)]);
    } else {
        text += &structure(1, rng, width, &[("4k", 12)]);
        let (width, low) = (rng.below(4) as u32, 21 + rng.below(2) as u32);
        text += &structure(1, rng, width, &[("2m", low)]);
    }
    if rng.below(3) > 0 {
        let width = rng.below(4) as u32;
        text += &structure(2, rng, width, &[("4k", 12), ("2m", 21)]);
    }
    text += "[walk-cycles]\n4k = 35\n2m = 21\n";
    let machine = Machine::from_toml(&text);
    machine
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .design
}

fn one_of<T: Copy>(rng: &mut Rng, some: &[T]) -> T {
    some[rng.below(some.len() as u64) as usize]
}

#[test]
fn what_is_left_out_is_missed_by_no_design() {
    let mut left_out = 0u64;
    for seed in 1..=150 {
        let mut rng = Rng::new(seed);
        let designs: Vec<Design> = (0..1 + rng.below(8) / 6)
            .map(|_| design(&mut rng))
            .collect();
        let mut recency = Recency::new(&designs);
        let (mut all, mut some) = (RandomMachines::new(&designs), RandomMachines::new(&designs));
        let mut promoted = [false; BLOCKS as usize];
        let blocks = one_of(&mut rng, &[2, 3, 5, 9, 20, BLOCKS]);
        let spread = one_of(&mut rng, &[1, 2, 4, 8, 16]);
        let within = one_of(&mut rng, &[1, 2, 3, 5, 8, 20]);
        let apart = one_of(&mut rng, &[1, 2, 16, 64, 128]);
        for step in 0..6000 {
            let a_block = |rng: &mut Rng| rng.below(blocks) * spread % BLOCKS;
            let block = a_block(&mut rng);
            let page = PageNumber((block << 9) | (rng.below(within) * apart % 512));
            if rng.below(200) == 0 {
                let any = a_block(&mut rng);
                promoted[any as usize] = true;
            }
            if rng.below(150) == 0 {
                // A store that may break a superpage: the page is looked up before, after or both,
                // as visits with loads before the store are.
                recency.make(page, &mut |page| some.look_up(page, &promoted));
                let before = rng.below(2) == 0;
                let breaks = promoted[block as usize] && rng.below(3) > 0;
                let after = breaks || !before || rng.below(2) == 0;
                for world in [&mut all, &mut some] {
                    if before {
                        world.look_up(page, &promoted);
                    }
                }
                if breaks {
                    promoted[block as usize] = rng.below(4) == 0;
                    for counting in all.tlbs.iter_mut().chain(&mut some.tlbs) {
                        counting
                            .tlb
                            .invalidate(Asid::default(), page, PageSize::SIZE_2M);
                    }
                }
                for world in [&mut all, &mut some] {
                    if after {
                        world.look_up(page, &promoted);
                    }
                }
                recency.remove_larger(page);
            } else {
                let mut look_up = |page| some.look_up(page, &promoted);
                if recency.has_to_be_made(page, &mut look_up) {
                    look_up(page);
                } else {
                    left_out += 1;
                }
                all.look_up(page, &promoted);
            }
            assert_eq!(
                all.found(),
                some.found(),
                "seed {seed}, step {step}: {designs:?}"
            );
            if rng.below(300) == 0 {
                recency.catch_up(&mut |page| some.look_up(page, &promoted));
                assert!(all.holds_as(&some), "seed {seed}, step {step}: {designs:?}");
                match rng.below(8) {
                    0 => {
                        recency.forget();
                        let (first, count) = (PageNumber(rng.below(1 << 16)), 1 + rng.below(2000));
                        for counting in all.tlbs.iter_mut().chain(&mut some.tlbs) {
                            counting.tlb.invalidate_range(Asid::default(), first, count);
                        }
                    }
                    1 => {
                        recency.be_shallow(true);
                    }
                    2 | 3 => {
                        recency.be_shallow(false);
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(left_out > 100_000, "{left_out}");
}
