//! Chooses by trial: what pays is added until nothing pays.

use super::course::Kept;
use super::numbers::Numbers;
use super::regions::Regions;
use super::search::Search;
use super::told::{ChosenRange, runs};
use super::trial::{Found, Noted, Piece, Spared, in_base_pages, trial};
use super::{Chosen, Setting};
use broadleaf_translation::charges::Ladder;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What was chosen for a course, and what it was chosen by.
#[derive(Debug)]
pub(crate) struct Decision {
    /// The best choice; then those that pay when all pieces are looked at for the first time, and none, where these are others.
    pub(crate) choices: Vec<Chosen>,
    /// What each is expected to cost, and what none costs.
    pub(super) cycles: Vec<u64>,
    pub(super) without: u64,
    pub(super) trials: u32,
    /// What each spares by range, where that is told.
    pub(super) ranges: Vec<Vec<ChosenRange>>,
    /// What was noted of each piece where there are no superpages.
    pub(super) noted: BTreeMap<Piece, Noted>,
    pub(super) numbers: Numbers,
    pub(super) regions: Regions,
    pub(super) setting: Setting,
}

/// Chooses for a course. `progress` is told before each trial which it is, and may stop it.
pub(crate) fn choose(
    kept: Kept,
    setting: Setting,
    progress: &mut dyn FnMut(u32) -> ControlFlow<()>,
) -> ControlFlow<(), Decision> {
    let orders: Vec<u8> = (0..setting.sizes.levels())
        .map(|level| setting.sizes.order(level))
        .collect();
    let mut search = Search::new(&setting);
    let mut trials = 0;
    // Where there is one size there is nothing to choose.
    let ladder = Ladder::new(&orders).ok();
    let mut nothing = match ladder {
        Some(_) => Found::default(),
        None => in_base_pages(&kept, &setting),
    };
    if let Some(ladder) = ladder {
        while let Some(next) = search.next() {
            trials += 1;
            progress(trials)?;
            let found = trial(&kept, &setting, &next, ladder, search.charges);
            if trials == 1 {
                nothing.clone_from(&found);
            }
            search.learn(next, found);
        }
    }
    let cost = if ladder.is_some() {
        search.cost
    } else {
        nothing.cost
    };
    let mut all = vec![(search.best, cost)];
    all.extend(search.first);
    all.push((Chosen::new(), nothing.cost));
    all.dedup();
    let (choices, cycles): (Vec<Chosen>, _) = all.into_iter().unzip();
    let mut ranges = Vec::new();
    if let Some(ladder) = ladder.filter(|_| setting.tells_ranges) {
        let mut told = trials;
        let mut walks = |chosen: &Chosen| {
            told += 1;
            progress(told)?;
            let found = trial(&kept, &setting, chosen, ladder, Spared::Own);
            ControlFlow::Continue(found.walks.iter().sum())
        };
        for chosen in &choices {
            ranges.push(by_range(
                chosen,
                &setting,
                &kept.regions,
                &nothing,
                &mut walks,
            )?);
        }
    }
    ControlFlow::Continue(Decision {
        choices,
        cycles,
        without: nothing.cost,
        trials,
        ranges,
        noted: nothing.noted,
        numbers: kept.numbers,
        regions: kept.regions,
        setting,
    })
}

/// What chosen pieces spare by range, each as if there were no other: what `walks` there are then, against those where there is nothing.
fn by_range(
    chosen: &Chosen,
    setting: &Setting,
    regions: &Regions,
    nothing: &Found,
    walks: &mut dyn FnMut(&Chosen) -> ControlFlow<(), u64>,
) -> ControlFlow<(), Vec<ChosenRange>> {
    let miss = setting.walk_cycles.first().copied().unwrap_or(0);
    let all: u64 = nothing.walks.iter().sum();
    let mut ranges = Vec::new();
    for pieces in runs(chosen, setting, regions) {
        let own: Chosen = (chosen.iter().skip(pieces.start).take(pieces.len()))
            .map(|(first, level)| (*first, *level))
            .collect();
        let piece = own.iter().next().map(|(first, level)| (*first, *level));
        let noted = piece.and_then(|piece| nothing.noted.get(&piece));
        let walks_spared = match noted {
            Some(noted) if own.len() == 1 => noted.spared,
            _ => all.saturating_sub(walks(&own)?),
        };
        ranges.push(ChosenRange {
            pieces,
            walks_spared,
            walk_cycles_spared: walks_spared * miss,
        });
    }
    ControlFlow::Continue(ranges)
}

#[cfg(test)]
mod tests {
    use super::super::course::{Course, Event, Item};
    use super::*;
    use broadleaf_memory::population::Sizes;
    use broadleaf_memory::system::{Appraisal, Costs, Place};
    use broadleaf_policy::{Cycles, Search as Asked};
    use broadleaf_units::{PageSize, SpaceId};

    fn setting(orders: &[u8], cycles: Cycles) -> Setting {
        Setting {
            search: Asked {
                cycles,
                one_by_one: false,
            },
            base: PageSize::SIZE_4K,
            sizes: Sizes::new(orders).unwrap(),
            entries: 2,
            walk_cycles: vec![30; orders.len()],
            costs: Costs {
                promotion: 30,
                ..Costs::default()
            },
            tells_ranges: false,
        }
    }

    fn at(page: u64) -> Place {
        Place {
            space: SpaceId(0),
            page,
        }
    }

    /// What is chosen where pages are used in that order, each number with what is covered at a fault of it, if it faults.
    fn chosen(items: &[Item], setting: Setting) -> Decision {
        let mut numbers = Numbers::new();
        (0..4).for_each(|page| assert_eq!(u64::from(numbers.of(at(page))), page));
        let mut course = Course::default();
        items.iter().for_each(|item| course.add(*item));
        let kept = Kept {
            numbers,
            course,
            regions: Regions::default(),
        };
        let decision = choose(kept, setting, &mut |trial| match trial {
            ..100 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        });
        decision.continue_value().expect("it comes to an end")
    }

    fn fault(page: u32, covered: u32) -> [Item; 2] {
        let appraisal = Appraisal {
            covered,
            ..Appraisal::default()
        };
        [
            Item::Event(Event::Fault(page, appraisal)),
            Item::Missed(page),
        ]
    }

    #[test]
    fn what_keeps_others_from_being_made_is_tried_once() {
        // The last two pages can be a superpage from the start, all four only at the last fault, which there is not where the last two are one. They lose half of it, and then only the last two can be one.
        let faults = [(0, 0), (1, 0), (2, 2), (3, 6)];
        let mut items: Vec<Item> = (faults.iter())
            .flat_map(|(page, covered)| fault(*page, *covered))
            .collect();
        items.extend((0..400).map(|time| Item::Missed(time % 4)));
        items.push(Item::Event(Event::Gone(at(2), 2)));
        items.extend([fault(2, 2), fault(3, 2)].into_iter().flatten());
        items.extend((0..150).map(|time| Item::Missed([2, 3, 0][time % 3])));
        let decision = chosen(&items, setting(&[0, 1, 2], Cycles::Tlb));
        assert_eq!(decision.choices[0], Chosen::from([(at(0), 2)]));
        assert!(decision.cycles[0] < decision.without);
    }

    #[test]
    fn where_there_is_one_size_it_costs_what_it_costs() {
        let mut items: Vec<Item> = (0..3).flat_map(|page| fault(page, 0)).collect();
        items.extend([Item::Used(1), Item::Missed(0)]);
        for (cycles, expected) in [
            (Cycles::Tlb, 4 * 30),
            (Cycles::All, 4 * 30 + 3 * Costs::default().fault),
        ] {
            let decision = chosen(&items, setting(&[0], cycles));
            assert_eq!(decision.choices, [Chosen::new()]);
            assert_eq!(
                (&decision.cycles[..], decision.without),
                (&[expected][..], expected)
            );
        }
    }
}
