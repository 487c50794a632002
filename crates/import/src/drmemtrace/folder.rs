//! The files of a trace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ImportError;

/// The maximum number of files of a trace.
const MOST_FILES: usize = 1 << 16;

/// The files of threads or cores in a folder that `drrun -t drcachesim -offline` wrote, or in its
/// folder `trace`, in the order of their names.
///
/// # Errors
/// There are none, or the folder cannot be read.
pub(super) fn trace_files(folder: &Path, name: &str) -> Result<Vec<PathBuf>, ImportError> {
    let below = folder.join("trace");
    let within = if below.is_dir() { &below } else { folder };
    let mut files = Vec::new();
    let mut has_windows = false;
    let cannot = |error| ImportError::io(name, error);
    for entry in fs::read_dir(within).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        has_windows |= file.starts_with("window.");
        if (file.contains(".trace") || file.contains(".memtrace")) && path.is_file() {
            if files.len() == MOST_FILES {
                let reason = format!("has more than {MOST_FILES} files");
                return Err(ImportError::input(name, reason));
            }
            files.push(path);
        }
    }
    files.sort();
    if !files.is_empty() {
        return Ok(files);
    }
    let reason = if folder.join("raw").is_dir() {
        "holds raw files only: convert them with `drrun -t drcachesim -indir FOLDER`, which makes \
         the folder trace in it"
    } else if has_windows {
        "holds a folder for each window of the program: give one of them"
    } else {
        "is a directory without a file of drmemtrace (.trace, .trace.zip, .trace.gz ...): give the \
         folder that `drrun -t drcachesim -offline` wrote"
    };
    Err(ImportError::input(name, reason))
}
