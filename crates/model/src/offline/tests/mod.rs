//! Tests of the recorder and of trials. References that a course leaves out change no result under
//! any superpages. Trials miss as often as a naive LRU list.

mod cases;
mod script;

use super::course::{Event, Item, KeptCourse};
use super::lives::Lives;
use super::trial::{LadderPiece, Spared, TrialResult, trial};
use super::{Chosen, OfflineSetting};
use broadleaf_charges::Ladder;
use broadleaf_memory::system::{Costs, Place};
use broadleaf_policy::{Cycles, OfflineSearch};
use broadleaf_units::{PageSize, PageSizes, SpaceId};
use script::RecordedScript;
use std::collections::BTreeMap;

fn setting(orders: &[u8], entries: usize) -> OfflineSetting {
    OfflineSetting {
        search: OfflineSearch {
            cycles: Cycles::All,
            one_by_one: false,
        },
        base: PageSize::SIZE_4K,
        sizes: PageSizes::new(orders).unwrap(),
        entries,
        walk_cycles: vec![30; orders.len()],
        costs: Costs::default(),
        by_range: false,
    }
}

fn at(space: u32, page: u64) -> Place {
    let space = SpaceId(space);
    Place { space, page }
}

/// All lives of some pieces.
fn chosen(lives: &Lives, pieces: &[LadderPiece]) -> Chosen {
    let all = lives.all().map(|(life, about)| (about.piece, life));
    all.filter(|(piece, _)| pieces.contains(piece))
        .map(|((first, level), life)| (first, level, life))
        .collect()
}

/// Returns true if two ranges of pages overlap.
fn meets((at, pages): (Place, u64), (other, of): (Place, u64)) -> bool {
    at.space == other.space
        && at.page < other.page.saturating_add(of)
        && other.page < at.page.saturating_add(pages)
}

/// A TLB that is a list, the newest in front, under pieces that are chosen in all their lives.
struct NaiveOffline<'a> {
    kept: &'a KeptCourse,
    ladder: &'a Ladder,
    entries: usize,
    chosen: &'a [LadderPiece],
    walks: Vec<u64>,
    active: BTreeMap<Place, usize>,
    tlb: Vec<LadderPiece>,
}

impl NaiveOffline<'_> {
    fn range(&self, (at, level): LadderPiece) -> (Place, u64) {
        (at, self.ladder.pages(level))
    }

    fn around(&self, place: Place) -> Option<LadderPiece> {
        let pieces = self.active.iter().map(|(at, level)| (*at, *level));
        pieces
            .into_iter()
            .find(|piece| meets(self.range(*piece), (place, 1)))
    }

    fn refer(&mut self, place: Place) {
        let unit = self.around(place).unwrap_or((place, 0));
        self.walks[unit.1] += u64::from(!self.tlb.contains(&unit));
        self.tlb.retain(|other| *other != unit);
        self.tlb.insert(0, unit);
        self.tlb.truncate(self.entries);
    }

    fn chance(&mut self, place: Place, covered: u32) {
        let inside = self.around(place).map_or(0, |(_, level)| level);
        let asked = self.chosen.iter().copied().find(|piece| {
            let around = meets(self.range(*piece), (place, 1));
            around && piece.1 > inside && covered >> piece.1 & 1 != 0
        });
        if let Some(piece) = asked {
            let range = self.range(piece);
            let of = |ladder: &Ladder, (at, level): LadderPiece| (at, ladder.pages(level));
            self.tlb
                .retain(|unit| !meets(of(self.ladder, *unit), range));
            let ladder = self.ladder;
            self.active
                .retain(|at, level| !meets(of(ladder, (*at, *level)), range));
            self.active.insert(piece.0, piece.1);
        }
    }

    /// Removes a range. A piece that the range partly covers becomes pieces of the next smaller
    /// size.
    fn remove(&mut self, first: Place, pages: u64, gone: bool) {
        let range = (first, pages);
        loop {
            let met = self
                .active
                .iter()
                .map(|(at, level)| (*at, *level))
                .find(|piece| {
                    let (at, own) = self.range(*piece);
                    let inside =
                        at.page >= first.page && at.page + own <= first.page.saturating_add(pages);
                    meets((at, own), range) && (gone || !inside)
                });
            let Some((at, level)) = met else { break };
            self.active.remove(&at);
            self.tlb.retain(|unit| *unit != (at, level));
            let (_, own) = self.range((at, level));
            let inside = at.page >= first.page && at.page + own <= first.page.saturating_add(pages);
            if level > 1 && !inside {
                let each = self.ladder.pages(level - 1);
                for page in (at.page..at.page + own).step_by(each as usize) {
                    self.active.insert(Place { page, ..at }, level - 1);
                }
            }
        }
        let ladder = self.ladder;
        self.tlb
            .retain(|(at, level)| !meets((*at, ladder.pages(*level)), range));
    }

    fn walks(mut self) -> Vec<u64> {
        for item in self.kept.course.items() {
            match item {
                Item::Used(number) | Item::Missed(number) => {
                    self.refer(self.kept.numbers.place(number));
                }
                Item::Event(_, Event::Fault(number, appraisal)) => {
                    let place = self.kept.numbers.place(number);
                    self.chance(place, appraisal.covered);
                }
                Item::Event(_, Event::Chance(number, appraisal)) => {
                    let place = self.kept.numbers.place(number);
                    self.chance(place, appraisal.covered);
                }
                Item::Event(_, Event::ShotDown(first, pages)) => {
                    self.remove(first, pages, false);
                }
                Item::Event(_, Event::Moved(..)) => {}
                Item::Event(_, Event::Gone(first, pages)) => self.remove(first, pages, true),
            }
        }
        self.walks
    }
}

#[test]
fn what_is_left_out_changes_nothing() {
    let mut left_out = 0;
    for seed in 0..600 {
        let (mut script, setting) = RecordedScript::new(seed);
        let (pieces, ladder) = (script.chosen(), script.ladder);
        script.play();
        let (kept, all) = script.kept();
        left_out += u64::from(kept.course.size() * 2 < all.course.size());
        let lives = Lives::of(&all, &ladder);
        let chosen = chosen(&lives, &pieces);
        assert!(
            lives.all().eq(Lives::of(&kept, &ladder).all()),
            "seed {seed}"
        );
        for charges in [Spared::All, Spared::Own] {
            let [found, expected]: [TrialResult; 2] =
                [&kept, &all].map(|kept| trial(kept, &lives, &setting, &chosen, ladder, charges));
            let naive = NaiveOffline {
                kept: &all,
                ladder: &ladder,
                entries: setting.entries,
                chosen: &pieces,
                walks: vec![0; ladder.largest() + 1],
                active: BTreeMap::new(),
                tlb: Vec::new(),
            };
            assert_eq!(expected.walks, naive.walks(), "seed {seed}");
            assert_eq!(found.walks, expected.walks, "seed {seed}");
            assert_eq!(found.cost, expected.cost, "seed {seed}");
            assert!(found.made.keys().eq(expected.made.keys()), "seed {seed}");
            assert!(found.spared == expected.spared, "seed {seed}");
            assert!(found.prices == expected.prices, "seed {seed}");
        }
    }
    assert!(left_out > 10, "{left_out}");
}
