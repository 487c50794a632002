//! `info`: the contents of a trace.

use broadleaf_report::View;
use broadleaf_study::failure::Failure;
use broadleaf_study::info::{InfoRequest, info};
use broadleaf_study::output::{json, print};

use crate::args::{InfoArgs, TableOrJson};
use crate::progress::Bars;

pub(crate) fn run(options: &InfoArgs, view: View) -> Result<(), Failure> {
    let info = info(&InfoRequest {
        trace: &options.trace,
        keep_going: options.keep_going,
        max_accesses: options.bound.max_accesses,
        watch: &Bars,
    })?;
    match options.format {
        TableOrJson::Table => print(&info.table(view)),
        TableOrJson::Json => print(&json(&info.to_json())?),
    }
}
