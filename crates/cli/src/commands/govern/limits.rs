//! What this process allows itself, apart from what it gives to the programs that it starts.

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// As many open files as the system allows, for as long as this value lives: a governor has some for each process.
///
/// What is started inherits the limit, and programs that use `select(2)` break with a high one, so it is raised only when the program runs, and put back
/// for the next.
#[derive(Debug)]
pub(super) struct ManyFiles(Rlimit);

impl ManyFiles {
    pub(super) fn allowed() -> Self {
        let before = getrlimit(Resource::Nofile);
        let most = Rlimit {
            current: before.maximum,
            ..before
        };
        // Where it cannot be raised, as many are governed as there are files for.
        let _ = setrlimit(Resource::Nofile, most);
        Self(before)
    }
}

impl Drop for ManyFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.0);
    }
}

/// This process leaves no core from here on.
pub(super) fn no_core() {
    let before = getrlimit(Resource::Core);
    let none = Rlimit {
        current: Some(0),
        ..before
    };
    let _ = setrlimit(Resource::Core, none);
    // A program that collects cores is given them whatever the limit says.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
