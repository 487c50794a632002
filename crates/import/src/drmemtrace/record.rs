//! The record of drmemtrace: `trace_entry_t` of DynamoRIO's trace_entry.h.

use broadleaf_trace::DataAccess;

/// Bytes of a record: type and size of two bytes each, and an address or value of eight.
pub(super) const RECORD_BYTES: usize = 12;
/// The newest version of the format that is known.
pub(super) const NEWEST_VERSION: u64 = 7;
/// The thread id that marks an idle core.
pub(super) const IDLE: u64 = u64::MAX;

/// The content of a record. Numbers are those of `trace_type_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrRecord {
    /// A reference of `size` bytes.
    Data {
        access: DataAccess,
        address: u64,
        size: u16,
    },
    /// An instruction was fetched. With size 0, the record only gives the instruction pointer.
    Instruction { address: u64, size: u16 },
    /// An instruction ran again without a fetch: an iteration of a string instruction.
    NoFetch,
    /// One of the two above: a fetch, unless the instruction before was at this address.
    MaybeFetch { address: u64, size: u16 },
    /// Instructions after the one before, with their lengths.
    Bundle { count: u16, lengths: [u8; 8] },
    /// A prefetch of software or hardware.
    Prefetch,
    /// A cache flush, or the end of its range.
    Flush,
    /// Bytes of the instruction that follows.
    Encoding,
    /// From here on, records belong to this thread.
    Thread(u64),
    /// The thread ended.
    ThreadExit(u64),
    /// The process of the thread.
    Process(u64),
    /// The start of a file, with its version.
    Header(u64),
    /// The end of a file.
    Footer,
    /// A marker of this type, with its value.
    Marker(u16, u64),
}

/// Types of records (`trace_type_t`) that exports write.
pub(super) mod code {
    pub(crate) const LOAD: u16 = 0;
    pub(crate) const STORE: u16 = 1;
    pub(crate) const INSTRUCTION: u16 = 10;
    pub(crate) const THREAD: u16 = 22;
    pub(crate) const THREAD_EXIT: u16 = 23;
    pub(crate) const PROCESS: u16 = 24;
    pub(crate) const HEADER: u16 = 25;
    pub(crate) const FOOTER: u16 = 26;
    pub(crate) const MARKER: u16 = 28;
}

/// Types of markers (`trace_marker_type_t`) that mean something here.
pub(super) mod marker {
    pub(crate) const TIMESTAMP: u16 = 2;
    pub(crate) const CPU_ID: u16 = 3;
    pub(crate) const FILETYPE: u16 = 9;
    pub(crate) const CACHE_LINE_SIZE: u16 = 10;
    pub(crate) const VERSION: u16 = 12;
    pub(crate) const PHYSICAL_ADDRESS: u16 = 15;
    pub(crate) const NO_PHYSICAL_ADDRESS: u16 = 16;
    pub(crate) const VIRTUAL_ADDRESS: u16 = 17;
    pub(crate) const PAGE_SIZE: u16 = 18;
    pub(crate) const SYSCALL_TRACE_START: u16 = 27;
    pub(crate) const SYSCALL_TRACE_END: u16 = 28;
    pub(crate) const CONTEXT_SWITCH_START: u16 = 34;
    pub(crate) const CONTEXT_SWITCH_END: u16 = 35;
}

/// Bits of a file's type (`offline_file_type_t`).
pub(super) mod filetype {
    pub(crate) const FILTERED: u64 = 0x01 | 0x80 | 0x100;
    pub(crate) const INSTRUCTIONS_ONLY: u64 = 0x04;
    pub(crate) const X86_64: u64 = 0x40;
    pub(crate) const CORE_SHARDED: u64 = 0x1_0000;
    pub(crate) const WHOLE_SYSTEM: u64 = 0x4_0000;
}

/// Types of instructions, one bit each: all kinds of branches are types of their own.
const INSTRUCTIONS: u64 = 0b111_1111 << code::INSTRUCTION | 1 << 31 | 0b11 << 48;

/// True if records of this type are instructions that were fetched.
#[inline]
pub(super) const fn is_instruction(kind: u16) -> bool {
    kind < 64 && INSTRUCTIONS >> kind & 1 != 0
}

/// The type, the size and the address or value of a record.
#[inline]
pub(super) const fn fields(bytes: &[u8; RECORD_BYTES]) -> (u16, u16, u64) {
    let [t0, t1, s0, s1, value @ ..] = *bytes;
    let kind = u16::from_le_bytes([t0, t1]);
    let size = u16::from_le_bytes([s0, s1]);
    (kind, size, u64::from_le_bytes(value))
}

impl DrRecord {
    /// The record that these bytes hold, or its type if there is none of that type.
    #[inline]
    pub(super) const fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Result<Self, u16> {
        let (kind, size, address) = fields(bytes);
        Ok(match kind {
            code::LOAD | code::STORE => Self::Data {
                access: if kind == code::LOAD {
                    DataAccess::Load
                } else {
                    DataAccess::Store
                },
                address,
                size,
            },
            2..=9 | 27 | 32..=46 => Self::Prefetch,
            kind if is_instruction(kind) => Self::Instruction { address, size },
            17 => Self::Bundle {
                count: size,
                lengths: address.to_le_bytes(),
            },
            18..=21 => Self::Flush,
            code::THREAD => Self::Thread(address),
            code::THREAD_EXIT => Self::ThreadExit(address),
            code::PROCESS => Self::Process(address),
            code::HEADER => Self::Header(address),
            code::FOOTER => Self::Footer,
            code::MARKER => Self::Marker(size, address),
            29 => Self::NoFetch,
            30 => Self::MaybeFetch { address, size },
            47 => Self::Encoding,
            unknown => return Err(unknown),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::DRMEMTRACE;
    use super::*;

    /// The numbers of the parts that begin with `noun`, such as "types 2-9, 27".
    fn documented(noun: &str) -> BTreeSet<u16> {
        let parts = DRMEMTRACE.layout.iter().map(|(part, _)| *part);
        let lists = parts.filter_map(|part| part.strip_prefix(noun));
        let mut all = BTreeSet::new();
        for range in lists.flat_map(|list| list.trim_start_matches('s').split(',')) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.trim().parse::<u16>().expect("a number");
            for number in number(first)..=number(last) {
                assert!(all.insert(number), "{noun} {number} is documented twice");
            }
        }
        all
    }

    /// The documented types are those that are read, and no others.
    #[test]
    fn the_layout_has_every_type() {
        let is_read = |kind: &u16| {
            let mut bytes = [0; RECORD_BYTES];
            bytes[..2].copy_from_slice(&kind.to_le_bytes());
            DrRecord::from_bytes(&bytes).is_ok()
        };
        let read: BTreeSet<u16> = (0..=u16::MAX).filter(is_read).collect();
        assert_eq!(documented("type"), read);
    }

    #[test]
    fn the_layout_has_every_marker_that_means_something() {
        let means_something = [
            marker::TIMESTAMP,
            marker::CPU_ID,
            marker::FILETYPE,
            marker::VERSION,
            marker::PHYSICAL_ADDRESS,
            marker::NO_PHYSICAL_ADDRESS,
            marker::VIRTUAL_ADDRESS,
            marker::PAGE_SIZE,
            marker::SYSCALL_TRACE_START,
            marker::SYSCALL_TRACE_END,
            marker::CONTEXT_SWITCH_START,
            marker::CONTEXT_SWITCH_END,
        ];
        assert_eq!(documented("marker"), BTreeSet::from(means_something));
    }
}
