//! Lackey: the text that `valgrind --tool=lackey --trace-mem=yes` writes.
//!
//! A line is one instruction or one reference: `I  addr,size`, ` L addr,size`, ` S addr,size`, and
//! ` M addr,size` for a load and store of the same bytes by one instruction. Lackey records no
//! events, so an imported trace has none.

mod import;
mod line;

use std::io::{self, Read};

use broadleaf_trace::{Grain, Visit};

use broadleaf_trace::{DataAccess, Fold};
pub(crate) use import::LACKEY;
use line::LackeyLine;
pub use line::LackeyReason;

/// The bytes asked of the source at once, and the maximum bytes of visits that one call makes.
const BUFFER: usize = 256 << 10;
/// No line grows the buffer beyond this: Valgrind's own lines hold a command line at most.
const LONGEST_LINE: usize = 16 << 20;
/// The maximum number of bytes before the first instruction or reference: Valgrind's own lines, and
/// blank ones.
const MOST_BEFORE: u64 = 64 << 20;
/// The number of visits that one call of [`LackeyReader::read`] makes, give or take those of one
/// line.
const BATCH: usize = 8 << 10;

/// Why a Lackey text could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LackeyError {
    /// A line is not one of Lackey's.
    #[error("line {number} (at byte {offset}): {reason}: {content}")]
    BadLine {
        /// The line's number, from 1.
        number: u64,
        /// The offset of the line in bytes from the start of the text.
        offset: u64,
        /// The fault of the line.
        reason: LackeyReason,
        /// The line, quoted, cut after 60 bytes.
        content: String,
    },
    /// The source failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The counts of lines and visits that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LackeyCounts {
    /// Whole lines, of every kind.
    pub lines: u64,
    /// Bytes of those lines.
    pub bytes: u64,
    /// `I` lines.
    pub instructions: u64,
    /// Loads: `L` and `M` lines.
    pub loads: u64,
    /// Stores: `S` and `M` lines.
    pub stores: u64,
}

/// Reads visits from Lackey text, a batch at a time.
#[derive(Debug)]
pub struct LackeyReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// The unread part of the buffer is `next..filled`.
    next: usize,
    filled: usize,
    /// The end of the last whole line in the buffer.
    whole: usize,
    ended: bool,
    fold: Fold,
    /// `I` lines make visits.
    fetches: bool,
    counts: LackeyCounts,
}

impl<R: Read> LackeyReader<R> {
    /// A reader of `source`, making visits of this grain. The source needs no buffer of its own.
    pub fn new(source: R, grain: Grain) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER],
            next: 0,
            filled: 0,
            whole: 0,
            ended: false,
            fold: Fold::new(grain),
            fetches: false,
            counts: LackeyCounts::default(),
        }
    }

    /// The reader, with `I` lines as fetches.
    #[must_use]
    pub fn with_fetches(mut self) -> Self {
        self.fetches = true;
        self
    }

    /// The counts of lines and visits that were read.
    pub const fn counts(&self) -> LackeyCounts {
        self.counts
    }

    /// The source, for what its owner wants of it when no more visits are read.
    pub const fn get_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// Appends the next batch of visits to `visits`. `false` says that the text is at its end and
    /// nothing was appended.
    ///
    /// # Errors
    /// [`LackeyError::BadLine`] at the first line that is not one of Lackey's: the visits before it
    /// were appended, the line is not passed, and calling again gives the same error.
    /// [`LackeyError::Io`] where the source fails.
    pub fn read(&mut self, visits: &mut Vec<Visit>) -> Result<bool, LackeyError> {
        let goal = visits.len() + BATCH;
        loop {
            self.lines(goal, visits)?;
            if visits.len() >= goal {
                return Ok(true);
            }
            let LackeyCounts {
                instructions,
                loads,
                stores,
                bytes,
                ..
            } = self.counts;
            if instructions + loads + stores == 0 && bytes > MOST_BEFORE {
                return Err(self.bad_line(LackeyReason::NothingYet));
            }
            if !self.refill()? {
                let before = goal - BATCH;
                self.fold.finish(visits);
                return Ok(visits.len() > before);
            }
        }
    }

    /// Reads whole lines from the buffer until there is none left or the batch is full.
    fn lines(&mut self, goal: usize, visits: &mut Vec<Visit>) -> Result<(), LackeyError> {
        // Local copies, so that the loop keeps them in registers.
        let LackeyCounts {
            mut lines,
            mut instructions,
            mut loads,
            mut stores,
            ..
        } = self.counts;
        let mut rest = &self.buffer[self.next..self.whole];
        let fold = &mut self.fold;
        let mut wrong = None;
        while !rest.is_empty() && visits.len() < goal {
            let (line, length) = match line::parse(rest) {
                Ok(parsed) => parsed,
                Err(reason) => {
                    wrong = Some(reason);
                    break;
                }
            };
            match line {
                LackeyLine::Instruction { first } => {
                    instructions += 1;
                    if self.fetches {
                        fold.fetch(first, visits);
                    } else {
                        fold.instruction();
                    }
                }
                LackeyLine::Load { first, last } => {
                    loads += 1;
                    fold.access(DataAccess::Load, first, last, visits);
                }
                LackeyLine::Store { first, last } => {
                    stores += 1;
                    fold.access(DataAccess::Store, first, last, visits);
                }
                LackeyLine::Modify { first, last } => {
                    loads += 1;
                    stores += 1;
                    // The hardware asks for write access at once (see `will_be_stored` of the
                    // recorder), so the store comes first.
                    fold.access(DataAccess::Store, first, last, visits);
                    fold.access(DataAccess::Load, first, last, visits);
                }
                LackeyLine::Nothing => {}
            }
            lines += 1;
            rest = &rest[length..];
        }
        let next = self.whole - rest.len();
        let bytes = self.counts.bytes + (next - self.next) as u64;
        self.next = next;
        self.counts = LackeyCounts {
            lines,
            bytes,
            instructions,
            loads,
            stores,
        };
        match wrong {
            None => Ok(()),
            Some(reason) => {
                self.fold.finish(visits);
                Err(self.bad_line(reason))
            }
        }
    }

    /// Reads more, so that the buffer holds at least one whole line. `false` at the end of the
    /// source.
    fn refill(&mut self) -> Result<bool, LackeyError> {
        self.buffer.copy_within(self.next..self.filled, 0);
        self.filled -= self.next;
        self.next = 0;
        self.whole = 0;
        while !self.ended {
            if self.filled == self.buffer.len() {
                if self.buffer.len() >= LONGEST_LINE {
                    return Err(self.bad_line(LackeyReason::TooLong));
                }
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let start = self.filled;
            match self.source.read(&mut self.buffer[start..]) {
                Ok(0) => {
                    self.ended = true;
                    // A last line without its newline is a line. There is room: the buffer was not
                    // full.
                    if start > 0 && self.buffer[start - 1] != b'\n' {
                        self.buffer[start] = b'\n';
                        self.filled += 1;
                    }
                    self.whole = self.filled;
                    return Ok(self.filled > 0);
                }
                Ok(count) => {
                    self.filled += count;
                    if let Some(newline) = memchr::memrchr(b'\n', &self.buffer[start..self.filled])
                    {
                        self.whole = start + newline + 1;
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    fn bad_line(&self, reason: LackeyReason) -> LackeyError {
        const SHOWN: usize = 60;
        let rest = &self.buffer[self.next..self.filled];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let shown = &line[..line.len().min(SHOWN)];
        let dots = if shown.len() < line.len() { "..." } else { "" };
        LackeyError::BadLine {
            number: self.counts.lines + 1,
            offset: self.counts.bytes,
            reason,
            content: format!("\"{}\"{dots}", shown.escape_ascii()),
        }
    }
}

/// Returns true if `start`, the first bytes of a file, looks like Lackey text: the first line that
/// is not blank parses. A line cut off by the end of `start` is judged as far as it goes, unless it
/// is all there is of a file.
pub fn looks_like_lackey(start: &[u8]) -> bool {
    let text = start.trim_ascii_end();
    let Some(first) = text
        .split(|&byte| byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())
    else {
        return false;
    };
    let mut line = first.to_vec();
    line.push(b'\n');
    matches!(line::parse(&line), Ok(_) | Err(LackeyReason::TooLong))
}

#[cfg(test)]
mod tests;
