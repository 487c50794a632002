//! A probe whose machine file is written.

use std::io::Write;
use std::path::Path;

use broadleaf_metrics::Probed;

use super::{ProbeRequest, file_of_user, probe};
use crate::failure::Failure;
use crate::output::{Access, Output, shown};
use crate::watch::Watch;

/// Measures the data TLBs of this machine, and writes the machine file: to `output`, or to the
/// user's file. Returns the result, and the reason if there is no machine to write.
///
/// # Errors
/// If the file exists without `force` or cannot be written, and as [`probe`].
pub fn probe_to_file(
    request: &ProbeRequest<'_>,
    output: Option<&Path>,
    force: bool,
    watch: &dyn Watch,
) -> Result<(Probed, Result<(), String>), Failure> {
    if output == Some(Path::new("-")) {
        return Err(Failure::wrong(
            "-o -: standard output has the result: give the machine file a name",
        ));
    }
    let path = match output {
        Some(path) => path.to_owned(),
        None => file_of_user()?,
    };
    // A name that is taken is refused before minutes of work.
    let mut file = Output::create(Some(&path), force, Access::Everyone)?;
    let mut outcome = probe(request, watch)?;
    if let Ok(text) = &outcome.machine {
        file.write_all(text.as_bytes())
            .map_err(|error| Failure::writing(file.name(), &error))?;
        file.finish()?;
        outcome.probed.machine_file = Some(shown(&path));
    }
    Ok((outcome.probed, outcome.machine.map(drop)))
}
