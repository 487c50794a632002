//! Limits of this process, apart from those of the programs that it starts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows as many open files as the system does, for as long as the value lives. A governor has
/// some files open for each process.
///
/// A program that is started inherits the limit, and programs that use `select(2)` break with a
/// high one. So raise the limit only after the program has started; dropping the value restores it.
#[derive(Debug)]
pub(super) struct ManyFiles(Rlimit);

impl ManyFiles {
    pub(super) fn allowed() -> Self {
        let before = getrlimit(Resource::Nofile);
        let most = Rlimit {
            current: before.maximum,
            ..before
        };
        // If the limit cannot be raised, the governor looks at as many processes as it can.
        let _ = setrlimit(Resource::Nofile, most);
        Self(before)
    }
}

impl Drop for ManyFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.0);
    }
}
