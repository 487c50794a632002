//! The format of the Valgrind tool's output, the counterpart of `recorder/valgrind/wire.h`. Both
//! files change together.

use broadleaf_trace::{
    Advice, Backing, Border, Event, FaultStep, GuestLeaf, Invalidation, KernelEvent, KernelTouch,
    Mapping, Range, SystemEvent, TouchOrigin, WindowBorder,
};
use broadleaf_units::{CoreId, FileId, Rights, SpaceId, ThreadId, VirtAddr};

pub(super) const MAGIC: u32 = 0x424c_5631;
pub(super) const SEGMENTS: usize = 16;
/// The number of filled segments that wakes the reader.
pub(super) const A_WHILE: u32 = 8;
pub(super) const SEGMENT_BYTES: usize = 64 * 1024;
pub(super) const HEADER_BYTES: usize = 4096;
pub(super) const RING_BYTES: usize = HEADER_BYTES + SEGMENTS * SEGMENT_BYTES;

/// Byte offsets of the header's fields.
pub(super) mod header {
    pub(in super::super) const MAGIC: usize = 0;
    pub(in super::super) const UNIT_SHIFT: usize = 12;
    pub(in super::super) const PID: usize = 16;
    pub(in super::super) const ENDED: usize = 20;
    pub(in super::super) const HEAD: usize = 24;
    pub(in super::super) const TAIL: usize = 28;
    pub(in super::super) const WORDS: usize = 32;
    pub(in super::super) const NUMBERS: usize = WORDS + 4 * super::SEGMENTS;
    pub(in super::super) const WAKE_READER_AT: usize = NUMBERS + 4 * super::SEGMENTS;
    pub(in super::super) const WAKE_TOOL_AT: usize = WAKE_READER_AT + 4;
    /// The field has 64 bits.
    pub(in super::super) const FORK: usize = WAKE_TOOL_AT + 4;
    /// With windows: accesses and instructions so far (64 bits each), and twice the number of the
    /// present or next window, plus 1 inside a window.
    pub(in super::super) const ACCESSES: usize = FORK + 8;
    pub(in super::super) const INSTRUCTIONS: usize = ACCESSES + 8;
    pub(in super::super) const WINDOW: usize = INSTRUCTIONS + 8;
}

/// Replaces the address of a reference whose guard was false.
pub(super) const ABSENT: u64 = u64::MAX;
/// Set in an execution's word if a reference may have left its unit. The execution's bases then
/// follow among the numbers.
pub(super) const LEFT: u32 = 0x4000_0000;
/// Set in a record's word, and clear in an execution's word.
pub(super) const RECORD: u32 = 0x8000_0000;
/// The bits of an execution's word that hold its pattern, which is never 0.
pub(super) const PATTERN: u32 = PATTERNS as u32 - 1;
/// The limit of pattern numbers.
pub(super) const PATTERNS: usize = 1 << 22;

/// The kinds of records.
pub(super) mod kind {
    pub(in super::super) const BLOCK: u8 = 1;
    pub(in super::super) const MAP: u8 = 2;
    pub(in super::super) const UNMAP: u8 = 3;
    pub(in super::super) const PROTECT: u8 = 4;
    pub(in super::super) const REMAP: u8 = 5;
    pub(in super::super) const ADVISE: u8 = 6;
    pub(in super::super) const BRK: u8 = 7;
    pub(in super::super) const STACK: u8 = 8;
    pub(in super::super) const FILE: u8 = 9;
    pub(in super::super) const MISPLACED: u8 = 10;
    pub(in super::super) const PROCESS: u8 = 11;
    pub(in super::super) const FORK: u8 = 12;
    pub(in super::super) const EXEC: u8 = 13;
    pub(in super::super) const EXIT: u8 = 14;
    pub(in super::super) const THREAD_START: u8 = 15;
    pub(in super::super) const THREAD_RUN: u8 = 16;
    pub(in super::super) const THREAD_END: u8 = 17;
    pub(in super::super) const FORKING: u8 = 18;
    pub(in super::super) const POPULATE: u8 = 19;
    pub(in super::super) const SITE: u8 = 20;
    pub(in super::super) const ALLOCATION: u8 = 21;
    pub(in super::super) const WINDOW_START: u8 = 22;
    pub(in super::super) const WINDOW_END: u8 = 23;
    pub(in super::super) const TOTAL: u8 = 24;
    pub(in super::super) const SPACE: u8 = 25;
    pub(in super::super) const LEAF: u8 = 26;
    pub(in super::super) const INVALIDATE: u8 = 27;
    pub(in super::super) const FAULT: u8 = 28;
    pub(in super::super) const PRIVILEGE: u8 = 29;
    pub(in super::super) const CORE: u8 = 30;
    pub(in super::super) const SPACE_END: u8 = 31;
    pub(in super::super) const KERNEL: u8 = 32;
}

/// An item of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireItem {
    /// An instruction at this address begins.
    Instruction(u64),
    /// A load or a store.
    Reference(WireReference),
    /// A pattern ends.
    Exit,
    /// The bytes of the instruction before: how many there are, and the bytes, padded with zeros.
    Code(u8, [u8; 16]),
}

/// A reference as the tool describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WireReference {
    pub(super) store: bool,
    pub(super) bytes: u32,
    /// The index of the base in the block. `None` if the address is the same each time.
    pub(super) base: Option<u16>,
    /// The offset from the base, or the address.
    pub(super) offset: u64,
}

/// Decodes the items of a block's description.
pub(super) fn items(words: &[u64]) -> impl Iterator<Item = WireItem> {
    const INSTRUCTION: u64 = 1;
    const LOAD: u64 = 2;
    const STORE: u64 = 3;
    const EXIT: u64 = 4;
    const CODE: u64 = 5;
    const NO_BASE: u64 = 0xffff;
    let mut words = words.iter();
    std::iter::from_fn(move || {
        let word = words.next()?;
        Some(match word & 0xff {
            INSTRUCTION => WireItem::Instruction(word >> 8),
            what @ (LOAD | STORE) => {
                let base = word >> 32;
                WireItem::Reference(WireReference {
                    store: what == STORE,
                    bytes: (word >> 8) as u32 & 0xff_ffff,
                    base: (base != NO_BASE).then_some(base as u16),
                    offset: *words.next()?,
                })
            }
            EXIT => WireItem::Exit,
            CODE => {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&words.next()?.to_le_bytes());
                bytes[8..].copy_from_slice(&words.next()?.to_le_bytes());
                WireItem::Code((word >> 8) as u8, bytes)
            }
            _ => return None,
        })
    })
}

/// The payload of a record, read from the front. Missing words read as zero: a faulty tool may
/// cause a wrong event, but never a panic.
pub(super) struct Payload<'a>(pub(super) &'a [u64]);

impl Payload<'_> {
    pub(super) fn number(&mut self) -> u64 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    /// Reads the number of things that follow. A faulty number has at most one for each word left.
    pub(super) fn count(&mut self) -> u64 {
        self.number().min(self.0.len() as u64)
    }

    pub(super) fn text(&mut self) -> String {
        let words = (self.number() as usize).min(self.0.len() * 8);
        let (text, rest) = self.0.split_at(words.div_ceil(8));
        self.0 = rest;
        let bytes: Vec<u8> = text
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .take(words)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn address(&mut self) -> VirtAddr {
        VirtAddr(self.number())
    }

    fn range(&mut self) -> Range {
        Range {
            start: self.address(),
            len: self.number(),
        }
    }

    fn protection(&mut self) -> Rights {
        let bits = self.number();
        Rights {
            read: bits & 1 != 0,
            write: bits & 2 != 0,
            execute: bits & 4 != 0,
        }
    }

    /// Returns the event of a record of this kind, or `None` for records that are no event.
    pub(super) fn event(mut self, record: u8) -> Option<Event> {
        const MAP_SHARED: u64 = 1;
        Some(match record {
            kind::MAP => {
                let (range, protection) = (self.range(), self.protection());
                let shared = self.number() & MAP_SHARED != 0;
                let (backing, file, offset) =
                    (self.number(), FileId(self.number() as u32), self.number());
                let backing = match backing {
                    1 => Backing::Heap,
                    2 => Backing::Stack,
                    3 => Backing::SharedMemory,
                    4 => Backing::File { file, offset },
                    5 => Backing::Kernel,
                    _ => Backing::Anonymous,
                };
                Event::Map(Mapping {
                    range,
                    protection,
                    shared,
                    backing,
                })
            }
            kind::UNMAP => Event::Unmap(self.range()),
            kind::PROTECT => Event::Protect(self.range(), self.protection()),
            kind::REMAP => Event::Remap {
                from: self.range(),
                to: self.range(),
            },
            kind::ADVISE => Event::Advise(
                self.range(),
                match self.number() as i32 {
                    4 => Advice::DontNeed,
                    8 => Advice::Free,
                    9 => Advice::Remove,
                    14 => Advice::HugePage,
                    15 => Advice::NoHugePage,
                    other => Advice::Other(other),
                },
            ),
            kind::POPULATE => Event::Populate {
                range: self.range(),
                touch: match self.number() {
                    0 => KernelTouch::Load,
                    1 => KernelTouch::Store,
                    3 => KernelTouch::Collapse,
                    _ => KernelTouch::AsMapped,
                },
                origin: match self.number() {
                    0 => TouchOrigin::Request,
                    2 => TouchOrigin::Gap,
                    _ => TouchOrigin::Buffer,
                },
            },
            kind::WINDOW_START | kind::WINDOW_END | kind::TOTAL => {
                let (accesses, instructions) = (self.number(), self.number());
                Event::Window(WindowBorder {
                    border: match record {
                        kind::WINDOW_START => Border::Start(self.number()),
                        kind::WINDOW_END => Border::End,
                        _ => Border::Total,
                    },
                    accesses,
                    instructions,
                })
            }
            kind::BRK => Event::Brk(self.range()),
            kind::FILE => Event::File {
                id: FileId(self.number() as u32),
                size: self.number(),
                path: self.text(),
            },
            kind::MISPLACED => Event::Misplaced {
                at: self.range(),
                native: self.address(),
            },
            kind::PROCESS => {
                let (pid, parent) = (self.number() as u32, self.number() as u32);
                let arguments = self.count();
                Event::SpaceStart {
                    pid,
                    parent,
                    command: (0..arguments).map(|_| self.text()).collect(),
                }
            }
            kind::FORK => Event::Fork {
                child: self.number() as u32,
            },
            kind::EXEC => Event::Exec { path: self.text() },
            kind::EXIT => Event::SpaceEnd {
                status: (!self.0.is_empty()).then(|| self.number() as i32),
            },
            kind::THREAD_START => Event::ThreadStart(ThreadId(self.number() as u32)),
            kind::THREAD_RUN => Event::ThreadSwitch(ThreadId(self.number() as u32)),
            kind::THREAD_END => Event::ThreadEnd(ThreadId(self.number() as u32)),
            kind::CORE => Event::CoreSwitch(CoreId(self.number() as u32)),
            // The plugin sends no impossible event; it counts them.
            kind::KERNEL => {
                let (action, space) = (self.number(), SpaceId(self.number() as u32));
                let arguments = [self.number(), self.number(), self.number()];
                Event::Kernel(KernelEvent::of_numbers(space, action, arguments).ok()?)
            }
            _ => return self.system_event(record).map(Event::System),
        })
    }

    /// Returns the event of a whole system.
    fn system_event(mut self, record: u8) -> Option<SystemEvent> {
        Some(match record {
            kind::SPACE => SystemEvent::Space(SpaceId(self.number() as u32)),
            kind::LEAF => {
                let (start, shift) = (self.address(), self.number() as u8);
                let (physical, flags) = (self.number(), self.number());
                SystemEvent::Leaf(GuestLeaf {
                    start,
                    shift,
                    physical,
                    rights: Rights {
                        read: true,
                        write: flags & 1 != 0,
                        execute: flags & 4 != 0,
                    },
                    user: flags & 2 != 0,
                    global: flags & 8 != 0,
                })
            }
            kind::INVALIDATE => SystemEvent::Invalidate(match self.number() {
                0 => Invalidation::Page(self.address()),
                1 => Invalidation::UnknownPage,
                2 => Invalidation::Space,
                _ => Invalidation::Everything,
            }),
            kind::FAULT => SystemEvent::PageFault(match self.number() {
                0 => FaultStep::Exception,
                _ => FaultStep::Handled,
            }),
            kind::SPACE_END => SystemEvent::SpaceEnd,
            kind::PRIVILEGE => SystemEvent::Privilege(self.number() != 0),
            _ => return None,
        })
    }
}
