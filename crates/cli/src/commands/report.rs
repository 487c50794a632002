//! `report`: how full the memory of running processes is, and what policies would do to it.

use broadleaf_live::page::live_page;
use broadleaf_live::survey::{HeatRequest, Scope, heat_source, survey};
use broadleaf_report::{Answered, View, all_processes, live_answer, process_table};

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
    write_page(page, || live_page(&survey.report, &[]))?;
    match options.format {
        // The object is whole, with an empty list.
        TableOrJson::Json => {
            let answer = &live_answer(&survey.report, &[]);
            let record = &survey.report;
            print(&json(&Answered { record, answer })?)?;
            has_processes
        }
        TableOrJson::Table if has_processes.is_err() => has_processes,
        TableOrJson::Table if options.all => print(&all_processes(&survey.report, view)),
        TableOrJson::Table => {
            let text = process_table(&survey.report, &survey.maps, shades(), view);
            print(&text)
        }
    }
}
