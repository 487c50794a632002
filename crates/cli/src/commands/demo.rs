//! `demo`: records, compares and recommends, on a program that every Debian has.

use std::io;

use broadleaf_record::scratch::{Purpose, Scratch};
use broadleaf_report::View;
use broadleaf_report::number::grouped;

use super::record::record_to;
use crate::args::{Demo, write_page};
use crate::progress::Bars;
use broadleaf_study::demo::{LINES, compare_sort, page_of, sort_of_lines};
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::output::{print, shown};
use broadleaf_study::page::comparison_page;
use broadleaf_study::recording::{claim, size_and_end};
use broadleaf_study::unfinished::Unfinished;

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
    let page = page_of(options.page.html.as_deref(), options.force)?;
    let what = sort_of_lines(folder.path()).map_err(failed)?;
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
    let answer = compare_sort(&recording, folder.path(), &Bars)?;
    print(&answer.table(view))?;
    write_page(Some(page), || comparison_page(&answer))?;
    if let Some(path) = &options.output {
        say!("next: broadleaf advise {}", shown(path));
    }
    say!("next, for your own program: {NEXT}");
    Ok(())
}
