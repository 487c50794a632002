//! TLBs that are joined while they differ in strays alone, against separate plain ones.

use super::*;
use crate::small_machines::machine_apart;

/// Several owners of TLBs that are joined whenever they differ in strays alone.
struct Owners {
    tlbs: Tlbs,
    /// By lane: the owners of its TLB, a bit for each.
    lanes: Vec<u64>,
    /// By owner.
    plain: Vec<Plain>,
    counts: Vec<(u64, [u64; 2])>,
}

impl Owners {
    /// Looks pages up for all owners, and separates TLBs where their lookups differ.
    fn look_up(&mut self, pages: &[(u32, u16)]) -> usize {
        let numbers: Vec<PageNumber> = (pages.iter())
            .map(|&(block, offset)| PageNumber(place(block).1 << OFFSET_BITS | u64::from(offset)))
            .collect();
        let ids: Vec<PageId> = (pages.iter())
            .map(|&(block, offset)| PageId::new(block, offset))
            .collect();
        let mut progress = vec![0; self.lanes.len()];
        let (mut lane, mut stray_stops) = (0, 0);
        while lane < self.lanes.len() {
            let owner = self.lanes[lane].trailing_zeros() as usize;
            let from = progress[lane];
            let mut counted = LaneCounts {
                pages: &pages[from..],
                superpages: vec![self.plain[owner].superpages; lane + 1],
                second: vec![0; lane + 1],
                walks: vec![[0; 2]; lane + 1],
                stops_at: None,
            };
            let (numbers, ids) = (&numbers[from..], &ids[from..]);
            let stopped = self.tlbs.look_up_alone(lane, numbers, ids, &mut counted);
            for owner in (0..self.plain.len()).filter(|owner| self.lanes[lane] >> owner & 1 != 0) {
                let (second, walks) = &mut self.counts[owner];
                *second += counted.second[lane];
                walks[0] += counted.walks[lane][0];
                walks[1] += counted.walks[lane][1];
            }
            let Some(Stop::Strays(at)) = stopped else {
                assert_eq!(stopped, None);
                lane += 1;
                continue;
            };
            stray_stops += 1;
            progress[lane] += at;
            for owners in self.tlbs.part_at(lane, numbers[at], ids[at]) {
                self.lanes[lane] &= !owners;
                self.lanes.push(owners);
            }
            progress.resize(self.lanes.len(), progress[lane]);
        }
        for plain in &mut self.plain {
            look_up(plain, pages);
        }
        stray_stops
    }

    /// Joins TLBs. Returns the number of joins.
    fn join(&mut self) -> usize {
        let (mut lane, mut joins) = (1, 0);
        while lane < self.lanes.len() {
            let owners = self.lanes[lane];
            match (0..lane).find(|other| self.tlbs.join(*other, lane, owners)) {
                Some(other) => {
                    self.lanes[other] |= owners;
                    self.lanes.swap_remove(lane);
                    joins += 1;
                }
                None => lane += 1,
            }
        }
        joins
    }
}

/// TLBs of four owners hold different strays, and every page lies in a superpage at last.
#[test]
fn joined_tlbs_count_as_separate_ones() {
    const OWNERS: usize = 4;
    // The second level keeps no stray for long.
    let design = machine_apart(2).design;
    let (mut joins, mut stray_stops, mut removed) = (0, 0, 0);
    for seed in 0..30 {
        let mut random = RandomPages(7_046_029_254_386_353_131 + seed);
        let mut all = Owners {
            tlbs: Tlbs::new(&[&design]).unwrap(),
            lanes: (0..OWNERS).map(|owner| 1 << owner).collect(),
            plain: vec![
                Plain {
                    tlb: Tlb::new(&design),
                    superpages: [false; BLOCKS],
                    second: 0,
                    walks: [0; 2],
                };
                OWNERS
            ],
            counts: vec![(0, [0; 2]); OWNERS],
        };
        (1..OWNERS).for_each(|_| all.tlbs.copy(0));
        assert!(all.tlbs.set_apart(true));
        for round in 0..60 {
            // Owner by owner, all blocks become superpages.
            if round < OWNERS {
                all.plain[round].superpages = [true; BLOCKS];
            }
            let pages: Vec<(u32, u16)> = (0..400)
                .map(|_| {
                    let block = random.below(BLOCKS as u64) as u32;
                    (block, random.below(24) as u16 * 21)
                })
                .collect();
            stray_stops += all.look_up(&pages);
            for (plain, counted) in all.plain.iter().zip(&all.counts) {
                assert_eq!(
                    (plain.second, plain.walks),
                    *counted,
                    "seed {seed}, round {round}"
                );
            }
            if random.below(6) == 0 {
                let block = random.below(BLOCKS as u64) as u32;
                let (tag, number) = place(block);
                let from = PageNumber(number << OFFSET_BITS);
                for plain in &mut all.plain {
                    plain.tlb.invalidate_range(tag, from, 200);
                }
                for lane in 0..all.lanes.len() {
                    all.tlbs.remove_where(lane, |entry| match entry {
                        Entry::Base(its, offset) => its == block && offset < 200,
                        Entry::Superpage(its) => its == block,
                    });
                }
                removed += 1;
            }
            all.tlbs.find_strays();
            joins += all.join();
            all.tlbs.check();
            if random.below(9) == 0 {
                // One owner demotes a block and uses a base page of it.
                let owner = random.below(OWNERS as u64) as usize;
                for lane in 0..all.lanes.len() {
                    for owners in all.tlbs.part(lane) {
                        all.lanes[lane] &= !owners;
                        all.lanes.push(owners);
                    }
                }
                let block = random.below(BLOCKS as u64) as u32;
                let (tag, number) = place(block);
                let first = PageNumber(number << OFFSET_BITS);
                let lane = all.lanes.iter().position(|owners| *owners == 1 << owner);
                all.tlbs
                    .remove_superpage(lane.unwrap(), first, PageId::new(block, 0));
                all.plain[owner]
                    .tlb
                    .invalidate(tag, first, PageSize::SIZE_2M);
                all.plain[owner].superpages[block as usize] = false;
                stray_stops += all.look_up(&[(block, 21), (block, 42)]);
                all.plain[owner].superpages[block as usize] = true;
            }
        }
    }
    assert!(
        joins > 100 && stray_stops > 100 && removed > 100,
        "{joins} {stray_stops} {removed}"
    );
}
