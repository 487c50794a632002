//! `report`: how full the memory of running processes is, and what policies would do to it.

use broadleaf_live::page::live_page;
use broadleaf_live::survey::{HeatRequest, Scope, heat_source, survey};
use broadleaf_metrics::{LiveReport, PolicyForecast};
use broadleaf_report::{View, all_processes, next, process_table};

use crate::args::{Report, TableOrJson, write_page};
use crate::terminal::shades;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print};

pub(crate) fn run(options: &Report, view: View) -> Result<(), Failure> {
    let page = options.page.open(&[], None, options.force)?;
    let scope = match options.all {
        true => Scope::All,
        false => Scope::Pids(&options.pid),
    };
    let source = options
        .heat_source
        .as_deref()
        .map(heat_source)
        .transpose()?;
    let heat = options.heat.map(|window| HeatRequest { window, source });
    let survey = survey(scope, &options.policy, heat)?;
    let has_processes = survey.has_processes();
    write_page(page, || live_page(&survey.report))?;
    match options.format {
        // The object is whole, with an empty list.
        TableOrJson::Json => {
            print(&json(&survey.report)?)?;
            has_processes
        }
        TableOrJson::Table if has_processes.is_err() => has_processes,
        TableOrJson::Table if options.all => {
            let process = most_covered(&survey.report);
            let next = process.map(|pid| next(&format!("broadleaf report {pid}")));
            print(&(all_processes(&survey.report, view) + &next.unwrap_or_default()))
        }
        TableOrJson::Table => {
            let text = process_table(&survey.report, &survey.maps, shades(), view);
            let process = most_covered(&survey.report);
            let next = process.map(|pid| next(&format!("broadleaf attach {pid}")));
            print(&(text + &next.unwrap_or_default()))
        }
    }
}

/// The first process of which a policy would promote a block. Processes are in the order of the
/// memory that the policy would cover.
fn most_covered(report: &LiveReport) -> Option<u32> {
    let would_gain = |forecasts: &[PolicyForecast]| {
        (forecasts.iter()).any(|forecast| forecast.would_promote > 0)
    };
    let mut processes = report.processes.iter();
    let process = processes.find(|process| would_gain(&process.policies))?;
    Some(process.pid)
}
