//! A course under chosen superpages: its cost, and the misses that other superpages would spare.

mod breaking;
mod making;
mod residence;

use super::course::{Event, Item, KeptCourse};
use super::lives::{LifeId, Lives};
use super::recency::{Recency, Used};
use super::{Chosen, OfflineSetting};
use broadleaf_charges::{Candidate, CapacityCharges, Ladder, PrefetchCharges};
use broadleaf_memory::system::Place;
use broadleaf_units::{Asid, SpaceId};
use residence::Residence;
use std::collections::BTreeMap;

/// A piece: its first page and its level.
pub(super) type LadderPiece = (Place, usize);

/// A piece that could be a superpage now.
#[derive(Clone, Copy, Debug)]
struct Open {
    life: LifeId,
    /// The charges of the piece when it could first become a superpage.
    since: u64,
}

/// The result of a trial.
#[derive(Clone, Debug, Default)]
pub(super) struct TrialResult {
    /// The cost of the course, in cycles.
    pub(super) cost: u64,
    /// Walks, by level.
    pub(super) walks: Vec<u64>,
    /// Lives in which a piece was no superpage, and lay in none, each with the misses that the
    /// superpage would have spared.
    pub(super) spared: BTreeMap<LifeId, u64>,
    /// The net price of a promotion at the first chance of each life in this trial
    /// ([`Lives::price`]).
    pub(super) prices: BTreeMap<LifeId, i128>,
    /// The charges of each piece that is no superpage at the end: its level, prefetch charges and
    /// capacity charges; where all misses are counted.
    pub(super) left: Vec<(usize, u64, u64)>,
    /// The chosen lives in which a piece became a superpage, each with the number of misses in base
    /// pages that hit the superpage.
    pub(super) made: BTreeMap<LifeId, u64>,
}

/// A translation.
#[derive(Clone, Copy, Debug)]
struct Unit {
    tag: Asid,
    first: u64,
    level: usize,
    /// The chosen life that a superpage comes from.
    life: Option<LifeId>,
}

/// The misses that a trial counts as spared by a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spared {
    /// Misses of the piece's own pages: most of them, and soon counted.
    Own,
    /// Misses of other pages as well, for which the piece leaves room.
    All,
}

struct Trial<'a> {
    kept: &'a KeptCourse,
    lives: &'a Lives,
    /// The time of the current event.
    now: u64,
    setting: &'a OfflineSetting,
    chosen: &'a Chosen,
    ladder: Ladder,
    tags: BTreeMap<SpaceId, Asid>,
    /// The translations: first those of base pages, by their numbers, then those of superpages.
    units: Vec<Unit>,
    /// The index of each page's translation in `units`.
    unit_of: Vec<u32>,
    /// The current superpages by first page, each with its level and its unit.
    active: BTreeMap<Place, (usize, u32)>,
    residence: Residence,
    recency: Recency,
    prefetch: PrefetchCharges,
    /// `None` if the trial counts own misses alone.
    capacity: Option<CapacityCharges>,
    /// Pieces that could be superpages and are not.
    open: BTreeMap<LadderPiece, Open>,
    found: TrialResult,
}

/// Returns the results of a course with superpages in the chosen lives. A piece is promoted at the
/// first fault or chance of its life.
pub(super) fn trial(
    kept: &KeptCourse,
    lives: &Lives,
    setting: &OfflineSetting,
    chosen: &Chosen,
    ladder: Ladder,
    charges: Spared,
) -> TrialResult {
    let mut trial = Trial {
        kept,
        lives,
        now: 0,
        setting,
        chosen,
        ladder,
        tags: BTreeMap::new(),
        units: Vec::new(),
        unit_of: (0..kept.numbers.len() as u32).collect(),
        active: BTreeMap::new(),
        residence: Residence::new(ladder),
        recency: Recency::new(setting.entries),
        prefetch: PrefetchCharges::new(ladder),
        capacity: (charges == Spared::All).then(|| CapacityCharges::new(ladder, setting.entries)),
        open: BTreeMap::new(),
        found: TrialResult {
            walks: vec![0; ladder.largest() + 1],
            ..TrialResult::default()
        },
    };
    trial.units = (0..kept.numbers.len() as u32)
        .map(|number| {
            let at = kept.numbers.place(number);
            trial.unit(at, 0, None)
        })
        .collect();
    for item in kept.course.items() {
        match item {
            Item::Used(number) => trial.refer(number, false),
            Item::Missed(number) => trial.refer(number, true),
            Item::Event(now, event) => {
                trial.now = now;
                trial.event(&event);
            }
        }
    }
    trial.finish()
}

/// Returns the result of a course with base pages alone.
pub(super) fn in_base_pages(kept: &KeptCourse, setting: &OfflineSetting) -> TrialResult {
    let walk_cycles = setting.walk_cycles.first().copied().unwrap_or(0);
    let mut found = TrialResult {
        walks: vec![0],
        ..TrialResult::default()
    };
    for item in kept.course.items() {
        match item {
            Item::Missed(_) => {
                found.walks[0] += 1;
                found.cost += walk_cycles;
            }
            Item::Event(_, Event::Fault(_, appraisal)) => {
                found.cost += setting.fault(appraisal.page_cycles);
            }
            Item::Used(_) | Item::Event(..) => {}
        }
    }
    found
}

impl Trial<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Fault(number, appraisal) => self.fault(*number, appraisal),
            Event::Chance(number, appraisal) => {
                self.chance(*number, appraisal, false);
            }
            Event::Moved(first, pages, to) => self.residence.relocate(*first, *pages, *to),
            Event::ShotDown(first, pages) => self.removed(*first, *pages, false),
            Event::Gone(first, pages) => self.removed(*first, *pages, true),
        }
    }

    fn tag(&mut self, space: SpaceId) -> Asid {
        let number = self.tags.len() % Asid::COUNT;
        let new = || Asid::new(number).unwrap_or_default();
        *self.tags.entry(space).or_insert_with(new)
    }

    fn unit(&mut self, at: Place, level: usize, life: Option<LifeId>) -> Unit {
        Unit {
            tag: self.tag(at.space),
            first: at.page,
            level,
            life,
        }
    }

    fn candidate(&self, (first, level): LadderPiece) -> Option<Candidate> {
        Some(Candidate {
            tag: *self.tags.get(&first.space)?,
            first: first.page,
            level,
        })
    }

    #[inline]
    fn refer(&mut self, number: u32, missed: bool) {
        let unit = self.unit_of[number as usize];
        let Unit {
            tag,
            first,
            level,
            life,
        } = self.units[unit as usize];
        match self.recency.use_it(unit) {
            Used::Held => {
                if missed && let Some(life) = life {
                    *self.found.made.entry(life).or_default() += 1;
                }
                if let Some(capacity) = &mut self.capacity {
                    capacity.touch(tag, first, level);
                }
            }
            Used::Missed(gone) => {
                self.found.walks[level] += 1;
                // The evicted entry was in the TLB at the miss.
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
    fn around(&self, at: Place) -> Option<LadderPiece> {
        let (first, (level, _)) = self.active.range(..=at).next_back()?;
        let end = first.page + self.ladder.pages(*level);
        (first.space == at.space && at.page < end).then_some((*first, *level))
    }

    fn piece(&self, at: Place, level: usize) -> Place {
        let page = self.ladder.first_of(level, at.page);
        Place { page, ..at }
    }

    fn charge(&self, piece: LadderPiece) -> u64 {
        self.candidate(piece).map_or(0, |candidate| {
            let capacity = self.capacity.as_ref();
            self.prefetch.charge(candidate)
                + capacity.map_or(0, |charges| charges.charge(candidate))
        })
    }

    /// Changes the translations of a piece's pages. The old ones leave the TLB.
    fn retarget(&mut self, first: Place, level: usize, by: impl Fn(u32) -> u32) {
        let numbers: Vec<u32> =
            (self.kept.numbers.among(first, self.ladder.pages(level))).collect();
        for number in numbers {
            let unit = &mut self.unit_of[number as usize];
            self.recency.remove(*unit);
            *unit = by(number);
        }
    }

    fn finish(mut self) -> TrialResult {
        let all: Vec<LadderPiece> = self.open.keys().copied().collect();
        if let Some(capacity) = &self.capacity {
            let charges = all.iter().filter_map(|piece| {
                let candidate = self.candidate(*piece)?;
                let [held, kept] = [self.prefetch.charge(candidate), capacity.charge(candidate)];
                Some((piece.1, held, kept))
            });
            self.found.left = charges.collect();
        }
        for piece in all {
            self.settle(piece);
        }
        let walks = self.found.walks.iter().zip(&self.setting.walk_cycles);
        self.found.cost += walks.map(|(walks, cycles)| walks * cycles).sum::<u64>();
        self.found
    }
}
