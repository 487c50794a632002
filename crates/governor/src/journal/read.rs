//! Reads a journal: rebuilds each tick from its differences.

use super::checksum::Checksum;
use super::line::{MemoryLine, ProcessLine, TickLine};
use super::{Header, JOURNAL_SCHEMA, TickRecord, WITHOUT_CHECKSUMS};
use crate::heat::BlockHeat;
use crate::plan::{Came, PromotionRun};
use crate::seen::{
    BlockSeen, LiveMapping, LivePages, MachineSeen, Observation, ProcessId, ProcessSeen,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};
use std::time::Duration;

/// The reason for which a journal cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal's input failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input does not begin like a journal.
    #[error("no journal: {0}")]
    NoJournal(String),
    /// A line is invalid.
    #[error("the journal is damaged in line {line}, from byte {offset} on: {what}")]
    Damaged {
        /// The line number, counted from 1.
        line: u64,
        /// The offset of the line in bytes.
        offset: u64,
        /// The fault of the line.
        what: String,
    },
}

/// The ticks of a journal, in order. After an error, the iterator ends.
#[derive(Debug)]
pub struct Ticks<R> {
    from: R,
    /// The checksum so far. `None` for a version without checksums.
    checksum: Option<Checksum>,
    /// The lines and bytes that were read.
    lines: u64,
    bytes: u64,
    /// The bytes of an incomplete last line.
    torn: u64,
    has_ended: bool,
    state: JournalState,
}

/// The state after the lines so far.
#[derive(Debug, Default)]
struct JournalState {
    at: Duration,
    machine: MachineSeen,
    /// The latest state of each process, with the latest read of its memory.
    processes: BTreeMap<ProcessId, ProcessSeen>,
}

/// The maximum length of the header in bytes.
const LONGEST_HEADER: u64 = 1 << 20;
/// The error for a line that was changed.
const DIFFERS: &str = "is not what was written: its checksum differs";

/// Starts to read a journal.
///
/// # Errors
/// Returns an error if the input is no journal, or a journal of another version.
pub fn read<R: BufRead>(mut from: R) -> Result<(Header, Ticks<R>), JournalError> {
    let mut line = Vec::new();
    // An input that is no journal may be one endless line.
    from.by_ref()
        .take(LONGEST_HEADER)
        .read_until(b'\n', &mut line)?;
    let no = |what: String| JournalError::NoJournal(what);
    let first: serde_json::Value =
        serde_json::from_slice(&line).map_err(|_| no("its first line is no JSON".to_owned()))?;
    let mut checksum = Checksum::default();
    let checksum = match first.get("schema").and_then(serde_json::Value::as_str) {
        Some(JOURNAL_SCHEMA) => {
            let sealed = line.strip_suffix(b"\n").unwrap_or(&line);
            let opened = checksum.open(sealed);
            opened.ok_or_else(|| no(format!("its first line {DIFFERS}")))?;
            Some(checksum)
        }
        Some(WITHOUT_CHECKSUMS) if first.get("crc").is_none() => None,
        Some(WITHOUT_CHECKSUMS) => {
            let what = "its first line is damaged: this version has no checksums, and there is one";
            return Err(no(what.to_owned()));
        }
        Some(other) => {
            return Err(no(format!(
                "it is {other:?}, and {JOURNAL_SCHEMA:?} is what this version reads"
            )));
        }
        None => return Err(no("its first line names no schema".to_owned())),
    };
    let header =
        serde_json::from_value(first).map_err(|error| no(format!("its first line: {error}")))?;
    let ticks = Ticks {
        from,
        checksum,
        lines: 1,
        bytes: line.len() as u64,
        torn: 0,
        has_ended: false,
        state: JournalState::default(),
    };
    Ok((header, ticks))
}

impl<R> Ticks<R> {
    /// Returns the bytes of an incomplete last line, which is left out. The number is 0 before the
    /// end of the journal, and if the last line is complete.
    pub const fn torn_bytes(&self) -> u64 {
        self.torn
    }
}

impl<R: BufRead> Ticks<R> {
    fn line(&mut self) -> Result<Option<TickRecord>, JournalError> {
        let mut bytes = Vec::new();
        self.from.read_until(b'\n', &mut bytes)?;
        if bytes.last() != Some(&b'\n') {
            self.torn = bytes.len() as u64;
            return Ok(None);
        }
        self.lines += 1;
        let damaged = |what: String| JournalError::Damaged {
            line: self.lines,
            offset: self.bytes,
            what,
        };
        let bytes_read = bytes.len() as u64;
        if let Some(checksum) = &mut self.checksum {
            bytes.pop();
            let opened = checksum.open(&bytes);
            bytes = opened.ok_or_else(|| damaged(format!("the line {DIFFERS}")))?;
        }
        let line = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let record = self.state.apply(line).map_err(damaged)?;
        self.bytes += bytes_read;
        Ok(Some(record))
    }
}

impl<R: BufRead> Iterator for Ticks<R> {
    type Item = Result<TickRecord, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let line = self.line();
        self.has_ended = !matches!(line, Ok(Some(_)));
        line.transpose()
    }
}

impl JournalState {
    /// Takes in a line and returns its tick.
    fn apply(&mut self, line: TickLine) -> Result<TickRecord, String> {
        let at = Duration::from_nanos(line.at);
        if at < self.at {
            return Err("time goes back".to_owned());
        }
        self.at = at;
        if let Some(machine) = line.machine {
            self.machine = machine.into();
        }
        for (pid, started) in line.gone {
            let gone = self.processes.remove(&ProcessId { pid, started });
            gone.ok_or_else(|| format!("process {pid} is gone, and never was there"))?;
        }
        for outcome in &line.outcomes {
            if let Came::Promoted(seen) | Came::Demoted(seen) = &outcome.came {
                within(seen)?;
            }
        }
        for run in &line.plan.promote {
            check_run(run)?;
        }
        let mut looked = BTreeSet::new();
        for process in line.processes {
            self.process(process, &mut looked)?;
        }
        let processes = self.processes.values().map(|known| ProcessSeen {
            id: known.id,
            vitals: known.vitals.clone(),
            headroom: known.headroom,
            pages: looked
                .contains(&known.id)
                .then(|| known.pages.clone())
                .flatten(),
        });
        Ok(TickRecord {
            seen: Observation {
                at,
                machine: self.machine,
                processes: processes.collect(),
            },
            plan: line.plan,
            outcomes: line.outcomes,
        })
    }

    fn process(
        &mut self,
        line: ProcessLine,
        looked: &mut BTreeSet<ProcessId>,
    ) -> Result<(), String> {
        let (pid, started) = line.id;
        let id = ProcessId { pid, started };
        let known = self.processes.entry(id).or_insert_with(|| blank(id));
        let vitals = &mut known.vitals;
        if let Some(command) = line.command {
            vitals.command = command;
        }
        vitals.image = line.image.unwrap_or(vitals.image);
        vitals.faults = line.faults.unwrap_or(vitals.faults);
        vitals.rss_bytes = line.rss.unwrap_or(vitals.rss_bytes);
        if let Some(headroom) = line.headroom {
            known.headroom = headroom.into();
        }
        if let Some(memory) = line.pages {
            let pages = known.pages.get_or_insert_default();
            apply(memory, pages).map_err(|what| format!("process {pid}: {what}"))?;
            looked.insert(id);
        }
        Ok(())
    }
}

/// Returns a process without any known facts.
fn blank(id: ProcessId) -> ProcessSeen {
    ProcessSeen {
        id,
        vitals: Default::default(),
        headroom: None,
        pages: None,
    }
}

/// Refuses a block with more pages than a block has.
fn within(seen: &BlockSeen) -> Result<(), String> {
    let pages = u32::from(seen.present) + u32::from(seen.zero) + u32::from(seen.swapped);
    if pages > crate::PAGES {
        return Err(format!("block {} holds {pages} pages", seen.block));
    }
    Ok(())
}

/// Refuses a run of a plan with more pages than a block has, or without a count for each block.
fn check_run(run: &PromotionRun) -> Result<(), String> {
    let (blocks, counts) = (&run.blocks, run.present.len());
    if blocks.end.checked_sub(blocks.start) != Some(counts as u64) {
        return Err(format!(
            "the plan promotes blocks {}..{} with {counts} counts of pages",
            blocks.start, blocks.end
        ));
    }
    let mut all = blocks.clone().zip(&run.present);
    match all.find(|(_, pages)| u32::from(**pages) > crate::PAGES) {
        Some((block, pages)) => Err(format!("block {block} holds {pages} pages")),
        None => Ok(()),
    }
}

/// Returns the used pages of blocks. Refuses a block with more pages than a block has.
fn used(written: Vec<(u64, u16)>) -> Result<Vec<BlockHeat>, String> {
    let each = written.into_iter().map(|(block, used)| {
        if u32::from(used) > crate::PAGES {
            return Err(format!("block {block} has {used} used pages"));
        }
        Ok(BlockHeat { block, used })
    });
    each.collect()
}

fn apply(memory: MemoryLine, pages: &mut LivePages) -> Result<(), String> {
    pages.held = memory.held;
    pages.asked = memory.asked.map(|ranges| {
        let ranges = ranges.into_iter();
        ranges.map(|(start, end)| start..end).collect()
    });
    pages.used = memory.used.map(used).transpose()?;
    if let Some(splice) = memory.mappings {
        let end = splice.after.checked_add(splice.drop);
        let end = end.filter(|end| *end <= pages.mappings.len());
        let end = end.ok_or("mappings are gone that never were there")?;
        pages.mappings.splice(splice.after..end, splice.add);
    }
    let in_order = |two: &[LiveMapping]| two[0].end <= two[1].start;
    if !pages.mappings.windows(2).all(in_order) {
        return Err("mappings overlap".to_owned());
    }
    let mut blocks: BTreeMap<u64, BlockSeen> =
        (pages.blocks.iter().map(|seen| (seen.block, *seen))).collect();
    for (start, end) in memory.gone {
        // Only known blocks are removed: a damaged number may name a huge range.
        let there: Vec<u64> = if start < end {
            blocks.range(start..end).map(|(block, _)| *block).collect()
        } else {
            Vec::new()
        };
        if there.len() as u64 != end.wrapping_sub(start) || there.is_empty() {
            return Err(format!(
                "blocks {start}..{end} are gone, and were not all there"
            ));
        }
        for block in there {
            blocks.remove(&block);
        }
    }
    for written in memory.blocks {
        let seen = BlockSeen::from(written);
        within(&seen)?;
        blocks.insert(seen.block, seen);
    }
    pages.blocks = blocks.into_values().collect();
    Ok(())
}
