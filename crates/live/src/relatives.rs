//! The processes around this one: its children, its ancestors, and their states.

use broadleaf_governor::{Kernel, Linux};
use rustix::process::{Pid, getpgid, getpid, getsid};

/// The processes that this one started and has not waited for.
pub fn children() -> Vec<Pid> {
    let mut linux = Linux::new();
    let own = linux.process(std::process::id());
    let children = own.map_or(Vec::new(), |own| linux.children(own));
    let pids = children.iter().map(|child| i32::try_from(child.pid).ok());
    pids.filter_map(|pid| pid.and_then(Pid::from_raw)).collect()
}

/// Returns true if no ancestor of this process could continue its process group (POSIX: an orphaned
/// process group).
pub fn is_orphaned() -> bool {
    let (group, session) = (getpgid(None).ok(), getsid(None).ok());
    let outside = ancestors(getpid()).find(|pid| getpgid(Some(*pid)).ok() != group);
    outside.is_none_or(|pid| getsid(Some(pid)).ok() != session)
}

/// The parent of a process, its parent, and so on.
pub fn ancestors(pid: Pid) -> impl Iterator<Item = Pid> {
    let parent = |pid: &Pid| {
        let parent = status(*pid)?.1;
        Pid::from_raw(parent)
    };
    std::iter::successors(parent(&pid), parent)
}

/// The letter of the state of a process.
pub fn state(pid: Pid) -> Option<char> {
    status(pid).map(|(state, _)| state)
}

/// The state of a process, and its parent (`proc_pid_stat(5)`).
fn status(pid: Pid) -> Option<(char, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name is in brackets and may hold any letter.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
