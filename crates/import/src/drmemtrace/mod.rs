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

use crate::export::{EXPORT_NOTES, ExportEntry};
use crate::foreign_format::ForeignFormat;
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
                      may be plain, .zip, .gz, .zst, .lz4 or .sz. A record has 12 bytes. Threads \
                      are interleaved by their time stamps, as DynamoRIO does it, and become \
                      events; so do processes, and the cores that markers name. With \
                      `--physical`, the markers of traces that were recorded with \
                      `-use_physical` become leaves of page tables. Loads, stores and \
                      instructions are kept. A load or store of no bytes is one of the byte at \
                      its address, and is counted. DynamoRIO's simulators do the same, unless the \
                      address is the first byte of a page or line: there, they look nothing up. \
                      Prefetches, flushes, encodings, references of the kernel, repeated \
                      iterations of string instructions and other markers are counted and left \
                      out. Traces of 32-bit builds, whose records have 8 bytes, are not read. \
                      `export drmemtrace` writes one file, as a trace of one core on which the \
                      threads take turns: `drrun -t drcachesim -infile FILE`.",
        source: "DynamoRIO, clients/drcachesim/common/trace_entry.h",
    },
    layout: &[
        (
            "bytes 0-1",
            "the type of the record; numbers are little-endian",
        ),
        (
            "bytes 2-3",
            "the size of a reference or instruction in bytes, or the type of a marker",
        ),
        (
            "bytes 4-11",
            "an address, or the value of a marker, a thread or a process",
        ),
        (
            "type 25",
            "the first record of a file: the version of the format, at most 7",
        ),
        ("type 22", "the thread of the records that follow"),
        (
            "type 24",
            "the process of that thread: before its first reference",
        ),
        ("type 0", "a load"),
        ("type 1", "a store"),
        (
            "types 10-16, 31, 48, 49",
            "an instruction, each kind of branches with a type of its own; with size 0, the \
             instruction of the references that follow, which is left out",
        ),
        (
            "type 17",
            "instructions after the one before: bytes 2-3 are their number, at most 8, and bytes \
             4-11 their lengths, one byte each",
        ),
        (
            "type 29",
            "an instruction that was not fetched again, since it is an iteration of a string \
             instruction: left out",
        ),
        (
            "type 30",
            "an instruction, unless the one before has the same address: then left out as type 29",
        ),
        ("types 2-9, 27, 32-46", "a prefetch: left out"),
        (
            "types 18-21",
            "a cache flush, or the end of its range: left out",
        ),
        ("type 47", "bytes of the instruction that follows: left out"),
        ("type 28", "a marker"),
        ("type 23", "the end of the thread"),
        ("type 26", "the last record of a file"),
        (
            "marker 2",
            "a time stamp: the files of a trace are interleaved by these",
        ),
        ("marker 3", "the core that runs the thread; -1 if unknown"),
        (
            "marker 9",
            "bits of the file's type: 0x1, 0x80 and 0x100 are filtered traces, 0x4 one without \
             data references, 0x40000 one with the kernel",
        ),
        ("marker 12", "the version again"),
        ("marker 18", "the bytes of a page"),
        ("marker 15", "a physical address, for `--physical`"),
        (
            "marker 17",
            "the virtual address of the physical one before it",
        ),
        (
            "marker 16",
            "a virtual address whose physical address was not to be had",
        ),
        (
            "markers 27, 34",
            "the records that follow are of the kernel (a system call, a switch of threads)",
        ),
        (
            "markers 28, 35",
            "the records that follow are of the program again",
        ),
        ("others", "other markers: left out"),
    ],
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
