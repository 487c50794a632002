//! `compare`: a trace under several policies, with what each saves and costs.

use std::io::Write;
use std::path::{Path, PathBuf};

use broadleaf_report::{Glyphs, View};
use broadleaf_study::compare::{
    Rendering, Request, policies_of_each, reference_policies, refuse_formats,
};
use broadleaf_study::machines::machines;
use broadleaf_study::map::compare_with_maps;

use crate::args::{Compare, CompareFormat, write_page};
use crate::progress::Bars;
use crate::say;
use crate::terminal::glyphs;
use broadleaf_study::explained::{PlannedReplay, plan_table};
use broadleaf_study::failure::Failure;
use broadleaf_study::foreseeing::refuse_future;
use broadleaf_study::output::Output;
use broadleaf_study::page::comparisons_page;
use broadleaf_study::policies_file;
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
    let asked = policies_of_each(options.trace.len(), &options.policy, &named, &machines)?;
    let asked_first = asked.first().map_or(&[][..], |asked| &asked.policies);
    refuse_future(&options.machine, asked_first)?;
    refuse_formats(options.format.into(), options.over_time, &options.trace)?;
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
    let memory = options.memory.request()?;
    let cache = options.cache.cache()?;
    let extra = reference_policies(&machines, options.format != CompareFormat::Json);
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
        if let Some(file) = &options.policies {
            policies_file::add_notes(&mut answer.comparison, &named, file);
        }
        answers.push(answer);
    }
    out.write_all(&rendering.bytes(&answers)?)
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()?;
    write_page(page, || comparisons_page(&answers))
}

/// Prints the plan of a replay to standard error.
fn show_plan(planned: &PlannedReplay) {
    let table = plan_table(planned, say::table_view());
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
