//! Compressing and writing chunks, on a thread of its own for each process: the next chunk is made meanwhile.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use broadleaf_trace::{BlockDef, EventEncoder, StreamChunk, Totals, TraceWriter, WriteError};

use super::order::{Fork, Mark, Order};
use super::readers::is_running;
use super::streams::Streams;

/// The trace that all processes of a recording write to.
pub(super) struct Shared<W> {
    writer: Mutex<TraceWriter<W>>,
    level: i32,
    accesses: AtomicU64,
    bytes: AtomicU64,
    /// Which process is written before which.
    pub(super) order: Order,
}

/// A chunk of one process, with the blocks that it is the first to run.
pub(super) struct Chunk {
    pub(super) streams: Streams,
    pub(super) totals: Totals,
    /// Nanoseconds since the recording began.
    pub(super) clock: u64,
    pub(super) events: EventEncoder,
    pub(super) blocks: Vec<BlockDef>,
    /// The fork with which it ends, if it ends with one.
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
            order: Order::default(),
        }
    }

    /// Accesses and bytes in the file so far.
    pub(super) fn so_far(&self) -> (u64, u64) {
        (
            self.accesses.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        )
    }

    pub(super) fn into_writer(self) -> TraceWriter<W> {
        self.writer
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the chunks of one process until there are no more, the first when the file is as far as `after`, and those behind a fork when
    /// its child has begun. What they were made in goes back, to be used again.
    pub(super) fn pack(
        &self,
        process: u32,
        after: Option<Mark>,
        chunks: &Receiver<Chunk>,
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
            // Where nobody takes it, that was the last.
            drop(emptied.send(chunk.streams));
        }
        begun();
        self.order.reach(Mark::End(process));
        watch.well();
        Ok(())
    }

    /// `patterns` of the process were written before; those of this chunk are added.
    fn write(&self, process: u32, patterns: &mut u32, chunk: &Chunk) -> Result<(), WriteError> {
        let streams = StreamChunk {
            totals: chunk.totals,
            clock: chunk.clock,
            sections: chunk.streams.sections(),
            events: chunk.events.bytes(),
        };
        // Compressed before the writer is taken: other processes write meanwhile.
        let packed = streams.pack(process, self.level)?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.definitions(process, *patterns, &chunk.blocks)?;
        let new = chunk.blocks.iter().map(|block| block.patterns() as u32);
        *patterns += new.sum::<u32>();
        writer.write(packed)?;
        self.bytes.store(writer.offset(), Ordering::Relaxed);
        let accesses = chunk.totals.loads + chunk.totals.stores;
        self.accesses.fetch_add(accesses, Ordering::Relaxed);
        Ok(())
    }
}
