//! The kdamonds that this process has made.
//!
//! A kdamond remains after the process that made it has ended. Other processes then cannot use
//! DAMON. A measurement removes its kdamond at its end, but a signal can end the process before. So
//! this list names the kdamonds that are left to remove.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time for which a removal is tried.
const LONGEST: Duration = Duration::from_secs(5);
/// The time between two tries.
const AGAIN: Duration = Duration::from_millis(5);

/// The kdamonds of all measurements of this process.
pub(super) static MADE: KdamondList = KdamondList::new();

/// A list of kdamonds.
#[derive(Debug)]
pub(super) struct KdamondList(Mutex<ListedKdamonds>);

#[derive(Debug)]
struct ListedKdamonds {
    /// The folders of all kdamonds that hold one of this process.
    folders: Vec<PathBuf>,
    /// True if none can be made any more.
    has_ended: bool,
}

impl KdamondList {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(ListedKdamonds {
            folders: Vec::new(),
            has_ended: false,
        }))
    }

    /// Makes a kdamond in the folder of all kdamonds.
    pub(super) fn make(&self, all: &Path) -> Result<(), Error> {
        // A removal by another thread waits until the kdamond is listed.
        let mut listed = self.lock();
        if listed.has_ended {
            return Err(Error::other("this process is ending"));
        }
        std::fs::write(all.join("nr_kdamonds"), "1")?;
        listed.folders.push(all.to_owned());
        Ok(())
    }

    /// Removes the kdamond of a folder, unless it was removed before. Another process may have made
    /// one since.
    pub(super) fn remove(&self, all: &Path) {
        let mut listed = self.lock();
        if let Some(at) = listed.folders.iter().position(|folder| folder == all) {
            remove(&listed.folders.swap_remove(at));
        }
    }

    /// Removes all kdamonds, and lets none be made any more.
    pub(super) fn end(&self) {
        let mut listed = self.lock();
        listed.has_ended = true;
        listed.folders.drain(..).for_each(|all| remove(&all));
    }

    fn lock(&self) -> MutexGuard<'_, ListedKdamonds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(all: &Path) {
    let until = Instant::now() + LONGEST;
    loop {
        // A kdamond that has stopped by itself refuses this.
        let _ = std::fs::write(all.join("0/state"), "off");
        match std::fs::write(all.join("nr_kdamonds"), "0") {
            // While another thread waits for regions, the kernel refuses all changes.
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < until => {
                std::thread::sleep(AGAIN);
            }
            // The process is ending, or the measurement is over: another error changes nothing.
            _ => return,
        }
    }
}
