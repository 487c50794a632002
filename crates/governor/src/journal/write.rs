//! Writes a journal: each line holds the differences from the tick before.

use super::Header;
use super::checksum::Checksum;
use super::line::{MemoryLine, ProcessLine, Splice, TickLine};
use crate::governor::Ticked;
use crate::seen::{
    BlockSeen, LiveMapping, LivePages, MachineSeen, Observation, ProcessId, ProcessSeen,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal<W> {
    to: W,
    checksum: Checksum,
    /// The state after the lines so far.
    machine: Option<MachineSeen>,
    /// The latest state of each process, with the latest read of its memory.
    processes: BTreeMap<ProcessId, ProcessSeen>,
}

impl<W: Write> Journal<W> {
    /// Creates a journal that begins with `header`.
    ///
    /// # Errors
    /// Returns the errors of `to`.
    pub fn begin(to: W, header: &Header) -> io::Result<Self> {
        let mut journal = Self {
            to,
            checksum: Checksum::default(),
            machine: None,
            processes: BTreeMap::new(),
        };
        journal.write(header)?;
        Ok(journal)
    }

    /// Adds a tick.
    ///
    /// # Errors
    /// Returns the errors of the output. After an error the journal is useless: later ticks would
    /// hold differences from a missing tick.
    pub fn tick(&mut self, ticked: &Ticked) -> io::Result<()> {
        let mut line = self.line(&ticked.seen);
        line.plan.clone_from(&ticked.plan);
        line.outcomes.clone_from(&ticked.done.outcomes);
        self.write(&line)
    }

    /// Writes one line with one call.
    fn write(&mut self, line: &impl serde::Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        self.checksum.seal(&mut bytes);
        bytes.push(b'\n');
        self.to.write_all(&bytes)?;
        self.to.flush()
    }

    /// Returns the differences and remembers the new state.
    fn line(&mut self, seen: &Observation) -> TickLine {
        let machine = (self.machine != Some(seen.machine)).then(|| seen.machine.into());
        self.machine = Some(seen.machine);
        let known = self.processes.keys().copied();
        let gone: Vec<ProcessId> = known.filter(|id| !seen.has(*id)).collect();
        for id in &gone {
            self.processes.remove(id);
        }
        let processes = seen.processes.iter();
        TickLine {
            at: u64::try_from(seen.at.as_nanos()).unwrap_or(u64::MAX),
            machine,
            processes: processes
                .filter_map(|process| self.process(process))
                .collect(),
            gone: gone.iter().map(|id| (id.pid, id.started)).collect(),
            ..TickLine::default()
        }
    }

    fn process(&mut self, seen: &ProcessSeen) -> Option<ProcessLine> {
        let is_new = !self.processes.contains_key(&seen.id);
        let known = self
            .processes
            .entry(seen.id)
            .or_insert_with(|| ProcessSeen {
                id: seen.id,
                vitals: Default::default(),
                headroom: None,
                pages: Some(LivePages::default()),
            });
        let (was, is) = (&known.vitals, &seen.vitals);
        let differing = |was: u64, is: u64| (was != is).then_some(is);
        let none = LivePages::default();
        let pages = seen.pages.as_ref();
        let written = ProcessLine {
            id: (seen.id.pid, seen.id.started),
            command: (was.command != is.command).then(|| is.command.clone()),
            image: differing(was.image, is.image),
            faults: differing(was.faults, is.faults),
            rss: differing(was.rss_bytes, is.rss_bytes),
            headroom: (known.headroom != seen.headroom).then(|| seen.headroom.into()),
            pages: pages.map(|pages| memory(known.pages.as_ref().unwrap_or(&none), pages)),
        };
        known.vitals.clone_from(&seen.vitals);
        known.headroom = seen.headroom;
        if seen.pages.is_some() {
            known.pages.clone_from(&seen.pages);
        }
        let says_nothing = written
            == ProcessLine {
                id: written.id,
                ..ProcessLine::default()
            };
        (is_new || !says_nothing).then_some(written)
    }
}

fn memory(was: &LivePages, is: &LivePages) -> MemoryLine {
    let before = was.blocks.iter().map(|seen| seen.block);
    let differs = |seen: &&BlockSeen| was.block(seen.block) != Some(*seen);
    MemoryLine {
        mappings: splice(&was.mappings, &is.mappings),
        held: is.held,
        asked: is.asked.as_ref().map(|ranges| {
            let ranges = ranges.iter();
            ranges.map(|blocks| (blocks.start, blocks.end)).collect()
        }),
        used: is.used.as_ref().map(|used| {
            let used = used.iter();
            used.map(|heat| (heat.block, heat.used)).collect()
        }),
        gone: ranges(before.filter(|block| is.block(*block).is_none())),
        blocks: (is.blocks.iter().filter(differs))
            .map(|seen| (*seen).into())
            .collect(),
    }
}

/// Groups sorted numbers into ranges: the first number, and the number after the last.
fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, end)) if *end == number => *end += 1,
            _ => ranges.push((number, number + 1)),
        }
    }
    ranges
}

/// Returns the change from one list to the other: all mappings between the common beginning and the
/// common end.
fn splice(was: &[LiveMapping], is: &[LiveMapping]) -> Option<Splice> {
    if was == is {
        return None;
    }
    let after = was.iter().zip(is).take_while(|(was, is)| was == is).count();
    let (was, is) = (&was[after..], &is[after..]);
    let from_end = was.iter().rev().zip(is.iter().rev());
    let kept = from_end.take_while(|(was, is)| was == is).count();
    Some(Splice {
        after,
        drop: was.len() - kept,
        add: is[..is.len() - kept].to_vec(),
    })
}
