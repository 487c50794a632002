//! The instructions of programs before a mix begins.

use super::{Mix, Replay, Turn};
use crate::outcome::refused;
use crate::stream::Refused;
use crate::{Error, ReplayProgress, Source};
use broadleaf_trace::Visit;
use broadleaf_trace::reduced::Sums;
use broadleaf_units::PageNumber;
use std::ops::ControlFlow;

impl<S: Source> Mix<'_, '_, '_, S> {
    /// Moves a program forward before the mix begins: memory alone sees its references.
    pub(super) fn skip(
        &mut self,
        number: usize,
        state: &mut ReplayProgress,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<Turn, Error<S::Error>> {
        let skipped = self.programs[number].work.skipped;
        self.turn_to(number);
        let mut passed = 0;
        while passed < skipped {
            let program = &self.programs[number];
            if program.at == program.visits.len() {
                let turn = self.read(number)?;
                if turn == Turn::ToBeginAgain {
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
        self.programs[number].space = self.replay.stream.running;
        Ok(Turn::Ended)
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
            self.stream.pass(&Sums {
                loads: visit.loads.into(),
                stores: visit.stores.into(),
                instructions: visit.instructions.into(),
                ..Sums::default()
            });
        }
        Ok(())
    }
}
