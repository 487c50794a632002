//! The files of `proc` about one process.

use crate::seen::Vitals;
use procfs_core::FromRead;
use procfs_core::process::Stat;
use std::io;
use std::path::Path;

/// `PF_KTHREAD` (`linux/sched.h`).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// The facts from the `stat` file of a process.
pub(super) struct StatSeen {
    pub(super) started: u64,
    /// True if the process has ended and its parent has not yet waited for it.
    pub(super) is_dead: bool,
    /// True if the process is a kernel thread.
    pub(super) is_kernel: bool,
    /// True if the process still has memory of its own.
    pub(super) has_memory: bool,
    pub(super) vitals: Vitals,
}

/// The facts about a process apart from its memory, as far as they can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The number of the user that the process runs as.
    pub uid: Option<u32>,
    /// The command line. Empty for kernel threads.
    pub command_line: Vec<String>,
    /// The path of the process's cgroup.
    pub cgroup: Option<String>,
    /// True if superpages are forbidden to the process. `None` if the kernel does not report it.
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
            // Each exec draws new addresses of stack and code, unless address randomization is off.
            // The addresses are 0 for users without the right to read them.
            image: stat.startstack ^ stat.startcode.rotate_left(20) ^ stat.endcode.rotate_left(40),
            faults: stat.minflt + stat.majflt,
            rss_bytes: stat.rss * crate::seen::PAGE_BYTES,
        },
    })
}

/// Returns the bytes that a process holds. A shared page counts in proportion.
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
