//! The inside of a trace's chunks: any blocks, any sections, any events.
//!
//! Compression and checks in a file keep a fuzzer out. This target makes blocks and sections from
//! the fuzzer's bytes and writes them with the writer, so that the fuzzer reaches the decoder.

use broadleaf_trace::{
    BlockDef, BlockItem, Grain, Header, Options, SECTIONS, StreamChunk, Totals, TraceWriter,
};

/// A reader of the fuzzer's bytes.
struct FuzzBytes<'a>(&'a [u8]);

impl<'a> FuzzBytes<'a> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Reads a piece after its length, which is at most 255.
    fn piece(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }
}

fn block(bytes: &[u8], fetches: bool) -> BlockDef {
    let mut items: Vec<BlockItem> = Vec::new();
    for &byte in bytes {
        let argument = u32::from(byte >> 3);
        items.push(match byte & 7 {
            0 if fetches => BlockItem::Fetch {
                unit: argument.into(),
            },
            0 => BlockItem::Instructions(argument),
            1 => BlockItem::Load { bytes: argument },
            2 => BlockItem::Store { bytes: argument },
            3 => BlockItem::Exit,
            4 => BlockItem::Several {
                loads: argument,
                stores: 0,
                loads_before_store: 0,
            },
            5 => BlockItem::Several {
                loads: argument,
                stores: 1 + argument,
                loads_before_store: argument / 2,
            },
            6 if fetches => BlockItem::FetchAgain(argument),
            6 => BlockItem::Instructions(u32::MAX - argument),
            _ => BlockItem::Load {
                bytes: 4096 * argument,
            },
        });
    }
    items.push(BlockItem::Exit);
    BlockDef { items }
}

fn trace(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = FuzzBytes(bytes);
    let flags = bytes.byte();
    let mut header = Header::new(if flags & 1 == 0 {
        Grain::Page
    } else {
        Grain::Line
    });
    header.options = Options {
        instruction_counts: flags & 2 != 0,
        instruction_pages: flags & 4 != 0,
        events: flags & 8 != 0,
        system: false,
        kernel_events: false,
        code: false,
        children: flags & 16 != 0,
    };
    let mut writer = TraceWriter::new(Vec::new(), &header).ok()?;
    while !bytes.0.is_empty() {
        let what = bytes.byte();
        let process = u32::from(what >> 6);
        if what & 1 == 0 {
            let first = u32::from(bytes.byte());
            let blocks = [block(bytes.piece(), header.options.instruction_pages)];
            writer.definitions(process, first, &blocks).ok()?;
        } else {
            let mut number = || u64::from(bytes.byte());
            let totals = Totals {
                executions: number(),
                loads: number(),
                stores: number(),
                instructions: number(),
            };
            let sections: [&[u8]; SECTIONS] = std::array::from_fn(|_| bytes.piece());
            let chunk = StreamChunk {
                totals,
                clock: 0,
                sections,
                events: bytes.piece(),
            };
            writer.stream_chunk(process, &chunk).ok()?;
        }
    }
    writer.finish().ok()
}

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    if let Some(trace) = trace(bytes) {
        crate::traces::read_in_every_manner(&trace);
    }
}
