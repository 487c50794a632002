//! The catalogues of formats: of traces, and of advice.

use broadleaf_import::{FOREIGN_FORMATS, ForeignFormat};

/// A format that is read or written.
#[derive(Clone, Copy, Debug)]
pub struct FormatEntry {
    /// The name of the format.
    pub name: &'static str,
    /// The format in one line.
    pub summary: &'static str,
    /// The format in a paragraph.
    pub explanation: &'static str,
    /// The parts of a file, each with its content. Empty if another page has the layout.
    pub layout: &'static [(&'static str, &'static str)],
    /// The definition of the format.
    pub source: &'static str,
}

/// The formats of traces: ours, then those of other tools.
pub const FORMATS: &[FormatEntry] = &{
    let mut all = [OURS[0]; OURS.len() + FOREIGN_FORMATS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < OURS.len() {
            OURS[at]
        } else {
            foreign(FOREIGN_FORMATS[at - OURS.len()])
        };
        at += 1;
    }
    all
};

/// A format of another tool.
const fn foreign(format: &ForeignFormat) -> FormatEntry {
    FormatEntry {
        name: format.described.name,
        summary: format.described.summary,
        explanation: format.described.explanation,
        layout: format.layout,
        source: format.described.source,
    }
}

/// Our own formats.
const OURS: &[FormatEntry] = &[
    FormatEntry {
        name: "broadleaf",
        summary: "recordings of ours (.bl): page visits in exact order, and what happened to \
            mappings",
        explanation: "Chunks of visits and events, compressed, each with a checksum, after a \
            header that names the command, the machine and the recorder. A recording that was cut \
            short can be read up to its last whole chunk. Written by `broadleaf record` and \
            `broadleaf import` in version 1, and by `broadleaf recode` in version 2, which is \
            read quicker; read by `info`, `compare`, `advise`, `reduce`, `recode` and \
            `export`.",
        layout: &[],
        source: "docs/book/src/trace-format.md",
    },
    FormatEntry {
        name: "reduced",
        summary: "reduced forms of traces (.reduced): the visits that may change something on \
            some machines, and the sums of the others",
        explanation: "Made of a trace by `broadleaf reduce` for the first level of one machine or \
            several, and kept beside the trace. `compare` reads the reduced form in place of the \
            trace, with the same counts, if it covers the machines and the trace has not changed. \
            `advise` reads the mappings from the reduced form.",
        layout: &[],
        source: "docs/book/src/reduced.md",
    },
];

/// The formats of `advise` for programs that follow its advice.
pub const ADVICE_FORMATS: &[FormatEntry] = &[
    FormatEntry {
        name: "madvise",
        summary: "lines of C: a call of madvise(2) for each range, the best first",
        explanation: "After each call, a comment has the range's place in its mapping, by \
            which the program finds it in another run, and with the setting that has superpages \
            of its size, which madvise cannot name. A range of a size that Linux has no \
            superpages of is a comment without a call. Written by `broadleaf advise --format \
            madvise`.",
        layout: &[],
        source: "Linux, madvise(2), and Documentation/admin-guide/mm/transhuge.rst",
    },
    FormatEntry {
        name: "cbmm",
        summary: "a profile for CBMM, a kernel that weighs what each superpage would gain against \
            what it costs",
        explanation: "A line `huge,SECTION,BENEFIT,addr,>,LOW,addr,<,HIGH` for each range of one \
            process: the heap or what mmap made, the cycles of walks that one superpage of it \
            spares on the average, and its bounds. A profile knows superpages of 2 MiB. What it \
            cannot express is named on standard error. Written by `broadleaf advise --format \
            cbmm`.",
        layout: &[],
        source: "Mansi, Tabatabai and Swift 2022, and the profiles of its artifact",
    },
    FormatEntry {
        name: "mosalloc",
        summary: "a layout for Mosalloc, an allocator that backs windows of its pools with larger \
            pages",
        explanation: "Rows `type,pageSize,startOffset,endOffset`: with -1 how large the pool of \
            the heap (brk), of anonymous mappings (mmap) or of files is, else a window of pages \
            of 2 MiB or 1 GiB, in bytes from the pool's start. What it cannot express is named on \
            standard error. Written by `broadleaf advise --format mosalloc`.",
        layout: &[],
        source: "Agbarya and others 2020, and the layouts that come with Mosalloc",
    },
    FormatEntry {
        name: "folded",
        summary: "call stacks of the allocations whose memory gains, one a line, for flame graphs",
        explanation: "A line `OUTER;...;INNER;ALLOCATOR CYCLES` for each allocation site that \
            gains: the frames from the outermost to the allocator, and the cycles that superpages \
            on the site's memory gain. flamegraph.pl, inferno and speedscope read such lines. The \
            trace must be recorded with --sites. Written by `broadleaf advise --format folded`.",
        layout: &[],
        source: "Gregg, stackcollapse-perf.pl and flamegraph.pl of FlameGraph",
    },
    FormatEntry {
        name: "flamegraph",
        summary: "the same stacks as a picture: a flame graph in SVG",
        explanation: "Each frame is as wide as the cycles that superpages gain on the memory \
            allocated below it. The picture works in a browser without a network: a click on a \
            frame enlarges it. Written by `broadleaf advise --format flamegraph`.",
        layout: &[],
        source: "Gregg 2016, The Flame Graph, Communications of the ACM 59(6)",
    },
    FormatEntry {
        name: "perf",
        summary: "the same stacks as `perf script` prints samples, for the tools that read those",
        explanation: "An event for each allocation site that gains: a head `PROGRAM PID TIME: \
            CYCLES cycles-gained:`, then a line `ADDRESS FUNCTION (FILE:LINE)` for each frame, the \
            allocator first, and an empty line. stackcollapse-perf.pl reads the cycles as the \
            weight; speedscope counts each event once. A trace holds names, so addresses and times \
            are 0. Written by `broadleaf advise --format perf`.",
        layout: &[],
        source: "perf-script(1), and Gregg, stackcollapse-perf.pl of FlameGraph",
    },
];
