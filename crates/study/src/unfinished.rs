//! Unfinished files and folders, which must be removed if the process ends early.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The paths to remove if the process ends early.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A path that is removed on an early end for as long as this value lives.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Registers a file, or a folder with all its contents.
    pub fn new(path: &Path) -> Self {
        hold().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        hold().retain(|path| path != &self.0);
    }
}

/// Removes all unfinished paths. A program calls this before a signal ends the program.
pub fn remove_unfinished() {
    for path in hold().drain(..) {
        // The path may be gone already, and no error can be reported at this point.
        let _ = if path.is_dir() {
            std::fs::remove_dir_all(path)
        } else {
            std::fs::remove_file(path)
        };
    }
}

/// Locks the list. While the guard lives, [`remove_unfinished`] waits.
pub(crate) fn hold() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}
