//! `compare`: a trace under several policies, with what each saves and costs.

use std::io::Write;
use std::path::{Path, PathBuf};

use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_policy::{Policy, Refusal};
use broadleaf_report::{
    Align, BASELINE, Glyphs, Grid, REFERENCE, View, comparison_table, curves, design_space,
    over_time, write_csv, write_parquet,
};
use broadleaf_study::compare::{ComparisonAnswer, Request, compare, policies};
use broadleaf_study::machines::{design_space_policies, is_design_space, machines};

use crate::args::{Compare, CompareFormat, write_page};
use crate::progress::Bars;
use crate::say;
use crate::terminal::glyphs;
use broadleaf_study::explained::PlannedAccelerator;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::json;
use broadleaf_study::policies_file;
use broadleaf_study::shortage::refuse_lacking;
use broadleaf_study::source::reduced::path_beside;

pub(crate) fn run(options: &Compare, view: View) -> Result<(), Failure> {
    refuse_to_overwrite(options)?;
    let machines = machines(&options.machine)?;
    let named = match &options.policies {
        Some(file) => policies_file::read(file)?,
        None => Vec::new(),
    };
    let is_space = is_design_space(&machines);
    let usual = match is_space && options.policy.is_empty() && named.is_empty() {
        true => design_space_policies(&machines),
        false => options.policy.clone(),
    };
    let policies = policies(&usual, &named)?;
    if !options.policy.is_empty() {
        refuse_lacking(&policies.policies, &machines)?;
    }
    let one_row = [CompareFormat::Csv, CompareFormat::Parquet].contains(&options.format);
    if options.over_time && one_row {
        return Err(Failure::wrong(
            "CSV and Parquet have one row for each result and no room for samples over time: \
            --format json has it",
        ));
    }
    if options.curve && one_row {
        return Err(Failure::wrong(
            "CSV and Parquet have one row for each result and no room for a curve: use --format \
            json with --curve",
        ));
    }
    let mut out = options.result.create()?;
    let page = options.result.create_page(&options.page)?;
    if options.format == CompareFormat::Parquet && out.is_terminal() {
        return Err(Failure::wrong(
            "Parquet is no text: give a file with -o, or a pipe",
        ));
    }
    let view = options.result.view(view);
    let glyphs = if options.result.is_given() {
        Glyphs::Ascii
    } else {
        glyphs()
    };
    let memory = options.memory.request();
    let cache = options.cache.cache()?;
    let request = Request {
        trace: &options.trace,
        keep_going: options.keep_going,
        max_accesses: options.bound.max_accesses,
        policies,
        machines,
        threads: options.threads,
        memory: Some(&memory),
        cache: cache.as_ref(),
        explain_plan: options.explain_plan.then_some(&show_plan),
        watch: &Bars,
        curves: options.curve,
        restarts: options.restart,
    };
    // The table compares every policy with these two, even if they were not asked for.
    let has_superpages = |machine: &Machine| machine.design.sizes().len() > 1;
    let extra: &[&str] = match options.format {
        _ if is_space => &[],
        CompareFormat::Table if request.machines.iter().all(has_superpages) => {
            &[BASELINE, REFERENCE]
        }
        CompareFormat::Table => &[BASELINE],
        _ if page.is_some() => &[BASELINE],
        _ => &[],
    };
    let mut answer = compare(request, extra)?;
    // A result has the canonical form of an expression. A note gives the name from the file.
    for (file, named) in options
        .policies
        .iter()
        .flat_map(|file| named.iter().map(move |named| (file, named)))
    {
        let is_it = |result: &CellResult| result.policy == named.policy.name();
        if answer.comparison.results.iter().any(is_it) {
            answer.comparison.notes.push(named.note(file));
        }
    }
    let mut bytes = render(&answer, options.format, glyphs, view)?;
    if options.over_time && options.format == CompareFormat::Table {
        let comparison = &answer.comparison;
        let pictures = over_time(&comparison.results, comparison.trace.accesses, glyphs, view);
        bytes.push(b'\n');
        bytes.extend(pictures.into_bytes());
    }
    out.write_all(&bytes)
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()?;
    write_page(page, || {
        broadleaf_study::page::page(&answer.comparison, &answer.references)
    })
}

/// Prints the accelerators of a plan to standard error.
fn show_plan(accelerators: &[PlannedAccelerator]) {
    let mut grid = Grid::new()
        .column("accelerator", Align::Left)
        .column("used", Align::Left)
        .column("what it does, or why it is not used", Align::Left);
    for planned in accelerators {
        let (used, text) = match &planned.why_not {
            None => (
                "yes",
                format!("{}; relies on {}", planned.does, planned.relies_on),
            ),
            Some(why) => ("no", why.clone()),
        };
        grid.row([planned.name.to_owned(), used.to_owned(), text]);
    }
    for line in grid.render(say::table_view()).lines() {
        say!("{line}");
    }
}

/// Refuses to overwrite a file that is read.
fn refuse_to_overwrite(options: &Compare) -> Result<(), Failure> {
    // The reduced form beside the trace may be read in its place.
    let beside = path_beside(&options.trace);
    let traces = [options.trace.as_path(), beside.as_path()];
    let machines = options.machine.iter().map(Path::new);
    let earlier = options.memory.after.iter().map(PathBuf::as_path);
    let named = options.policies.iter().map(PathBuf::as_path);
    let free = options.memory.buddyinfo.iter().map(PathBuf::as_path);
    let types = options.memory.pagetypeinfo.iter().map(PathBuf::as_path);
    let read = machines.chain(traces).chain(earlier).chain(named);
    let read: Vec<&Path> = read.chain(free).chain(types).collect();
    options.page.refuse(read.iter().copied())?;
    options.result.refuse(read)
}

/// The answer in a format.
fn render(
    answer: &ComparisonAnswer,
    format: CompareFormat,
    glyphs: Glyphs,
    view: View,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let refusals: Vec<&str> = Refusal::ALL.iter().map(|refusal| refusal.name()).collect();
    match format {
        CompareFormat::Table => {
            let comparison = &answer.comparison;
            let mut text = design_space(comparison, glyphs, view);
            if text.is_empty() {
                text = table(answer, view);
            }
            let curves = curves(&comparison.results, glyphs, view);
            if !curves.is_empty() {
                text.push('\n');
                text.push_str(&curves);
            }
            bytes = text.into_bytes();
        }
        CompareFormat::Json => {
            bytes = json(&answer.comparison)?.into_bytes();
        }
        CompareFormat::Csv => {
            write_csv(&answer.comparison.results, &refusals, &mut bytes).map_err(Failure::failed)?
        }
        CompareFormat::Parquet => {
            write_parquet(&answer.comparison, &refusals, &mut bytes).map_err(Failure::failed)?
        }
    }
    Ok(bytes)
}

/// The answer as a table.
pub(crate) fn table(answer: &ComparisonAnswer, view: View) -> String {
    answer.with_context(|comparison, context| comparison_table(comparison, context, view))
}
