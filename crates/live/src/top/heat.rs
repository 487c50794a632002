//! The use of one process's memory, watched on a thread of its own while the screen goes on.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use broadleaf_governor::{Kernel, Linux, ProcessId};
use broadleaf_metrics::HeatReport;
use broadleaf_report::number::{grouped, size};
use broadleaf_report::{PageMap, heat_map};

use crate::survey::{HeatRequest, gather};

/// The time for which a process is watched.
const WINDOW: Duration = Duration::from_secs(2);

/// The used memory of a process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UsedMemory {
    /// The record.
    pub(super) report: HeatReport,
    /// A picture of the used pages. `None` if no blocks are known.
    pub(super) map: Option<PageMap>,
    /// The end of the measurement.
    pub(super) measured: Instant,
}

/// The state of a request for the use of a process's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScreenHeat {
    /// The process is being watched.
    Watching,
    /// The process was watched.
    Known(UsedMemory),
    /// The use cannot be seen, for this reason.
    Unknown(String),
}

impl ScreenHeat {
    /// Sentences about the use of a process's memory.
    pub(super) fn text(&self) -> Vec<String> {
        let used = match self {
            Self::Watching => return vec!["Watching which blocks are used ...".to_owned()],
            Self::Unknown(reason) => return vec![reason.clone()],
            Self::Known(used) => used,
        };
        let report = &used.report;
        let when = format!(
            "Used in {:.1} s, measured {} s ago",
            report.seconds,
            grouped(used.measured.elapsed().as_secs())
        );
        let what = if used.map.is_some() {
            format!(
                "{when}: {}, in {} of {} blocks. The picture shows used pages.",
                size(report.used_bytes),
                grouped(report.used_blocks),
                grouped(report.blocks.len() as u64)
            )
        } else {
            let each = report.mappings.iter().map(|mapping| mapping.used_bytes);
            format!(
                "{when}: {}. Which blocks these are cannot be seen.",
                size(each.sum())
            )
        };
        let source = format!("Source: {}. {}", report.source, report.source_sentence);
        vec![what, source]
    }
}

/// A process that is being watched.
#[derive(Debug)]
pub(super) struct WatchedHeat {
    process: ProcessId,
    ended: Receiver<Result<UsedMemory, String>>,
}

impl WatchedHeat {
    /// Begins to watch a process.
    pub(super) fn new(process: ProcessId) -> Self {
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            // The receiver is gone if another process is watched meanwhile.
            let _ = sender.send(watch(process));
        });
        Self { process, ended }
    }

    /// Returns the process and its use, once it was watched.
    pub(super) fn ended(&self) -> Option<(ProcessId, ScreenHeat)> {
        let heat = match self.ended.try_recv() {
            Ok(Ok(used)) => ScreenHeat::Known(used),
            Ok(Err(reason)) => ScreenHeat::Unknown(reason),
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => ScreenHeat::Unknown("it failed".to_owned()),
        };
        Some((self.process, heat))
    }
}

fn watch(process: ProcessId) -> Result<UsedMemory, String> {
    let mut linux = Linux::new();
    let mut pages = linux.pages(process).map_err(|no| no.to_string())?;
    let request = HeatRequest {
        window: WINDOW,
        source: None,
    };
    let report = request.watch(&mut linux, process, &mut pages)?;
    let map = heat_map(&report, &gather::page_map(&pages));
    Ok(UsedMemory {
        report,
        map,
        measured: Instant::now(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_has_no_use() {
        let heat = WatchedHeat::new(ProcessId {
            pid: u32::MAX,
            started: 1,
        });
        let ended = loop {
            if let Some(ended) = heat.ended() {
                break ended;
            }
            std::thread::yield_now();
        };
        let expected = ScreenHeat::Unknown("the process has ended".to_owned());
        assert_eq!(ended.1, expected);
    }
}
