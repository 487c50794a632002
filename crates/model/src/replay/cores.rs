//! The running core: for policies that divide colours among cores, and for machines of several
//! cores.

use super::Replay;
use crate::Error;
use crate::origin::StepOrigin;
use broadleaf_policy::ColourOwner;
use broadleaf_units::{CoreId, SpaceId, ThreadId};
use std::collections::BTreeMap;

/// The running core, if a policy or a machine of the plan needs to know it.
#[derive(Debug, Default)]
pub(super) struct FollowedCore {
    /// True if a policy divides colours among cores.
    is_followed: bool,
    /// True if all machines have several cores: then each thread has one.
    all_have_several: bool,
    /// The core of the recorded machine. `None` if the trace does not say which one runs.
    core: Option<CoreId>,
    /// The cores of threads. `None` if no machine has several.
    threads: Option<ThreadCores>,
}

/// The core that each thread runs on.
#[derive(Debug, Default)]
struct ThreadCores {
    cores: BTreeMap<(SpaceId, Option<ThreadId>), usize>,
    /// The threads that were given a core.
    given: usize,
    running: Option<usize>,
}

impl ThreadCores {
    /// The core of a thread: the recorded one, or the next one that has no thread. Numbers exceed
    /// those of the cores where threads are more.
    fn of(&mut self, origin: &StepOrigin) -> usize {
        if let Some(core) = origin.core {
            return core.0 as usize;
        }
        let thread = (origin.space, origin.thread);
        if let Some(core) = self.cores.get(&thread) {
            return *core;
        }
        // A space runs before the trace names its first thread.
        let unnamed = origin.thread.and(self.cores.remove(&(origin.space, None)));
        let core = unnamed.unwrap_or(self.given);
        self.given += usize::from(unnamed.is_none());
        self.cores.insert(thread, core);
        core
    }
}

/// Returns true if a policy divides colours by the core that runs.
pub(crate) fn follows_core(policy: &dyn broadleaf_policy::Policy) -> bool {
    let colours = policy.needs().colours;
    colours.is_some_and(|rule| rule.owner == ColourOwner::Core)
}

impl FollowedCore {
    pub(super) fn new(plan: &crate::Plan) -> Self {
        let mut policies = plan.policies().iter();
        let mut cores = plan.machines().iter().map(|machine| {
            let caches = machine.caches.as_ref();
            caches.map_or(1, |caches| caches.hierarchy.cores())
        });
        Self {
            is_followed: policies.any(|policy| follows_core(policy.as_ref())),
            all_have_several: cores.clone().all(|cores| cores > 1),
            core: None,
            threads: cores.any(|cores| cores > 1).then(ThreadCores::default),
        }
    }

    /// Returns an error if a policy needs to know the core of the visits that come, and the trace
    /// does not say which one runs.
    pub(super) fn check<E>(&self) -> Result<(), Error<E>> {
        if self.is_followed && self.core.is_none() && !self.all_have_several {
            let why = "a policy divides colours by core, and the trace does not say which core \
                       runs: write by=process or by=region, give a trace with cores, or choose a \
                       machine of several cores";
            return Err(Error::Memory(why.to_string()));
        }
        Ok(())
    }
}

impl Replay<'_, '_> {
    /// Sets the core that runs in all worlds, if it changed and a policy or a machine needs to know
    /// it. Visits of the core before it are replayed first.
    pub(super) fn follow_core(&mut self) {
        let origin = self.origins.now();
        if self.core.is_followed && origin.core != self.core.core {
            self.end_batch();
            self.core.core = origin.core;
            let worlds = self.worlds.all.iter_mut();
            worlds.for_each(|world| world.system.run_on(origin.core));
        }
        let Some(threads) = &mut self.core.threads else {
            return;
        };
        let core = threads.of(&origin);
        if threads.running.replace(core) != Some(core) {
            self.run_on_core(core);
        }
    }

    /// Lets a core of each machine run from now on, after the visits that were gathered.
    pub(super) fn run_on_core(&mut self, core: usize) {
        self.flush();
        let worlds = self.worlds.all.iter_mut();
        worlds.for_each(|world| world.run_on_core(core));
    }
}
