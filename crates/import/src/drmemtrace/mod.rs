//! Traces of DynamoRIO's drmemtrace (drcachesim), recorded with `drrun -t drcachesim -offline`.
//!
//! `record` is the layout of a record. `folder` finds the files of a trace, `file` reads the
//! records of one of them, and `zip` the chunks of an archive. `merge` interleaves the files and
//! makes visits and events; `threads` knows which thread of which process runs, and `physical`
//! where pages lie. `writer` exports.

mod file;
mod folder;
mod merge;
mod paging;
mod physical;
mod plain;
mod record;
mod threads;
mod unkept;
mod writer;
mod zip;

use broadleaf_units::Described;

use crate::catalogue::ForeignFormat;
use crate::export::{EXPORT_NOTES, ExportEntry};
use crate::import::ImportEntry;

/// The catalogue's entry.
pub(crate) static DRMEMTRACE: ForeignFormat = ForeignFormat {
    described: Described {
        name: "drmemtrace",
        summary: "offline traces of DynamoRIO's drcachesim: a folder with one file for each \
              thread, or one file",
        explanation: "`drrun -t drcachesim -offline` writes a folder with raw files, and \
                      DynamoRIO's next command on that folder (for example `drrun -t drcachesim \
                      -indir FOLDER`) converts them to one file for each thread below `trace`. \
                      Give `import drmemtrace` that folder, its folder `trace`, or one file. Files \
                      may be plain, .zip, .gz, .zst, .lz4 or .sz. A record has 12 bytes: type, \
                      size, and an address or a value. Threads are interleaved by their time \
                      stamps, as DynamoRIO does it, and become events; so do processes, and the \
                      cores that markers name. With `--physical`, the markers of traces that \
                      were recorded with `-use_physical` become leaves of page tables. Loads, stores and instructions are kept. \
                      Prefetches, flushes, encodings, references of the kernel, repeated \
                      iterations of string instructions and other markers are counted and left \
                      out. Traces of 32-bit builds, whose records have 8 bytes, are not read. \
                      `export drmemtrace` writes one file, as a trace of one core on which the \
                      threads take turns: `drrun -t drcachesim -infile FILE`.",
        source: "DynamoRIO, clients/drcachesim/common/trace_entry.h",
    },
    endings: &["memtrace", "trace.zip"],
    import: Some(ImportEntry {
        open: merge::open,
        reads_folders: true,
        has_physical: true,
        records: "records",
    }),
    export: Some(ExportEntry {
        create: writer::create,
        estimate: writer::estimate,
        ending: "memtrace",
        is_text: false,
        records: "records",
        notes: EXPORT_NOTES,
    }),
    sample: include_bytes!("sample"),
};
