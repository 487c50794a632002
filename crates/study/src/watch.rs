//! Progress of long work, for the program that shows it.

use broadleaf_model::pool::AroundWorker;

/// The amount of work that a task has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A number of accesses.
    Accesses(u64),
    /// The replay of a trace with an index. Bytes of the trace measure its work, with accesses.
    Replay {
        /// The bytes of the trace.
        bytes: u64,
        /// Its accesses.
        accesses: u64,
    },
    /// A number of bytes to read, of a trace without an index.
    Bytes(u64),
    /// A number of runs of a program.
    Runs(u64),
    /// An amount that is not known beforehand.
    Unknown,
}

/// Receives the progress of a study. The command draws a bar; a library may ignore the progress.
pub trait Watch: std::fmt::Debug + Sync {
    /// Begins a task. The task ends when the returned value is dropped.
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task>;

    /// The function that the life of each worker of a replay is inside, if there is one.
    fn around_workers(&self) -> Option<AroundWorker> {
        None
    }

    /// Returns true if the study shall stop. A study asks many times a second, and then fails.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A task whose progress is watched.
pub trait Task {
    /// Sets the bytes read, written or replayed, and the accesses done, since the task began.
    fn set(&self, bytes: u64, accesses: u64);
}

/// Names the subject of the tasks of a part of a study: `comparing: linux`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubjectWatch<'a> {
    pub(crate) subject: &'a str,
    pub(crate) watch: &'a dyn Watch,
}

impl Watch for SubjectWatch<'_> {
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task> {
        self.watch
            .begin(&format!("{doing}: {}", self.subject), work)
    }

    fn around_workers(&self) -> Option<AroundWorker> {
        self.watch.around_workers()
    }

    fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }
}

/// Ignores all progress.
#[derive(Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&self, _: &str, _: Work) -> Box<dyn Task> {
        Box::new(Ignored)
    }
}

struct Ignored;

impl Task for Ignored {
    fn set(&self, _: u64, _: u64) {}
}
