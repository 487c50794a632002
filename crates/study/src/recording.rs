//! Messages for failures of recordings.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use broadleaf_record::valgrind::RecordError;
use broadleaf_report::number::grouped;
use broadleaf_trace::{TraceIndex, WriteError};

use crate::failure::{Failure, reason};
use crate::output::{KeptPath, shown};

/// Converts an error to a message, which names the part of the recording that was kept.
pub fn explain(error: RecordError, path: &Path, kept: &KeptPath) -> Failure {
    let name = shown(path);
    match error {
        RecordError::NoProgram { program, error } => Failure::cannot_run(&program, &error),
        RecordError::NoCommand | RecordError::CannotRun { .. } | RecordError::Path(_) => {
            Failure::wrong(error)
        }
        RecordError::NoValgrind | RecordError::NotBuilt | RecordError::NothingRecorded(_) => {
            Failure::failed(error)
        }
        RecordError::Folder { folder, error } => Failure::Failed(format!(
            "{}: cannot make the recorder's temporary files there: {}; TMPDIR can name another \
             folder",
            shown(&folder),
            reason(&error)
        )),
        RecordError::Io(error) => Failure::Failed(format!(
            "{name}: the recording failed: {}{}",
            reason(&error),
            left(kept)
        )),
        RecordError::Write(WriteError::Io(error)) => Failure::Failed(format!(
            "{name}: cannot write the trace: {}{}",
            reason(&error),
            left(kept)
        )),
        RecordError::Write(_) | RecordError::Tool(_) => {
            Failure::Failed(format!("{name}: {error}{}", left(kept)))
        }
    }
}

/// Describes the readable part of a failed recording, with its path.
fn left(kept: &KeptPath) -> String {
    let Some(path) = kept.at() else {
        return "; nothing of it was kept".to_owned();
    };
    let index = File::open(path)
        .ok()
        .and_then(|file| TraceIndex::read(BufReader::new(file)).ok());
    match index.map_or(0, |index| index.totals().accesses()) {
        0 => format!("; {} holds no whole chunk", shown(path)),
        saved => format!(
            "; {} holds the {} accesses written before, and --keep-going reads them",
            shown(path),
            grouped(saved)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::{Encoder, Grain, Header, Visit};

    fn full(path: &Path) -> String {
        let error = std::io::Error::from_raw_os_error(28);
        explain(WriteError::Io(error).into(), path, &KeptPath::in_file(path)).to_string()
    }

    #[test]
    fn a_full_disk_error_names_the_readable_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bl");
        let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).unwrap();
        let visit = Visit {
            unit: 7,
            loads: 1234,
            loads_before_store: 1234,
            ..Visit::default()
        };
        encoder.visits(&[visit]).unwrap();
        let bytes = encoder.finish().unwrap();
        // The disk had no room for the index.
        std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
        let said = full(&path);
        assert!(
            said.ends_with(
                "x.bl holds the 1,234 accesses written before, and --keep-going reads them"
            ) && said.contains("x.bl: cannot write the trace: No space left on device; "),
            "{said}"
        );
        // The head alone, or less.
        for cut in [0, 10, 60] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let said = full(&path);
            assert!(said.ends_with("x.bl holds no whole chunk"), "{said}");
        }
    }
}
