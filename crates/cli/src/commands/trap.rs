//! `record --engine trap`: counts the TLB misses of a running program.

use std::io::{Write, stderr};
use std::path::Path;

use broadleaf_live::passed_on::LeftToChild;
use broadleaf_report::{View, trap_table};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, json, refuse_input};
use broadleaf_study::recording::program_end;
use broadleaf_study::trapping::{TrapRequest, trap};

use crate::args::{RecordArgs, TableOrJson};

pub(crate) fn run(options: &RecordArgs) -> Result<(), Failure> {
    let Some(machine) = &options.machine else {
        return Err(Failure::wrong(
            "--engine trap needs --machine: the TLB whose misses are counted, such as \
             'single:entries=64,replacement=fifo'",
        ));
    };
    let inputs = options.command.iter().map(Path::new);
    let mut out = match &options.output {
        Some(path) => {
            refuse_input(path, inputs)?;
            Some(Output::create(Some(path), options.force, Access::Everyone)?)
        }
        None => None,
    };
    let request = TrapRequest {
        command: &options.command,
        machine,
        policy: options.policy.as_deref().unwrap_or("4k"),
        mechanism: options.mechanism.and_then(Into::into),
        configuration: &format!("{options:?}"),
    };
    // The program ends by the signals of the terminal, and this command prints its counts.
    let left = LeftToChild::starting();
    let trapped = trap(&request, &mut |_| left.begun(None));
    drop(left);
    let trapped = trapped?;
    say!("{}", program_end(trapped.exit_status, trapped.signal));
    let view = View::default();
    let text = match options.format.unwrap_or(TableOrJson::Table) {
        TableOrJson::Table => trap_table(&trapped, view),
        TableOrJson::Json => json(&trapped)?,
    };
    match &mut out {
        Some(out) => {
            out.write_all(text.as_bytes())
                .map_err(|error| Failure::writing(out.name(), &error))?;
        }
        // Standard output is the program's own.
        None => stderr()
            .write_all(text.as_bytes())
            .map_err(|error| Failure::writing("standard error", &error))?,
    }
    out.map_or(Ok(()), Output::finish)
}
