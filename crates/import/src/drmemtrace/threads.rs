//! The running thread and its process.

use std::collections::BTreeMap;

use broadleaf_trace::{Event, SystemEvent};
use broadleaf_units::{CoreId, SpaceId, ThreadId};

use crate::batch::ImportBatch;
use broadleaf_trace::Fold;

/// The maximum number of threads, and of processes, of a trace.
const MOST: usize = 1 << 20;

/// The threads of a trace, and the one that runs.
#[derive(Debug, Default)]
pub(super) struct DrThreads {
    /// The process of each thread.
    processes: BTreeMap<u64, u64>,
    /// The address space of each process.
    spaces: BTreeMap<u64, SpaceId>,
    /// Threads that have begun and not ended, each with the core of its last event.
    started: BTreeMap<(SpaceId, ThreadId), Option<CoreId>>,
    pub(super) space: SpaceId,
    thread: Option<ThreadId>,
    /// The trace is one of a whole system, whose space 0 is the kernel's.
    of_system: bool,
}

impl DrThreads {
    pub(super) fn new(of_system: bool) -> Self {
        Self {
            of_system,
            ..Self::default()
        }
    }

    /// A thread belongs to this process.
    pub(super) fn belongs(&mut self, thread: u64, process: u64) -> Result<(), &'static str> {
        if self.processes.len() >= MOST && !self.processes.contains_key(&thread) {
            return Err("the trace has more than 1,048,576 threads");
        }
        self.processes.insert(thread, process);
        Ok(())
    }

    /// This thread runs from here on, on that core if the core is known. Appends the events that
    /// say so.
    pub(super) fn run(
        &mut self,
        thread: Option<u64>,
        core: Option<CoreId>,
        fold: &mut Fold,
        batch: &mut ImportBatch,
    ) -> Result<(), &'static str> {
        let Some(thread) = thread else {
            return Err(
                "a reference comes before the thread that makes it: the input is \
                        damaged before this record",
            );
        };
        let Some(&process) = self.processes.get(&thread) else {
            return Err(
                "a reference comes before the process of its thread: the input is \
                        damaged before this record",
            );
        };
        let thread = u32::try_from(thread)
            .map_err(|_| "the thread's number does not fit 32 bits: the input is damaged")?;
        let thread = ThreadId(thread);
        let known = self.spaces.get(&process).copied();
        let space = known.unwrap_or(SpaceId(
            self.spaces.len() as u32 + u32::from(self.of_system),
        ));
        let is_new = !self.started.contains_key(&(space, thread));
        if known.is_none() && self.spaces.len() >= MOST || is_new && self.started.len() >= MOST {
            return Err("the trace has more than 1,048,576 processes or threads");
        }
        let runs = known == Some(self.space) && self.thread == Some(thread);
        let moves = core.is_some() && self.started.get(&(space, thread)) != Some(&core);
        if runs && !moves {
            return Ok(());
        }
        fold.cut(&mut batch.visits);
        if space != self.space {
            batch.event(match self.of_system {
                true => Event::System(SystemEvent::Space(space)),
                false => Event::SpaceSwitch(space),
            });
            self.space = space;
        }
        if known.is_none() {
            self.spaces.insert(process, space);
            batch.event(Event::SpaceStart {
                pid: process as u32,
                parent: 0,
                command: Vec::new(),
            });
        }
        let last_core = self.started.entry((space, thread)).or_insert_with(|| {
            batch.event(Event::ThreadStart(thread));
            None
        });
        if !runs {
            batch.event(Event::ThreadSwitch(thread));
            self.thread = Some(thread);
        }
        if let (true, Some(core)) = (moves, core) {
            batch.event(Event::CoreSwitch(core));
            *last_core = Some(core);
        }
        Ok(())
    }

    /// The thread that runs ends.
    pub(super) fn end(&mut self, fold: &mut Fold, batch: &mut ImportBatch) {
        if let Some(thread) = self.thread.take() {
            fold.cut(&mut batch.visits);
            batch.event(Event::ThreadEnd(thread));
            self.started.remove(&(self.space, thread));
        }
    }
}

#[cfg(test)]
mod tests {
    use broadleaf_trace::Grain;

    use super::*;

    /// A trace with as many threads as allowed goes on with each of them. One more is refused.
    #[test]
    fn threads_at_the_limit_run_on() {
        let mut threads = DrThreads::default();
        let mut fold = Fold::new(Grain::Page);
        let mut batch = ImportBatch::default();
        let mut run = |threads: &mut DrThreads, thread| {
            let ran = threads.run(Some(thread), None, &mut fold, &mut batch);
            batch.clear();
            ran
        };
        for thread in 0..MOST as u64 {
            threads.belongs(thread, 1).expect("a thread");
            run(&mut threads, thread).expect("a new thread");
        }
        run(&mut threads, 0).expect("a thread that has started");
        assert!(threads.belongs(MOST as u64, 1).is_err());
        // The same thread of another process is another thread.
        threads.belongs(0, 2).expect("a thread");
        assert!(run(&mut threads, 0).is_err());
    }
}
