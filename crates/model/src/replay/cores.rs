//! The running core, for policies that divide colours among cores.

use super::Replay;
use crate::Error;
use broadleaf_policy::ColourOwner;
use broadleaf_units::CoreId;

/// The running core, if a policy of the plan needs to know it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FollowedCore {
    /// True if a policy divides colours among cores.
    is_followed: bool,
    /// The core that runs. `None` if the trace does not say so.
    core: Option<CoreId>,
}

impl FollowedCore {
    pub(super) fn new(plan: &crate::Plan) -> Self {
        let by_core = |policy: &dyn broadleaf_policy::Policy| {
            let colours = policy.needs().colours;
            colours.is_some_and(|rule| rule.owner == ColourOwner::Core)
        };
        let mut policies = plan.policies().iter();
        Self {
            is_followed: policies.any(|policy| by_core(policy.as_ref())),
            core: None,
        }
    }

    /// Returns an error if a policy needs to know the core of the visits that come, and the trace
    /// does not say which one runs.
    pub(super) fn check<E>(self) -> Result<(), Error<E>> {
        if self.is_followed && self.core.is_none() {
            let why = "a policy divides colours by core, and the trace does not say which core \
                       runs: write by=process or by=region, or give a trace with cores";
            return Err(Error::Memory(why.to_string()));
        }
        Ok(())
    }
}

impl Replay<'_, '_> {
    /// Sets the core that runs in all worlds, if it changed and a policy needs to know it. Visits
    /// of the core before it are replayed first.
    pub(super) fn follow_core(&mut self) {
        let core = self.origins.now().core;
        if self.core.is_followed && core != self.core.core {
            self.end_batch();
            self.core.core = core;
            let worlds = self.worlds.all.iter_mut();
            worlds.for_each(|world| world.system.run_on(core));
        }
    }
}
