//! `report`: how full the memory of running processes is, and what policies would do to it.

use broadleaf_live::survey::{Scope, survey};
use broadleaf_report::{View, all_processes, process_table};

use crate::args::{Report, TableOrJson};
use crate::terminal::shades;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print};

pub(crate) fn run(options: &Report, view: View) -> Result<(), Failure> {
    let scope = match options.all {
        true => Scope::All,
        false => Scope::Pids(&options.pid),
    };
    let survey = survey(scope, &options.policy)?;
    let has_processes = survey.has_processes();
    match options.format {
        // The object is whole, with an empty list.
        TableOrJson::Json => {
            print(&json(&survey.report)?)?;
            has_processes
        }
        TableOrJson::Table if has_processes.is_err() => has_processes,
        TableOrJson::Table if options.all => print(&all_processes(&survey.report, view)),
        TableOrJson::Table => print(&process_table(&survey.report, &survey.maps, shades(), view)),
    }
}
