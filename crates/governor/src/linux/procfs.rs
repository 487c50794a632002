//! Files of `proc` that tell of one process.

use crate::seen::Vitals;
use procfs_core::FromRead;
use procfs_core::process::Stat;
use std::io;
use std::path::Path;

/// `PF_KTHREAD` (`linux/sched.h`).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// What `stat` says of a process.
pub(super) struct StatSeen {
    pub(super) started: u64,
    /// It has ended, and nobody has asked for its exit status yet.
    pub(super) is_dead: bool,
    /// It is a thread of the kernel.
    pub(super) is_kernel: bool,
    /// It has memory of its own, still.
    pub(super) has_memory: bool,
    pub(super) vitals: Vitals,
}

/// What there is to know of a process beside its memory, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The number of the user that it runs as.
    pub uid: Option<u32>,
    /// Its command line; empty for the kernel's own threads.
    pub command_line: Vec<String>,
    /// The path of its cgroup.
    pub cgroup: Option<String>,
    /// Whether superpages are forbidden to it altogether; `None` where the kernel does not tell.
    pub thp_forbidden: Option<bool>,
}

fn bad(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

pub(super) fn stat(proc: &Path, pid: u32) -> io::Result<StatSeen> {
    let bytes = std::fs::read(proc.join(pid.to_string()).join("stat"))?;
    let stat = Stat::from_read(bytes.as_slice()).map_err(bad)?;
    Ok(StatSeen {
        started: stat.starttime,
        // A process goes on after its first thread has ended, as long as it has others.
        is_dead: matches!(stat.state, 'Z' | 'X' | 'x') && stat.num_threads <= 1,
        is_kernel: stat.flags & KERNEL_THREAD != 0,
        has_memory: stat.vsize > 0,
        vitals: Vitals {
            command: stat.comm,
            // Where stack and code begin is drawn anew by each exec, unless that is switched off, and 0 for who may not know it.
            image: stat.startstack ^ stat.startcode.rotate_left(20) ^ stat.endcode.rotate_left(40),
            faults: stat.minflt + stat.majflt,
            rss_bytes: stat.rss * crate::seen::PAGE_BYTES,
        },
    })
}

/// Bytes that a process holds, of pages that others share its part alone.
pub(super) fn proportional(proc: &Path, pid: u32) -> Option<u64> {
    let rollup = proc.join(pid.to_string()).join("smaps_rollup");
    let text = std::fs::read_to_string(rollup).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

pub(super) fn children(proc: &Path, pid: u32) -> Vec<u32> {
    let tasks = proc.join(pid.to_string()).join("task");
    let threads = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let mut children = Vec::new();
    for list in lists {
        children.extend(
            list.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    children
}

pub(super) fn description(proc: &Path, pid: u32) -> Description {
    let read = |file: &str| {
        std::fs::read_to_string(proc.join(pid.to_string()).join(file)).unwrap_or_default()
    };
    let status = read("status");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|values| values.split_whitespace().next().map(str::to_owned))
    };
    let cgroups = read("cgroup");
    // The line of version 2 names no controllers.
    let cgroup = cgroups.lines().find_map(|line| line.strip_prefix("0::"));
    let cgroup = cgroup.or_else(|| {
        cgroups
            .lines()
            .find_map(|line| line.split_once(":memory:").map(|(_, path)| path))
    });
    let words = read("cmdline");
    Description {
        uid: field("Uid:").and_then(|uid| uid.parse().ok()),
        command_line: words
            .split('\0')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
        cgroup: cgroup.map(str::to_owned),
        thp_forbidden: field("THP_enabled:").map(|enabled| enabled == "0"),
    }
}
