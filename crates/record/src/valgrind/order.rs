//! Which process of a recording is written before which: a parent's fork before its child, the child's first chunk before what the parent did
//! after the fork, and a program before the one that replaces it.
//!
//! Processes are read and written side by side. What waits here are the threads that write; the next chunks of the same process are made
//! meanwhile. Nothing waits for long: a fork is told when the child is heard of, whether its parent goes on or not, and the first chunk of a child
//! ends after a second at the latest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a child is waited for that has not announced itself. It does so before anything else, but for that it has to run.
const UNHEARD_OF: Duration = Duration::from_secs(5);
/// The longest wait for a process to end after its last record.
const ENDING: Duration = Duration::from_secs(5);

/// A fork, as the parent tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fork {
    /// No other of the recording has it.
    pub(super) number: u64,
    /// The child's process id.
    pub(super) child: u32,
}

/// What a chunk waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// This fork stands in the file, with everything that the parent did before it.
    Fork(u64),
    /// The first chunk of this fork's child does, or the child is over without one.
    Begun(u64),
    /// All of this process stands in the file.
    End(u32),
}

/// How far the file is, as far as others wait for it.
#[derive(Debug, Default)]
pub(super) struct Order {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reached: BTreeSet<Mark>,
    /// Process ids of children that announced themselves, by the number of their fork.
    children: BTreeMap<u64, u32>,
    /// How often it was looked for more of them.
    looks: u64,
    given_up: bool,
    /// The wait status of the first process, once that process has ended.
    status: Option<i32>,
}

impl Order {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A child announced itself. Who waits for it hears of it at the next [`looked`](Self::looked).
    pub(super) fn born(&self, fork: u64, child: u32) {
        self.state().children.insert(fork, child);
    }

    /// The child of a fork, if it announced itself.
    pub(super) fn child_of(&self, fork: u64) -> Option<u32> {
        self.state().children.get(&fork).copied()
    }

    /// The file is as far as this.
    pub(super) fn reach(&self, mark: Mark) {
        self.state().reached.insert(mark);
        self.changed.notify_all();
    }

    /// The first process has ended with this wait status.
    pub(super) fn ended(&self, status: i32) {
        self.state().status = Some(status);
        self.changed.notify_all();
    }

    /// Waits for the wait status of the first process. `None` if the recording fails, or if the
    /// process does not end in time.
    pub(super) fn wait_for_status(&self) -> Option<i32> {
        let waits = |state: &mut State| !state.given_up && state.status.is_none();
        let waited = self
            .changed
            .wait_timeout_while(self.state(), ENDING, waits)
            .unwrap_or_else(PoisonError::into_inner);
        waited.0.status
    }

    /// Something failed, and so does the recording: nobody waits any more, since what he waits for may never come.
    pub(super) fn give_up(&self) {
        self.state().given_up = true;
        self.changed.notify_all();
    }

    /// Waits until the file is as far as this.
    pub(super) fn wait_for(&self, mark: Mark) {
        let state = self.state();
        let wait = |state: &mut State| !state.given_up && !state.reached.contains(&mark);
        drop(self.changed.wait_while(state, wait));
    }

    /// All children that had announced themselves when this look at what was announced began are [`born`](Self::born).
    pub(super) fn looked(&self) {
        self.state().looks += 1;
        self.changed.notify_all();
    }

    /// Waits until the first chunk of a fork's child is in the file, if the child announces itself.
    pub(super) fn wait_for_child(&self, fork: Fork, is_running: impl Fn(u32) -> bool) {
        let since = Instant::now();
        let mut last_look = None;
        loop {
            let gone = !is_running(fork.child);
            let state = self.state();
            if state.given_up || state.children.contains_key(&fork.number) {
                break;
            }
            // It announced itself before it was gone or never will. The look that is under way may have begun before.
            let never = gone && state.looks >= *last_look.get_or_insert(state.looks + 2);
            if never || since.elapsed() >= UNHEARD_OF {
                return;
            }
            let tenth = Duration::from_millis(100);
            drop(self.changed.wait_timeout(state, tenth));
        }
        self.wait_for(Mark::Begun(fork.number));
    }

    /// Gives up when it is dropped before its [`Watch::well`], as where a thread panics.
    pub(super) const fn watch(&self) -> Watch<'_> {
        Watch {
            order: self,
            well: false,
        }
    }
}

/// See [`Order::watch`].
pub(super) struct Watch<'a> {
    order: &'a Order,
    well: bool,
}

impl Watch<'_> {
    /// All went well.
    pub(super) fn well(mut self) {
        self.well = true;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.well {
            self.order.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const FORK: Fork = Fork {
        number: 7,
        child: 70,
    };

    /// Runs `wait` beside `act`; whether it was still waiting when that was done, and ends then.
    fn waits(order: &Order, wait: impl FnOnce() + Send, act: impl FnOnce()) -> bool {
        thread::scope(|scope| {
            let waiting = scope.spawn(wait);
            thread::sleep(Duration::from_millis(50));
            let waited = !waiting.is_finished();
            act();
            waiting.join().unwrap();
            waited && !order.state().given_up
        })
    }

    #[test]
    fn a_child_that_announced_itself_is_waited_for_until_it_has_begun() {
        let order = Order::default();
        order.born(FORK.number, FORK.child);
        assert_eq!(order.child_of(FORK.number), Some(FORK.child));
        let begun = || order.reach(Mark::Begun(FORK.number));
        assert!(waits(
            &order,
            || order.wait_for_child(FORK, |_| false),
            begun
        ));
    }

    #[test]
    fn a_child_that_is_gone_is_looked_for_twice() {
        let order = Order::default();
        let looks = || (0..2).for_each(|_| order.looked());
        assert!(waits(
            &order,
            || order.wait_for_child(FORK, |_| false),
            looks
        ));
    }

    #[test]
    fn nobody_waits_where_the_recording_fails() {
        let order = Order::default();
        let fails = || drop(order.watch());
        assert!(!waits(&order, || order.wait_for(Mark::End(1)), fails));
        order.watch().well();
        order.wait_for_child(FORK, |_| true);
    }
}
