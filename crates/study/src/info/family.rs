//! The order of processes: parents before their children.

use std::collections::BTreeMap;

use super::gather::ProcessInfo;

/// Puts parents before their children, and children after their parent. Otherwise the order is
/// that in which the processes first ran.
pub(super) fn parents_first(processes: Vec<ProcessInfo>) -> Vec<ProcessInfo> {
    let mut spaces: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, process) in processes.iter().enumerate() {
        spaces.entry(process.pid).or_default().push(at);
    }
    let mut children: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut roots = Vec::new();
    for (at, process) in processes.iter().enumerate() {
        if process.parent != process.pid && spaces.contains_key(&process.parent) {
            children.entry(process.parent).or_default().push(at);
        } else {
            roots.push(at);
        }
    }
    let mut order = Vec::new();
    let mut waiting = roots;
    // The last entry is taken first.
    waiting.reverse();
    while let Some(at) = waiting.pop() {
        order.push(at);
        let pid = processes[at].pid;
        // A process that executes has an address space for each program. Its children follow the
        // last of these.
        let is_last = !waiting.iter().any(|&other| processes[other].pid == pid);
        if is_last {
            let started = children.remove(&pid).unwrap_or_default();
            waiting.extend(started.into_iter().rev());
        }
    }
    // Process numbers that are used again can make a cycle, which has no first process.
    order.extend(
        (0..processes.len())
            .filter(|at| !order.contains(at))
            .collect::<Vec<_>>(),
    );
    let mut processes: Vec<Option<ProcessInfo>> = processes.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|at| processes[at].take())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(family: &[(u32, u32)]) -> Vec<u32> {
        let processes = family
            .iter()
            .map(|&(pid, parent)| ProcessInfo {
                pid,
                parent,
                ..ProcessInfo::default()
            })
            .collect();
        parents_first(processes)
            .iter()
            .map(|process| process.pid)
            .collect()
    }

    #[test]
    fn whoever_starts_stands_before_whom_it_starts() {
        // Pid and parent, in the order in which the processes first ran.
        assert_eq!(order(&[(3, 2), (2, 1), (4, 1), (1, 0)]), [1, 2, 3, 4]);
        assert_eq!(order(&[(1, 0), (2, 1), (3, 1), (4, 2)]), [1, 2, 4, 3]);
        // A process that executed another program, and one whose parent was not recorded.
        assert_eq!(order(&[(2, 1), (1, 0), (1, 0), (9, 8)]), [1, 1, 2, 9]);
        assert_eq!(order(&[(0, 0)]), [0]);
        assert_eq!(order(&[(1, 2), (2, 1)]), [1, 2]);
    }
}
