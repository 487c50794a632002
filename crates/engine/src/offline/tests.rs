//! What is left out of a course changes nothing, whatever is a superpage; and trials miss as often as a list does.

use super::course::{Course, Event, Item, Kept};
use super::numbers::Numbers;
use super::recorder::Recorder;
use super::regions::Regions;
use super::trial::{Found, Spared, trial};
use super::{Chosen, Setting};
use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Appraisal, Costs, Place};
use broadleaf_oracle::random::Rng;
use broadleaf_policy::{Cycles, Search};
use broadleaf_translation::charges::Ladder;
use broadleaf_units::{PageSize, SpaceId};
use std::collections::{BTreeMap, BTreeSet};

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

fn orders(rng: &mut Rng) -> Vec<u8> {
    let mut orders = vec![0];
    let steps = 1 + rng.below(2);
    for _ in 0..=rng.below(11) {
        let next = orders[orders.len() - 1] + 1 + rng.below(steps) as u8;
        orders.extend((next <= 11).then_some(next));
    }
    orders
}

/// What happens to some pages, told to a recorder and written down as it is.
struct Script {
    rng: Rng,
    ladder: Ladder,
    entries: u64,
    span: u64,
    spaces: u32,
    recorder: Recorder,
    numbers: Numbers,
    course: Course,
    resident: BTreeSet<Place>,
    /// How many pages of a space are mapped.
    mapped: BTreeMap<SpaceId, u64>,
    /// Which are used most.
    hot: Vec<u64>,
}

impl Script {
    fn new(seed: u64) -> (Self, Setting) {
        let mut rng = Rng::new(seed);
        let orders = orders(&mut rng);
        let entries = 1 + rng.below(40);
        let largest = orders[orders.len() - 1];
        let script = Self {
            ladder: Ladder::new(&orders).unwrap(),
            entries,
            span: 1 + rng.below(4 * entries + 8),
            spaces: 1 + rng.below(3) as u32,
            recorder: Recorder::new(entries as usize, largest, 1 << 30),
            numbers: Numbers::new(),
            course: Course::default(),
            resident: BTreeSet::new(),
            mapped: BTreeMap::new(),
            hot: vec![0],
            rng,
        };
        (script, setting(&orders, entries as usize))
    }

    fn chosen(&mut self) -> Chosen {
        let mut chosen = Chosen::new();
        for _ in 0..self.rng.below(8) {
            let level = 1 + self.rng.below(self.ladder.largest() as u64) as usize;
            let page = self.ladder.first_of(level, self.rng.below(self.span));
            let place = at(self.rng.below(self.spaces.into()) as u32, page);
            let overlaps = |(other, of): (&Place, &usize)| {
                other.space == place.space
                    && other.page < page + self.ladder.pages(level)
                    && page < other.page + self.ladder.pages(*of)
            };
            if !chosen.iter().any(overlaps) {
                chosen.insert(place, level);
            }
        }
        chosen
    }

    fn remove(&mut self, space: u32) {
        let largest = self.ladder.largest();
        let (page, pages) = match self.rng.below(3) {
            0 => (self.rng.below(self.span), 1 + self.rng.below(4)),
            1 => (0, u64::MAX),
            _ => {
                let page = self.rng.below(self.span);
                let page = self.ladder.first_of(largest, page);
                (page, self.ladder.pages(largest))
            }
        };
        let (first, end) = (at(space, page), page.saturating_add(pages));
        self.recorder.shot_down(first, pages);
        self.course.add(Item::Event(Event::ShotDown(first, pages)));
        if self.rng.one_in(2) {
            self.recorder.gone(first, pages);
            self.course.add(Item::Event(Event::Gone(first, pages)));
            let inside = |at: &Place| at.space == first.space && (page..end).contains(&at.page);
            self.resident.retain(|at| !inside(at));
        }
    }

    fn page(&mut self) -> u64 {
        if !self.rng.one_in(8) {
            return self.hot[self.rng.below(self.hot.len() as u64) as usize];
        }
        let page = self.rng.below(self.span);
        self.hot.push(page);
        if self.hot.len() as u64 > 1 + self.entries * 3 / 4 {
            self.hot.remove(0);
        }
        page
    }

    fn fault(&mut self, place: Place, number: u32) {
        let mapped = *(self.mapped.entry(place.space)).or_insert(self.span / 2 + 1);
        let mut appraisal = Appraisal {
            page_cycles: 100,
            ..Appraisal::default()
        };
        for level in 1..=self.ladder.largest() {
            let page = self.ladder.first_of(level, place.page);
            let end = page + self.ladder.pages(level);
            let inside = Place { page, ..place }..Place { page: end, ..place };
            let empty = self.resident.range(inside).next().is_none();
            appraisal.covered |= u32::from(end <= mapped) << level;
            appraisal.empty |= u32::from(empty) << level;
        }
        self.resident.insert(place);
        self.recorder.faulted(place, appraisal);
        self.course
            .add(Item::Event(Event::Fault(number, appraisal)));
    }

    fn step(&mut self, rare: u64) {
        let space = match self.rng.one_in(8) {
            true => self.rng.below(self.spaces.into()) as u32,
            false => 0,
        };
        if self.rng.one_in(rare) {
            return self.remove(space);
        }
        if self.rng.one_in(40) {
            let mapped = self.rng.below(2 * self.span + 4).next_multiple_of(4);
            self.mapped.insert(SpaceId(space), mapped);
        }
        let place = at(space, self.page());
        let number = self.numbers.of(place);
        if !self.resident.contains(&place) {
            self.fault(place, number);
            if self.rng.one_in(5) {
                return self.recorder.fetch(place);
            }
        }
        self.recorder.refer(place);
        self.course.add(Item::Missed(number));
    }

    /// What the recorder kept, and all of it.
    fn play(&mut self) {
        let rare = self.rng.pick(&[15, 60, 300, 10_000]);
        for _ in 0..500 + self.rng.below(2000) {
            self.step(rare);
        }
    }

    fn kept(self) -> (Kept, Kept) {
        let all = Kept {
            numbers: self.numbers,
            course: self.course,
            regions: Regions::default(),
        };
        (self.recorder.finish().unwrap(), all)
    }
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

/// A course of faults, each of a page with what is covered, and then of another event.
fn faults(faults: &[(u64, u32)], event: Option<Event>) -> Kept {
    let (mut numbers, mut course) = (Numbers::new(), Course::default());
    for (page, covered) in faults {
        let number = numbers.of(at(0, *page));
        let appraisal = Appraisal {
            covered: *covered,
            ..Appraisal::default()
        };
        course.add(Item::Event(Event::Fault(number, appraisal)));
        course.add(Item::Missed(number));
    }
    if let Some(event) = event {
        course.add(Item::Event(event));
    }
    Kept {
        numbers,
        course,
        regions: Regions::default(),
    }
}

#[test]
fn a_superpage_takes_the_place_of_those_in_it() {
    let setting = setting(&[0, 1, 3], 8);
    let kept = faults(&[(2, 2), (0, 4), (5, 4), (7, 4)], None);
    let chosen = Chosen::from([(at(0, 2), 1), (at(0, 0), 2)]);
    let ladder = Ladder::new(&[0, 1, 3]).unwrap();
    let found = trial(&kept, &setting, &chosen, ladder, Spared::All);
    // One fault and one promotion for each.
    let each = setting.costs.fault + setting.costs.promotion;
    assert_eq!((found.walks, found.cost), (vec![0, 1, 1], 2 * (each + 30)));
}

#[test]
fn breaking_a_superpage_has_its_price() {
    let setting = setting(&[0, 3], 8);
    let chosen = Chosen::from([(at(0, 8), 1)]);
    let ladder = Ladder::new(&[0, 3]).unwrap();
    let cost = |event| {
        let kept = faults(&[(9, 2)], event);
        trial(&kept, &setting, &chosen, ladder, Spared::All).cost
    };
    let unbroken = cost(None);
    for (event, broken) in [
        (Event::Gone(at(0, 8), 8), 0),
        (Event::ShotDown(at(0, 0), 32), 0),
        (Event::Gone(at(0, 9), 1), 1),
        (Event::ShotDown(at(0, 12), 8), 1),
    ] {
        let expected = unbroken + broken * setting.costs.demotion;
        assert_eq!(cost(Some(event)), expected, "{event:?}");
    }
}

#[test]
fn pages_that_lie_far_apart_are_too_much_too() {
    let pages = |recorder: &mut Recorder, distance: u64| {
        (0..1000).for_each(|page| recorder.refer(at(0, page * distance)));
    };
    for (distance, fits) in [(1, true), (512, false)] {
        let mut recorder = Recorder::new(64, 9, 1 << 20);
        pages(&mut recorder, distance);
        assert_eq!(recorder.finish().is_ok(), fits);
    }
}
