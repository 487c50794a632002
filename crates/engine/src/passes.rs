//! A pass over a trace: what is decoded is prepared once, and all teams replay it.

use crate::batch::Batch;
use crate::events::tells_a_mapping;
use crate::feed::{Feed, Lists};
use crate::kept::Kept;
use crate::pool::{Crew, Pool};
use crate::sieve::Sieve;
use crate::sifted::{Fed, stretches};
use crate::stream::{Refused, Stream, TooLate};
use crate::team::Team;
use crate::trail::Follows;
use crate::{Error, Plan, Progress, Source};
use broadleaf_memory::{Change, GEOMETRY};
use broadleaf_trace::Event;
use broadleaf_translation::{PageId, Recency};
use broadleaf_units::SpaceId;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// How many batches are prepared before the teams begin with them.
const MOST_BATCHES: usize = 64;

/// The trace as a pass saw it, and what of it was kept.
pub(crate) type Replayed = (Stream, Option<Kept>);

/// What the passes over a trace share.
pub(crate) struct Passes<'a> {
    pub(crate) progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    pub(crate) state: Progress,
    /// Address spaces that are known to have their mappings told.
    pub(crate) told: BTreeSet<SpaceId>,
    pub(crate) plan: &'a Plan,
    pub(crate) pool: Pool,
    /// Lists that are used again, from pass to pass.
    pub(crate) lists: Lists,
}

/// Batches that are prepared, and old ones whose memory is used again.
#[derive(Default)]
struct Prepared {
    batches: Vec<Batch>,
    used: usize,
}

impl Prepared {
    fn clear(&mut self) {
        self.used = 0;
    }

    fn add(&mut self) -> &mut Batch {
        if self.used == self.batches.len() {
            self.batches.push(Batch::default());
        }
        self.used += 1;
        &mut self.batches[self.used - 1]
    }

    fn get(&self) -> &[Batch] {
        &self.batches[..self.used]
    }
}

impl Passes<'_> {
    /// Takes the teams through the trace. `None` where it has to be done again with new ones: what a space's mappings are
    /// was told too late, and is known now.
    ///
    /// In turns: what was decoded is prepared, up to an event that changes what policies see; then the teams replay it. More is decoded
    /// all the time, by the other threads and by this one where it has nothing else to do. What was replayed is kept, where that is no more than `keeps` bytes.
    pub(crate) fn replay<S: Source>(
        &mut self,
        source: &mut S,
        teams: &mut [Team<'_>],
        keeps: Option<usize>,
    ) -> Result<Option<Replayed>, Error<S::Error>> {
        if self.state.pass > 0 {
            source.rewind().map_err(Error::Source)?;
        }
        self.state.pass += 1;
        // Of all passes together, so that no refusal depends on which policy has its turn when.
        let policies = self.plan.policies_and_baseline();
        let designs = self.plan.machines().iter().map(|machine| &machine.design);
        let mut sieve = Sieve::new(Recency::new(designs));
        if self.plan.curves() {
            // Between two lookups only reservations that fall due are decided about.
            let policies = self.plan.policies().iter().map(AsRef::as_ref);
            let mut all = policies.chain([self.plan.baseline()]);
            let timed = all.any(|policy| policy.needs().asked_at_age.is_some());
            sieve = sieve.following(if timed {
                Follows::Times
            } else {
                Follows::Pages
            });
        }
        let mut stream = Stream::new(self.told.clone());
        let heavy = teams.iter().filter(|team| !team.is_light()).count();
        let ahead = parts_ahead(self.plan.threads(), heavy);
        let mut feed = Feed::new(source, sieve, ahead, self.lists.clone()).keeping(keeps);
        let mut prepared = Prepared::default();
        let mut pending = None;
        let Self { pool, plan, .. } = self;
        pool.with(|crew| {
            loop {
                prepared.clear();
                loop {
                    let piece = match pending.take() {
                        Some(piece) => piece,
                        None => match feed.next(crew).map_err(Error::Source)? {
                            Some(piece) => piece,
                            None => break,
                        },
                    };
                    if prepared.used > 0 && stream.is_changed_by(&piece) {
                        // The teams have to come as far first.
                        pending = Some(piece);
                        break;
                    }
                    if stream.is_changed_by(&piece) {
                        teams.iter_mut().for_each(|team| team.pass(&stream));
                    }
                    match &piece {
                        Fed::Visits(sifted, sums) => {
                            if sums.data {
                                let changes = stream.end_spaces();
                                apply(&changes, teams, &mut stream);
                            }
                            for stretch in stretches(sifted) {
                                stream
                                    .take(sifted, stretch, prepared.add())
                                    .map_err(|why| refused(why, policies))?;
                            }
                            stream.pass(sums);
                        }
                        Fed::Event(event) => match stream.event(event) {
                            Ok(changes) => apply(&changes, teams, &mut stream),
                            Err(TooLate) => {
                                learn(&mut self.told, &mut feed, stream.running, crew)?;
                                self.state.passes += 1;
                                return Ok(None);
                            }
                        },
                    }
                    feed.lists().give_back(piece);
                    has_room(&stream, policies, plan.most_blocks())?;
                    if prepared.used >= MOST_BATCHES {
                        break;
                    }
                }
                if prepared.used == 0 && pending.is_none() {
                    if feed.is_at_end() {
                        teams.iter_mut().for_each(|team| team.pass(&stream));
                        return Ok(Some((stream, feed.into_kept())));
                    }
                    feed.advance(crew);
                }
                let (batches, stream_now) = (prepared.get(), &stream);
                let replay = |team: &mut Team<'_>| {
                    let each = batches.iter();
                    each.for_each(|batch| team.replay(batch, stream_now));
                };
                let (light, heavy): (Vec<_>, Vec<_>) =
                    teams.iter_mut().partition(|team| team.is_light());
                light.into_iter().for_each(replay);
                pool.run(heavy.into_iter().map(|team| || replay(team)));
                #[cfg(test)]
                teams.iter().for_each(|team| team.check(&stream));
                self.state.accesses = stream.now();
                if (self.progress)(self.state).is_break() {
                    return Err(Error::Stopped);
                }
            }
        })
    }
}

/// How many parts of the trace are decoded at a time. Teams wait for those threads that decode, so where there are several, some are left to them.
fn parts_ahead(threads: usize, teams: usize) -> usize {
    if teams <= 1 {
        threads + 2
    } else {
        threads.saturating_sub(teams).max(1)
    }
}

/// Reads the rest of the trace for the spaces whose mappings it tells; the running one is known to be such.
fn learn<'scope, S: Source + 'scope>(
    told: &mut BTreeSet<SpaceId>,
    feed: &mut Feed<'_, S>,
    mut running: SpaceId,
    crew: Crew<'_, 'scope>,
) -> Result<(), Error<S::Error>> {
    told.insert(running);
    // The pass begins anew.
    feed.keep_nothing();
    while !feed.is_at_end() {
        while let Some(piece) = feed.next(crew).map_err(Error::Source)? {
            match piece {
                Fed::Event(Event::SpaceSwitch(space)) => running = space,
                Fed::Event(event) if tells_a_mapping(&event) => {
                    told.insert(running);
                }
                Fed::Event(_) => {}
                visits @ Fed::Visits(..) => feed.lists().give_back(visits),
            }
        }
        feed.advance(crew);
    }
    Ok(())
}

/// Tells all teams what changes, which have replayed all that comes before.
fn apply(changes: &[Change], teams: &mut [Team<'_>], stream: &mut Stream) {
    for change in changes {
        stream.histories.make_room(stream.spaces.blocks());
        for team in &mut *teams {
            team.apply(change, stream);
        }
        stream.histories.apply(change);
    }
}

/// Whether every policy may keep all blocks that are known.
fn has_room<E>(stream: &Stream, policies: usize, limit: usize) -> Result<(), Error<E>> {
    let blocks = stream.spaces.blocks();
    if blocks.saturating_mul(policies) <= limit {
        return Ok(());
    }
    Err(Error::TooManyBlocks {
        blocks,
        policies,
        limit,
    })
}

pub(crate) fn refused<E>(refused: Refused, policies: usize) -> Error<E> {
    match refused {
        Refused::Page(page) => Error::Address {
            address: page.0 << GEOMETRY.base().shift(),
        },
        Refused::Block => Error::TooManyBlocks {
            blocks: PageId::MOST_BLOCKS + 1,
            policies,
            limit: PageId::MOST_BLOCKS,
        },
    }
}
