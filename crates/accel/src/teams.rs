//! The teams of a pass: here, or at visits that were prepared, while more are.

use crate::batch::Batch;
use crate::slot::Slot;
use crate::team::Team;
use broadleaf_memory::AddressSpaces;
use broadleaf_model::pool::Crew;
use broadleaf_model::stream::Stream;
use std::sync::Arc;

/// How many lookups another thread is woken for: replaying so many takes some ten times as long.
#[cfg(not(test))]
const LITTLE: usize = 1 << 9;
/// The crate's own tests have short traces.
#[cfg(test)]
const LITTLE: usize = 1;

/// Batches that are prepared, and old ones whose memory is used again.
#[derive(Default)]
pub(crate) struct Prepared {
    batches: Vec<Batch>,
    used: usize,
}

impl Prepared {
    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.used
    }

    /// Another, to be filled.
    pub(crate) fn add(&mut self) -> &mut Batch {
        if self.used == self.batches.len() {
            self.batches.push(Batch::default());
        }
        self.used += 1;
        &mut self.batches[self.used - 1]
    }

    fn get(&self) -> &[Batch] {
        &self.batches[..self.used]
    }

    /// Whether there is so little to replay that nobody else need be woken for it.
    fn is_little(&self) -> bool {
        let lookups = |batch: &Batch| batch.pages.len() + batch.trail.pages.len();
        self.get().iter().map(lookups).sum::<usize>() < LITTLE
    }
}

/// A team that is away, and what it replays.
struct Errand<'a> {
    team: Team<'a>,
    prepared: Arc<Prepared>,
    /// As they were when it left.
    spaces: Arc<AddressSpaces>,
}

impl Errand<'_> {
    fn run(&mut self) {
        replay(&mut self.team, &self.prepared, &self.spaces);
    }
}

fn replay(team: &mut Team<'_>, prepared: &Prepared, spaces: &AddressSpaces) {
    let each = prepared.get().iter();
    each.for_each(|batch| team.replay(batch, spaces));
}

/// Where a team is.
enum Stand<'a> {
    Here(Team<'a>),
    Away(Arc<Slot<Errand<'a>>>),
}

const AWAY: &str = "a team is away";

impl<'a> Stand<'a> {
    fn here(self) -> Team<'a> {
        match self {
            Self::Here(team) => team,
            Self::Away(_) => unreachable!("{AWAY}"),
        }
    }
}

/// The teams of a pass.
pub(crate) struct Teams<'a> {
    all: Vec<Stand<'a>>,
    /// What those are at that are away.
    turn: Arc<Prepared>,
    /// Of a turn that is over.
    spare: Prepared,
}

impl<'a> Teams<'a> {
    /// All of these, here.
    pub(crate) fn new(teams: Vec<Team<'a>>) -> Self {
        Self {
            all: teams.into_iter().map(Stand::Here).collect(),
            turn: Arc::default(),
            spare: Prepared::default(),
        }
    }

    /// Has all teams replay what was prepared, of which nothing is left. They have to be here.
    /// Whoever has time sees to it; what nobody began with is done when they are called
    /// [back](Teams::back).
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
        let stays = crew.is_nobody() || self.turn.is_little();
        let all = std::mem::take(&mut self.all);
        for mut team in all.into_iter().map(Stand::here) {
            self.all.push(if stays || team.is_light() {
                replay(&mut team, &self.turn, &stream.spaces);
                Stand::Here(team)
            } else {
                let slot = Arc::new(Slot::new(Errand {
                    team,
                    prepared: Arc::clone(&self.turn),
                    spaces: Arc::clone(&stream.spaces),
                }));
                let handed = Arc::clone(&slot);
                crew.hand(move || {
                    handed.work(Errand::run);
                });
                Stand::Away(slot)
            });
        }
        if stays {
            self.back(|| false);
        }
    }

    /// Does what a team is away for, if nobody began with it. Whether there was any.
    pub(crate) fn work(&self) -> bool {
        self.all.iter().any(|stand| match stand {
            Stand::Here(_) => false,
            Stand::Away(slot) => slot.work(Errand::run),
        })
    }

    /// Waits until all teams are here. Says what can be done `meanwhile`, which answers whether it
    /// did anything.
    pub(crate) fn back(&mut self, meanwhile: impl Fn() -> bool) {
        while self.work() {}
        for stand in &mut self.all {
            if let Stand::Away(slot) = stand {
                let errand = loop {
                    if let Some(errand) = slot.take() {
                        break errand;
                    }
                    if !meanwhile() {
                        slot.wait();
                    }
                };
                *stand = Stand::Here(errand.team);
            }
        }
        if let Some(turn) = Arc::get_mut(&mut self.turn)
            && turn.used > 0
        {
            self.spare = std::mem::take(turn);
            self.spare.used = 0;
        }
    }

    /// All teams, which have to be here.
    pub(crate) fn here(&mut self) -> impl Iterator<Item = &mut Team<'a>> {
        self.all.iter_mut().map(|stand| match stand {
            Stand::Here(team) => team,
            Stand::Away(_) => unreachable!("{AWAY}"),
        })
    }

    /// The same, for good.
    pub(crate) fn into_all(self) -> Vec<Team<'a>> {
        self.all.into_iter().map(Stand::here).collect()
    }

    /// Asserts what has to hold between any two items of the trace, where all teams are here.
    #[cfg(test)]
    pub(crate) fn check(&self, stream: &Stream) {
        for stand in &self.all {
            match stand {
                Stand::Here(team) => team.check(stream),
                Stand::Away(_) => return,
            }
        }
    }
}
