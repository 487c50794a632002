//! What is left out of a course changes nothing, whatever is a superpage; and trials miss as often as a list does.

mod cases;
mod script;

use super::course::{Event, Item, Kept};
use super::trial::{Found, Spared, trial};
use super::{Chosen, Setting};
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Place};
use broadleaf_policy::{Cycles, Search};
use broadleaf_translation::charges::Ladder;
use broadleaf_units::{PageSize, SpaceId};
use script::Script;
use std::collections::BTreeMap;

fn setting(orders: &[u8], entries: usize) -> Setting {
    Setting {
        search: Search {
            cycles: Cycles::All,
            one_by_one: false,
        },
        base: PageSize::SIZE_4K,
        sizes: Sizes::new(orders).unwrap(),
        entries,
        walk_cycles: vec![30; orders.len()],
        costs: Costs::default(),
        tells_ranges: false,
    }
}

fn at(space: u32, page: u64) -> Place {
    let space = SpaceId(space);
    Place { space, page }
}

/// Walks by level where a TLB is a list, the newest in front.
fn walks(kept: &Kept, ladder: &Ladder, entries: usize, chosen: &Chosen) -> Vec<u64> {
    let mut walks = vec![0; ladder.largest() + 1];
    let mut active = BTreeMap::<Place, usize>::new();
    let mut tlb: Vec<(Place, usize)> = Vec::new();
    let meets = |(at, level): (Place, usize), first: Place, pages: u64| {
        let (end, to) = (
            at.page + ladder.pages(level),
            first.page.saturating_add(pages),
        );
        at.space == first.space && at.page < to && first.page < end
    };
    let around = |active: &BTreeMap<Place, usize>, place: Place| {
        let pieces = active.iter().map(|(at, level)| (*at, *level));
        pieces.into_iter().find(|piece| meets(*piece, place, 1))
    };
    for item in kept.course.items() {
        match item {
            Item::Used(number) | Item::Missed(number) => {
                let place = kept.numbers.place(number);
                let unit = around(&active, place).unwrap_or((place, 0));
                walks[unit.1] += u64::from(!tlb.contains(&unit));
                tlb.retain(|other| *other != unit);
                tlb.insert(0, unit);
                tlb.truncate(entries);
            }
            Item::Event(Event::Fault(number, appraisal)) => {
                let place = kept.numbers.place(number);
                if around(&active, place).is_some() {
                    continue;
                }
                let asked = chosen.iter().find(|(at, level)| {
                    meets((**at, **level), place, 1) && appraisal.covered >> **level & 1 != 0
                });
                if let Some((first, level)) = asked {
                    tlb.retain(|unit| !meets(*unit, *first, ladder.pages(*level)));
                    active.insert(*first, *level);
                }
            }
            Item::Event(event @ (Event::ShotDown(first, pages) | Event::Gone(first, pages))) => {
                tlb.retain(|unit| !meets(*unit, first, pages));
                active.retain(|at, level| {
                    let whole = at.page >= first.page
                        && at.page + ladder.pages(*level) <= first.page.saturating_add(pages);
                    let shot_down = matches!(event, Event::ShotDown(..));
                    !meets((*at, *level), first, pages) || whole && shot_down
                });
            }
        }
    }
    walks
}

#[test]
fn what_is_left_out_changes_nothing() {
    let mut left_out = 0;
    for seed in 0..600 {
        let (mut script, setting) = Script::new(seed);
        let (chosen, ladder) = (script.chosen(), script.ladder);
        script.play();
        let (kept, all) = script.kept();
        left_out += u64::from(kept.course.size() * 2 < all.course.size());
        for charges in [Spared::All, Spared::Own] {
            let [found, expected]: [Found; 2] =
                [&kept, &all].map(|kept| trial(kept, &setting, &chosen, ladder, charges));
            let naive = walks(&all, &ladder, setting.entries, &chosen);
            assert_eq!(expected.walks, naive, "seed {seed}");
            assert_eq!(found.walks, expected.walks, "seed {seed}");
            assert_eq!(found.cost, expected.cost, "seed {seed}");
            assert_eq!(found.made, expected.made, "seed {seed}");
            assert!(found.noted == expected.noted, "seed {seed}");
        }
    }
    assert!(left_out > 10, "{left_out}");
}
