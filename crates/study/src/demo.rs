//! `demo`: `sort`, a program that every Debian has, to record and compare.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use broadleaf_record::valgrind::{Clock, Engine, Options};
use broadleaf_report::BASELINE;
use broadleaf_report::number::grouped;
use broadleaf_trace::{DEFAULT_LEVEL, Grain};

use crate::compare::{ComparisonAnswer, Request, policies};
use crate::failure::Failure;
use crate::machines::machines;
use crate::map::compare_with_maps;
use crate::output::{Access, Output, argument};
use crate::provenance::made_by;
use crate::watch::Watch;

/// The number of lines to sort. Their text and `sort`'s table of them take more than the 6 MiB that
/// the second-level TLB of the machine `skylake` reaches with 4 KiB pages.
pub const LINES: u64 = 220_000;

/// The beginning of the recorded command, and what suggested commands have in its place.
const SORT: &str = "env LC_ALL=C sort";
const OWN: &str = "COMMAND ARGUMENTS...";

/// The most pages of a folder that have a name of their own.
const MOST_PAGES: u32 = 1000;

/// Writes the lines to a folder, and returns the recording of `sort` while it sorts them there.
///
/// # Errors
/// If the lines cannot be written.
pub fn sort_of_lines(folder: &Path) -> io::Result<Options> {
    let text = folder.join("lines");
    write_lines(&text)?;
    // The C locale compares bytes. Other locales compare far more slowly, in different ways.
    let command = SORT
        .split(' ')
        .chain(["--parallel=1", "-o"])
        .map(Into::into);
    let files = [folder.join("sorted").into(), text.into()];
    Ok(Options {
        engine: Engine::Valgrind,
        guest: None,
        command: command.chain(files).collect(),
        grain: Grain::Page,
        instructions: false,
        follow_children: false,
        code: false,
        sites: false,
        align: Vec::new(),
        windows: None,
        clock: Clock::default(),
        prepare: |_| (),
        level: DEFAULT_LEVEL,
        recorder: made_by("tool for Valgrind"),
        measured: None,
    })
}

/// The file of the page: the one that the user named, or the first free name in the current folder.
/// If nothing can be written there, the file is in the folder for temporary files.
///
/// # Errors
/// If the file cannot be made.
pub fn page_of(asked: Option<&Path>, force: bool) -> Result<Output, Failure> {
    if let Some(path) = asked {
        return Output::create(Some(path), force, Access::Everyone);
    }
    let names = (2..MOST_PAGES).map(|number| format!("broadleaf-demo-{number}.html"));
    let mut names = std::iter::once("broadleaf-demo.html".to_owned()).chain(names);
    let free = names.find(|name| !Path::new(name).exists());
    let name = free.unwrap_or_else(|| "broadleaf-demo.html".to_owned());
    let here = Output::create(Some(Path::new(&name)), force, Access::Everyone);
    here.or_else(|_| {
        let path = std::env::temp_dir().join(format!("{}-{name}", std::process::id()));
        Output::create(Some(&path), force, Access::Everyone)
    })
}

/// Compares all policies on the recording of `sort`, with a map. `folder` has the sorted lines, and
/// is gone after the command. Commands that need its files name the user's own program, or are left
/// out.
///
/// # Errors
/// Those of [`compare_with_maps`].
pub fn compare_sort(
    recording: &Path,
    folder: &Path,
    watch: &dyn Watch,
) -> Result<ComparisonAnswer, Failure> {
    let request = Request {
        misses_over_time: false,
        warm_up: crate::compare::WARM_UP,
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
    let mut answer = compare_with_maps(request, &[BASELINE], Some(&[]), &[])?;
    let gone = argument(folder);
    for advice in &mut answer.comparison.advice {
        for one in &mut advice.commands {
            if let Some(at) = one
                .command
                .find(SORT)
                .filter(|_| one.command.contains(&gone))
            {
                one.command.replace_range(at.., OWN);
            }
        }
        advice.commands.retain(|one| !one.command.contains(&gone));
    }
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
