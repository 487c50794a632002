//! `export`: a trace of ours, rewritten in another tool's format.

use broadleaf_study::failure::Failure;
use broadleaf_study::foreign::{ExportRequest, export};

use crate::args::Export;
use crate::progress::Bars;

pub(crate) fn run(options: &Export) -> Result<(), Failure> {
    let name = options.format.as_ref().or(options.to.as_ref());
    let request = ExportRequest {
        format: name.map_or("", String::as_str),
        trace: &options.trace,
        output: options.output.as_deref(),
        max_accesses: options.bound.max_accesses,
        force: options.force,
        watch: &Bars,
    };
    export(&request).map(|_| ())
}
