//! Collects a process's blocks, events and executions into chunks.

use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use broadleaf_trace::{
    BlockCode, BlockDef, BlockItem, CodeInstruction, Event, EventEncoder, Totals, WriteError,
};

use super::order::{Fork, WriteOrder};
use super::pack::ProcessChunk;
use super::process::Sink;
use super::streams::Streams;
use super::wire::WireItem;

/// The settings that all processes of a recording share.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordSetting {
    pub(super) began: Instant,
    pub(super) instruction_pages: bool,
    /// True if the code of blocks is recorded.
    pub(super) code: bool,
    pub(super) unit_shift: u32,
    /// True if allocation sites are recorded.
    pub(super) sites: bool,
    /// The process id of the program that was started.
    pub(super) first: u32,
}

/// The error of a reader whose writer has failed. The writer returns the reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopped;

/// The sink of one process.
pub(super) struct ProcessSink<'a> {
    setting: RecordSetting,
    /// The source of the wait status, for the process that the recorder itself waits for. The tool
    /// is not informed of a signal that ends its process.
    ending: Option<&'a WriteOrder>,
    chunks: SyncSender<ProcessChunk>,
    emptied: Receiver<Streams>,
    blocks: Vec<BlockDef>,
    /// The code of `blocks`, if it is recorded.
    code: Vec<BlockCode>,
    events: EventEncoder,
    /// The error of an event that cannot be written. The recording of this process ends there.
    event_error: Option<WriteError>,
}

impl<'a> ProcessSink<'a> {
    pub(super) fn new(
        setting: RecordSetting,
        ending: Option<&'a WriteOrder>,
        chunks: SyncSender<ProcessChunk>,
        emptied: Receiver<Streams>,
    ) -> Self {
        Self {
            setting,
            ending,
            chunks,
            emptied,
            blocks: Vec::new(),
            code: Vec::new(),
            events: EventEncoder::new(),
            event_error: None,
        }
    }

    /// Returns the error of an invalid event, if there was one.
    pub(super) fn finish(self) -> Result<(), WriteError> {
        self.event_error.map_or(Ok(()), Err)
    }

    /// The items of a block, and its code if the tool records code.
    fn items(&self, described: impl Iterator<Item = WireItem>) -> (Vec<BlockItem>, BlockCode) {
        let mut items: Vec<BlockItem> = Vec::new();
        let (mut code, mut address, mut block) = (None, 0, BlockCode::default());
        for item in described {
            let item = match item {
                WireItem::Code(length, bytes) => {
                    let bytes = &bytes[..usize::from(length).min(bytes.len())];
                    block
                        .instructions
                        .push(CodeInstruction::new(address, bytes));
                    continue;
                }
                WireItem::Instruction(at) => {
                    address = at;
                    let unit = address >> self.setting.unit_shift;
                    match items.last_mut() {
                        Some(BlockItem::Instructions(n)) if !self.setting.instruction_pages => {
                            *n += 1;
                        }
                        Some(BlockItem::FetchAgain(n)) if code == Some(unit) => *n += 1,
                        _ if !self.setting.instruction_pages => {
                            items.push(BlockItem::Instructions(1));
                        }
                        _ if code == Some(unit) => items.push(BlockItem::FetchAgain(1)),
                        _ => items.push(BlockItem::Fetch { unit }),
                    }
                    code = Some(unit);
                    continue;
                }
                WireItem::Reference(reference) if reference.store => BlockItem::Store {
                    bytes: reference.bytes,
                },
                WireItem::Reference(reference) => BlockItem::Load {
                    bytes: reference.bytes,
                },
                WireItem::Exit => {
                    block.ends.push(block.instructions.len() as u32);
                    BlockItem::Exit
                }
            };
            items.push(item);
        }
        (items, block)
    }
}

impl Sink for ProcessSink<'_> {
    type Error = Stopped;

    fn block(&mut self, items: impl Iterator<Item = WireItem>) {
        let (items, code) = self.items(items);
        self.blocks.push(BlockDef { items });
        if self.setting.code {
            self.code.push(code);
        }
    }

    fn event(&mut self, heads: usize, event: &Event) {
        let found = match (event, self.ending) {
            (&Event::SpaceEnd { status }, Some(order)) => Some(Event::SpaceEnd {
                status: order.wait_for_status().or(status),
            }),
            _ => None,
        };
        let event = found.as_ref().unwrap_or(event);
        if let Err(e) = self.events.push(heads as u64, event) {
            self.event_error.get_or_insert(e);
        }
    }

    fn chunk(
        &mut self,
        streams: &mut Streams,
        totals: Totals,
        fork: Option<Fork>,
    ) -> Result<(), Stopped> {
        if self.event_error.is_some() {
            return Err(Stopped);
        }
        if streams.heads.is_empty() && self.events.bytes().is_empty() {
            return Ok(());
        }
        let empty = self.emptied.try_recv().unwrap_or_default();
        let chunk = ProcessChunk {
            streams: std::mem::replace(streams, empty),
            totals,
            clock: self.setting.began.elapsed().as_nanos() as u64,
            events: std::mem::take(&mut self.events),
            blocks: std::mem::take(&mut self.blocks),
            code: std::mem::take(&mut self.code),
            fork,
        };
        self.chunks.send(chunk).map_err(|_| Stopped)
    }
}
