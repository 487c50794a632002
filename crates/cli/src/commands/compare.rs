//! `compare`: a trace under several policies, with what each saves and costs.

use std::io::Write;
use std::path::{Path, PathBuf};

use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_policy::Policy;
use broadleaf_report::{BASELINE, Glyphs, REFERENCE, View};
use broadleaf_study::compare::{Rendering, Request, policies};
use broadleaf_study::machines::{design_space_policies, is_design_space, machines};
use broadleaf_study::map::compare_with_maps;

use crate::args::{Compare, CompareFormat, write_page};
use crate::progress::Bars;
use crate::say;
use crate::terminal::glyphs;
use broadleaf_study::explained::{PlannedAccelerator, plan_table};
use broadleaf_study::failure::Failure;
use broadleaf_study::foreseeing::refuse_future;
use broadleaf_study::output::Output;
use broadleaf_study::page::comparisons_page;
use broadleaf_study::policies_file;
use broadleaf_study::shortage::refuse_lacking;
use broadleaf_study::source::reduced::path_beside;

pub(crate) fn run(options: &Compare, view: View) -> Result<(), Failure> {
    if options.together {
        return super::together::run(options, view);
    }
    let page = refuse_to_overwrite(options)?;
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
    // Each trace has policies of its own, so they are parsed once for each.
    let mut asked = Vec::new();
    for _ in &options.trace {
        asked.push(policies(&usual, &named, asked.is_empty())?);
    }
    if let Some(asked) = asked.first().filter(|_| !options.policy.is_empty()) {
        refuse_lacking(&asked.policies, &machines)?;
    }
    let asked_first = asked.first().map_or(&[][..], |asked| &asked.policies);
    refuse_future(&options.machine, asked_first)?;
    refuse_formats(options)?;
    let mut out = options.result.create()?;
    if options.format == CompareFormat::Parquet && out.is_terminal() {
        return Err(Failure::wrong(
            "Parquet is no text: give a file with -o, or a pipe",
        ));
    }
    let rendering = Rendering {
        format: options.format.into(),
        of_curves: options.curve,
        over_time: options.over_time,
        glyphs: match options.result.is_given() {
            true => Glyphs::Ascii,
            false => glyphs(),
        },
        view: options.result.view(view),
    };
    let memory = options.memory.request();
    let cache = options.cache.cache()?;
    // Every policy is compared with the first one, even if it was not asked for; the table has a
    // column of the second.
    let has_superpages = |machine: &Machine| machine.page_sizes().len() > 1;
    let extra: &[&str] = match options.format {
        _ if is_space => &[],
        CompareFormat::Table if machines.iter().all(has_superpages) => &[BASELINE, REFERENCE],
        _ => &[BASELINE],
    };
    let maps = page.is_some() || !options.map.is_empty();
    let maps = maps.then_some(&options.map[..]);
    let mut answers = Vec::new();
    for (trace, policies) in options.trace.iter().zip(asked) {
        let request = Request {
            trace,
            keep_going: options.keep_going,
            max_accesses: options.bound.max_accesses,
            policies,
            machines: machines.clone(),
            threads: options.threads,
            memory: Some(&memory),
            cache: cache.as_ref(),
            explain_plan: options.explain_plan.then_some(&show_plan),
            watch: &Bars,
            curves: options.curve,
            misses_over_time: options.over_time,
            warm_up: options.warm_up,
            restarts: options.restart,
        };
        let mut answer = compare_with_maps(request, extra, maps, &named)?;
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
        answers.push(answer);
    }
    out.write_all(&rendering.bytes(&answers)?)
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()?;
    write_page(page, || comparisons_page(&answers))
}

/// Refuses options that a format has no room for.
fn refuse_formats(options: &Compare) -> Result<(), Failure> {
    let one_row = [CompareFormat::Csv, CompareFormat::Parquet].contains(&options.format);
    if options.over_time && one_row {
        return Err(Failure::wrong(
            "CSV and Parquet have one row for each result and no room for samples over time: \
            --format json has it",
        ));
    }
    if options.format == CompareFormat::Svg && options.trace.len() > 1 {
        return Err(Failure::wrong(
            "SVG shows one trace: give one trace at a time",
        ));
    }
    let pipes = options
        .trace
        .iter()
        .filter(|trace| trace.as_os_str() == "-");
    if pipes.count() > 1 {
        return Err(Failure::wrong(
            "standard input holds one trace: write - once",
        ));
    }
    Ok(())
}

/// Prints the accelerators of a plan to standard error.
fn show_plan(accelerators: &[PlannedAccelerator]) {
    let table = plan_table(accelerators, say::table_view());
    table.lines().for_each(|line| say!("{line}"));
}

/// Refuses to overwrite a file that is read, and opens the page.
fn refuse_to_overwrite(options: &Compare) -> Result<Option<Output>, Failure> {
    // The reduced forms beside the traces may be read in their place.
    let traces = options.trace.iter().map(PathBuf::as_path);
    let beside: Vec<PathBuf> = traces.clone().map(path_beside).collect();
    let traces = traces.chain(beside.iter().map(PathBuf::as_path));
    let machines = options.machine.iter().map(Path::new);
    let earlier = options.memory.after.iter().map(PathBuf::as_path);
    let named = options.policies.iter().map(PathBuf::as_path);
    let free = options.memory.buddyinfo.iter().map(PathBuf::as_path);
    let types = options.memory.pagetypeinfo.iter().map(PathBuf::as_path);
    let read = machines.chain(traces).chain(earlier).chain(named);
    let read: Vec<&Path> = read.chain(free).chain(types).collect();
    options.result.refuse(read.iter().copied())?;
    options.result.open_page(&options.page, &read)
}
