//! Reading on after damage: skipping bytes, searching for the next chunk, and counting the loss.

use std::io::Read;

use super::TraceReader;
use crate::chunk::{CHUNK, CHUNK_HEAD_BYTES, Totals, check_agrees};
use crate::error::TraceError;
use crate::part::Part;

/// The maximum number of bytes of possible chunks that a search after damage checks.
const MOST_SEARCHED: u64 = 1 << 34;

impl<R: Read> TraceReader<R> {
    /// Handles a missing or broken chunk.
    pub(super) fn damage(&mut self, error: TraceError) -> Result<Option<Part>, TraceError> {
        if !self.options.keep_going {
            return Err(error);
        }
        self.search()?;
        Ok(None)
    }

    /// Skips a whole chunk with invalid content.
    pub(super) fn pass_over(
        &mut self,
        length: usize,
        error: TraceError,
    ) -> Result<Option<Part>, TraceError> {
        if !self.options.keep_going {
            return Err(error);
        }
        self.input.consume(length);
        self.lose(length as u64, None);
        Ok(None)
    }

    pub(super) fn lose(&mut self, bytes: u64, totals: Option<Totals>) {
        self.lost.bytes += bytes;
        self.lost.places += 1;
        self.lost_totals = match (self.lost_totals, totals) {
            (Some(mut sum), Some(more)) => {
                sum.add(&more);
                Some(sum)
            }
            _ => None,
        };
    }

    /// Searches for the next whole chunk after the first byte ahead.
    pub(super) fn search(&mut self) -> Result<(), TraceError> {
        let from = self.input.offset();
        if !self.input.ahead().is_empty() {
            self.input.consume(1);
        }
        while self.input.fill(CHUNK_HEAD_BYTES)? && self.searched < MOST_SEARCHED {
            let ahead = self.input.ahead();
            let found = ahead.windows(CHUNK.len()).position(|four| four == CHUNK);
            let Some(at) = found else {
                let passed = ahead.len() + 1 - CHUNK.len();
                self.input.consume(passed);
                continue;
            };
            self.input.consume(at);
            if self.whole_chunk_ahead()? {
                break;
            }
            self.input.consume(1);
        }
        if !self.input.fill(CHUNK_HEAD_BYTES)? {
            self.input.consume(self.input.ahead().len());
        }
        if self.searched >= MOST_SEARCHED {
            // The file was made to be searched for ever. The reader counts the searched bytes as
            // lost.
            self.input.consume(self.input.ahead().len());
            self.ended = true;
        }
        self.lose(self.input.offset() - from, None);
        Ok(())
    }

    fn whole_chunk_ahead(&mut self) -> Result<bool, TraceError> {
        if !self.input.fill(CHUNK_HEAD_BYTES)? {
            return Ok(false);
        }
        let Ok(head) = self.chunk_head() else {
            return Ok(false);
        };
        let length = head.whole_length();
        self.searched += length as u64;
        if !self.input.fill(length)? {
            return Ok(false);
        }
        Ok(check_agrees(&self.input.ahead()[..length]))
    }
}
