//! Several TLBs side by side against as many plain ones.

mod joined;

use super::entry::OFFSET_BITS;
use super::*;
use broadleaf_tlb::{Lookup, Tlb, Walk};
use broadleaf_units::Asid;

/// Blocks of all spaces.
const BLOCKS: usize = 48;

/// The model of one lane: a plain TLB, the blocks that are superpages, and the counts.
#[derive(Clone)]
struct Plain {
    tlb: Tlb,
    superpages: [bool; BLOCKS],
    second: u64,
    walks: [u64; 2],
}

struct RandomPages(u64);

impl RandomPages {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The place of a block: the two spaces have the same blocks, far apart and near.
fn place(block: u32) -> (Asid, u64) {
    let (space, number) = (block as usize % 2, u64::from(block) / 2);
    let number = if number.is_multiple_of(3) {
        number << 4
    } else {
        number
    };
    (Asid::new(space).unwrap(), number)
}

#[derive(Default)]
struct LaneCounts<'a> {
    pages: &'a [(u32, u16)],
    superpages: Vec<[bool; BLOCKS]>,
    second: Vec<u64>,
    walks: Vec<[u64; 2]>,
    /// Stops once, at a walk of this lane.
    stops_at: Option<usize>,
}

impl Walks for LaneCounts<'_> {
    fn second_hit(&mut self, lane: usize, _machine: usize) {
        self.second[lane] += 1;
    }

    fn walk(&mut self, lane: usize, _machine: usize, at: usize) -> Option<Size> {
        if self.stops_at == Some(lane) {
            self.stops_at = None;
            return None;
        }
        let superpage = self.superpages[lane][self.pages[at].0 as usize];
        self.walks[lane][usize::from(superpage)] += 1;
        Some(if superpage {
            Size::Superpage
        } else {
            Size::Base
        })
    }

    fn sizes(&self, lane: usize) -> impl Fn(PageId) -> (bool, bool) {
        let stops = self.stops_at == Some(lane);
        move |id| (self.superpages[lane][id.block() as usize], stops)
    }

    fn count(&mut self, lane: usize, _machine: usize, second_hits: u64, walks: [u64; 2]) {
        self.second[lane] += second_hits;
        self.walks[lane][0] += walks[0];
        self.walks[lane][1] += walks[1];
    }
}

/// Looks pages up in TLBs that are apart, each as far as it comes and then on.
fn look_up_apart(
    tlbs: &mut Tlbs,
    (numbers, ids): (&[PageNumber], &[PageId]),
    which: u64,
    counted: &mut LaneCounts<'_>,
) {
    for lane in (0..tlbs.count()).filter(|lane| which >> lane & 1 != 0) {
        let mut from = 0;
        loop {
            let all = counted.pages;
            counted.pages = &all[from..];
            let stopped = tlbs.look_up_alone(lane, &numbers[from..], &ids[from..], counted);
            counted.pages = all;
            match stopped {
                Some(Stop::Walk(at)) => from += at,
                Some(stop) => unreachable!("{stop:?}: no TLBs are joined"),
                None => break,
            }
        }
    }
}

fn look_up(plain: &mut Plain, pages: &[(u32, u16)]) {
    for &(block, offset) in pages {
        let (tag, number) = place(block);
        let page = PageNumber(number << OFFSET_BITS | u64::from(offset));
        match plain.tlb.lookup(tag, page) {
            Lookup::First => {}
            Lookup::Second | Lookup::Third => plain.second += 1,
            Lookup::Miss => {
                let superpage = plain.superpages[block as usize];
                plain.walks[usize::from(superpage)] += 1;
                let size = if superpage {
                    PageSize::SIZE_2M
                } else {
                    PageSize::SIZE_4K
                };
                plain.tlb.load(&Walk::plain(tag, page, size));
            }
        }
    }
}

#[test]
fn each_lane_is_a_tlb() {
    let mut looked_apart = 0;
    for (seed, name) in
        (0..12).flat_map(|seed| crate::covers::machines_covered().map(move |name| (seed, name)))
    {
        let design = broadleaf_machine::machine(name).unwrap().design;
        let mut random = RandomPages(88_172_645_463_325_252 + seed);
        let mut tlbs = Tlbs::new(&[&design]).unwrap();
        let mut plain = vec![Plain {
            tlb: Tlb::new(&design),
            superpages: [false; BLOCKS],
            second: 0,
            walks: [0; 2],
        }];
        let mut apart = false;
        for _ in 0..400 {
            let lane = random.below(plain.len() as u64) as usize;
            let block = random.below(BLOCKS as u64) as u32;
            let (tag, number) = place(block);
            let first = PageNumber(number << OFFSET_BITS);
            match random.below(12) {
                0 if plain.len() < 30 => {
                    tlbs.copy(lane);
                    plain.push(plain[lane].clone());
                }
                1 if plain.len() > 1 && random.below(3) == 0 => {
                    tlbs.remove(lane);
                    plain.swap_remove(lane);
                }
                2 | 3 => plain[lane].superpages[block as usize] = true,
                4 => {
                    plain[lane].superpages[block as usize] = false;
                    plain[lane].tlb.invalidate(tag, first, PageSize::SIZE_2M);
                    tlbs.remove_superpage(lane, first, PageId::new(block, 3));
                }
                5 => {
                    let (from, count) = (random.below(512), 1 + random.below(300));
                    let from = PageNumber(first.0 + from);
                    plain[lane].tlb.invalidate_range(tag, from, count);
                    let met = |block: u32, offset: u64, span: u64| {
                        let (its, number) = place(block);
                        let page = (number << OFFSET_BITS) + offset;
                        its == tag && page < from.0 + count && page + span > from.0
                    };
                    tlbs.remove_where(lane, |entry| match entry {
                        Entry::Base(block, offset) => met(block, offset.into(), 1),
                        Entry::Superpage(block) => met(block, 0, 512),
                    });
                }
                _ => {}
            }
            let near = random.below(BLOCKS as u64);
            let pages: Vec<(u32, u16)> = (0..random.below(120))
                .map(|_| {
                    let block = if random.below(3) == 0 {
                        random.below(BLOCKS as u64)
                    } else {
                        near
                    };
                    (block as u32, random.below(40) as u16 * 7)
                })
                .collect();
            let which = if random.below(4) == 0 {
                random.0
            } else {
                u64::MAX
            };
            let numbers: Vec<PageNumber> = (pages.iter())
                .map(|&(block, offset)| {
                    PageNumber(place(block).1 << OFFSET_BITS | u64::from(offset))
                })
                .collect();
            let ids: Vec<PageId> = pages
                .iter()
                .map(|&(block, offset)| PageId::new(block, offset))
                .collect();
            let mut counted = LaneCounts {
                pages: &pages,
                superpages: plain.iter().map(|plain| plain.superpages).collect(),
                second: plain.iter().map(|plain| plain.second).collect(),
                walks: plain.iter().map(|plain| plain.walks).collect(),
                stops_at: (random.below(2) == 0).then_some(lane),
            };
            if random.below(8) == 0 {
                apart = tlbs.set_apart(!apart) && !apart;
            }
            if random.below(3) == 0 {
                tlbs.find_strays();
            }
            let mut from = 0;
            if apart {
                looked_apart += 1;
                look_up_apart(&mut tlbs, (&numbers, &ids), which, &mut counted);
                from = pages.len();
            }
            while !apart
                && let Some(Stop::Walk(at)) = {
                    let mut rest = LaneCounts {
                        pages: &pages[from..],
                        superpages: std::mem::take(&mut counted.superpages),
                        second: std::mem::take(&mut counted.second),
                        walks: std::mem::take(&mut counted.walks),
                        stops_at: counted.stops_at,
                    };
                    let stopped = tlbs.look_up(&numbers[from..], &ids[from..], which, &mut rest);
                    counted = LaneCounts {
                        pages: &pages,
                        ..rest
                    };
                    stopped
                }
            {
                from += at;
            }
            for (lane, plain) in plain.iter_mut().enumerate() {
                if which >> lane & 1 != 0 {
                    look_up(plain, &pages);
                }
                assert_eq!(
                    (counted.second[lane], counted.walks[lane]),
                    (plain.second, plain.walks),
                    "{name}, seed {seed}, lane {lane} of {}",
                    tlbs.count()
                );
            }
            tlbs.check();
            let other = random.below(plain.len() as u64) as usize;
            if tlbs.are_alike(lane.min(plain.len() - 1), other) {
                assert!(
                    plain[lane.min(plain.len() - 1)]
                        .tlb
                        .holds_as(&plain[other].tlb)
                );
            }
        }
    }
    assert!(looked_apart > 500, "hardly any lookup was made apart");
}
