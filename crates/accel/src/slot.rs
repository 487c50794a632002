//! A task cell. The first thread to claim the task runs it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The progress of a task.
enum TaskState<T> {
    /// No thread has claimed the task.
    Unclaimed(T),
    /// A thread runs the task, or has taken the value.
    Running,
    /// The task has finished.
    Done(T),
    /// The task has run in part, and more work can follow before the value is taken.
    Partly(T),
    /// The task panicked.
    Lost,
}

/// A value with a task to run on the value.
pub(crate) struct TaskCell<T> {
    state: Mutex<TaskState<T>>,
    finished: Condvar,
}

/// Marks the cell as lost if the task panics.
struct PanicGuard<'a, T>(&'a TaskCell<T>);

impl<T> Drop for PanicGuard<'_, T> {
    fn drop(&mut self) {
        *self.0.state() = TaskState::Lost;
        self.0.finished.notify_all();
    }
}

impl<T> TaskCell<T> {
    pub(crate) const fn new(it: T) -> Self {
        Self {
            state: Mutex::new(TaskState::Unclaimed(it)),
            finished: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, TaskState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the task if no thread has claimed it. Returns true if this call ran the task.
    pub(crate) fn work(&self, work: impl FnOnce(&mut T)) -> bool {
        let all = |it: &mut T| {
            work(it);
            false
        };
        self.work_on(all).is_some()
    }

    /// Works on the value, unless another thread does or no work is left. `work` returns true if
    /// more work can follow. The value can be taken in between. Returns the answer of `work`.
    pub(crate) fn work_on(&self, work: impl FnOnce(&mut T) -> bool) -> Option<bool> {
        let mut it = {
            let mut state = self.state();
            match std::mem::replace(&mut *state, TaskState::Running) {
                TaskState::Unclaimed(it) | TaskState::Partly(it) => it,
                other => {
                    *state = other;
                    return None;
                }
            }
        };
        let guard = PanicGuard(self);
        let more = work(&mut it);
        // From here on another thread may take the value, so the guard must not mark the cell.
        std::mem::forget(guard);
        *self.state() = match more {
            true => TaskState::Partly(it),
            false => TaskState::Done(it),
        };
        self.finished.notify_all();
        Some(more)
    }

    /// The value, if the task has finished.
    pub(crate) fn take(&self) -> Option<T> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, TaskState::Running) {
            TaskState::Done(it) | TaskState::Partly(it) => Some(it),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Makes a finished task unclaimed again if the value `wants` more work. Returns true if it
    /// did.
    pub(crate) fn resume(&self, wants: impl FnOnce(&T) -> bool) -> bool {
        let mut state = self.state();
        match std::mem::replace(&mut *state, TaskState::Running) {
            TaskState::Done(it) if wants(&it) => {
                *state = TaskState::Unclaimed(it);
                true
            }
            other => {
                *state = other;
                false
            }
        }
    }

    /// Waits until the thread that runs the task has finished.
    ///
    /// # Panics
    /// Panics if the task panicked.
    pub(crate) fn wait(&self) {
        let mut state = self.state();
        while matches!(*state, TaskState::Running) {
            let waited = self.finished.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        assert!(!matches!(*state, TaskState::Lost), "the task panicked");
    }

    /// Puts the value back after [`TaskCell::take`], as an unclaimed task.
    pub(crate) fn put(&self, it: T) {
        *self.state() = TaskState::Unclaimed(it);
    }
}

#[cfg(test)]
impl<T> TaskCell<T> {
    /// Returns true if the task has finished.
    pub(crate) fn is_done(&self) -> bool {
        matches!(*self.state(), TaskState::Done(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_first_thread_to_claim_a_task_runs_it() {
        let cell = TaskCell::new(1);
        assert_eq!(cell.take(), None, "the task has not run");
        assert!(cell.work(|it| *it += 1));
        assert!(!cell.work(|it| *it += 1), "the task ran already");
        cell.wait();
        assert_eq!(cell.take(), Some(2));
        assert!(!cell.work(|it| *it += 1), "the value was taken");
        cell.put(5);
        assert!(cell.work(|it| *it += 1));
        assert_eq!(cell.take(), Some(6));
    }

    /// Work in steps goes on until it says that it is done, and the value can be taken between two.
    #[test]
    fn a_value_can_be_taken_between_two_steps() {
        let cell = TaskCell::new(0);
        let step = |it: &mut i32| {
            *it += 1;
            *it % 3 != 0
        };
        assert_eq!(cell.work_on(step), Some(true));
        assert_eq!(cell.work_on(step), Some(true));
        assert_eq!(cell.take(), Some(2));
        assert_eq!(cell.work_on(step), None, "it was taken");
        cell.put(2);
        assert_eq!(cell.work_on(step), Some(false));
        assert_eq!(cell.work_on(step), None, "no work is left");
        assert!(!cell.resume(|_| false));
        assert_eq!(cell.work_on(step), None, "it wants no work");
        assert!(cell.resume(|it| *it == 3));
        assert!(!cell.resume(|_| true), "it is not finished");
        assert_eq!(cell.work_on(|_| false), Some(false));
        assert_eq!(cell.take(), Some(3));
    }

    /// A waiting thread must not block for ever on a task that panicked.
    #[test]
    fn a_panic_reaches_the_waiting_thread() {
        let cell = TaskCell::new(1);
        let failing = || cell.work(|_| panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
        assert_eq!(cell.take(), None);
        assert!(!cell.work(|_| ()));
        assert!(catch_unwind(AssertUnwindSafe(|| cell.wait())).is_err());
    }
}
