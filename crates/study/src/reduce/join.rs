//! Joining the parts of a reduced trace.

use std::io;
use std::path::{Path, PathBuf};

use broadleaf_filter::filter_in_words;
use broadleaf_report::number::grouped;
use broadleaf_trace::WriteError;
use broadleaf_trace::reduced::{ReducedHeader, ReducedWriter};

use super::hash_tree::whole_hash;
use super::part_file::PartFile;
use super::{PartNumber, ReducedTrace, cannot_write, create};
use crate::failure::Failure;
use crate::output::{Output, argument, refuse_input};
use crate::watch::{Watch, Work};

/// Joins `parts`, the files of all parts of a reduced trace in any order. The result equals, to the
/// byte, the reduced form that one machine makes of the whole trace. Gives the progress to `watch`.
///
/// # Errors
/// If parts are missing, given twice, damaged, or of different traces, machines or filters, or if
/// the output cannot be written.
pub fn join(
    parts: &[PathBuf],
    output: Option<&Path>,
    force: bool,
    watch: &dyn Watch,
) -> Result<ReducedTrace, Failure> {
    let no_output = || Failure::wrong("give the file of the joined form with -o");
    let output = output.ok_or_else(no_output)?;
    refuse_input(output, parts.iter().map(PathBuf::as_path))?;
    let opened = parts.iter().map(|path| PartFile::open(path));
    let parts = in_order(opened.collect::<Result<_, _>>()?)?;
    let (hash, family) = checked(&parts)?;
    let out = create(output, force)?;
    let out_name = out.name().to_owned();
    let cannot_write = |error| cannot_write(&out_name, error);
    let header = ReducedHeader {
        trace: hash,
        family,
    };
    let mut writer = ReducedWriter::new(out, &header).map_err(cannot_write)?;
    let bytes = parts.iter().map(|part| part.facts.body).sum();
    let task = watch.begin("joining", Work::Bytes(bytes));
    let mut done = 0;
    for part in &parts {
        if watch.is_stopped() {
            return Err(Failure::failed("stopped"));
        }
        append(part, &mut writer, &out_name)?;
        done += part.facts.body;
        task.set(done, writer.accesses());
    }
    drop(task);
    let accesses = writer.accesses();
    if accesses == 0 {
        return Err(Failure::Wrong(format!(
            "{}: these parts hold no load and no store, so there is nothing to join",
            parts[0].name
        )));
    }
    let (out, kept) = writer.finish().map_err(cannot_write)?;
    let bytes = out.written();
    out.finish()?;
    Ok(ReducedTrace {
        output: out_name,
        bytes,
        kept,
        accesses,
        next: match output.as_os_str() == "-" {
            true => "broadleaf compare FILE, with the file of this output".to_owned(),
            false => format!("broadleaf compare {}", argument(output)),
        },
    })
}

/// Sorts parts by their numbers, and refuses parts that are missing, given twice, or of another
/// division.
fn in_order(mut parts: Vec<PartFile>) -> Result<Vec<PartFile>, Failure> {
    parts.sort_by_key(|part| part.number.number());
    let Some(first) = parts.first() else {
        return Err(Failure::wrong("there is no part to join"));
    };
    let of = first.number.of();
    for pair in parts.windows(2) {
        let [one, other] = [&pair[0], &pair[1]];
        if other.number.of() != of {
            return Err(differ(one, other, "divide the trace otherwise"));
        }
        if one.number == other.number {
            return Err(Failure::Wrong(format!(
                "{} and {}: are both part {}",
                one.name, other.name, one.number
            )));
        }
    }
    let mut given = parts.iter().map(|part| part.number.number()).peekable();
    let missing: Vec<String> = (1..=of)
        .filter(|number| given.next_if_eq(number).is_none())
        .filter_map(|number| PartNumber::new(number, of))
        .map(|number| number.to_string())
        .take(MOST_NAMED)
        .collect();
    if !missing.is_empty() {
        let more = of as usize - parts.len() - missing.len();
        let more = match more {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        return Err(Failure::Wrong(format!(
            "{}: is one of {} parts, and these are missing: {}{more}",
            first.name,
            grouped(of.into()),
            missing.join(", ")
        )));
    }
    Ok(parts)
}

/// The maximum number of missing parts that a message names.
const MOST_NAMED: usize = 8;

/// Refuses parts that do not belong together. Returns the hash of the trace and the family of
/// machines.
fn checked(parts: &[PartFile]) -> Result<(String, String), Failure> {
    let first = &parts[0];
    let filter = filter_in_words();
    let mut next = 0;
    for part in parts {
        let (one, other) = (&first.facts, &part.facts);
        if (&one.trace, one.size) != (&other.trace, other.size) {
            return Err(differ(first, part, "are of different traces"));
        }
        if one.family != other.family {
            return Err(differ(first, part, "are for different machines"));
        }
        if other.filter != filter {
            return Err(Failure::Wrong(format!(
                "{}: was made by a version of Broadleaf with another filter: reduce this part again",
                part.name
            )));
        }
        if other.from != next {
            return Err(differ(first, part, "divide the trace otherwise"));
        }
        next = other.to;
    }
    let of_part = |part: &PartFile| (part.facts.from..part.facts.to, part.facts.hashes.clone());
    let hash = match next == first.facts.size {
        true => whole_hash(next, parts.iter().map(of_part)),
        false => None,
    };
    match hash {
        Some(hash) => Ok((
            format!("blake3:{}", hash.to_hex()),
            first.facts.family.clone(),
        )),
        None => Err(Failure::Wrong(format!(
            "{}: the parts are not all of the trace: reduce them again",
            first.name
        ))),
    }
}

fn differ(one: &PartFile, other: &PartFile, why: &str) -> Failure {
    Failure::Wrong(format!("{} and {}: {why}", one.name, other.name))
}

/// Copies the chunks of a part.
fn append(
    part: &PartFile,
    writer: &mut ReducedWriter<Output>,
    out_name: &str,
) -> Result<(), Failure> {
    let name = part.name.clone();
    let body = part
        .body()
        .map_err(|error| Failure::reading(&name, &error))?;
    writer.append(body).map_err(|error| match error {
        WriteError::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            Failure::Wrong(format!("{name}: {error}: reduce this part again"))
        }
        error => cannot_write(out_name, error),
    })
}

#[cfg(test)]
mod tests;
