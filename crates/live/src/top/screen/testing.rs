//! Processes for tests.

use super::*;
use broadleaf_metrics::BlockCounts;
use std::collections::BTreeMap;

/// A process of `mebibytes` MiB. A policy would cover half of it and add a tenth.
pub(in crate::top) fn process(pid: u32, mebibytes: u64) -> ProcessReport {
    let rss_bytes = mebibytes << 20;
    ProcessReport {
        pid,
        command: format!("program-{pid}"),
        rss_bytes,
        huge_bytes: rss_bytes / 4,
        blocks: BlockCounts::default(),
        population_histogram: Vec::new(),
        heat: None,
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
pub(in crate::top) fn listed(pid: u32, mebibytes: u64) -> ListedProcess {
    ListedProcess {
        id: id(pid),
        user: if pid.is_multiple_of(2) { "root" } else { "ann" }.to_owned(),
        line: format!("/usr/bin/program-{pid} --size {mebibytes}"),
        report: process(pid, mebibytes),
    }
}

pub(in crate::top) const fn id(pid: u32) -> ProcessId {
    ProcessId { pid, started: 1 }
}

/// Three processes.
pub(in crate::top) fn screen() -> Screen {
    let mut screen = Screen::new("pop-256".to_owned());
    let all = [(10, 100), (11, 400), (12, 200)];
    screen.take(all.map(|(pid, size)| listed(pid, size)).into());
    screen
}
