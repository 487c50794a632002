//! Whose turn it is: one thread looks for processes and at each of them, whichever is due first.

use std::time::{Duration, Instant};

use broadleaf_governor::service::ServiceRules;
use broadleaf_governor::{Kernel, Linux};
use broadleaf_report::View;

use super::finding::Finder;
use super::metrics::Metrics;
use super::summary;
use super::together::Together;
use super::wards::Wards;
use crate::interrupt::{Wish, Wishes};
use broadleaf_study::failure::Failure;

/// How often the figures for Prometheus are written anew at most.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// The time between two looks at the machine's memory while processes rest.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// The next task of the service.
#[derive(Clone, Copy)]
enum Next {
    /// A look at the process at this place.
    Look(usize),
    /// Looking for processes.
    Find,
    /// A look at the machine.
    Watch,
}

/// A service at work.
pub(super) struct Turn {
    rules: ServiceRules,
    dry: bool,
    kernel: Linux,
    finder: Finder,
    wards: Wards,
    together: Together,
    /// When processes are looked for next.
    find: Instant,
    /// When the machine's memory is looked at next.
    watch: Instant,
    /// Processor time that looking for processes took.
    finding: Duration,
    metrics: Option<Metrics>,
    published: Option<Instant>,
}

impl Turn {
    pub(super) fn new(rules: ServiceRules, dry: bool, metrics: Option<Metrics>) -> Self {
        let now = Instant::now();
        Self {
            dry,
            kernel: Linux::new(),
            finder: Finder::new(),
            wards: Wards::new(dry),
            together: Together::new(rules.cpu_together, now),
            find: now,
            watch: now,
            finding: Duration::ZERO,
            metrics,
            published: None,
            rules,
        }
    }

    /// Goes on until somebody wishes that it ends.
    pub(super) fn go_on(
        &mut self,
        wishes: &Wishes,
        read: impl Fn() -> Result<ServiceRules, Failure>,
    ) -> Result<(), Failure> {
        loop {
            let (due, next) = self.next();
            let from = due.max(self.together.free_from());
            match wishes.wait(from.saturating_duration_since(Instant::now())) {
                Some(Wish::End) => return Ok(()),
                Some(Wish::Reload) => self.reload(read()),
                None => {
                    let began = Instant::now();
                    let looking = match next {
                        Next::Look(at) => self.wards.tick(at),
                        Next::Find => self.look_for_processes(began)?,
                        Next::Watch => self.watch(began),
                    };
                    self.together.looked(began, looking);
                    self.publish(began);
                }
            }
        }
    }

    /// The task that is due first, and its time.
    fn next(&self) -> (Instant, Next) {
        let look = self.wards.next().map(|(due, at)| (due, Next::Look(at)));
        let others = [(self.find, Next::Find), (self.watch, Next::Watch)];
        let all = look.into_iter().chain(others);
        all.min_by_key(|(due, _)| *due).unwrap_or(others[0])
    }

    /// Has processes looked at if memory is short.
    fn watch(&mut self, now: Instant) -> Duration {
        let before = self.kernel.own_cpu();
        self.wards.wake_if_short(now);
        self.watch = now + WATCH_EVERY;
        self.kernel.own_cpu().saturating_sub(before)
    }

    fn reload(&mut self, read: Result<ServiceRules, Failure>) {
        match read {
            Ok(rules) => {
                let count = rules.rules.len();
                let s = if count == 1 { "" } else { "s" };
                say!("the file was read again: {count} rule{s}");
                self.together.set(rules.cpu_together);
                self.rules = rules;
                self.find = Instant::now();
            }
            Err(failure) => {
                say!("{failure}\nbroadleaf: the previous rules stay in force");
            }
        }
    }

    fn look_for_processes(&mut self, began: Instant) -> Result<Duration, Failure> {
        let before = self.kernel.own_cpu();
        let found = self.finder.find(&self.rules, began);
        self.wards.follow(&found, began)?;
        self.wards.wake(self.finder.living(), began);
        let took = self.kernel.own_cpu().saturating_sub(before);
        self.finding += took;
        self.find = began + self.rules.discover;
        Ok(took)
    }

    fn publish(&mut self, now: Instant) {
        let Some(metrics) = &self.metrics else {
            return;
        };
        let is_fresh = |at: Instant| now.duration_since(at) < PUBLISH_EVERY;
        if self.published.is_some_and(is_fresh) {
            return;
        }
        self.published = Some(now);
        let machine = self.wards.machine();
        metrics.publish(&self.wards, &machine, self.finding);
    }

    /// Says what was done, for each process.
    pub(super) fn tell(&self, view: View) {
        crate::say::text(&summary::summary(&self.wards, self.dry, view));
    }
}
