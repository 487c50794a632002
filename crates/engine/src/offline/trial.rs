//! A course under some superpages: what it costs, and what more of them would spare.

use super::course::{Event, Item, Kept};
use super::recency::{Recency, Used};
use super::{Chosen, Setting};
use broadleaf_memory::system::{Appraisal, Place};
use broadleaf_translation::SpaceTag;
use broadleaf_translation::charges::{Candidate, CapacityCharges, Ladder, PrefetchCharges};
use broadleaf_units::SpaceId;
use std::collections::{BTreeMap, BTreeSet};

/// A piece: where it begins, and its level.
pub(super) type Piece = (Place, usize);

/// What is known of a piece that could be a superpage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// Misses that it would have spared.
    pub(super) spared: u64,
    /// Faults in it where there are no superpages.
    pub(super) faults: u64,
    /// How often it would have become a superpage.
    pub(super) lives: u64,
    /// Cycles of filling a base page of it.
    pub(super) page_cycles: u64,
    /// What it had been charged when it could become a superpage.
    since: u64,
    /// Whether it could.
    covered: bool,
}

/// What a course came to under some superpages.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// In cycles.
    pub(super) cost: u64,
    /// Walks, by level.
    pub(super) walks: Vec<u64>,
    /// What is no superpage, and lies in none.
    pub(super) noted: BTreeMap<Piece, Noted>,
    /// The superpages that there really were, of those asked for.
    pub(super) made: BTreeSet<Place>,
}

/// A translation.
#[derive(Clone, Copy, Debug)]
struct Unit {
    tag: SpaceTag,
    first: u64,
    level: usize,
}

/// Which misses a piece is said to spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spared {
    /// Those of its own pages: most of them, and soon counted.
    Own,
    /// Those of others too, which it leaves room for.
    All,
}

struct Trial<'a> {
    kept: &'a Kept,
    setting: &'a Setting,
    chosen: &'a Chosen,
    ladder: Ladder,
    tags: BTreeMap<SpaceId, SpaceTag>,
    /// First those of base pages, by their numbers; then those of superpages.
    units: Vec<Unit>,
    /// By what unit each page is translated.
    unit_of: Vec<u32>,
    /// What is a superpage now: its level and its unit.
    active: BTreeMap<Place, (usize, u32)>,
    recency: Recency,
    prefetch: PrefetchCharges,
    /// Left out where only what a piece spares its own pages is asked for.
    capacity: Option<CapacityCharges>,
    found: Found,
}

/// What a course comes to where the chosen pieces are superpages from the first fault in them at which they can be.
pub(super) fn trial(
    kept: &Kept,
    setting: &Setting,
    chosen: &Chosen,
    ladder: Ladder,
    charges: Spared,
) -> Found {
    let mut trial = Trial {
        kept,
        setting,
        chosen,
        ladder,
        tags: BTreeMap::new(),
        units: Vec::new(),
        unit_of: (0..kept.numbers.len() as u32).collect(),
        active: BTreeMap::new(),
        recency: Recency::new(setting.entries),
        prefetch: PrefetchCharges::new(ladder),
        capacity: (charges == Spared::All).then(|| CapacityCharges::new(ladder, setting.entries)),
        found: Found {
            walks: vec![0; ladder.largest() + 1],
            ..Found::default()
        },
    };
    trial.units = (0..kept.numbers.len() as u32)
        .map(|number| {
            let at = kept.numbers.place(number);
            trial.unit(at, 0)
        })
        .collect();
    for item in kept.course.items() {
        match item {
            Item::Used(number) | Item::Missed(number) => trial.refer(number),
            Item::Event(Event::Fault(number, appraisal)) => trial.fault(number, &appraisal),
            Item::Event(Event::ShotDown(first, pages)) => trial.removed(first, pages, false),
            Item::Event(Event::Gone(first, pages)) => trial.removed(first, pages, true),
        }
    }
    trial.finish()
}

/// What a course comes to where there are base pages only.
pub(super) fn in_base_pages(kept: &Kept, setting: &Setting) -> Found {
    let walk_cycles = setting.walk_cycles.first().copied().unwrap_or(0);
    let mut found = Found {
        walks: vec![0],
        ..Found::default()
    };
    for item in kept.course.items() {
        match item {
            Item::Missed(_) => {
                found.walks[0] += 1;
                found.cost += walk_cycles;
            }
            Item::Event(Event::Fault(_, appraisal)) => {
                found.cost += setting.fault(appraisal.page_cycles);
            }
            Item::Used(_) | Item::Event(_) => {}
        }
    }
    found
}

impl Trial<'_> {
    fn tag(&mut self, space: SpaceId) -> SpaceTag {
        let number = self.tags.len() % SpaceTag::COUNT;
        let new = || SpaceTag::new(number).unwrap_or_default();
        *self.tags.entry(space).or_insert_with(new)
    }

    fn unit(&mut self, at: Place, level: usize) -> Unit {
        Unit {
            tag: self.tag(at.space),
            first: at.page,
            level,
        }
    }

    fn candidate(&self, (first, level): Piece) -> Option<Candidate> {
        Some(Candidate {
            tag: *self.tags.get(&first.space)?,
            first: first.page,
            level,
        })
    }

    #[inline]
    fn refer(&mut self, number: u32) {
        let unit = self.unit_of[number as usize];
        let Unit { tag, first, level } = self.units[unit as usize];
        match self.recency.use_it(unit) {
            Used::Held => {
                if let Some(capacity) = &mut self.capacity {
                    capacity.touch(tag, first, level);
                }
            }
            Used::Missed(gone) => {
                self.found.walks[level] += 1;
                // What gives way was there when it missed.
                self.prefetch.miss(tag, first, level, |_, _| ());
                if let Some(capacity) = &mut self.capacity {
                    capacity.miss(tag, first, level, |_, _| ());
                }
                if let Some(gone) = gone {
                    let gone = self.units[gone as usize];
                    self.prefetch.evict(gone.tag, gone.first, gone.level);
                }
            }
        }
    }

    /// The superpage that holds a page.
    fn around(&self, at: Place) -> Option<Piece> {
        let (first, (level, _)) = self.active.range(..=at).next_back()?;
        let end = first.page + self.ladder.pages(*level);
        (first.space == at.space && at.page < end).then_some((*first, *level))
    }

    fn piece(&self, at: Place, level: usize) -> Place {
        let page = self.ladder.first_of(level, at.page);
        Place { page, ..at }
    }

    fn fault(&mut self, number: u32, appraisal: &Appraisal) {
        let at = self.kept.numbers.place(number);
        let covered = |level: usize| appraisal.covered >> level & 1 != 0;
        let mut inside = self.around(at).map(|(_, level)| level);
        if inside.is_none() {
            let asked = (1..=self.ladder.largest()).rev().find(|level| {
                covered(*level) && self.chosen.get(&self.piece(at, *level)) == Some(level)
            });
            match asked {
                Some(level) => {
                    self.found.cost += self.setting.fault(0);
                    self.found.cost += self.setting.price(level, appraisal.page_cycles);
                    self.make((self.piece(at, level), level));
                }
                None => self.found.cost += self.setting.fault(appraisal.page_cycles),
            }
            inside = asked;
        }
        for level in inside.unwrap_or(0) + 1..=self.ladder.largest() {
            if !covered(level) {
                continue;
            }
            let piece = (self.piece(at, level), level);
            let charge = self.charge(piece);
            let noted = self.found.noted.entry(piece).or_default();
            noted.faults += 1;
            noted.lives += u64::from(appraisal.empty >> level & 1);
            noted.page_cycles = appraisal.page_cycles;
            if !noted.covered {
                noted.covered = true;
                noted.since = charge;
            }
        }
    }

    fn charge(&self, piece: Piece) -> u64 {
        self.candidate(piece).map_or(0, |candidate| {
            let capacity = self.capacity.as_ref();
            self.prefetch.charge(candidate)
                + capacity.map_or(0, |charges| charges.charge(candidate))
        })
    }

    fn make(&mut self, (first, level): Piece) {
        let unit = self.units.len() as u32;
        let made = self.unit(first, level);
        self.units.push(made);
        self.retarget(first, level, |_| unit);
        let end = Place {
            page: first.page + self.ladder.pages(level),
            ..first
        };
        // What were smaller superpages in it are none any more.
        let smaller: Vec<Place> = self.active.range(first..end).map(|(at, _)| *at).collect();
        for at in smaller {
            self.active.remove(&at);
        }
        self.active.insert(first, (level, unit));
        self.found.made.insert(first);
        let inside = (first, 0)..(end, 0);
        let (noted, ladder) = (&mut self.found.noted, &self.ladder);
        let parts: Vec<Piece> = (noted.range(inside))
            .map(|(piece, _)| *piece)
            .filter(|(part, of)| part.page + ladder.pages(*of) <= first.page + ladder.pages(level))
            .collect();
        for part in parts {
            noted.remove(&part);
        }
        self.prefetch
            .shoot_down(made.tag, first.page, self.ladder.pages(level));
        if let Some(capacity) = &mut self.capacity {
            capacity.shoot_down(made.tag, first.page, self.ladder.pages(level));
        }
    }

    /// Has the pages of a piece translated by others than before, which leave the TLB.
    fn retarget(&mut self, first: Place, level: usize, by: impl Fn(u32) -> u32) {
        let numbers: Vec<u32> =
            (self.kept.numbers.among(first, self.ladder.pages(level))).collect();
        for number in numbers {
            let unit = &mut self.unit_of[number as usize];
            self.recency.remove(*unit);
            *unit = by(number);
        }
    }

    fn removed(&mut self, first: Place, pages: u64, gone: bool) {
        let end = first.page.saturating_add(pages);
        let before = self.around(first);
        let starting = Place { page: end, ..first };
        let inside =
            (self.active.range(first..starting)).map(|(first, (level, _))| (*first, *level));
        let meeting: BTreeSet<Piece> = inside.chain(before).collect();
        for (at, level) in meeting {
            let whole =
                at.page >= first.page && at.page.saturating_add(self.ladder.pages(level)) <= end;
            if whole && !gone {
                continue;
            }
            // What is left of it are base pages.
            self.active.remove(&at);
            if !whole {
                self.found.cost += self.setting.demotion();
            }
            self.retarget(at, level, |number| number);
            if let Some(candidate) = self.candidate((at, level)) {
                self.prefetch.demote(candidate);
                if let Some(capacity) = &mut self.capacity {
                    capacity.demote(candidate);
                }
            }
        }
        let numbers: Vec<u32> = self.kept.numbers.among(first, pages).collect();
        for number in numbers {
            self.recency.remove(self.unit_of[number as usize]);
        }
        self.break_at_the_ends(first, end);
        let tag = self.tag(first.space);
        if !gone {
            self.prefetch.shoot_down(tag, first.page, pages);
            if let Some(capacity) = &mut self.capacity {
                capacity.shoot_down(tag, first.page, pages);
            }
            return;
        }
        let range = (first, 0)..(starting, 0);
        let ending: Vec<Piece> = (self.found.noted.range(range))
            .map(|(piece, _)| *piece)
            .filter(|(at, level)| at.page + self.ladder.pages(*level) <= end)
            .collect();
        for piece in ending {
            self.settle(piece);
        }
        self.prefetch.forget(tag, first.page, pages);
        if let Some(capacity) = &mut self.capacity {
            capacity.forget(tag, first.page, pages);
        }
    }

    /// Pieces that lie partly in a range of which something is taken away would be base pages from then on, until one of them faults again.
    fn break_at_the_ends(&mut self, first: Place, end: u64) {
        for level in 1..=self.ladder.largest() {
            for page in [first.page, end.saturating_sub(1)] {
                let at = self.piece(Place { page, ..first }, level);
                let inside = at.page >= first.page
                    && at.page.saturating_add(self.ladder.pages(level)) <= end;
                if !inside {
                    self.settle((at, level));
                }
            }
        }
    }

    /// What a piece was charged so far is spared; it has to be covered anew to be charged more.
    fn settle(&mut self, piece: Piece) {
        let charge = self.charge(piece);
        if let Some(noted) = self.found.noted.get_mut(&piece)
            && noted.covered
        {
            noted.spared += charge.saturating_sub(noted.since);
            noted.covered = false;
        }
    }

    fn finish(mut self) -> Found {
        let all: Vec<Piece> = self.found.noted.keys().copied().collect();
        for piece in all {
            self.settle(piece);
        }
        let walks = self.found.walks.iter().zip(&self.setting.walk_cycles);
        self.found.cost += walks.map(|(walks, cycles)| walks * cycles).sum::<u64>();
        self.found
    }
}
