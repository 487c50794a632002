//! The list of living processes.

use super::{Linux, procfs};
use crate::seen::{ProcessId, Vitals};

impl Linux {
    /// Returns every living process with its vitals, sorted.
    pub fn everyone(&self) -> Vec<(ProcessId, Vitals)> {
        let entries = std::fs::read_dir(&self.proc)
            .into_iter()
            .flatten()
            .flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut found: Vec<_> = pids
            .filter_map(|pid| {
                // The process may have ended meanwhile.
                let stat = procfs::stat(&self.proc, pid).ok()?;
                let id = ProcessId {
                    pid,
                    started: stat.started,
                };
                (!stat.is_dead).then_some((id, stat.vitals))
            })
            .collect();
        found.sort_by_key(|(id, _)| *id);
        found
    }
}
