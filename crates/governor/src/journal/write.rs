//! Writing a journal: what differs from the tick before.

use super::Header;
use super::checksum::Checksum;
use super::line::{Line, Memory, Process, Splice};
use crate::governor::Ticked;
use crate::seen::{BlockSeen, MachineSeen, Mapping, Pages, ProcessId, ProcessSeen, Seen};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal<W> {
    to: W,
    checksum: Checksum,
    /// What the lines so far say.
    machine: Option<MachineSeen>,
    /// Each process as it was last seen, with its memory as it was last looked at.
    processes: BTreeMap<ProcessId, ProcessSeen>,
}

impl<W: Write> Journal<W> {
    /// A journal that begins with `header`.
    ///
    /// # Errors
    /// Those of `to`.
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
    /// Those of what it is written to. The journal is of no more use then: later ticks would say what differs from one that is not there.
    pub fn tick(&mut self, ticked: &Ticked) -> io::Result<()> {
        let mut line = self.line(&ticked.seen);
        line.plan.clone_from(&ticked.plan);
        line.outcomes.clone_from(&ticked.done.outcomes);
        self.write(&line)
    }

    /// One line, with one call.
    fn write(&mut self, line: &impl serde::Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        self.checksum.seal(&mut bytes);
        bytes.push(b'\n');
        self.to.write_all(&bytes)?;
        self.to.flush()
    }

    /// What differs, which is remembered.
    fn line(&mut self, seen: &Seen) -> Line {
        let machine = (self.machine != Some(seen.machine)).then(|| seen.machine.into());
        self.machine = Some(seen.machine);
        let known = self.processes.keys().copied();
        let gone: Vec<ProcessId> = known.filter(|id| !seen.has(*id)).collect();
        for id in &gone {
            self.processes.remove(id);
        }
        let processes = seen.processes.iter();
        Line {
            at: u64::try_from(seen.at.as_nanos()).unwrap_or(u64::MAX),
            machine,
            processes: processes
                .filter_map(|process| self.process(process))
                .collect(),
            gone: gone.iter().map(|id| (id.pid, id.started)).collect(),
            ..Line::default()
        }
    }

    fn process(&mut self, seen: &ProcessSeen) -> Option<Process> {
        let is_new = !self.processes.contains_key(&seen.id);
        let known = self
            .processes
            .entry(seen.id)
            .or_insert_with(|| ProcessSeen {
                id: seen.id,
                vitals: Default::default(),
                headroom: None,
                pages: Some(Pages::default()),
            });
        let (was, is) = (&known.vitals, &seen.vitals);
        let differing = |was: u64, is: u64| (was != is).then_some(is);
        let none = Pages::default();
        let pages = seen.pages.as_ref();
        let written = Process {
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
            == Process {
                id: written.id,
                ..Process::default()
            };
        (is_new || !says_nothing).then_some(written)
    }
}

fn memory(was: &Pages, is: &Pages) -> Memory {
    let before = was.blocks.iter().map(|seen| seen.block);
    let differs = |seen: &&BlockSeen| was.block(seen.block) != Some(*seen);
    Memory {
        mappings: splice(&was.mappings, &is.mappings),
        held: is.held,
        asked: is.asked.as_ref().map(|ranges| {
            let ranges = ranges.iter();
            ranges.map(|blocks| (blocks.start, blocks.end)).collect()
        }),
        gone: ranges(before.filter(|block| is.block(*block).is_none())),
        blocks: (is.blocks.iter().filter(differs))
            .map(|seen| (*seen).into())
            .collect(),
    }
}

/// Numbers in order, as ranges: the first, and the one behind the last.
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

/// What makes one list of the other: all that lies between what they begin and end with alike.
fn splice(was: &[Mapping], is: &[Mapping]) -> Option<Splice> {
    if was == is {
        return None;
    }
    let after = was.iter().zip(is).take_while(|(was, is)| was == is).count();
    let (was, is) = (&was[after..], &is[after..]);
    let from_behind = was.iter().rev().zip(is.iter().rev());
    let behind = from_behind.take_while(|(was, is)| was == is).count();
    Some(Splice {
        after,
        drop: was.len() - behind,
        add: is[..is.len() - behind].to_vec(),
    })
}
