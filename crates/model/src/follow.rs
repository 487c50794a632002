//! OFFLINE follows another policy: it makes the same promotions, at the same times, without paying
//! for the decisions that led to them.
//!
//! OFFLINE's own choice is greedy. If a compared policy takes fewer cycles, OFFLINE replays the
//! schedule of that policy's promotions. So OFFLINE is never worse than any policy that it is
//! compared with. The schedule records when each piece is promoted or demoted by choice. Frames are
//! placed and copied as under the followed policy.

use super::choices::{cycles, few_of};
use super::limits::MemoryLimits;
use super::world::World;
use super::worlds::Worlds;
use crate::Plan;
use broadleaf_memory::system::{Foreseen, Schedule, Span};
use broadleaf_policy::{
    Charges, Effort, Foresight, Needs, OfflineSearch, Point, Policy, Verdict, View,
};

/// A policy that makes the promotions of another one.
pub(super) struct Follower<'a> {
    /// The followed policy.
    pub(super) other: &'a dyn Policy,
    /// The name of the policy that follows.
    name: String,
    search: OfflineSearch,
    promotes: At,
    pub(super) schedule: Schedule,
    /// The number of the pair of the plan that follows.
    pub(super) pair: usize,
}

/// The time of the followed policy's promotions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Misses,
    OtherPoints,
    Both,
}

impl Policy for Follower<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn needs(&self) -> Needs {
        Needs {
            foresight: Foresight::Cheapest(self.search),
            charges: Charges::NONE,
            ..self.other.needs()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        let asked = match self.promotes {
            At::Misses => point == Point::Miss,
            At::OtherPoints => point != Point::Miss,
            At::Both => true,
        };
        match (view.foreseen, view.promoted) {
            (true, true) => Verdict::Demote,
            (true, false) if asked => Verdict::Promote,
            _ => Verdict::Pass,
        }
    }

    fn effort(&self, point: Point, view: &View) -> Effort {
        self.other.effort(point, view)
    }

    fn rank(&self, view: &View) -> u64 {
        self.other.rank(view)
    }
}

/// The followers of policies that took fewer cycles than a policy with foresight on the same
/// machine; `best` is the world of each pair of the plan.
pub(super) fn followers<'a>(
    plan: &'a Plan,
    worlds: &Worlds<'_>,
    best: &[usize],
) -> Vec<Follower<'a>> {
    let pairs: Vec<_> = plan.pairs().collect();
    let mut followers = Vec::new();
    for (pair, (policy, machine)) in pairs.iter().enumerate() {
        let (Foresight::Cheapest(search), Some(which)) =
            (policy.needs().foresight, few_of(*policy))
        else {
            continue;
        };
        let own = cycles(worlds.run(best[pair]), which);
        let others = (0..pairs.len()).filter(|other| pairs[*other].1.name == machine.name);
        let cheapest = others
            .filter(|other| cycles(worlds.run(best[*other]), which) < own)
            .min_by_key(|other| cycles(worlds.run(best[*other]), which));
        let Some(followed) = cheapest else { continue };
        let Some((changes, at_misses)) = worlds.run(best[followed]).0.own_changes() else {
            continue;
        };
        let at = |change: &broadleaf_memory::system::Resized| {
            let span = Span {
                from: change.moment,
                to: change.moment.saturating_add(1),
            };
            (change.first, change.level, span)
        };
        let promoted = changes.iter().filter(|change| change.promoted);
        let demoted = changes.iter().filter(|change| !change.promoted);
        let schedule = Schedule::new(promoted.clone().map(at), demoted.map(at));
        let promotes = match at_misses {
            0 => At::OtherPoints,
            some if some == promoted.count() as u64 => At::Misses,
            _ => At::Both,
        };
        followers.push(Follower {
            other: pairs[followed].0,
            name: policy.name(),
            search,
            promotes,
            schedule,
            pair,
        });
    }
    followers
}

/// The worlds in which followers replay, in their order.
pub(super) fn worlds<'a>(
    followers: &'a [Follower<'a>],
    plan: &'a Plan,
    limits: &MemoryLimits,
) -> Result<Vec<World<'a>>, String> {
    let pairs: Vec<_> = plan.pairs().collect();
    let worlds = followers.iter().map(|follower| {
        let machine = pairs[follower.pair].1;
        let spec = limits.spec_on(machine, follower, plan)?;
        let foreseen = Some(Foreseen::Schedule(&follower.schedule));
        Ok(World::new(follower, machine, &spec, foreseen))
    });
    worlds.collect()
}
