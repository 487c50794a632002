//! The recorded stream: visits and events.
//!
//! A trace holds a program's memory references in their exact order, folded into *visits*. *Events*
//! between visits change the address space. This crate works on bytes, never on files, and does not
//! depend on policies or TLBs.
#![forbid(unsafe_code)]

mod block;
mod chunk;
mod code;
mod compress;
mod decode;
mod definitions;
mod encode;
mod error;
mod event;
mod event_bytes;
mod event_scan;
mod fold;
mod head;
mod header;
mod index;
mod input;
mod kernel_event;
mod measured;
mod part;
mod phrases;
mod read;
pub mod reduced;
mod section;
mod site;
pub mod synth;
mod system_event;
mod varint;
mod visit;
mod windows;
mod write;

pub use block::{BlockDef, BlockItem, MOST_BLOCK_REFERENCES, MOST_PATTERNS, MOST_REFERENCES};
pub use chunk::{ChunkKind, MAGIC, MOST_CHUNK_BYTES, Totals, VERSION};
pub use code::{BlockCode, CodeInstruction, CodeTable, MOST_INSTRUCTION_BYTES, PatternCode};
pub use compress::DEFAULT_LEVEL;
pub use decode::{ChunkReader, MOST_REACH};
pub use definitions::{Definitions, MOST_DEFINITION_BYTES};
pub use encode::Encoder;
pub use error::{Bad, Section, TraceError, WriteError};
pub use event::{Advice, Backing, Event, KernelTouch, Mapping, Range, TouchOrigin};
pub use event_bytes::EventEncoder;
pub use fold::{DataAccess, Fold};
pub use header::{Header, Options, RecordedProgram};
pub use index::{ChunkInfo, TraceIndex};
pub use kernel_event::{KernelAction, KernelEvent, RESERVED_BYTES, TagFlush};
pub use measured::{EndRun, FaultCosts, MeasuredEnds};
pub use part::{Closed, Part, PartItem, PartReader};
pub use phrases::{DecodingEffort, Phrased, RecodeError, Recoded, Recoder};
pub use read::{Lost, MOST_DEFINED, ReadOptions, TraceReader, VisitEnds};
pub use site::{Allocation, Site, SiteFrame};
pub use system_event::{FaultStep, GuestLeaf, Invalidation, SystemEvent};
pub use visit::{Grain, Lead, Visit};
pub use windows::{Border, WindowBorder, WindowPlan, WindowUnit};
pub use write::{PackedChunk, SECTIONS, StreamChunk, TraceWriter, head_bytes};

/// One item of a trace, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// References, in order, with no event between them.
    Visits(&'a [Visit]),
    /// A change that takes effect before the next visit.
    Event(&'a Event),
}
