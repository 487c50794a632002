//! `reduce`: writes the reduced form of a trace, which `compare` reads in place of the trace.

use broadleaf_report::number::{grouped, size};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::argument;
use broadleaf_study::reduce::{ReduceRequest, reduce};

use crate::args::Reduce;
use crate::progress::Bars;

pub(crate) fn run(options: &Reduce) -> Result<(), Failure> {
    let reduced = reduce(&ReduceRequest {
        trace: &options.trace,
        output: options.output.as_deref(),
        force: options.force,
        machines: &options.machine,
        threads: options.threads,
        max_accesses: options.bound.max_accesses,
        watch: &Bars,
    })?;
    say!(
        "{}: keeps {} visits of {} accesses, a file of {}",
        reduced.output,
        grouped(reduced.kept),
        grouped(reduced.accesses),
        size(reduced.bytes),
    );
    say!("next: broadleaf compare {}", argument(&options.trace));
    Ok(())
}
