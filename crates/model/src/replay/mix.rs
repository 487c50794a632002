//! A mix of programs: whose turn it is, and what each of them reads next.

mod pieces;
mod skipping;

use super::{Replay, spaces_told};
use crate::beginning::Beginning;
use crate::earlier::Names;
use crate::outcome::refused;
use crate::pool::Pool;
use crate::result;
use crate::stream::Stream;
use crate::together::{MixOutcome, MixProgram, MixWork};
use crate::visit_slice::VisitSlice;
use crate::worlds::Worlds;
use crate::{Error, MemoryLimits, Plan, ReplayProgress, Source, SourcePart, SourcePiece};
use broadleaf_memory::GEOMETRY;
use broadleaf_metrics::{CellResult, CoreResult};
use broadleaf_trace::Visit;
use broadleaf_units::SpaceId;
use pieces::copy_visits;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The turns between two calls of `progress`.
const TURNS: u64 = 1 << 12;

/// A mix that runs.
pub(crate) struct Mix<'a, 'p, 's, S: Source> {
    replay: Replay<'a, 'p>,
    programs: Vec<RunningProgram<'s, S>>,
    /// The instructions of a turn.
    turn: u64,
}

/// A program that runs on its core.
struct RunningProgram<'s, S: Source> {
    source: &'s mut S,
    /// The part of the trace that is read.
    part: Option<S::Part>,
    /// Visits that were read, and the next one of them.
    visits: Vec<Visit>,
    at: usize,
    /// The address space that runs on the core.
    space: SpaceId,
    /// All address spaces that ran since the program began.
    spaces: BTreeSet<SpaceId>,
    work: MixWork,
    /// The steps of the program in the skipped instructions, if they are known.
    beginning: Option<&'s Beginning>,
    /// The instructions that it has begun since the mix began.
    begun: u64,
    /// Its counts when its caches were warm, and when it had done its work.
    warm: Option<CoreResult>,
    done: Option<CoreResult>,
    again: u64,
    /// The cycle of its core.
    now: u64,
}

/// The spaces whose mappings a trace lists, where the replay took one of them for one without.
type Told = BTreeSet<SpaceId>;

/// The end of a program's turn.
#[derive(PartialEq, Eq)]
enum Turn {
    Ended,
    /// All programs have done their work.
    AllDone,
    ToBeginAgain(Afresh),
}

/// Why a mix begins again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Afresh {
    /// A space that was taken for one without mappings has some.
    Told,
    /// A daemon fell due, or memory unsettled a page, among visits that a beginning leaves out.
    Whole,
}

/// How a mix begins again.
pub(crate) enum AnotherMix {
    /// It knows the mappings of these spaces then.
    Told(Told),
    /// It passes every visit that is skipped.
    Whole,
}

impl<'a, 'p, 's, S: Source> Mix<'a, 'p, 's, S> {
    /// A mix before its first instruction.
    pub(crate) fn new<'m: 's>(
        programs: &'s mut [MixProgram<'m, S>],
        worlds: Worlds<'a>,
        stream: Stream,
        plan: &'p Plan,
        limits: &MemoryLimits,
        pool: &'p Pool,
    ) -> Self {
        let caches = plan.machines().first().and_then(|one| one.caches.as_ref());
        let programs = programs.iter_mut().map(|program| RunningProgram {
            source: &mut *program.source,
            part: None,
            visits: Vec::new(),
            at: 0,
            space: SpaceId(0),
            spaces: BTreeSet::new(),
            work: program.work,
            beginning: program.beginning,
            begun: 0,
            warm: None,
            done: None,
            again: 0,
            now: 0,
        });
        Self {
            turn: caches.map_or(1, |caches| caches.core.window),
            programs: programs.collect(),
            replay: Replay::new(worlds, stream, plan, limits, pool),
        }
    }

    /// Runs all programs until each has done its work. Returns `Ok(Err(..))` if the mix has to
    /// begin again.
    pub(crate) fn run(
        mut self,
        state: &mut ReplayProgress,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<Result<MixOutcome, AnotherMix>, Error<S::Error>> {
        for number in 0..self.programs.len() {
            self.begin(number)?;
            if let Turn::ToBeginAgain(why) = self.skip(number, state, progress)? {
                return self.another(number, why).map(Err);
            }
        }
        let mut turns = 0_u64;
        while self.programs.iter().any(|program| program.done.is_none()) {
            let numbered = self.programs.iter().enumerate();
            let next = numbered.min_by_key(|(_, program)| program.now);
            let Some((number, _)) = next else {
                break;
            };
            if let Turn::ToBeginAgain(why) = self.take_turn(number)? {
                return self.another(number, why).map(Err);
            }
            if self.replay.worlds.all[0].ended.is_some() {
                let why = "memory is used up: give --memory more, or leave it out";
                return Err(Error::Memory(why.to_string()));
            }
            if turns.is_multiple_of(TURNS) {
                self.report(state, progress)?;
            }
            turns += 1;
        }
        let again = self.programs.iter().map(|program| program.again).collect();
        let done = self.programs.iter_mut().map(|program| program.done.take());
        let programs = done.map(Option::unwrap_or_default).collect();
        let plan = self.replay.plan;
        let mut replayed = self.replay.finish();
        if let Some(mut listener) = replayed.worlds.take_listener(0, &replayed.stream) {
            listener.end();
        }
        let whole = result::results(&replayed.worlds, &replayed.stream, plan);
        Ok(Ok(MixOutcome {
            whole: CellResult {
                // No other policy ran beside.
                faults_saved: 0,
                ..whole.into_iter().next().unwrap_or_default()
            },
            programs,
            again,
        }))
    }

    /// Reports the progress. Returns an error if the mix is to stop, or takes more memory than it
    /// may.
    fn report(
        &self,
        state: &mut ReplayProgress,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<(), Error<S::Error>> {
        state.accesses = self.replay.stream.now();
        if progress(*state).is_break() {
            return Err(Error::Stopped);
        }
        let room = self.replay.refuse_more_than_may_be();
        room.map_err(|why| refused(why, 1))
    }

    /// Begins a program: its trace, from the first item on.
    fn begin(&mut self, number: usize) -> Result<(), Error<S::Error>> {
        let program = &mut self.programs[number];
        let grain = program.source.grain();
        let checked = (self.replay.plan).check_mixed(grain, program.source.holds_system());
        checked.map_err(Error::Memory)?;
        self.replay.shift = u32::from(GEOMETRY.base().shift() - grain.shift());
        self.replay.names.begin(Some(number));
        program.space = self.replay.names.space(SpaceId(0))?;
        program.spaces = BTreeSet::from([program.space]);
        let code = program.source.code();
        self.replay.run_on_core(number);
        self.replay.worlds.all[0].running_core_follows(code.as_ref());
        Ok(())
    }

    /// Lets a program run on its core until it has begun the instructions of a turn.
    fn take_turn(&mut self, number: usize) -> Result<Turn, Error<S::Error>> {
        self.turn_to(number);
        let end = self.programs[number].begun.saturating_add(self.turn);
        while self.programs[number].begun < end {
            if self.programs[number].at == self.programs[number].visits.len() {
                match self.read(number)? {
                    Turn::Ended => {}
                    turn => return Ok(turn),
                }
            }
            let program = &mut self.programs[number];
            let from = program.at;
            while program.at < program.visits.len() && program.begun < end {
                program.begun += u64::from(program.visits[program.at].instructions);
                program.at += 1;
            }
            let visits = &program.visits[from..program.at];
            let replayed = self.replay.visits(VisitSlice::Each(visits));
            replayed.map_err(|why| refused(why, 1))?;
            self.note_work(number);
        }
        self.replay.flush();
        let program = &mut self.programs[number];
        program.space = self.replay.stream.running;
        program.now = self.replay.worlds.all[0].core_now();
        Ok(Turn::Ended)
    }

    /// Lets a program's core run.
    fn turn_to(&mut self, number: usize) {
        self.replay.names.resume(Some(number));
        self.replay.children = self.programs[number].source.holds_children();
        self.replay.resume(self.programs[number].space);
        self.replay.run_on_core(number);
    }

    /// Keeps the counts of a program whose caches are warm, or that has done its work.
    fn note_work(&mut self, number: usize) {
        let program = &self.programs[number];
        let MixWork {
            warming, counted, ..
        } = program.work;
        if warming > 0 && program.warm.is_none() && program.begun >= warming {
            let counts = self.counts(number);
            self.programs[number].warm = Some(counts);
        }
        let program = &self.programs[number];
        let is_done = counted.is_some_and(|counted| program.begun >= warming + counted);
        if is_done && program.done.is_none() {
            self.keep_counts(number);
        }
    }

    fn counts(&mut self, number: usize) -> CoreResult {
        self.replay.flush();
        self.replay.worlds.all[0].core_result(number)
    }

    fn keep_counts(&mut self, number: usize) {
        let all = self.counts(number);
        let program = &mut self.programs[number];
        program.done = Some(match &program.warm {
            Some(warm) => all.since(warm),
            None => all,
        });
    }

    /// Reads the next visits of a program, and applies the events before them. At the end of its
    /// trace, the program begins again.
    fn read(&mut self, number: usize) -> Result<Turn, Error<S::Error>> {
        loop {
            let program = &mut self.programs[number];
            let Some(part) = &mut program.part else {
                program.part = program.source.next_part().map_err(Error::Source)?;
                if program.part.is_none() && self.begin_again(number)? == Turn::AllDone {
                    return Ok(Turn::AllDone);
                }
                self.replay.begin_trace_part();
                continue;
            };
            program.visits.clear();
            program.at = 0;
            match part.next().map_err(Error::Source)? {
                Some(SourcePiece::Reduced(..)) => {
                    let why = "a reduced form leaves visits out, and caches need them: give the \
                               trace itself";
                    return Err(Error::Memory(why.to_string()));
                }
                Some(SourcePiece::Event(event)) => {
                    let applied = self.replay.event_of_program(event, &mut program.spaces);
                    if applied?.is_err() {
                        return Ok(Turn::ToBeginAgain(Afresh::Told));
                    }
                }
                Some(visits) => copy_visits(&visits, &mut program.visits),
                None => {
                    let closed = program.part.take().map(|part| program.source.close(part));
                    let closed = closed.transpose().map_err(Error::Source)?;
                    let is_last = closed.is_some_and(|closed| closed.is_break());
                    if is_last && self.begin_again(number)? == Turn::AllDone {
                        return Ok(Turn::AllDone);
                    }
                }
            }
            if !self.programs[number].visits.is_empty() {
                return Ok(Turn::Ended);
            }
        }
    }

    /// The trace of a program has ended. If others have work to do, its processes end and it begins
    /// again.
    fn begin_again(&mut self, number: usize) -> Result<Turn, Error<S::Error>> {
        let program = &mut self.programs[number];
        let why = match program.work {
            MixWork { skipped: 0, .. } if program.begun == 0 => {
                "the cores of a mix advance by instructions, and a trace counts none: record the \
                 program again"
            }
            _ if program.begun == 0 => {
                "a trace ends before the instructions that are skipped: skip fewer"
            }
            MixWork { warming, .. } if program.again == 0 && program.begun <= warming => {
                "a trace ends before its caches are warm: skip or warm fewer instructions"
            }
            _ => "",
        };
        if !why.is_empty() {
            return Err(Error::Memory(why.to_string()));
        }
        if program.done.is_none() {
            self.keep_counts(number);
        }
        if self.programs.iter().all(|program| program.done.is_some()) {
            return Ok(Turn::AllDone);
        }
        let program = &mut self.programs[number];
        self.replay.end_batch();
        for space in &program.spaces {
            self.replay.stream.switch(*space);
            self.replay.stream.will_end();
        }
        self.replay.end_spaces();
        let program = &mut self.programs[number];
        program.source.rewind().map_err(Error::Source)?;
        program.part = None;
        program.again += 1;
        self.begin(number)?;
        self.replay.resume(self.programs[number].space);
        Ok(Turn::Ended)
    }

    /// How the mix begins again, for a reason that program `number` gave.
    fn another(&mut self, number: usize, why: Afresh) -> Result<AnotherMix, Error<S::Error>> {
        match why {
            Afresh::Told => self.told(number).map(AnotherMix::Told),
            Afresh::Whole => Ok(AnotherMix::Whole),
        }
    }

    /// The spaces whose mappings the trace of a program lists.
    fn told(&mut self, number: usize) -> Result<Told, Error<S::Error>> {
        let mut told = Told::from([self.replay.stream.running]);
        let program = &mut self.programs[number];
        program.source.rewind().map_err(Error::Source)?;
        let mut names = Names::default();
        names.begin(Some(number));
        told.extend(spaces_told(program.source, &names)?);
        Ok(told)
    }
}
