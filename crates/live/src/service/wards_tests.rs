//! Which process is looked at first.

use super::*;
use broadleaf_governor::Budgets;
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
