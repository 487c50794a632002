//! The expansion of an experiment, with an estimate of its time and its disk space.

use std::collections::BTreeSet;
use std::path::Path;

use broadleaf_filter::Recency;
use broadleaf_report::number::{counted, grouped, size};
use broadleaf_report::{Align, Grid, Style, View, paragraph};

use super::cells::{CellClass, SweepCell, TraceCells};
use super::experiment::{Experiment, is_experiment};
use super::plan::accesses_of;
use super::rounds::rounds;
use crate::compare::available_threads;
use crate::failure::Failure;

/// The nanoseconds of one replay for each access, for decoding: a round figure, as the others, from
/// a recording of awk with 104 million accesses on a Zen 5 core.
const PASS_NS: f64 = 2.0;
/// The nanoseconds of one replay for each access, for its filter.
const REPLAY_NS: f64 = 6.0;
/// The nanoseconds of one cell without frames for each access.
const QUICK_NS: f64 = 0.2;
/// The nanoseconds of one cell with frames for each access, on a machine whose first level has sets
/// by last use.
const FRAMES_NS: f64 = 2.0;
/// The same on a machine whose first level keeps the last pages: 7 with a recording of sort, 30
/// with one of awk, on zen4.
const LAST_PAGES_NS: f64 = 15.0;
/// The same on other machines, whose visits no filter leaves out: 64 with a recording of sort, on
/// c910.
const UNFILTERED_NS: f64 = 60.0;
/// The bytes of a file of results, and of one of its rows: measured on files of 1 to 20 rows.
const FILE_BYTES: u64 = 26_000;
const ROW_BYTES: u64 = 90;

/// Explains `name` if it is an experiment file; otherwise returns what `other` returns.
pub(crate) fn explained_or(
    name: &str,
    view: View,
    other: impl FnOnce() -> Result<String, Failure>,
) -> Result<String, Failure> {
    match name.ends_with(".toml") && is_experiment(name.as_ref()) {
        true => explain_experiment(name.as_ref(), view),
        false => other(),
    }
}

/// The amounts of a trace.
struct Amounts {
    cells: u64,
    replays: u64,
    passes: u64,
    seconds: f64,
}

/// Shows the expansion of the experiment file at `path`.
///
/// # Errors
/// Those of [`Experiment::read`] and [`Experiment::cells_of`].
pub fn explain_experiment(path: &Path, view: View) -> Result<String, Failure> {
    let experiment = Experiment::read(path)?;
    let mut grid = Grid::new()
        .column("trace", Align::Left)
        .column("accesses", Align::Right)
        .column("policies", Align::Right)
        .column("machines", Align::Right)
        .column("memories", Align::Right)
        .column("cells", Align::Right)
        .column("replays", Align::Right)
        .column("passes", Align::Right)
        .column("about seconds", Align::Right);
    let traces = experiment.traces.iter();
    let traces = traces.map(|trace| (trace.name.clone(), Some(&trace.path)));
    let programs = experiment.programs.iter();
    let programs = programs.map(|program| (program.name.clone(), None));
    let (mut files, mut cells, mut seconds, mut unknown) = (0, 0, 0.0, 0);
    let mut unreadable = String::new();
    for (name, path) in traces.chain(programs) {
        let accesses = path.map(|path| accesses_of(path));
        let (shown, accesses) = match &accesses {
            Some(Ok(0)) => ("unknown".to_owned(), None),
            Some(Ok(count)) => (grouped(*count), Some(*count)),
            Some(Err(failure)) => {
                unreadable += &paragraph(&failure.to_string(), Style::Plain, view);
                ("unreadable".to_owned(), None)
            }
            None => ("to record".to_owned(), None),
        };
        let all = experiment.cells_of(&name, "")?;
        let amounts = amounts(&all, accesses.unwrap_or(0));
        let of = |of: fn(&SweepCell) -> String| {
            all.cells
                .iter()
                .map(of)
                .collect::<BTreeSet<_>>()
                .len()
                .to_string()
        };
        let time = match accesses {
            Some(_) => format!("{:.1}", amounts.seconds),
            None => "unknown".to_owned(),
        };
        files += 1;
        cells += amounts.cells;
        seconds += amounts.seconds;
        unknown += usize::from(accesses.is_none());
        grid.row([
            name,
            shown,
            of(|cell| cell.policy.clone()),
            of(|cell| cell.machine.name.clone()),
            all.conditions.len().to_string(),
            amounts.cells.to_string(),
            amounts.replays.to_string(),
            amounts.passes.to_string(),
            time,
        ]);
    }
    let threads = available_threads().min(files).max(1);
    let disk = files as u64 * FILE_BYTES + cells * ROW_BYTES;
    let more = match unknown {
        0 => String::new(),
        count => format!(
            " and the time of {} of unknown length",
            counted(count as u64, "trace")
        ),
    };
    let estimate = format!(
        "An estimate by round figures of one machine: {:.1} s on {}{more}, and {} of results. \
         Programs with poor locality take longer.",
        seconds / threads as f64,
        counted(threads as u64, "core"),
        size(disk),
    );
    Ok(format!(
        "{} (experiment): {} of {}, each trace a task\n\n{}\n{unreadable}{}\
         Next: broadleaf sweep {} -o DIR\n",
        view.paint.apply(Style::Strong, &experiment.name),
        counted(cells, "cell"),
        counted(files as u64, "trace"),
        grid.render(view),
        paragraph(&estimate, Style::Plain, view),
        crate::output::argument(path),
    ))
}

fn amounts(all: &TraceCells, accesses: u64) -> Amounts {
    let wanted = all.cells.iter().map(|cell| cell.key.clone()).collect();
    let replays = all.replays(&wanted);
    let passes = rounds(&replays, all, crate::room::available()).len() as u64;
    let replays = replays.len() as u64;
    let of_cells: f64 = all.cells.iter().map(nanoseconds).sum();
    let each = PASS_NS * passes as f64 + REPLAY_NS * replays as f64 + of_cells;
    Amounts {
        cells: all.cells.len() as u64,
        replays,
        passes,
        seconds: each * accesses as f64 / 1e9,
    }
}

/// The nanoseconds of a cell for each access.
fn nanoseconds(cell: &SweepCell) -> f64 {
    let (machine, design) = (&cell.machine, &cell.machine.design);
    match cell.class {
        CellClass::Quick => QUICK_NS,
        _ if machine.caches.is_some() || !Recency::covers([design]) => UNFILTERED_NS,
        _ if design.is_sets_by_last_use() => FRAMES_NS,
        _ => LAST_PAGES_NS,
    }
}
