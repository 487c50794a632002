//! Which process is looked at first, and measurements of use.

use super::*;
use broadleaf_governor::{Budgets, HeatMeter, HeatSource};
use std::cell::Cell;
use std::process::{Child, Command, Stdio};

/// A program that waits, and ends with the test.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        let mut sleep = Command::new("sleep");
        Self(sleep.arg("1000").stdin(Stdio::null()).spawn().unwrap())
    }

    fn picked(&self) -> PickedProcess {
        PickedProcess {
            id: Linux::new().process(self.0.id()).unwrap(),
            command: "sleep".to_owned(),
            uid: None,
            line: 1,
            fate: Fate::Governed(Care {
                policy: "pop-256".to_owned(),
                budgets: Budgets::DEFAULT,
            }),
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn looks_because_of_a_shortage_wait_for_no_budget_and_use_none() {
    let sleepers = [Sleeper::start(), Sleeper::start()];
    let mut found: Vec<_> = sleepers.iter().map(Sleeper::picked).collect();
    found.sort_by_key(|found| found.id);
    let began = Instant::now();
    let mut wards = Wards::new(true);
    wards.follow(&found, began).unwrap();
    // Both are due, but the budget is used up.
    let free = began + Duration::from_mins(50);
    assert_eq!(wards.next(free).map(|(time, _)| time.begins), Some(free));
    let second = wards.governed[1].governor.ward().budgets() as *const Budgets;
    wards.wake_at_once(began, |ward| std::ptr::eq(ward.budgets(), second));
    assert_eq!(wards.next(free), Some((DueTime::at(began), 1)));
    assert_eq!(wards.tick(1), Duration::ZERO);
    assert_eq!(wards.next(free).map(|(time, _)| time.begins), Some(free));
    // An ordinary look uses the budget.
    assert!(wards.tick(0) > Duration::ZERO);
    // A process that rests is woken, and looked at now.
    let later = began + Duration::from_secs(1);
    wards.governed[0].due = later + Duration::from_secs(9);
    wards.governed[1].due = later + Duration::from_secs(9);
    wards.wake_at_once(later, |_| true);
    assert_eq!(wards.next(free).map(|(time, _)| time.begins), Some(later));
}

/// A process whose use could not be measured at first is measured once a source works.
#[test]
fn use_is_tried_again_once_a_minute_and_measured_for_all_processes() {
    thread_local! {
        static TRIALS: Cell<u32> = const { Cell::new(0) };
    }
    let sleepers = [Sleeper::start(), Sleeper::start()];
    let mut found: Vec<_> = sleepers.iter().map(Sleeper::picked).collect();
    for found in &mut found {
        found.fate = Fate::Governed(Care {
            policy: "hawkeye".to_owned(),
            budgets: Budgets::DEFAULT,
        });
    }
    found.sort_by_key(|found| found.id);
    let began = Instant::now();
    let mut wards = Wards::new(true);
    wards.start_heat = || {
        TRIALS.set(TRIALS.get() + 1);
        Err("no source".to_owned())
    };
    wards.follow(&found[..1], began).unwrap();
    // A new process causes no attempt of its own.
    wards.follow(&found, began + TRY_AGAIN / 2).unwrap();
    assert_eq!(TRIALS.get(), 1);
    wards.follow(&found, began + TRY_AGAIN).unwrap();
    assert_eq!(TRIALS.get(), 2);
    assert!(!wards.measures_use());
    wards.start_heat = || {
        let sampler = HeatSampler::new(HeatMeter::default(), vec![HeatSource::Cooling], |_, _| {});
        Ok(Arc::new(sampler))
    };
    wards.follow(&found, began + TRY_AGAIN * 2).unwrap();
    // Each governor has the sampler.
    assert_eq!(wards.heat.as_ref().map(Arc::strong_count), Some(3));
    for found in &mut found {
        found.fate = Fate::Ignored;
    }
    wards.follow(&found, began + TRY_AGAIN * 3).unwrap();
    assert!(!wards.measures_use());
}
