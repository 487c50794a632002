//! `reduce`: writes the reduced form of a trace, which `compare` reads in place of the trace.

use broadleaf_report::number::{grouped, size};
use broadleaf_study::failure::Failure;
use broadleaf_study::reduce::{ReduceRequest, join, reduce};

use crate::args::Reduce;
use crate::progress::Bars;

pub(crate) fn run(options: &Reduce) -> Result<(), Failure> {
    let output = options.output.as_deref();
    let reduced = match &options.trace {
        Some(trace) => reduce(&ReduceRequest {
            trace,
            output,
            force: options.force,
            part: options.part,
            machines: &options.machine,
            threads: options.threads,
            max_accesses: options.bound.max_accesses,
            watch: &Bars,
        }),
        None => join(&options.join, output, options.force, &Bars),
    }?;
    say!(
        "{}: keeps {} visits of {} accesses, a file of {}",
        reduced.output,
        grouped(reduced.kept),
        grouped(reduced.accesses),
        size(reduced.bytes),
    );
    say!("next: {}", reduced.next);
    Ok(())
}
