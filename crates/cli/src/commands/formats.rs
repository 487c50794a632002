//! The catalogue of trace formats.

/// A trace format that can be read.
pub(crate) struct TraceFormat {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) explanation: &'static str,
    pub(crate) source: &'static str,
}

/// The formats of traces.
pub(crate) const FORMATS: &[TraceFormat] = &[
    TraceFormat {
        name: "broadleaf",
        summary: "recordings of ours (.bl): page visits in exact order, and what happened to mappings",
        explanation: "Chunks of visits and events, compressed, each with a checksum, behind a header that names the command, \
                      the machine and the recorder. A recording that was cut short can be read up to its last whole chunk. \
                      Written by `broadleaf record` and `broadleaf import`; read by `info`, `compare` and `advise`.",
        source: "docs/book/src/trace-format.md",
    },
    TraceFormat {
        name: "reduced",
        summary: "reduced forms of traces (.reduced): the visits that may change something on some machines, and what the others come to",
        explanation: "Made of a trace by `broadleaf reduce` for the first level of one machine or several, and kept beside it. `compare` reads \
                      it in place of the trace, with the same counts, where the machines are those and the trace has not changed since.",
        source: "docs/book/src/reduced.md",
    },
    TraceFormat {
        name: "lackey",
        summary: "text of `valgrind --tool=lackey --trace-mem=yes` (.lackey): every reference, no mappings",
        explanation: "One line for each instruction (`I  addr,size`), load (` L addr,size`), store (` S addr,size`) and load \
                      followed by a store of the same bytes (` M addr,size`). Addresses are hexadecimal, sizes decimal. \
                      Valgrind's own lines (`==PID==`) and blank lines are skipped; any other line is refused with its number. \
                      Read by `import lackey`, `info`, `compare` and `advise`, also from standard input.",
        source: "Valgrind, lackey/lk_main.c",
    },
];
