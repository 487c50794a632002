//! The loop of a service: one thread that does the task that begins first.

use std::time::{Duration, Instant};

use broadleaf_governor::service::ServiceRules;
use broadleaf_governor::{Kernel, Linux};

use super::ServiceSignal;
use super::finding::ProcessFinder;
use super::manager::ServiceManager;
use super::metrics::Metrics;
use super::state::ServiceState;
use super::together::{DueTime, LookBudget};
use super::wards::Wards;
use broadleaf_report::number::counted;
use broadleaf_study::failure::Failure;

/// The least time between two renderings of the figures for Prometheus.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);

/// The time between two looks at the machine's memory while processes rest.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// The next task of the service.
#[derive(Clone, Copy)]
enum ServiceTask {
    /// A look at the process at this index.
    Look(usize),
    /// A search for processes.
    Find,
    /// A look at the machine.
    Watch,
}

/// The state of a service.
pub(super) struct ServiceLoop {
    rules: ServiceRules,
    kernel: Linux,
    finder: ProcessFinder,
    wards: Wards,
    together: LookBudget,
    /// The time of the next search for processes.
    find: Instant,
    /// The time of the next look at the memory of the machine.
    watch: Instant,
    /// Processor time that searches for processes took.
    finding: Duration,
    state: ServiceState,
    manager: ServiceManager,
    metrics: Option<Metrics>,
    published: Option<Instant>,
}

impl ServiceLoop {
    pub(super) fn new(rules: ServiceRules, state: ServiceState, metrics: Option<Metrics>) -> Self {
        let now = Instant::now();
        Self {
            kernel: Linux::new(),
            finder: ProcessFinder::new(),
            wards: Wards::new(state.dry),
            together: LookBudget::new(rules.cpu_together, now),
            find: now,
            watch: now,
            finding: Duration::ZERO,
            state,
            manager: ServiceManager::default(),
            metrics,
            published: None,
            rules,
        }
    }

    /// Works until `wait` returns [`ServiceSignal::End`]. `read` reads the rules again. It gets
    /// true if a thread measures the use of blocks.
    pub(super) fn run(
        &mut self,
        wait: &mut dyn FnMut(Duration) -> Option<ServiceSignal>,
        read: impl Fn(bool) -> Result<ServiceRules, Failure>,
    ) -> Result<(), Failure> {
        loop {
            let (time, next) = self.next();
            match wait(time.begins.saturating_duration_since(Instant::now())) {
                Some(ServiceSignal::End) => {
                    self.manager.stopping();
                    return Ok(());
                }
                Some(ServiceSignal::Reload) => self.reload(&read),
                None => {
                    let began = Instant::now();
                    let looking = match next {
                        ServiceTask::Look(at) => self.wards.tick(at),
                        ServiceTask::Find => self.look_for_processes(began)?,
                        ServiceTask::Watch => self.watch(began),
                    };
                    self.together.looked(began, looking);
                    self.publish(began);
                }
            }
        }
    }

    /// The task that begins first, and its time. A search comes before a look at the machine: the
    /// figures that are published first include those of a search.
    fn next(&self) -> (DueTime, ServiceTask) {
        let free = self.together.free_from();
        let look = self.wards.next(free);
        let look = look.map(|(time, at)| (time, ServiceTask::Look(at)));
        let others = [
            (DueTime::in_budget(self.find, free), ServiceTask::Find),
            // A shortage must be noticed in time. The look takes microseconds.
            (DueTime::at(self.watch), ServiceTask::Watch),
        ];
        let all = look.into_iter().chain(others);
        all.min_by_key(|(time, _)| *time).unwrap_or(others[0])
    }

    /// Makes processes due if memory is short. Returns the processor time that this took.
    fn watch(&mut self, now: Instant) -> Duration {
        let before = self.kernel.own_cpu();
        self.wards.wake_if_short(now);
        self.watch = now + WATCH_EVERY;
        self.kernel.own_cpu().saturating_sub(before)
    }

    fn reload(&mut self, read: impl Fn(bool) -> Result<ServiceRules, Failure>) {
        self.manager.reloading();
        match read(self.wards.measures_use()) {
            Ok(rules) => {
                let count = rules.rules.len();
                log::info!(
                    event = "rules_read", rules = count;
                    "the file was read again: {}", counted(count as u64, "rule")
                );
                self.state.note_read(Some(count));
                self.together.set(rules.cpu_together);
                self.rules = rules;
                self.find = Instant::now();
            }
            Err(failure) => {
                log::warn!(event = "rules_refused"; "{failure}");
                log::warn!(event = "rules_stay"; "the previous rules stay in force");
                self.state.note_read(None);
            }
        }
        self.manager.reloaded();
        // The next figures have the new state.
        self.published = None;
    }

    fn look_for_processes(&mut self, began: Instant) -> Result<Duration, Failure> {
        let before = self.kernel.own_cpu();
        let found = self.finder.find(&self.rules, began);
        self.wards.follow(&found, began)?;
        self.wards.wake(self.finder.living(), began);
        let took = self.kernel.own_cpu().saturating_sub(before);
        self.finding += took;
        self.find = began + self.rules.discover;
        self.manager.status(format!(
            "{}; processes governed: {}",
            counted(self.state.rules as u64, "rule"),
            self.wards.governed.len(),
        ));
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
        metrics.publish(&self.wards, &machine, self.finding, &self.state);
    }

    /// The processes that the service governed.
    pub(super) fn into_wards(self) -> Wards {
        self.wards
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_looked_at_once_a_second_also_when_the_budget_is_used_up() {
        let rules = ServiceRules {
            discover: Duration::from_secs(2),
            cpu_together: 200,
            rules: Vec::new(),
        };
        let state = ServiceState::new(0, true);
        let mut service = ServiceLoop::new(rules.clone(), state, None);
        // Looks took a minute: at 2% of a processor, no look is allowed for 50 minutes.
        let now = Instant::now();
        service.together.looked(now, Duration::from_mins(1));
        let mut waits = Vec::new();
        let mut wait = |time: Duration| {
            waits.push(time);
            (waits.len() > 3).then_some(ServiceSignal::End)
        };
        service.run(&mut wait, |_| Ok(rules.clone())).unwrap();
        assert!(waits.iter().all(|wait| *wait <= WATCH_EVERY), "{waits:?}");
        assert!(service.watch > now && service.find <= now);
    }
}
