//! `probe`: measures the data TLBs of this machine.

use std::io::Write;
use std::path::Path;

use broadleaf_report::{View, probe_table};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, json, print, shown};
use broadleaf_study::probing::{ProbeRequest, file_of_user, probe, probe_model};

use crate::args::{ProbeArgs, TableOrJson};
use crate::progress::Bars;

pub(crate) fn run(options: &ProbeArgs, view: View) -> Result<(), Failure> {
    let configuration = &format!("{options:?}");
    if let Some(name) = &options.machine {
        let probed = probe_model(name, configuration)?;
        return print(&match options.format {
            TableOrJson::Table => probe_table(&probed, view),
            TableOrJson::Json => json(&probed)?,
        });
    }
    if options.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::wrong(
            "-o -: standard output has the result: give the machine file a name",
        ));
    }
    let path = match &options.output {
        Some(path) => path.clone(),
        None => file_of_user()?,
    };
    // A name that is taken is refused before minutes of work.
    let mut file = Output::create(Some(&path), options.force, Access::Everyone)?;
    let request = ProbeRequest {
        cpu: options.cpu,
        quick: options.quick,
        configuration,
    };
    let mut outcome = probe(&request, &Bars)?;
    if let Ok(text) = &outcome.machine {
        file.write_all(text.as_bytes())
            .map_err(|error| Failure::writing(file.name(), &error))?;
        file.finish()?;
        outcome.probed.machine_file = Some(shown(&path));
    }
    print(&match options.format {
        TableOrJson::Table => probe_table(&outcome.probed, view),
        TableOrJson::Json => json(&outcome.probed)?,
    })?;
    outcome.machine.map(drop).map_err(Failure::Failed)
}
