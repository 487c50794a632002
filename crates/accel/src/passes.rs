//! A pass over a trace: each batch is prepared once, and all teams replay it.

use crate::PageId;
use crate::feed::{Feed, ListPool};
use crate::kept::Kept;
use crate::prepare;
use crate::segments::Segments;
use crate::team::Team;
use crate::teams::{Prepared, Teams};
use broadleaf_filter::Follows;
use broadleaf_filter::Recency;
use broadleaf_filter::Sieve;
use broadleaf_filter::{Fed, Sifted, stretches};
use broadleaf_memory::Change;
use broadleaf_model::events::{changes_spaces, lists_a_mapping};
use broadleaf_model::pool::{Crew, Pool};
use broadleaf_model::stream::{MOST_BLOCKS, Stream, TooLate};
use broadleaf_model::{Error, Plan, ReplayProgress, Source, refused};
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Event, KernelTouch, Range};

// Entries of lanes can name every block of a replay.
const _: () = assert!(MOST_BLOCKS <= PageId::MOST_BLOCKS);

use broadleaf_units::SpaceId;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The number of batches that are prepared before the teams begin.
const MOST_BATCHES: usize = 16;

/// The result of a pass.
pub(crate) struct PassResult<'t> {
    /// The stream at the end of the trace.
    pub(crate) stream: Stream,
    /// The visits that the pass kept.
    pub(crate) kept: Option<Kept>,
    pub(crate) teams: Vec<Team<'t>>,
}

/// The state that the passes over a trace share.
pub(crate) struct QuickPasses<'a> {
    pub(crate) progress: &'a mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    pub(crate) state: ReplayProgress,
    /// Address spaces whose mappings the trace is known to list.
    pub(crate) listed: BTreeSet<SpaceId>,
    pub(crate) plan: &'a Plan,
    pub(crate) pool: Pool,
    /// The pool of lists, shared by all passes.
    pub(crate) lists: ListPool,
}

impl QuickPasses<'_> {
    /// Replays the trace on the teams. `None` if the pass must start again with new teams: the
    /// trace listed a space's mappings too late, and they are known now.
    ///
    /// The pass takes turns. Decoded visits are prepared, up to an event that changes the policies'
    /// view. Then the teams replay them. With workers, the next turn is prepared meanwhile, and
    /// idle workers decode ahead. The replayed visits are kept in `keeps` while they fit.
    pub(crate) fn replay<'t, S: Source>(
        &mut self,
        source: &mut S,
        mut teams: Vec<Team<'t>>,
        keeps: Option<Kept>,
    ) -> Result<Option<PassResult<'t>>, Error<S::Error>> {
        if self.state.pass > 0 {
            source.rewind().map_err(Error::Source)?;
        }
        self.state.pass += 1;
        // Of all passes together, so that no refusal depends on which policy has its turn when.
        let policies = self.plan.policies_in_all();
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
        let timed = teams.iter().any(Team::is_timed);
        let heavy = teams.iter().filter(|team| !team.is_light()).count();
        let ahead = parts_ahead(self.plan.threads(), heavy);
        let segments = segments_of(&mut teams, self.plan);
        let mut pass = Pass {
            feed: Feed::new(source, sieve, ahead, self.lists.clone()).keeping(keeps),
            stream: Stream::new(self.listed.clone()),
            teams: Teams::new(teams),
            segments,
            prepared: Prepared::default(),
            pending: None,
            timed,
            policies,
            most_blocks: self.plan.most_blocks(),
            most_bytes: self.plan.most_bytes(),
        };
        let Self { pool, .. } = self;
        pool.with(|crew| {
            loop {
                if let Err(TooLate) = pass.prepare(crew)? {
                    let running = pass.stream.running;
                    learn(&mut self.listed, &mut pass.feed, running, crew)?;
                    self.state.passes += 1;
                    return Ok(None);
                }
                if pass.is_over() {
                    return Ok(Some(pass.end(crew)));
                }
                pass.go_on(crew);
                self.state.accesses = pass.stream.now();
                if (self.progress)(self.state).is_break() {
                    return Err(Error::Stopped);
                }
            }
        })
    }
}

/// A pass in progress.
struct Pass<'s, 't, S: Source> {
    feed: Feed<'s, S>,
    /// The stream as far as it was prepared. The teams may lag by one turn.
    stream: Stream,
    teams: Teams<'t>,
    /// The lookups of the only team that makes some, if other threads make them in segments.
    segments: Option<Segments<'t>>,
    /// The next turn.
    prepared: Prepared,
    /// A piece that waits until the teams have replayed everything before.
    pending: Option<Fed>,
    /// True if a policy is asked when a reservation reaches an age.
    timed: bool,
    /// The number of policies that keep blocks, and the limit of their blocks.
    policies: usize,
    most_blocks: usize,
    most_bytes: Option<u64>,
}

impl<'s, 't: 's, S: Source> Pass<'s, 't, S> {
    /// Prepares a turn: at most [`MOST_BATCHES`] batches, up to the end of the decoded visits or an
    /// event that changes the policies' view. [`TooLate`] if the pass must start again.
    fn prepare<'scope>(
        &mut self,
        crew: Crew<'_, 'scope>,
    ) -> Result<Result<(), TooLate>, Error<S::Error>>
    where
        S::Part: 'scope,
        S::Error: 'scope,
    {
        while self.prepared.len() < MOST_BATCHES {
            let piece = match self.pending.take() {
                Some(piece) => piece,
                None => match self.feed.next(crew).map_err(Error::Source)? {
                    Some(piece) => piece,
                    None => break,
                },
            };
            if prepare::is_changed_by(&self.stream, &piece) {
                if self.prepared.len() > 0 {
                    self.pending = Some(piece);
                    break;
                }
                self.catch_up(crew);
            }
            match &piece {
                Fed::Visits(sifted, sums) => self.take(sifted, sums, crew)?,
                Fed::Event(event) => {
                    if changes_spaces(event) {
                        self.call_back(crew);
                    }
                    if let Event::Populate { range, touch, .. } = event {
                        self.populate(*range, *touch)?;
                    }
                    match self.stream.event(event) {
                        Ok(changes) => self.apply(&changes),
                        Err(too_late) => return Ok(Err(too_late)),
                    }
                }
            }
            self.feed.lists().give_back(piece);
            has_room(&self.stream, self.policies, self.most_blocks)?;
            has_bytes(&self.stream, self.policies, self.most_bytes)?;
        }
        Ok(Ok(()))
    }

    /// Prepares visits.
    fn take(
        &mut self,
        sifted: &Sifted,
        sums: &Sums,
        crew: Crew<'_, '_>,
    ) -> Result<(), Error<S::Error>> {
        if sums.data {
            let changes = self.stream.end_spaces();
            self.apply(&changes);
        }
        let Self {
            feed, teams, timed, ..
        } = self;
        let mut call_back = || teams.back(|| feed.work(crew));
        for stretch in stretches(sifted) {
            let batch = self.prepared.add();
            let stream = &mut self.stream;
            let taken = prepare::take(stream, sifted, stretch, batch, *timed, &mut call_back);
            taken.map_err(|why| refused(why, self.policies))?;
        }
        self.stream.pass(sums);
        Ok(())
    }

    /// The kernel makes pages resident. The teams have come as far as the trace, and none is away.
    fn populate(&mut self, range: Range, touch: KernelTouch) -> Result<(), Error<S::Error>> {
        let touches = prepare::populate(&mut self.stream, range, touch);
        let touches = touches.map_err(|why| refused(why, self.policies))?;
        let Self { stream, teams, .. } = self;
        teams
            .idle()
            .for_each(|team| team.populate(&touches, &stream.spaces));
        Ok(())
    }

    /// Starts the replay of the prepared visits. Without any, the crew decodes more.
    fn go_on<'scope>(&mut self, crew: Crew<'_, 'scope>)
    where
        't: 'scope,
    {
        if self.prepared.len() > 0 {
            self.call_back(crew);
            self.replay_prepared(crew);
            #[cfg(test)]
            self.teams.check(&self.stream);
        } else if !self.teams.work() && !self.segments.as_ref().is_some_and(Segments::work) {
            self.feed.advance(crew);
        }
    }

    /// Starts the replay of the prepared turn. All teams are idle.
    fn replay_prepared<'scope>(&mut self, crew: Crew<'_, 'scope>)
    where
        't: 'scope,
    {
        let Self {
            feed,
            stream,
            teams,
            segments: Some(segments),
            prepared,
            ..
        } = self
        else {
            return self.teams.send(&mut self.prepared, &self.stream, crew);
        };
        let turn = teams.write_down(prepared, segments.spare().unwrap_or_default(), stream);
        if let Some((script, superpages)) = teams.idle().find_map(Team::take_script) {
            segments.add(turn, script, superpages, crew, || feed.work(crew));
        }
    }

    /// Waits until all teams are idle, and decodes meanwhile.
    fn call_back(&mut self, crew: Crew<'_, '_>) {
        let Self { feed, teams, .. } = self;
        teams.back(|| feed.work(crew));
    }

    /// Brings the teams up to the prepared point. All prepared visits were sent to them.
    fn catch_up(&mut self, crew: Crew<'_, '_>) {
        self.call_back(crew);
        self.teams.idle().for_each(|team| team.pass(&self.stream));
        #[cfg(test)]
        self.teams.check(&self.stream);
    }

    /// Applies changes to all teams. The teams have replayed everything before. A fork is an
    /// exception, as it changes nothing without frames.
    fn apply(&mut self, changes: &[Change]) {
        let Self { stream, teams, .. } = self;
        for change in changes {
            stream.histories.make_room(stream.spaces.blocks());
            for team in teams.idle() {
                team.apply(change, stream);
            }
            stream.histories.apply(change);
        }
    }

    /// Returns true if all visits were prepared and sent to the teams.
    fn is_over(&self) -> bool {
        self.prepared.len() == 0 && self.pending.is_none() && self.feed.is_at_end()
    }

    fn end(mut self, crew: Crew<'_, '_>) -> PassResult<'t> {
        self.catch_up(crew);
        self.teams.idle().for_each(Team::end);
        if let Some(segments) = self.segments.take() {
            let (tlbs, work) = segments.end();
            work.report();
            if let Some(team) = self.teams.idle().find(|team| team.writes_down()) {
                team.take_back(tlbs);
            }
        }
        PassResult {
            stream: self.stream,
            kept: self.feed.into_kept(),
            teams: self.teams.into_all(),
        }
    }
}

/// Lets the team that makes lookups write them down for other threads, if it is the only one.
fn segments_of<'t>(teams: &mut [Team<'t>], plan: &Plan) -> Option<Segments<'t>> {
    let mut heavy = teams.iter_mut().filter(|team| !team.is_light());
    let (Some(team), None) = (heavy.next(), heavy.next()) else {
        return None;
    };
    let in_segments = plan.threads() >= plan.segment_rules().least_threads && !plan.curves();
    in_segments.then(|| Segments::new(team.write_down(), plan))
}

/// The number of parts of the trace that are decoded at a time. A worker that decodes replays
/// nothing, so several teams leave fewer workers for decoding.
fn parts_ahead(threads: usize, teams: usize) -> usize {
    if teams <= 1 {
        threads + 2
    } else {
        threads.saturating_sub(teams).max(1)
    }
}

/// Reads the rest of the trace for the spaces whose mappings it lists. The running space is one of
/// them.
fn learn<'scope, S: Source + 'scope>(
    listed: &mut BTreeSet<SpaceId>,
    feed: &mut Feed<'_, S>,
    mut running: SpaceId,
    crew: Crew<'_, 'scope>,
) -> Result<(), Error<S::Error>> {
    listed.insert(running);
    // The pass begins anew.
    feed.keep_nothing();
    while !feed.is_at_end() {
        while let Some(piece) = feed.next(crew).map_err(Error::Source)? {
            match piece {
                Fed::Event(Event::SpaceSwitch(space)) => running = space,
                Fed::Event(event) if lists_a_mapping(&event) => {
                    listed.insert(running);
                }
                Fed::Event(_) => {}
                visits @ Fed::Visits(..) => feed.lists().give_back(visits),
            }
        }
        feed.advance(crew);
    }
    Ok(())
}

/// Returns an error if the policies may not keep all known blocks.
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

/// Bytes of memory that a block takes under each policy.
const STATE_BYTES: u64 = 24;

/// Returns an error if the model takes more memory than `limit`.
fn has_bytes<E>(stream: &Stream, policies: usize, limit: Option<u64>) -> Result<(), Error<E>> {
    let blocks = stream.spaces.blocks();
    let needed = stream.bytes() + blocks as u64 * policies as u64 * STATE_BYTES;
    match limit {
        Some(limit) if needed > limit => Err(Error::NoRoom {
            needed,
            limit,
            blocks,
            policies,
        }),
        _ => Ok(()),
    }
}
