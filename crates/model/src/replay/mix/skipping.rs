//! The instructions of programs before a mix begins.

use super::pieces::copy_visits;
use super::{Afresh, Mix, Replay, Turn};
use crate::beginning::{Beginning, BeginningStep, PassedVisits, TracePosition, sums_of};
use crate::outcome::refused;
use crate::stream::Refused;
use crate::{Error, ReplayProgress, Source, SourcePart};
use broadleaf_trace::Visit;
use broadleaf_units::PageNumber;
use std::ops::ControlFlow;

/// The steps of a beginning between two calls of `progress`.
const STEPS: usize = 1 << 12;

impl<S: Source> Mix<'_, '_, '_, S> {
    /// Moves a program forward before the mix begins: memory alone sees its references.
    pub(super) fn skip(
        &mut self,
        number: usize,
        state: &mut ReplayProgress,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<Turn, Error<S::Error>> {
        self.turn_to(number);
        let program = &self.programs[number];
        let turn = match program.beginning {
            Some(beginning) if beginning.skipped == program.work.skipped => {
                self.skip_by(number, beginning, state, progress)?
            }
            _ => self.skip_all(number, state, progress)?,
        };
        self.programs[number].space = self.replay.stream.running;
        Ok(turn)
    }

    /// Passes every visit of the beginning.
    fn skip_all(
        &mut self,
        number: usize,
        state: &mut ReplayProgress,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<Turn, Error<S::Error>> {
        let skipped = self.programs[number].work.skipped;
        let mut passed = 0;
        while passed < skipped {
            let program = &self.programs[number];
            if program.at == program.visits.len() {
                let turn = self.read(number)?;
                if turn != Turn::Ended {
                    return Ok(turn);
                }
            }
            let program = &mut self.programs[number];
            let from = program.at;
            while program.at < program.visits.len() && passed < skipped {
                passed += u64::from(program.visits[program.at].instructions);
                program.at += 1;
            }
            let visits = &program.visits[from..program.at];
            let forward = self.replay.forward(visits);
            forward.map_err(|why| refused(why, 1))?;
            self.report(state, progress)?;
        }
        Ok(Turn::Ended)
    }

    /// Passes the visits of the beginning that may change memory. All others change nothing if
    /// memory unsettles no page and no daemon falls due: this is checked.
    fn skip_by(
        &mut self,
        number: usize,
        beginning: &Beginning,
        state: &mut ReplayProgress,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<Turn, Error<S::Error>> {
        let mut unsettled = self.replay.worlds.all[0].unsettled();
        for (step_number, step) in beginning.steps.iter().enumerate() {
            match step {
                BeginningStep::Event(event) => {
                    let spaces = &mut self.programs[number].spaces;
                    if self.replay.event_of_program(event, spaces)?.is_err() {
                        return Ok(Turn::ToBeginAgain(Afresh::Told));
                    }
                    unsettled = self.replay.worlds.all[0].unsettled();
                }
                BeginningStep::Visit(visit, passed) => {
                    let forward = self.replay.forward(std::slice::from_ref(visit));
                    forward.map_err(|why| refused(why, 1))?;
                    let settled = self.replay.pass_settled(passed);
                    if !settled || self.replay.worlds.all[0].unsettled() != unsettled {
                        return Ok(Turn::ToBeginAgain(Afresh::Whole));
                    }
                }
            }
            if step_number.is_multiple_of(STEPS) {
                self.report(state, progress)?;
            }
        }
        Ok(match self.go_to(number, &beginning.end)? {
            true => Turn::Ended,
            // The trace is another one now.
            false => Turn::ToBeginAgain(Afresh::Whole),
        })
    }

    /// Reads on at a position of the program's trace. The events before it were applied. Returns
    /// false if the trace has no such position.
    fn go_to(&mut self, number: usize, to: &TracePosition) -> Result<bool, Error<S::Error>> {
        let program = &mut self.programs[number];
        for _ in 0..to.parts {
            program.source.pass_part().map_err(Error::Source)?;
        }
        program.part = program.source.next_part().map_err(Error::Source)?;
        self.replay.begin_trace_part();
        let program = &mut self.programs[number];
        let Some(part) = &mut program.part else {
            return Ok(false);
        };
        for _ in 0..to.pieces {
            part.next().map_err(Error::Source)?;
        }
        program.visits.clear();
        if let Some(piece) = part.next().map_err(Error::Source)? {
            copy_visits(&piece, &mut program.visits);
        }
        program.at = to.visits;
        Ok(to.visits > 0 && to.visits <= program.visits.len())
    }
}

impl Replay<'_, '_> {
    /// Passes visits by: memory sees their references, and TLBs and caches do not.
    fn forward(&mut self, visits: &[Visit]) -> Result<(), Refused> {
        let space = self.stream.running;
        for visit in visits {
            let time = self.stream.now();
            self.stream
                .note_visit(PageNumber(visit.unit >> self.shift))?;
            for world in &mut self.worlds.all {
                world.forward(space, visit, self.shift, time, &self.stream);
            }
            self.stream.pass(&sums_of(visit));
        }
        Ok(())
    }

    /// Passes visits that change nothing. Returns false if a daemon may fall due at one of them.
    fn pass_settled(&mut self, passed: &PassedVisits) -> bool {
        self.stream.pass(&passed.sums);
        let now = self.stream.now();
        let mut worlds = self.worlds.all.iter_mut();
        worlds.all(|world| passed.references == 0 || world.pass_forward(passed.references, now))
    }
}
