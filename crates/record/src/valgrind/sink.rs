//! From a process's blocks, events and chunks to the trace.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use broadleaf_trace::{
    BlockDef, BlockItem, Event, EventEncoder, StreamChunk, Totals, TraceWriter, WriteError,
};

use super::process::{Sink, instruction};
use super::tell::{self, Streams};
use super::wire::item;

/// The trace that all processes of a recording write to.
pub(super) struct Shared<W> {
    writer: Mutex<TraceWriter<W>>,
    began: Instant,
    level: i32,
    instruction_pages: bool,
    unit_shift: u32,
    accesses: AtomicU64,
    bytes: AtomicU64,
}

impl<W: Write> Shared<W> {
    pub(super) fn new(
        writer: TraceWriter<W>,
        level: i32,
        instruction_pages: bool,
        unit_shift: u32,
    ) -> Self {
        let bytes = AtomicU64::new(writer.offset());
        Self {
            writer: Mutex::new(writer),
            began: Instant::now(),
            level,
            instruction_pages,
            unit_shift,
            accesses: AtomicU64::new(0),
            bytes,
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
}

/// One process's part of it.
pub(super) struct ProcessSink<'a, W> {
    shared: &'a Shared<W>,
    number: u32,
    blocks: Vec<BlockDef>,
    patterns_written: u32,
    events: EventEncoder,
    /// An event that cannot be written is kept until the chunk ends, where errors can be told.
    event_error: Option<WriteError>,
}

impl<'a, W: Write> ProcessSink<'a, W> {
    pub(super) fn new(shared: &'a Shared<W>, number: u32) -> Self {
        Self {
            shared,
            number,
            blocks: Vec::new(),
            patterns_written: 0,
            events: EventEncoder::new(),
            event_error: None,
        }
    }

    fn items(&self, words: &[u64]) -> Vec<BlockItem> {
        let mut items: Vec<BlockItem> = Vec::with_capacity(words.len());
        let mut code = None;
        for word in words {
            let argument = word >> 8;
            if let Some(address) = instruction(*word) {
                let unit = address >> self.shared.unit_shift;
                match items.last_mut() {
                    Some(BlockItem::Instructions(n)) if !self.shared.instruction_pages => *n += 1,
                    Some(BlockItem::FetchAgain(n)) if code == Some(unit) => *n += 1,
                    _ if !self.shared.instruction_pages => items.push(BlockItem::Instructions(1)),
                    _ if code == Some(unit) => items.push(BlockItem::FetchAgain(1)),
                    _ => items.push(BlockItem::Fetch { unit }),
                }
                code = Some(unit);
                continue;
            }
            match word & 0xff {
                item::LOAD => items.push(BlockItem::Load {
                    bytes: argument as u32,
                }),
                item::STORE => items.push(BlockItem::Store {
                    bytes: argument as u32,
                }),
                item::EXIT => items.push(BlockItem::Exit),
                _ => {}
            }
        }
        items
    }
}

impl<W: Write> Sink for ProcessSink<'_, W> {
    type Error = WriteError;

    fn block(&mut self, words: &[u64]) {
        self.blocks.push(BlockDef {
            items: self.items(words),
        });
    }

    fn event(&mut self, heads: usize, event: &Event) {
        if let Err(e) = self.events.push(heads as u64, event) {
            self.event_error.get_or_insert(e);
        }
    }

    fn chunk(&mut self, streams: &Streams, totals: tell::Totals) -> Result<(), WriteError> {
        if let Some(e) = self.event_error.take() {
            return Err(e);
        }
        if streams.heads.is_empty() && self.events.bytes().is_empty() {
            return Ok(());
        }
        let shared = self.shared;
        let chunk = StreamChunk {
            totals: Totals {
                executions: totals.executions,
                loads: totals.loads,
                stores: totals.stores,
                instructions: totals.instructions,
            },
            clock: shared.began.elapsed().as_nanos() as u64,
            sections: streams.sections(),
            events: self.events.bytes(),
        };
        // Compressed before the writer is taken: other processes write meanwhile.
        let packed = chunk.pack(self.number, shared.level)?;
        self.events.clear();
        let mut writer = shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.definitions(self.number, self.patterns_written, &self.blocks)?;
        self.patterns_written += self
            .blocks
            .iter()
            .map(|block| block.patterns() as u32)
            .sum::<u32>();
        self.blocks.clear();
        writer.write(packed)?;
        shared.bytes.store(writer.offset(), Ordering::Relaxed);
        shared
            .accesses
            .fetch_add(totals.loads + totals.stores, Ordering::Relaxed);
        Ok(())
    }
}
