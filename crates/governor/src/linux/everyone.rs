//! Who lives.

use super::{Linux, procfs};
use crate::seen::{ProcessId, Vitals};

impl Linux {
    /// Every process that lives, and what is known of it at no cost, in order.
    pub fn everyone(&self) -> Vec<(ProcessId, Vitals)> {
        let entries = std::fs::read_dir(&self.proc)
            .into_iter()
            .flatten()
            .flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut found: Vec<_> = pids
            .filter_map(|pid| {
                // It may have ended meanwhile.
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
