//! Reducing a part of a trace.

use std::io::Write;

use broadleaf_filter::filter_in_words;
use broadleaf_trace::reduced::{ReducedHeader, ReducedWriter};

use super::part_file::{PartFacts, begin, end};
use super::{PartNumber, ReduceRequest, ReducedTrace, Reducing, cannot_reduce, cannot_write};
use crate::failure::Failure;
use crate::output::{Output, argument};
use crate::source::Trace;
use crate::source::reduced::{family, path_beside};
use crate::source::slice::TraceSlice;
use crate::watch::Work;

/// Writes the reduced form of a part of `trace`. The filter begins each chunk of a trace without
/// knowledge, and the writer each section. So the part's chunks are those of the whole trace's
/// form.
pub(super) fn reduce_part(
    request: &ReduceRequest<'_>,
    part: PartNumber,
    trace: Trace,
    job: &Reducing<'_>,
    mut out: Output,
) -> Result<ReducedTrace, Failure> {
    if trace.header().is_none() || !request.trace.is_file() {
        return Err(Failure::Wrong(format!(
            "{}: has no index, by which a part is found: reduce it whole, or import it first \
             (broadleaf import)",
            job.name
        )));
    }
    let mut slice = TraceSlice::of(trace, part).map_err(cannot_reduce)?;
    let identity = slice.identity().to_owned();
    let (bytes, size) = slice.bytes();
    let family = family(job.machines).to_string();
    let header = ReducedHeader {
        // Only all parts together know the hash.
        trace: String::new(),
        family: family.clone(),
    };
    let writing = |error| Failure::writing(job.out_name, &error);
    let cannot_write = |error| cannot_write(job.out_name, error);
    out.write_all(&begin()).map_err(writing)?;
    let before = out.written();
    let mut writer = ReducedWriter::new(out, &header).map_err(cannot_write)?;
    let task = (request.watch).begin("reducing", Work::Accesses(slice.accesses()));
    let set = |accesses| task.set(0, accesses);
    let ends = slice.section_ends();
    let accesses = job.write(&mut slice, ends, &mut writer, &set)?;
    drop(task);
    let hashes = slice.finish().map_err(cannot_reduce)?;
    let (mut out, kept) = writer.finish().map_err(cannot_write)?;
    let facts = PartFacts {
        number: part.number(),
        of: part.of(),
        trace: identity,
        size,
        from: bytes.start,
        to: bytes.end,
        hashes,
        filter: filter_in_words(),
        family,
        body: out.written() - before,
    };
    out.write_all(&end(&facts)?).map_err(writing)?;
    let bytes = out.written();
    out.finish()?;
    Ok(ReducedTrace {
        output: job.out_name.to_owned(),
        bytes,
        kept,
        accesses,
        next: format!(
            "broadleaf reduce --join PART... -o {}, with the files of all {} parts",
            argument(&path_beside(request.trace)),
            part.of()
        ),
    })
}
