//! The teams of a pass. Replays one turn on all teams while the next turn is prepared.

use crate::batch::Batch;
use crate::slot::TaskCell;
use crate::team::Team;
use broadleaf_memory::AddressSpaces;
use broadleaf_model::pool::Crew;
use broadleaf_model::stream::Stream;
use std::sync::Arc;

/// The minimum number of lookups in a turn that pays for waking another worker. Replaying this many
/// lookups takes about ten times as long as the wake-up.
#[cfg(not(test))]
const MIN_LOOKUPS: usize = 1 << 9;
/// The crate's own tests have short traces.
#[cfg(test)]
const MIN_LOOKUPS: usize = 1;

/// Prepared batches of a turn, and old batches whose buffers are reused.
#[derive(Default)]
pub(crate) struct Prepared {
    batches: Vec<Batch>,
    used: usize,
}

impl Prepared {
    /// The number of prepared batches.
    pub(crate) const fn len(&self) -> usize {
        self.used
    }

    /// Adds an empty batch and returns the batch.
    pub(crate) fn add(&mut self) -> &mut Batch {
        if self.used == self.batches.len() {
            self.batches.push(Batch::default());
        }
        self.used += 1;
        &mut self.batches[self.used - 1]
    }

    /// The prepared batches.
    pub(crate) fn batches(&self) -> &[Batch] {
        &self.batches[..self.used]
    }

    /// The number of lookups of all batches.
    pub(crate) fn lookups(&self) -> usize {
        let lookups = |batch: &Batch| batch.pages.len() + batch.trail.pages.len();
        self.batches().iter().map(lookups).sum()
    }

    /// Without prepared batches. The buffers stay.
    pub(crate) fn emptied(mut self) -> Self {
        self.used = 0;
        self
    }

    /// Returns true if the turn has too few lookups to pay for waking a worker.
    fn is_little(&self) -> bool {
        self.lookups() < MIN_LOOKUPS
    }
}

/// A task for a worker: one team and the turn that the team replays.
struct TeamTask<'a> {
    team: Team<'a>,
    prepared: Arc<Prepared>,
    /// The address spaces at the start of the task.
    spaces: Arc<AddressSpaces>,
}

impl TeamTask<'_> {
    fn run(&mut self) {
        replay(&mut self.team, &self.prepared, &self.spaces);
    }
}

fn replay(team: &mut Team<'_>, prepared: &Prepared, spaces: &AddressSpaces) {
    let each = prepared.batches().iter();
    each.for_each(|batch| team.replay(batch, spaces));
}

/// A team of the pass, idle or in a task of the queue.
enum TeamState<'a> {
    Idle(Team<'a>),
    Queued(Arc<TaskCell<TeamTask<'a>>>),
}

const IN_A_TASK: &str = "a team is in a task";

impl<'a> TeamState<'a> {
    fn idle(self) -> Team<'a> {
        match self {
            Self::Idle(team) => team,
            Self::Queued(_) => unreachable!("{IN_A_TASK}"),
        }
    }
}

/// The teams of a pass.
pub(crate) struct Teams<'a> {
    all: Vec<TeamState<'a>>,
    /// The turn that the teams replay.
    turn: Arc<Prepared>,
    /// The batches of a finished turn, kept for reuse.
    spare: Prepared,
}

impl<'a> Teams<'a> {
    /// A pass over `teams`, all idle.
    pub(crate) fn new(teams: Vec<Team<'a>>) -> Self {
        Self {
            all: teams.into_iter().map(TeamState::Idle).collect(),
            turn: Arc::default(),
            spare: Prepared::default(),
        }
    }

    /// Starts the replay of a prepared turn on all teams and empties `prepared`. All teams must be
    /// idle. Workers of `crew` claim the tasks. [`Teams::back`] runs the tasks that no worker
    /// claimed.
    pub(crate) fn send<'scope>(
        &mut self,
        prepared: &mut Prepared,
        stream: &Stream,
        crew: Crew<'_, 'scope>,
    ) where
        'a: 'scope,
    {
        let spare = std::mem::take(&mut self.spare);
        self.turn = Arc::new(std::mem::replace(prepared, spare));
        let stays = crew.is_empty() || self.turn.is_little();
        let all = std::mem::take(&mut self.all);
        for mut team in all.into_iter().map(TeamState::idle) {
            self.all.push(if stays || team.is_light() {
                replay(&mut team, &self.turn, &stream.spaces);
                TeamState::Idle(team)
            } else {
                let cell = Arc::new(TaskCell::new(TeamTask {
                    team,
                    prepared: Arc::clone(&self.turn),
                    spaces: Arc::clone(&stream.spaces),
                }));
                let queued = Arc::clone(&cell);
                crew.queue(move || {
                    queued.work(TeamTask::run);
                });
                TeamState::Queued(cell)
            });
        }
        if stays {
            self.back(|| false);
        }
    }

    /// Replays a prepared turn on all teams, which write their lookups down and must be idle.
    /// Returns the turn, and leaves `spare` in its place.
    pub(crate) fn write_down(
        &mut self,
        prepared: &mut Prepared,
        spare: Prepared,
        stream: &Stream,
    ) -> Arc<Prepared> {
        let turn = Arc::new(std::mem::replace(prepared, spare));
        let teams = self.idle();
        teams.for_each(|team| replay(team, &turn, &stream.spaces));
        turn
    }

    /// Runs one task that no worker has claimed. Returns true if there was one.
    pub(crate) fn work(&self) -> bool {
        self.all.iter().any(|state| match state {
            TeamState::Idle(_) => false,
            TeamState::Queued(cell) => cell.work(TeamTask::run),
        })
    }

    /// Waits until all teams are idle. Calls `meanwhile` instead of blocking as long as `meanwhile`
    /// returns true.
    pub(crate) fn back(&mut self, meanwhile: impl Fn() -> bool) {
        while self.work() {}
        for state in &mut self.all {
            if let TeamState::Queued(cell) = state {
                let task = loop {
                    if let Some(task) = cell.take() {
                        break task;
                    }
                    if !meanwhile() {
                        cell.wait();
                    }
                };
                *state = TeamState::Idle(task.team);
            }
        }
        if let Some(turn) = Arc::get_mut(&mut self.turn)
            && turn.used > 0
        {
            self.spare = std::mem::take(turn);
            self.spare.used = 0;
        }
    }

    /// All teams, which must be idle.
    pub(crate) fn idle(&mut self) -> impl Iterator<Item = &mut Team<'a>> {
        self.all.iter_mut().map(|state| match state {
            TeamState::Idle(team) => team,
            TeamState::Queued(_) => unreachable!("{IN_A_TASK}"),
        })
    }

    /// Consumes the pass and returns all teams, which must be idle.
    pub(crate) fn into_all(self) -> Vec<Team<'a>> {
        self.all.into_iter().map(TeamState::idle).collect()
    }

    /// Asserts the invariants between two items of the trace, if all teams are idle.
    #[cfg(test)]
    pub(crate) fn check(&self, stream: &Stream) {
        for state in &self.all {
            match state {
                TeamState::Idle(team) => team.check(stream),
                TeamState::Queued(_) => return,
            }
        }
    }
}
