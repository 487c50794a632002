//! Passes over traces: first those that choose and foresee, then the replay.

use crate::earlier::{Names, NoRoom};
use crate::filter_groups::FilterGroups;
use crate::foresight::{ForeseenPromotions, Promoted};
use crate::pool::Pool;
use crate::replay::{Ended, Replay, Replayed, spaces_told};
use crate::stream::Stream;
use crate::worlds::Worlds;
use crate::{Error, Outcome, Plan, ReplayProgress, Source};
use crate::{MemoryLimits, choices, follow, future, result};
use broadleaf_units::SpaceId;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Traces that are replayed one after the other: earlier traces, and the one that results describe.
pub struct Sources<'s, S> {
    /// Traces that ran before.
    pub earlier: &'s mut [S],
    /// The trace of the results.
    pub last: &'s mut S,
    /// True if any of them was read before.
    pub read: bool,
}

impl<S: Source> Sources<'_, S> {
    /// All traces in order, each with its number if it is an earlier one.
    pub(crate) fn in_order(&mut self) -> impl Iterator<Item = (Option<usize>, &mut S)> {
        let earlier = self.earlier.iter_mut().enumerate();
        let earlier = earlier.map(|(number, source)| (Some(number), source));
        earlier.chain([(None, &mut *self.last)])
    }
}

/// Replays traces in the frame-level model.
pub fn run<S: Source>(
    mut sources: Sources<'_, S>,
    plan: &Plan,
    limits: &MemoryLimits,
    foresight: &ForeseenPromotions,
    pool: &Pool,
    mut state: ReplayProgress,
    progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
) -> Result<Outcome, Error<S::Error>> {
    let holds_system = sources.in_order().any(|(_, source)| source.holds_system());
    let mut passes = Passes {
        sources: &mut sources,
        plan,
        limits,
        pool,
        state: &mut state,
        progress,
        told: BTreeSet::new(),
    };
    let choices = choices::choose(&mut passes)?;
    // The filters know no kernel that has pages of its own in every space.
    let groups = || match holds_system {
        true => FilterGroups::default(),
        false => FilterGroups::new(plan, limits),
    };
    let worlds = || Worlds::new(plan, limits, foresight, &choices, groups());
    let uses = future::foresee(&mut passes, worlds)?;
    let worlds = || Ok(worlds()?.knowing(&uses));
    let mut replayed = passes.replay(worlds)?;
    let best = replayed.worlds.best(plan);
    let (worlds, stream) = (&mut replayed.worlds, &replayed.stream);
    let listeners = best.iter().map(|run| worlds.take_listener(*run, stream));
    let mut listeners: Vec<_> = listeners.collect();
    let followers = follow::followers(plan, &replayed.worlds, &best);
    let mut outcome = result::outcome(replayed, &best, &choices, plan);
    if !followers.is_empty() {
        passes.state.passes = passes.state.passes.max(passes.state.pass + 1);
        let worlds = || Worlds::following(&followers, plan, limits, groups());
        let replayed = passes.replay(worlds)?;
        result::follow(&mut outcome, &mut listeners, replayed, &followers, plan);
    }
    result::compare_with_offline(&mut outcome, plan, limits);
    let heard = listeners.into_iter().flatten();
    heard.for_each(|mut listener| listener.end());
    Ok(outcome)
}

/// The state that the passes over traces share.
pub(crate) struct Passes<'p, 's, S> {
    pub(crate) sources: &'p mut Sources<'s, S>,
    pub(crate) plan: &'p Plan,
    pub(crate) limits: &'p MemoryLimits,
    pub(crate) pool: &'p Pool,
    pub(crate) state: &'p mut ReplayProgress,
    pub(crate) progress: &'p mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    /// Spaces whose mappings the trace lists.
    pub(crate) told: BTreeSet<SpaceId>,
}

impl<S: Source> Passes<'_, '_, S> {
    /// Lets worlds replay all traces. New worlds are made if a pass must begin again.
    pub(crate) fn replay<'a>(
        &mut self,
        worlds: impl Fn() -> Result<Worlds<'a>, String>,
    ) -> Result<Replayed<'a>, Error<S::Error>> {
        'again: loop {
            let stream = Stream::new(self.told.clone());
            let worlds = worlds().map_err(Error::Memory)?;
            let mut replay = Replay::new(worlds, stream, self.plan, self.limits, self.pool);
            if self.sources.read {
                for (_, source) in self.sources.in_order() {
                    source.rewind().map_err(Error::Source)?;
                }
            }
            self.sources.read = true;
            self.state.pass += 1;
            self.state.passes = self.state.passes.max(self.state.pass);
            for (number, source) in self.sources.in_order() {
                (self.state.earlier, self.state.accesses) = (number, 0);
                if (self.progress)(*self.state).is_break() {
                    return Err(Error::Stopped);
                }
                replay.begin(number, source)?;
                let ended = replay.all(source, self.state, self.progress)?;
                if let Ended::ToBeginAgain(space) = ended {
                    self.told.insert(space);
                    source.rewind().map_err(Error::Source)?;
                    self.told.extend(spaces_told(source, replay.names())?);
                    continue 'again;
                }
            }
            return Ok(replay.finish());
        }
    }
}

/// The promotions of a policy in an earlier trace, with the space names that the trace has among
/// others.
pub fn named<E>(promoted: Promoted, earlier: usize) -> Result<Promoted, Error<E>> {
    let mut names = Names::default();
    names.begin(Some(earlier));
    let named = promoted.into_iter();
    named
        .map(|(space, block)| Ok((names.space(space)?, block)))
        .collect()
}

impl<E> From<NoRoom> for Error<E> {
    fn from(NoRoom { number, limit }: NoRoom) -> Self {
        Self::Number { number, limit }
    }
}
