//! Chooses by trial: what pays is added until nothing pays.

use super::accept::Paid;
use super::bulk::{bulks, earning};
use super::course::KeptCourse;
use super::lives::{LifeId, Lives};
use super::numbers::Numbers;
use super::regions::FaultRegions;
use super::search::TrialSearch;
use super::told::{ChosenRange, by_piece, runs};
use super::trial::{Spared, TrialResult, in_base_pages, trial};
use super::{Chosen, OfflineSetting};
use broadleaf_charges::Ladder;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The choices for a course, and the figures that led to the choices.
#[derive(Debug)]
pub(crate) struct Decision {
    /// The best choice. Then, if they differ, the choice of the first full look and the empty
    /// choice.
    pub(crate) choices: Vec<Chosen>,
    /// The expected cost of each choice, in cycles. The last is the cost of no superpage.
    pub(super) cycles: Vec<u64>,
    pub(super) without: u64,
    pub(super) trials: u32,
    /// The savings of each choice by range, if the plan asks for ranges.
    pub(super) ranges: Vec<Vec<ChosenRange>>,
    /// The misses that each life alone would spare.
    pub(super) spared: BTreeMap<LifeId, u64>,
    /// The price of each life by itself.
    pub(super) prices: Paid,
    pub(super) lives: Lives,
    /// The charges of pieces that are no superpages under the best choice: level, prefetch charges
    /// and capacity charges.
    pub(super) left: Vec<(usize, u64, u64)>,
    pub(super) numbers: Numbers,
    pub(super) regions: FaultRegions,
    pub(super) setting: OfflineSetting,
}

/// Chooses superpages for a course. `progress` receives the number of each trial before the trial,
/// and may stop the search.
pub(crate) fn choose(
    kept: KeptCourse,
    setting: OfflineSetting,
    progress: &mut dyn FnMut(u32) -> ControlFlow<()>,
) -> ControlFlow<(), Decision> {
    let orders: Vec<u8> = (0..setting.sizes.levels())
        .map(|level| setting.sizes.order(level))
        .collect();
    let mut trials = 0;
    // With one size there is nothing to choose.
    let ladder = Ladder::new(&orders).ok();
    let lives = ladder.map_or_else(Lives::default, |ladder| Lives::of(&kept, &ladder));
    let mut search = TrialSearch::new(&setting, &lives);
    let mut nothing = match ladder {
        Some(_) => TrialResult::default(),
        None => in_base_pages(&kept, &setting),
    };
    if let Some(ladder) = ladder {
        let mut tried = |chosen: &Chosen, charges| {
            trials += 1;
            progress(trials)?;
            let found = trial(&kept, &lives, &setting, chosen, ladder, charges);
            if trials == 1 {
                nothing.clone_from(&found);
            }
            ControlFlow::Continue(found)
        };
        follow(&mut search, &mut tried)?;
        if !setting.search.one_by_one {
            look_for_joint_gains(&mut search, &kept, &lives, &setting, &mut tried)?;
        }
    }
    let cost = if ladder.is_some() {
        search.cost
    } else {
        nothing.cost
    };
    let left = std::mem::take(&mut search.found.left);
    let mut all = vec![(search.best, cost)];
    all.extend(search.first);
    all.push((Chosen::new(), nothing.cost));
    all.dedup();
    let (choices, cycles): (Vec<Chosen>, _) = all.into_iter().unzip();
    let mut ranges = Vec::new();
    if let Some(ladder) = ladder.filter(|_| setting.by_range) {
        let mut number = trials;
        let mut walks = |chosen: &Chosen| {
            number += 1;
            progress(number)?;
            let found = trial(&kept, &lives, &setting, chosen, ladder, Spared::Own);
            ControlFlow::Continue((found.walks.iter().sum(), found.prices))
        };
        for chosen in &choices {
            let about = (&setting, &kept.regions);
            ranges.push(by_range(chosen, about, &nothing, &mut walks)?);
        }
    }
    ControlFlow::Continue(Decision {
        choices,
        cycles,
        without: nothing.cost,
        trials,
        ranges,
        left,
        spared: nothing.spared,
        prices: nothing.prices,
        lives,
        numbers: kept.numbers,
        regions: kept.regions,
        setting,
    })
}

/// Tries a choice.
type Try<'a> = dyn FnMut(&Chosen, Spared) -> ControlFlow<(), TrialResult> + 'a;

/// Continues a search until no piece is worth its price.
fn follow(search: &mut TrialSearch<'_>, tried: &mut Try<'_>) -> ControlFlow<()> {
    while let Some(next) = search.next() {
        let found = tried(&next, search.charges)?;
        search.learn(next, found);
    }
    ControlFlow::Continue(())
}

/// Tries groups of pieces that may be worth their price only together, and removes pieces that do
/// not earn theirs. The search continues from a group that is better than its best choice.
fn look_for_joint_gains(
    search: &mut TrialSearch<'_>,
    kept: &KeptCourse,
    lives: &Lives,
    setting: &OfflineSetting,
    tried: &mut Try<'_>,
) -> ControlFlow<()> {
    for bulk in bulks(lives, &search.alone, kept, setting, search.cost) {
        let all = tried(&bulk, Spared::Own)?;
        let fewer = earning(&bulk, &all, setting, false);
        let mut better = search.take(&bulk, all);
        if fewer.len() < bulk.len() && !fewer.is_empty() {
            let found = tried(&fewer, Spared::Own)?;
            better |= search.take(&fewer, found);
        }
        if better {
            search.charges = Spared::Own;
            follow(search, tried)?;
        }
    }
    let fewer = earning(&search.best, &search.found, setting, true);
    if fewer.len() < search.best.len() {
        let found = tried(&fewer, Spared::All)?;
        search.take(&fewer, found);
    }
    ControlFlow::Continue(())
}

/// Tries a choice for its walks and its prices.
type TryAlone<'a> = dyn FnMut(&Chosen) -> ControlFlow<(), (u64, Paid)> + 'a;

/// The walks that the pieces of each range spare, and the range's price. Each range counts as if
/// there were no other. `walks` tries one range alone.
fn by_range(
    chosen: &Chosen,
    (setting, regions): (&OfflineSetting, &FaultRegions),
    nothing: &TrialResult,
    walks: &mut TryAlone<'_>,
) -> ControlFlow<(), Vec<ChosenRange>> {
    let miss = setting.walk_cycles.first().copied().unwrap_or(0);
    let all: u64 = nothing.walks.iter().sum();
    let mut ranges = Vec::new();
    let by_piece = by_piece(chosen);
    for pieces in runs(&by_piece, setting, regions) {
        let own: Chosen = (by_piece.iter().skip(pieces.start).take(pieces.len()))
            .flat_map(|((first, level), own)| own.iter().map(|life| (*first, *level, *life)))
            .collect();
        let alone = own.first().filter(|_| own.len() == 1);
        let spared = alone.and_then(|(.., life)| nothing.spared.get(life));
        let (walks_spared, prices) = match spared {
            Some(spared) => (*spared, None),
            _ => {
                let (walks, prices) = walks(&own)?;
                (all.saturating_sub(walks), Some(prices))
            }
        };
        let prices = prices.as_ref().unwrap_or(&nothing.prices);
        let price = own.iter().filter_map(|(.., life)| prices.get(life)).sum();
        ranges.push(ChosenRange {
            pieces,
            walks_spared,
            walk_cycles_spared: walks_spared * miss,
            price,
        });
    }
    ControlFlow::Continue(ranges)
}

#[cfg(test)]
mod tests {
    use super::super::course::{Course, Event, Item};
    use super::*;
    use broadleaf_memory::system::{Appraisal, Costs, Place};
    use broadleaf_policy::{Cycles, OfflineSearch as Asked};
    use broadleaf_units::{PageSize, PageSizes, SpaceId};

    fn setting(orders: &[u8], cycles: Cycles) -> OfflineSetting {
        OfflineSetting {
            search: Asked {
                cycles,
                one_by_one: false,
            },
            base: PageSize::SIZE_4K,
            sizes: PageSizes::new(orders).unwrap(),
            entries: 2,
            walk_cycles: vec![30; orders.len()],
            costs: Costs {
                promotion: 30,
                copy_kib: 0,
                ..Costs::default()
            },
            by_range: false,
        }
    }

    fn at(page: u64) -> Place {
        Place {
            space: SpaceId(0),
            page,
        }
    }

    /// Returns the decision for pages used in the order of `items`. Each number has the appraisal
    /// of a fault of its page, if the page faults.
    fn chosen(items: &[Item], setting: OfflineSetting) -> Decision {
        let mut numbers = Numbers::new();
        (0..4).for_each(|page| assert_eq!(u64::from(numbers.of(at(page))), page));
        let mut course = Course::default();
        items.iter().for_each(|item| course.add(*item));
        let kept = KeptCourse {
            numbers,
            course,
            regions: FaultRegions::default(),
        };
        let decision = choose(kept, setting, &mut |trial| match trial {
            ..100 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        });
        decision.continue_value().expect("it comes to an end")
    }

    fn fault(time: u64, page: u32, covered: u32) -> [Item; 2] {
        let appraisal = Appraisal {
            covered,
            ..Appraisal::default()
        };
        [
            Item::Event(time, Event::Fault(page, appraisal)),
            Item::Missed(page),
        ]
    }

    #[test]
    fn a_piece_is_chosen_in_the_lives_that_pay() {
        // All four pages can be a superpage from the last fault on. Then the last two go, and later
        // only they can be one.
        let faults = [(0, 0), (1, 0), (2, 2), (3, 6)];
        let mut items: Vec<Item> = (faults.iter())
            .flat_map(|(page, covered)| fault(0, *page, *covered))
            .collect();
        items.extend((0..400).map(|time| Item::Missed(time % 4)));
        items.push(Item::Event(1, Event::Gone(at(2), 2)));
        items.extend([fault(1, 2, 2), fault(1, 3, 2)].into_iter().flatten());
        let both = items.clone();
        items.extend((0..150).map(|time| Item::Missed([2, 3, 0][time % 3])));
        let pieces = |items: &[Item]| {
            let decision = chosen(items, setting(&[0, 1, 2], Cycles::Tlb));
            assert!(decision.cycles[0] < decision.without);
            let chosen = decision.choices[0].iter();
            let pieces = chosen.map(|(first, level, life)| {
                (first.page, *level, decision.lives.get(*life).span.from)
            });
            pieces.collect::<Vec<_>>()
        };
        assert_eq!(pieces(&items), [(0, 2, 0), (2, 1, 1)]);
        // The piece need not be promoted again.
        assert_eq!(pieces(&both), [(0, 2, 0)]);
    }

    #[test]
    fn where_there_is_one_size_it_costs_what_it_costs() {
        let mut items: Vec<Item> = (0..3).flat_map(|page| fault(0, page, 0)).collect();
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
