//! `probe`: measures the data TLBs of this machine.

use broadleaf_report::{View, probe_table};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print};
use broadleaf_study::probing::{ProbeRequest, probe_model, probe_to_file};

use crate::args::{ProbeArgs, TableOrJson};
use crate::progress::Bars;

pub(crate) fn run(options: &ProbeArgs, view: View) -> Result<(), Failure> {
    let configuration = &format!("{options:?}");
    let (probed, machine) = match &options.machine {
        Some(name) => (probe_model(name, configuration)?, Ok(())),
        None => {
            let request = ProbeRequest {
                cpu: options.cpu,
                quick: options.quick,
                configuration,
            };
            probe_to_file(&request, options.output.as_deref(), options.force, &Bars)?
        }
    };
    print(&match options.format {
        TableOrJson::Table => probe_table(&probed, view),
        TableOrJson::Json => json(&probed)?,
    })?;
    machine.map_err(Failure::Failed)
}
