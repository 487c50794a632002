//! `demo`: `sort`, a program that every Debian has, to record and compare.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use broadleaf_record::valgrind::{Clock, Engine, Options};
use broadleaf_report::number::grouped;
use broadleaf_trace::{DEFAULT_LEVEL, Grain};

use crate::compare::{ComparisonAnswer, Request, compare, policies};
use crate::failure::Failure;
use crate::machines::machines;
use crate::provenance::made_by;
use crate::watch::Watch;

/// The number of lines to sort. Their text and `sort`'s table of them take more than the 6 MiB that
/// the second-level TLB of the machine `skylake` reaches with 4 KiB pages.
pub const LINES: u64 = 220_000;

/// Writes the lines to a folder, and returns the recording of `sort` while it sorts them there.
///
/// # Errors
/// If the lines cannot be written.
pub fn sort_of_lines(folder: &Path) -> io::Result<Options> {
    let text = folder.join("lines");
    write_lines(&text)?;
    // The C locale compares bytes. Other locales compare far more slowly, in different ways.
    let command = ["env", "LC_ALL=C", "sort", "--parallel=1", "-o"].map(Into::into);
    let files = [folder.join("sorted").into(), text.into()];
    Ok(Options {
        engine: Engine::Valgrind,
        command: command.into_iter().chain(files).collect(),
        grain: Grain::Page,
        instructions: false,
        follow_children: false,
        sites: false,
        clock: Clock::default(),
        prepare: |_| (),
        level: DEFAULT_LEVEL,
        recorder: made_by("tool for Valgrind"),
        measured: None,
    })
}

/// Compares all policies on the recording of `sort`.
///
/// # Errors
/// Those of [`compare`].
pub fn compare_sort(recording: &Path, watch: &dyn Watch) -> Result<ComparisonAnswer, Failure> {
    let request = Request {
        misses_over_time: false,
        restarts: false,
        watch,
        memory: None,
        // The recording is removed at the end.
        cache: None,
        explain_plan: None,
        trace: recording,
        keep_going: false,
        max_accesses: None,
        policies: policies(&[], &[], true)?,
        machines: machines(&["skylake".to_owned()])?,
        threads: None,
        curves: false,
    };
    let mut answer = compare(request, &[])?;
    answer.comparison.trace.path = format!("sort of {} lines", grouped(LINES));
    Ok(answer)
}

/// Writes lines of 40 to 99 letters, the same each time.
fn write_lines(path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: u64| {
        // xorshift64 (Marsaglia 2003): good enough to look unsorted, and the same on every machine.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % below
    };
    let mut line = Vec::new();
    for _ in 0..LINES {
        line.clear();
        line.extend((0..40 + random(60)).map(|_| b'a' + random(26) as u8));
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.flush()
}
