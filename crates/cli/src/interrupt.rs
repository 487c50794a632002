//! Ctrl-C: what is half done is taken away, and the process goes at once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files that are being written and mean nothing yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Whether the first interrupt is somebody else's to handle.
static LEFT_TO_CHILD: Mutex<bool> = Mutex::new(false);

/// Handles interrupts, hang-ups and requests to end from here on.
///
/// The handler runs on a thread of its own, so it also ends a command that waits for a pipe.
pub(crate) fn handle() {
    let handler = || {
        let mut left = LEFT_TO_CHILD.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *left) {
            return;
        }
        for path in UNFINISHED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            // It may be gone already, and there is nobody left to tell.
            let _ = std::fs::remove_file(path);
        }
        std::process::exit(130);
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("broadleaf: interrupts keep their default effect: {error}");
    }
}

/// Leaves the next interrupt to a child that received it as well; the one after that ends this process as always.
pub(crate) fn leave_next_to_child(leave: bool) {
    *LEFT_TO_CHILD.lock().unwrap_or_else(PoisonError::into_inner) = leave;
}

/// A file that is taken away on an interrupt for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    pub(crate) fn new(path: &Path) -> Self {
        UNFINISHED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|path| path != &self.0);
    }
}
