//! ChampSim's traces: one record of 64 bytes for each instruction (`input_instr`).

mod packer;
mod reader;
mod record;
mod writer;

use broadleaf_units::Described;

use crate::export::ExportEntry;
use crate::foreign_format::ForeignFormat;
use crate::import::ImportEntry;

pub use record::{CHAMPSIM_BYTES, ChampSimRecord};

/// The catalogue's entry.
pub(crate) static CHAMPSIM: ForeignFormat = ForeignFormat {
    described: Described {
        name: "champsim",
        summary: "ChampSim's traces (.champsimtrace, .xz, .gz, .zst): one record of 64 bytes for \
              each instruction",
        explanation: "Records of 64 bytes (`input_instr`), one after the other. `import champsim` \
                  makes the loads of a record and then its stores, each of 1 byte, since no \
                  record holds sizes. With --instructions the instruction pointers become \
                  fetches. Branches and registers are not kept. `export champsim` writes the \
                  first byte of the page or line for each reference, so that an export that is \
                  imported again has the same references in the same order. Files may be \
                  compressed with xz, gzip, zstd or LZ4. CloudSuite's traces have other records \
                  and are not read.",
        source: "ChampSim, inc/trace_instruction.h",
    },
    layout: &[
        (
            "bytes 0-7",
            "the instruction pointer (`ip`); numbers are little-endian",
        ),
        (
            "byte 8",
            "1 if the instruction is a branch, otherwise 0 (`is_branch`)",
        ),
        (
            "byte 9",
            "1 if the branch was taken, otherwise 0 (`branch_taken`)",
        ),
        (
            "bytes 10-11",
            "2 destination registers, one byte each: not read",
        ),
        ("bytes 12-15", "4 source registers, one byte each: not read"),
        (
            "bytes 16-31",
            "2 addresses that are stored to, of 8 bytes each (`destination_memory`); 0 means none",
        ),
        (
            "bytes 32-63",
            "4 addresses that are loaded from, of 8 bytes each (`source_memory`); 0 means none",
        ),
    ],
    endings: &["champsimtrace", "champsim"],
    import: Some(ImportEntry {
        open: reader::open,
        reads_folders: false,
        has_physical: false,
        records: "records",
    }),
    export: Some(ExportEntry {
        create: writer::create,
        estimate: writer::estimate,
        ending: "champsimtrace",
        is_text: false,
        records: "records",
        notes: &[
            "addresses are the first byte of their page or line, since the trace holds no others",
            "no record holds registers or branches, since the trace has none",
        ],
    }),
    sample: include_bytes!("sample"),
};
