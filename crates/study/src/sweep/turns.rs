//! The turns of a sweep's tasks, and the threads of each.
//!
//! Tasks that run side by side use all threads only while they run. So a task that is a large part
//! of the work that is left has more threads than one.

use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The turns of tasks.
#[derive(Debug)]
pub(super) struct Turns {
    /// The threads of all tasks together.
    threads: u128,
    /// The work of each task, in the order in which tasks begin.
    works: Vec<u128>,
    state: Mutex<TurnState>,
    freed: Condvar,
}

#[derive(Debug)]
struct TurnState {
    /// The threads that no task has.
    free: usize,
    /// The tasks that have begun.
    begun: usize,
    /// The work of the tasks that have not ended.
    left: u128,
}

/// A task that has begun. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct TaskTurn<'a> {
    turns: &'a Turns,
    /// The place of the task.
    pub(super) task: usize,
    /// The threads of the task.
    pub(super) threads: NonZero<usize>,
}

impl Turns {
    /// The turns of tasks with this work each, in the order in which they begin. Work that is not
    /// known, 0, counts as the most that is known.
    pub(super) fn new(threads: NonZero<usize>, works: impl IntoIterator<Item = u64>) -> Self {
        let mut works: Vec<u128> = works.into_iter().map(u128::from).collect();
        let most = works.iter().copied().max().unwrap_or(0).max(1);
        works
            .iter_mut()
            .filter(|work| **work == 0)
            .for_each(|work| *work = most);
        Self {
            state: Mutex::new(TurnState {
                free: threads.get(),
                begun: 0,
                left: works.iter().sum(),
            }),
            threads: threads.get() as u128,
            works,
            freed: Condvar::new(),
        }
    }

    /// Waits until a thread is free, and begins the next task. `None` if all tasks have begun.
    pub(super) fn next(&self) -> Option<TaskTurn<'_>> {
        let mut state = self.lock();
        while state.free == 0 && state.begun < self.works.len() {
            let freed = self.freed.wait(state);
            state = freed.unwrap_or_else(PoisonError::into_inner);
        }
        let task = state.begun;
        let (work, later) = self.works.get(task..)?.split_first()?;
        // A part of the work that is left, in whole threads.
        let part =
            |work: u128| ((2 * self.threads * work + state.left) / (2 * state.left)) as usize;
        // Later tasks whose part is a thread need not wait for one.
        let kept = later.iter().filter(|work| part(**work) > 0).count();
        let most = state.free - kept.min(state.free - 1);
        let threads = part(*work).clamp(1, most);
        state.begun += 1;
        state.free -= threads;
        Some(TaskTurn {
            turns: self,
            task,
            threads: NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN),
        })
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TaskTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        state.free += self.threads.get();
        state.left -= self.turns.works[self.task];
        drop(state);
        self.turns.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(threads: usize, works: &[u64]) -> Turns {
        let threads = NonZero::new(threads).expect("threads");
        Turns::new(threads, works.iter().copied())
    }

    fn begun(turn: &TaskTurn<'_>) -> (usize, usize) {
        (turn.task, turn.threads.get())
    }

    /// The threads of the tasks that run side by side at first.
    fn first_threads(threads: usize, works: &[u64]) -> Vec<usize> {
        let all = turns(threads, works);
        let mut running = Vec::new();
        while all.lock().free > 0
            && let Some(turn) = all.next()
        {
            running.push(turn);
        }
        running.iter().map(|turn| turn.threads.get()).collect()
    }

    #[test]
    fn threads_go_by_the_part_of_the_work() {
        for (threads, works, expected) in [
            (2, &[7, 7, 7, 7][..], &[1, 1][..]),
            (4, &[70, 10, 10, 10], &[3, 1]),
            // A task whose part is a thread does not wait.
            (8, &[7, 7, 7, 7, 7], &[2, 2, 2, 1, 1]),
            (8, &[90, 10], &[7, 1]),
            (2, &[90, 10], &[2]),
            (2, &[60, 40], &[1, 1]),
            // Without knowledge, all are alike.
            (16, &[0], &[16]),
            (4, &[0, 0], &[2, 2]),
            (4, &[5, 0], &[2, 2]),
            (3, &[u64::MAX, u64::MAX], &[2, 1]),
        ] {
            assert_eq!(first_threads(threads, works), expected, "{works:?}");
        }
        assert!(turns(2, &[]).next().is_none());
    }

    #[test]
    fn the_last_task_has_the_threads_of_those_that_ended() {
        let turns = turns(2, &[7, 7, 7]);
        let first = turns.next().expect("a task");
        let second = turns.next().expect("a task");
        drop((first, second));
        assert_eq!(begun(&turns.next().expect("a task")), (2, 2));
        assert!(turns.next().is_none());
    }

    #[test]
    fn a_task_waits_for_a_thread() {
        let turns = turns(2, &[90, 10]);
        let long = turns.next().expect("a task");
        assert_eq!(begun(&long), (0, 2));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.next().map(|turn| begun(&turn)));
            drop(long);
            assert_eq!(waiting.join().expect("it ends"), Some((1, 2)));
        });
        assert!(turns.next().is_none());
    }
}
