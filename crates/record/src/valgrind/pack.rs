//! Compresses and writes chunks, with one thread for each process. Meanwhile the reading thread
//! makes the next chunk.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use broadleaf_trace::{
    BlockCode, BlockDef, EventEncoder, StreamChunk, Totals, TraceWriter, WriteError,
};

use super::order::{Fork, Mark, WriteOrder};
use super::readers::is_running;
use super::streams::Streams;
use crate::windows::WindowProgress;

/// The trace that all processes of a recording write to.
pub(super) struct Shared<W> {
    writer: Mutex<TraceWriter<W>>,
    level: i32,
    accesses: AtomicU64,
    bytes: AtomicU64,
    /// The processes that recorded ones forked, whether they are recorded or not.
    forks: AtomicU64,
    /// The position of the first process in its windows.
    window: Mutex<Option<WindowProgress>>,
    /// The order of the processes in the file.
    pub(super) order: WriteOrder,
}

/// A chunk of one process, with the blocks that it is the first to execute.
pub(super) struct ProcessChunk {
    pub(super) streams: Streams,
    pub(super) totals: Totals,
    /// Nanoseconds since the start of the recording.
    pub(super) clock: u64,
    pub(super) events: EventEncoder,
    pub(super) blocks: Vec<BlockDef>,
    /// The code of the blocks, if it is recorded.
    pub(super) code: Vec<BlockCode>,
    /// The fork at the end of the chunk, if there is one.
    pub(super) fork: Option<Fork>,
}

impl<W: Write> Shared<W> {
    pub(super) fn new(writer: TraceWriter<W>, level: i32) -> Self {
        let bytes = AtomicU64::new(writer.offset());
        Self {
            writer: Mutex::new(writer),
            level,
            accesses: AtomicU64::new(0),
            bytes,
            forks: AtomicU64::new(0),
            window: Mutex::new(None),
            order: WriteOrder::default(),
        }
    }

    /// Returns the accesses and bytes in the file so far.
    pub(super) fn so_far(&self) -> (u64, u64) {
        (
            self.accesses.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        )
    }

    /// Adds the processes that a recorded process forked.
    pub(super) fn add_forks(&self, forks: u64) {
        self.forks.fetch_add(forks, Ordering::Relaxed);
    }

    /// Returns the number of processes that recorded ones forked.
    pub(super) fn forks(&self) -> u64 {
        self.forks.load(Ordering::Relaxed)
    }

    /// Returns the position of the program in its windows.
    pub(super) fn window(&self) -> Option<WindowProgress> {
        *self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the position of the program in its windows.
    pub(super) fn show_window(&self, window: WindowProgress) {
        *self.window.lock().unwrap_or_else(PoisonError::into_inner) = Some(window);
    }

    pub(super) fn into_writer(self) -> TraceWriter<W> {
        self.writer
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the chunks of one process until the channel ends. The first chunk waits for the mark
    /// `after`. A chunk after a fork waits until the child has begun. Emptied streams go back to
    /// the reading thread.
    pub(super) fn pack(
        &self,
        process: u32,
        after: Option<Mark>,
        chunks: &Receiver<ProcessChunk>,
        emptied: &Sender<Streams>,
    ) -> Result<(), WriteError> {
        let watch = self.order.watch();
        if let Some(mark) = after {
            self.order.wait_for(mark);
        }
        let begun = || {
            if let Some(Mark::Fork(fork)) = after {
                self.order.reach(Mark::Begun(fork));
            }
        };
        let (mut patterns, mut forked) = (0, None);
        for chunk in chunks {
            if let Some(fork) = forked {
                self.order.wait_for_child(fork, is_running);
            }
            self.write(process, &mut patterns, &chunk)?;
            begun();
            forked = chunk.fork;
            if let Some(fork) = forked {
                self.order.reach(Mark::Fork(fork.number));
            }
            // Without a receiver, this was the last chunk.
            drop(emptied.send(chunk.streams));
        }
        begun();
        self.order.reach(Mark::End(process));
        watch.well();
        Ok(())
    }

    /// Writes a chunk and its blocks. `patterns` is the number of patterns written before, and
    /// grows by those of the chunk.
    fn write(
        &self,
        process: u32,
        patterns: &mut u32,
        chunk: &ProcessChunk,
    ) -> Result<(), WriteError> {
        let streams = StreamChunk {
            totals: chunk.totals,
            clock: chunk.clock,
            sections: chunk.streams.sections(),
            events: chunk.events.bytes(),
        };
        // The compression comes before the lock, so that other processes can write meanwhile.
        let packed = streams.pack(process, self.level)?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.definitions(process, *patterns, &chunk.blocks)?;
        writer.code(process, *patterns, &chunk.code)?;
        let new = chunk.blocks.iter().map(|block| block.patterns() as u32);
        *patterns += new.sum::<u32>();
        writer.write(packed)?;
        self.bytes.store(writer.offset(), Ordering::Relaxed);
        let accesses = chunk.totals.loads + chunk.totals.stores;
        self.accesses.fetch_add(accesses, Ordering::Relaxed);
        Ok(())
    }
}
