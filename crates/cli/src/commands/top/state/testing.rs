//! Processes to show.

use super::*;
use broadleaf_metrics::BlockCounts;
use std::collections::BTreeMap;

/// A process of so many MiB, half of which a policy would cover, and to which it would add a tenth.
pub(in crate::commands::top) fn process(pid: u32, mebibytes: u64) -> ProcessReport {
    let rss_bytes = mebibytes << 20;
    ProcessReport {
        pid,
        command: format!("program-{pid}"),
        rss_bytes,
        huge_bytes: rss_bytes / 4,
        blocks: BlockCounts::default(),
        population_histogram: Vec::new(),
        policies: vec![PolicyForecast {
            policy: "pop-256".to_owned(),
            would_promote: mebibytes / 8,
            added_bytes: rss_bytes / 10,
            covered_bytes: rss_bytes / 2,
            refusals: BTreeMap::new(),
        }],
    }
}

/// Returns a process as the list shows it, with a user and a command line.
pub(in crate::commands::top) fn listed(pid: u32, mebibytes: u64) -> Listed {
    Listed {
        id: id(pid),
        user: if pid.is_multiple_of(2) { "root" } else { "ann" }.to_owned(),
        line: format!("/usr/bin/program-{pid} --size {mebibytes}"),
        report: process(pid, mebibytes),
    }
}

pub(in crate::commands::top) const fn id(pid: u32) -> ProcessId {
    ProcessId { pid, started: 1 }
}

/// Three processes.
pub(in crate::commands::top) fn state() -> State {
    let mut state = State::new("pop-256".to_owned());
    let all = [(10, 100), (11, 400), (12, 200)];
    state.take(all.map(|(pid, size)| listed(pid, size)).into());
    state
}
