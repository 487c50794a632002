//! The order in which the processes of a recording are written to the trace.
//!
//! A parent's fork comes before its child. The child's first chunk comes before the parent's
//! actions after the fork. A program comes before the program that replaces it.
//!
//! Processes are read and written in parallel. Only the writing threads wait here, while the
//! reading threads make the next chunks. No wait is long. A fork is reported as soon as the child
//! announces itself. The first chunk of a child ends after a second at the latest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest wait for a child that has not announced itself. A child announces itself before
/// anything else, but it has to run first.
const UNHEARD_OF: Duration = Duration::from_secs(5);
/// The longest wait for a process to end after its last record.
const ENDING: Duration = Duration::from_secs(5);

/// A fork, as reported by the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fork {
    /// The number of the fork, unique in the recording.
    pub(super) number: u64,
    /// The child's process id.
    pub(super) child: u32,
}

/// An event that a chunk waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// The file holds this fork, with all earlier actions of the parent.
    Fork(u64),
    /// The file holds the first chunk of this fork's child, or the child ended without one.
    Begun(u64),
    /// The file holds all of this process.
    End(u32),
}

/// The progress of the file, as far as chunks wait for it.
#[derive(Debug, Default)]
pub(super) struct WriteOrder {
    state: Mutex<OrderState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct OrderState {
    reached: BTreeSet<Mark>,
    /// Process ids of children that announced themselves, by the number of their fork.
    children: BTreeMap<u64, u32>,
    /// The number of searches for announced processes.
    looks: u64,
    given_up: bool,
    /// The wait status of the first process, once that process has ended.
    status: Option<i32>,
}

impl WriteOrder {
    fn state(&self) -> MutexGuard<'_, OrderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a child announced itself. Waiting threads notice the child after the next
    /// [`looked`](Self::looked).
    pub(super) fn born(&self, fork: u64, child: u32) {
        self.state().children.insert(fork, child);
    }

    /// Returns the child of a fork, if it announced itself.
    pub(super) fn child_of(&self, fork: u64) -> Option<u32> {
        self.state().children.get(&fork).copied()
    }

    /// Notes that the file has reached a mark.
    pub(super) fn reach(&self, mark: Mark) {
        self.state().reached.insert(mark);
        self.changed.notify_all();
    }

    /// Notes that the first process has ended with this wait status.
    pub(super) fn ended(&self, status: i32) {
        self.state().status = Some(status);
        self.changed.notify_all();
    }

    /// Waits for the wait status of the first process. Returns `None` if the recording fails, or if
    /// the process does not end in time.
    pub(super) fn wait_for_status(&self) -> Option<i32> {
        let waits = |state: &mut OrderState| !state.given_up && state.status.is_none();
        let waited = self
            .changed
            .wait_timeout_while(self.state(), ENDING, waits)
            .unwrap_or_else(PoisonError::into_inner);
        waited.0.status
    }

    /// Notes a failure of the recording. All waits end, because their marks may never come.
    pub(super) fn give_up(&self) {
        self.state().given_up = true;
        self.changed.notify_all();
    }

    /// Waits until the file has reached a mark.
    pub(super) fn wait_for(&self, mark: Mark) {
        let state = self.state();
        let wait = |state: &mut OrderState| !state.given_up && !state.reached.contains(&mark);
        drop(self.changed.wait_while(state, wait));
    }

    /// Notes the end of a search. All children that had announced themselves before the search are
    /// [`born`](Self::born).
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
            // The child announced itself before it was gone, or it never will. The present search
            // may have begun before.
            let never = gone && state.looks >= *last_look.get_or_insert(state.looks + 2);
            if never || since.elapsed() >= UNHEARD_OF {
                return;
            }
            let tenth = Duration::from_millis(100);
            drop(self.changed.wait_timeout(state, tenth));
        }
        self.wait_for(Mark::Begun(fork.number));
    }

    /// Returns a guard. The guard gives up if it is dropped before [`FailureGuard::well`], for
    /// example in a panic.
    pub(super) const fn watch(&self) -> FailureGuard<'_> {
        FailureGuard {
            order: self,
            well: false,
        }
    }
}

/// A guard that makes the recording fail with its thread. See [`WriteOrder::watch`].
pub(super) struct FailureGuard<'a> {
    order: &'a WriteOrder,
    well: bool,
}

impl FailureGuard<'_> {
    /// Notes that all went well.
    pub(super) fn well(mut self) {
        self.well = true;
    }
}

impl Drop for FailureGuard<'_> {
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

    /// Runs `wait` in parallel with `act`. Returns true if `wait` was still waiting before `act`,
    /// and ended after it.
    fn waits(order: &WriteOrder, wait: impl FnOnce() + Send, act: impl FnOnce()) -> bool {
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
        let order = WriteOrder::default();
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
        let order = WriteOrder::default();
        let looks = || (0..2).for_each(|_| order.looked());
        assert!(waits(
            &order,
            || order.wait_for_child(FORK, |_| false),
            looks
        ));
    }

    #[test]
    fn no_thread_waits_if_the_recording_fails() {
        let order = WriteOrder::default();
        let fails = || drop(order.watch());
        assert!(!waits(&order, || order.wait_for(Mark::End(1)), fails));
        order.watch().well();
        order.wait_for_child(FORK, |_| true);
    }
}
