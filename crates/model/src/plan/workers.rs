//! The workers of a plan.

use super::Plan;
use crate::pool::{AroundWorker, Pool};

impl Plan {
    /// Lets each worker live inside a function, which may prepare its thread. No result depends on
    /// it. A policy in another language may need such a thread.
    pub fn around_workers(mut self, around: Option<AroundWorker>) -> Self {
        self.around_workers = around;
        self
    }

    /// Makes the pool of the plan's threads.
    ///
    /// # Errors
    /// Returns the system's message if a thread cannot start.
    pub fn pool(&self) -> Result<Pool, String> {
        Pool::within(self.threads, self.around_workers.as_ref())
    }
}
