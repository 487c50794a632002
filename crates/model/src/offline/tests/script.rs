//! Random events on a few pages, for a recorder and for the naive model.

use super::super::OfflineSetting;
use super::super::course::{Course, Event, Item, KeptCourse};
use super::super::numbers::Numbers;
use super::super::recorder::Recorder;
use super::super::regions::FaultRegions;
use super::super::trial::LadderPiece;
use super::{at, setting};
use broadleaf_charges::Ladder;
use broadleaf_memory::system::{Appraisal, Place};
use broadleaf_oracle::random::Rng;
use broadleaf_units::SpaceId;
use std::collections::{BTreeMap, BTreeSet};

fn orders(rng: &mut Rng) -> Vec<u8> {
    let mut orders = vec![0];
    let steps = 1 + rng.below(2);
    for _ in 0..=rng.below(11) {
        let next = orders[orders.len() - 1] + 1 + rng.below(steps) as u8;
        orders.extend((next <= 11).then_some(next));
    }
    orders
}

/// A script of random events: sent to a recorder, and kept in full.
pub(super) struct RecordedScript {
    rng: Rng,
    pub(super) ladder: Ladder,
    now: u64,
    entries: u64,
    span: u64,
    spaces: u32,
    recorder: Recorder,
    numbers: Numbers,
    course: Course,
    resident: BTreeSet<Place>,
    /// The number of mapped pages of each space.
    mapped: BTreeMap<SpaceId, u64>,
    /// The pages that are used most.
    hot: Vec<u64>,
}

impl RecordedScript {
    pub(super) fn new(seed: u64) -> (Self, OfflineSetting) {
        let mut rng = Rng::new(seed);
        let orders = orders(&mut rng);
        let entries = 1 + rng.below(40);
        let largest = orders[orders.len() - 1];
        let script = Self {
            ladder: Ladder::new(&orders).unwrap(),
            now: 0,
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

    pub(super) fn chosen(&mut self) -> Vec<LadderPiece> {
        let mut chosen: Vec<LadderPiece> = Vec::new();
        for _ in 0..self.rng.below(8) {
            let level = 1 + self.rng.below(self.ladder.largest() as u64) as usize;
            let page = self.ladder.first_of(level, self.rng.below(self.span));
            let place = at(self.rng.below(self.spaces.into()) as u32, page);
            let overlaps = |(other, of): &LadderPiece| {
                other.space == place.space
                    && other.page < page + self.ladder.pages(level)
                    && page < other.page + self.ladder.pages(*of)
            };
            if !chosen.iter().any(overlaps) {
                chosen.push((place, level));
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
        self.course
            .add(Item::Event(self.now, Event::ShotDown(first, pages)));
        if self.rng.one_in(2) {
            self.recorder.gone(first, pages);
            self.course
                .add(Item::Event(self.now, Event::Gone(first, pages)));
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

    fn appraise(&mut self, place: Place) -> Appraisal {
        let mapped = *(self.mapped.entry(place.space)).or_insert(self.span / 2 + 1);
        let mut appraisal = Appraisal {
            page_cycles: 100,
            ..Appraisal::default()
        };
        for level in 1..=self.ladder.largest() {
            let page = self.ladder.first_of(level, place.page);
            let end = page + self.ladder.pages(level);
            appraisal.covered |= u32::from(end <= mapped) << level;
        }
        appraisal
    }

    fn fault(&mut self, place: Place, number: u32) {
        let appraisal = self.appraise(place);
        self.resident.insert(place);
        self.recorder.faulted(place, appraisal);
        self.course
            .add(Item::Event(self.now, Event::Fault(number, appraisal)));
    }

    fn step(&mut self, rare: u64) {
        self.now += 1;
        self.recorder.pass(self.now);
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
        if self.rng.one_in(9) && !self.recorder.holds(place) {
            // The naive model offers a chance at every miss, whether or not a piece was broken.
            let appraisal = self.appraise(place);
            self.recorder.chance(place, appraisal);
            self.course
                .add(Item::Event(self.now, Event::Chance(number, appraisal)));
        }
        self.recorder.refer(place);
        self.course.add(Item::Missed(number));
    }

    /// Plays random events to the recorder and to the full list.
    pub(super) fn play(&mut self) {
        let rare = self.rng.pick(&[15, 60, 300, 10_000]);
        for _ in 0..500 + self.rng.below(2000) {
            self.step(rare);
        }
    }

    pub(super) fn kept(self) -> (KeptCourse, KeptCourse) {
        let all = KeptCourse {
            numbers: self.numbers,
            course: self.course,
            regions: FaultRegions::default(),
        };
        (self.recorder.finish().unwrap(), all)
    }
}
