//! Single cases, by hand.

use super::super::course::{Course, Event, Item, KeptCourse};
use super::super::lives::Lives;
use super::super::numbers::Numbers;
use super::super::recorder::Recorder;
use super::super::regions::FaultRegions;
use super::super::trial::{Spared, trial};
use super::{at, chosen, setting};
use broadleaf_charges::Ladder;
use broadleaf_memory::system::Appraisal;

/// A course of faults, each of a page with what is covered, and then of another event.
fn faults(faults: &[(u64, u32)], event: Option<Event>) -> KeptCourse {
    let (mut numbers, mut course) = (Numbers::new(), Course::default());
    for (page, covered) in faults {
        let number = numbers.of(at(0, *page));
        let appraisal = Appraisal {
            covered: *covered,
            ..Appraisal::default()
        };
        course.add(Item::Event(0, Event::Fault(number, appraisal)));
        course.add(Item::Missed(number));
    }
    if let Some(event) = event {
        course.add(Item::Event(1, event));
    }
    KeptCourse {
        numbers,
        course,
        regions: FaultRegions::default(),
    }
}

#[test]
fn a_superpage_takes_the_place_of_those_in_it() {
    let setting = setting(&[0, 1, 3], 8);
    let kept = faults(&[(2, 2), (0, 4), (5, 4), (7, 4)], None);
    let ladder = Ladder::new(&[0, 1, 3]).unwrap();
    let lives = Lives::of(&kept, &ladder);
    let chosen = chosen(&lives, &[(at(0, 2), 1), (at(0, 0), 2)]);
    let found = trial(&kept, &lives, &setting, &chosen, ladder, Spared::All);
    // One fault and one promotion for each. The larger superpage takes over the two pages of the
    // smaller one, and the page that faulted.
    let each = setting.costs.fault + setting.costs.promotion;
    let copied = setting.costs.copy(setting.base, 3);
    assert_eq!(found.walks, [0, 1, 1]);
    assert_eq!(found.cost, 2 * (each + 30) + copied);
}

#[test]
fn breaking_a_superpage_has_its_price() {
    let setting = setting(&[0, 3], 8);
    let ladder = Ladder::new(&[0, 3]).unwrap();
    let cost = |event| {
        let kept = faults(&[(9, 2)], event);
        let lives = Lives::of(&kept, &ladder);
        let chosen = chosen(&lives, &[(at(0, 8), 1)]);
        trial(&kept, &lives, &setting, &chosen, ladder, Spared::All).cost
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
