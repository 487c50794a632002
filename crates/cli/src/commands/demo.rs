//! `demo`: the whole job on a program that every Debian has.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_record::valgrind::{Clock, Options};
use broadleaf_report::View;
use broadleaf_report::number::grouped;
use broadleaf_trace::{DEFAULT_LEVEL, Grain};

use super::compare::table;
use super::record::{claim, record_to, size_and_end};
use crate::args::Demo;
use crate::progress::Bars;
use broadleaf_study::compare::{Request, compare, policies};
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::machines::machines;
use broadleaf_study::output::{print, shown};
use broadleaf_study::provenance::made_by;
use broadleaf_study::unfinished::Unfinished;

/// Lines to sort: their text and `sort`'s table of them come to more than the 6 MiB that the second-level TLB of the machine
/// `skylake` reaches with 4 KiB pages.
const LINES: u64 = 220_000;

/// The commands that do the same for the user's program.
const NEXT: &str =
    "broadleaf record -o my.bl -- COMMAND ARGUMENTS..., then broadleaf compare my.bl";

pub(crate) fn run(options: &Demo, view: View) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::Failed(format!("a temporary folder: {}", reason(&error)));
    let folder = Scratch::new(Purpose::Work).map_err(failed)?;
    let _unfinished = Unfinished::new(folder.path());
    let recording = match &options.output {
        Some(path) => path.clone(),
        None => folder.path().join("sort.bl"),
    };
    let output = claim(&recording, options.force)?;
    let text = folder.path().join("lines");
    write_lines(&text).map_err(failed)?;
    // The C locale compares bytes; others compare far more slowly, each in its own way.
    let command = ["env", "LC_ALL=C", "sort", "--parallel=1"]
        .map(Into::into)
        .into_iter();
    let command = command
        .chain([
            "-o".into(),
            folder.path().join("sorted").into(),
            text.into(),
        ])
        .collect();
    let what = Options {
        command,
        grain: Grain::Page,
        instructions: false,
        follow_children: false,
        clock: Clock::default(),
        prepare: |_| (),
        level: DEFAULT_LEVEL,
        recorder: made_by("tool for Valgrind"),
    };
    say!(
        "recording `sort` while it sorts {} lines ...",
        grouped(LINES)
    );
    let finished = record_to(output, &what, &recording, true)?;
    let size_and_end = size_and_end(&finished, &recording);
    if !finished.status.success() {
        return Err(Failure::Failed(format!("sort failed: {size_and_end}")));
    }
    // The temporary recording is removed at the end, so its path would mislead.
    match &options.output {
        Some(path) => say!("{}: {size_and_end}", shown(path)),
        None => say!("recorded {size_and_end}"),
    }
    say!("replaying it under every policy ...");
    let request = Request {
        watch: &Bars,
        memory: None,
        // The recording is removed at the end.
        cache: None,
        trace: &recording,
        keep_going: false,
        max_accesses: None,
        policies: policies(&[], &[])?,
        machines: machines(&["skylake".to_owned()])?,
        threads: None,
        curves: false,
    };
    let mut answer = compare(request, &[])?;
    answer.comparison.trace.path = format!("sort of {} lines", grouped(LINES));
    print(&table(&answer, view))?;
    if let Some(path) = &options.output {
        say!("next: broadleaf advise {}", shown(path));
    }
    say!("next, for your own program: {NEXT}");
    Ok(())
}

/// Lines of 40 to 99 letters, the same each time.
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
