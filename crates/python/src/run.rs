//! A run of a study under Python: progress, signals, and exceptions that end it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use broadleaf_model::pool::AroundWorker;
use broadleaf_study::failure::Failure;
use broadleaf_study::sweep::{PassTally, TalliedPass};
use broadleaf_study::watch::{Task, Watch, Work};
use pyo3::prelude::*;

use crate::errors::exception;

/// The time between two looks at signals, and between two calls of a progress function.
const EVERY: Duration = Duration::from_millis(50);

/// The first exception of a run. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct FirstError(Arc<FirstErrorState>);

#[derive(Default)]
struct FirstErrorState {
    is_set: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl FirstError {
    /// Keeps an exception, unless there is one.
    pub(crate) fn set(&self, error: PyErr) {
        self.slot().get_or_insert(error);
        self.0.is_set.store(true, Ordering::Release);
    }

    /// Returns true if the run shall end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Acquire)
    }

    fn slot(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run of a study. It holds the function that receives the progress, if there is one.
pub(crate) struct Run {
    shown: Shown,
    error: FirstError,
    looked: Mutex<Instant>,
    sum: Option<Arc<PassSum>>,
}

impl Run {
    /// A run with this progress function: `progress(doing, done, total, unit)`.
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        let error = FirstError::default();
        Self {
            shown: Shown {
                progress: progress.map(Arc::new),
                error: error.clone(),
            },
            error,
            looked: Mutex::new(Instant::now()),
            sum: None,
        }
    }

    /// A run of several passes, whose progress is the accesses of all together. `total` is their
    /// number; 0 if it is not known.
    pub(crate) fn summed(progress: Option<Py<PyAny>>, total: u64) -> Self {
        let sum = PassSum {
            total: (total > 0).then_some(total),
            tally: PassTally::default(),
            last: Mutex::new(Instant::now()),
        };
        Self {
            sum: Some(Arc::new(sum)),
            ..Self::new(progress)
        }
    }

    /// The slot for an exception that ends the run.
    pub(crate) fn error(&self) -> &FirstError {
        &self.error
    }

    /// Does the work without the interpreter lock.
    ///
    /// # Errors
    /// The first exception of a signal, a policy or the progress function; otherwise the failure.
    pub(crate) fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| work(self));
        if let Some(error) = self.error.slot().take() {
            return Err(error);
        }
        done.map_err(|failure| exception(py, &failure))
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl Watch for Run {
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task> {
        if let Some(sum) = &self.sum {
            return Box::new(SummedTask {
                shown: self.shown.clone(),
                sum: Arc::clone(sum),
                pass: sum.tally.pass(work),
            });
        }
        let (total, unit) = match work {
            Work::Accesses(accesses) | Work::Replay { accesses, .. } => {
                (Some(accesses), "accesses")
            }
            Work::Bytes(count) => (Some(count), "bytes"),
            Work::Runs(count) => (Some(count), "runs"),
            Work::Unknown => (None, "bytes"),
        };
        let task = ShownTask {
            shown: self.shown.clone(),
            doing: doing.to_owned(),
            total,
            unit,
            last: Mutex::new((Instant::now(), 0)),
        };
        task.show(0);
        Box::new(task)
    }

    /// A thread that is known to the interpreter calls it several times faster. Other threads are
    /// made known for each call.
    fn around_workers(&self) -> Option<AroundWorker> {
        Some(Arc::new(|run| {
            Python::attach(|py| py.detach(run));
        }))
    }

    /// Only the interpreter's main thread sees signals. A look at any other time costs nothing.
    fn is_stopped(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() >= EVERY {
            *looked = Instant::now();
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                self.error.set(error);
            }
        }
        self.error.is_set()
    }
}

/// The function that receives the progress, and the slot for its exception.
#[derive(Clone)]
struct Shown {
    progress: Option<Arc<Py<PyAny>>>,
    error: FirstError,
}

impl Shown {
    fn show(&self, doing: &str, done: u64, total: Option<u64>, unit: &str) {
        let Some(progress) = &self.progress else {
            return;
        };
        if self.error.is_set() {
            return;
        }
        let call = |py: Python<'_>| progress.call1(py, (doing, done, total, unit));
        if let Err(error) = Python::attach(|py| call(py).map(drop)) {
            self.error.set(error);
        }
    }
}

/// A task whose progress a Python function receives.
struct ShownTask {
    shown: Shown,
    doing: String,
    total: Option<u64>,
    unit: &'static str,
    /// The time of the last call, and the progress since.
    last: Mutex<(Instant, u64)>,
}

impl ShownTask {
    fn show(&self, done: u64) {
        self.shown.show(&self.doing, done, self.total, self.unit);
    }
}

impl Task for ShownTask {
    fn set(&self, bytes: u64, accesses: u64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let done = match self.unit {
            "accesses" => accesses,
            "runs" => last.1 + 1,
            _ => bytes,
        };
        let is_due = last.0.elapsed() >= EVERY || self.unit == "runs";
        last.1 = done;
        if is_due {
            last.0 = Instant::now();
            drop(last);
            self.show(done);
        }
    }
}

impl Drop for ShownTask {
    fn drop(&mut self) {
        let (_, done) = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        self.show(done);
    }
}

/// The accesses of several passes together.
struct PassSum {
    total: Option<u64>,
    tally: PassTally,
    /// The time of the last call of the progress function.
    last: Mutex<Instant>,
}

/// One of several passes whose progress is shown together.
struct SummedTask {
    shown: Shown,
    sum: Arc<PassSum>,
    pass: TalliedPass,
}

impl Task for SummedTask {
    fn set(&self, _: u64, accesses: u64) {
        self.pass.set(accesses);
        let mut last = self.sum.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= EVERY {
            *last = Instant::now();
            drop(last);
            let tally = &self.sum.tally;
            let done = (self.sum.total).map_or_else(|| tally.done(), |total| tally.part_of(total));
            self.shown
                .show("replaying", done, self.sum.total, "accesses");
        }
    }
}
