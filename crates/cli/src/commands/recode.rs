//! `recode`: writes a recording in version 2 of the format.

use std::path::PathBuf;

use broadleaf_report::number::{grouped, size};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::argument;
use broadleaf_study::recode::{RecodeRequest, recode, recoded_name};

use crate::args::Recode;
use crate::progress::Bars;

pub(crate) fn run(options: &Recode) -> Result<(), Failure> {
    let output = output_path(options)?;
    let recoded = recode(&RecodeRequest {
        trace: &options.trace,
        output: &output,
        force: options.force,
        even_if_slower: options.even_if_slower,
        threads: options.threads,
        max_accesses: options.bound.max_accesses,
        watch: &Bars,
    })?;
    say!(
        "{}: {} accesses, a trace of {}; {} has {}",
        recoded.output,
        grouped(recoded.accesses),
        size(recoded.bytes),
        recoded.trace,
        size(recoded.trace_bytes),
    );
    say!("next: broadleaf compare {}", argument(&output));
    Ok(())
}

fn output_path(options: &Recode) -> Result<PathBuf, Failure> {
    match &options.output {
        Some(path) => Ok(path.clone()),
        None if options.trace.as_os_str() == "-" => Err(Failure::wrong(
            "standard input has no name: name the output with -o",
        )),
        None => Ok(recoded_name(&options.trace)),
    }
}
