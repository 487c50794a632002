//! The order of processes: whoever started others stands before them.

use std::collections::BTreeMap;

use super::gather::Process;

/// Parents before their children, each followed by its own; otherwise in the order in which they first ran.
pub(super) fn parents_first(processes: Vec<Process>) -> Vec<Process> {
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
    // The last is taken first.
    waiting.reverse();
    while let Some(at) = waiting.pop() {
        order.push(at);
        let pid = processes[at].pid;
        // A process that executes has an address space for each program; what it started follows the last of them.
        let is_last = !waiting.iter().any(|&other| processes[other].pid == pid);
        if is_last {
            let started = children.remove(&pid).unwrap_or_default();
            waiting.extend(started.into_iter().rev());
        }
    }
    // Numbers that are used again can make a ring, which nobody stands before.
    order.extend(
        (0..processes.len())
            .filter(|at| !order.contains(at))
            .collect::<Vec<_>>(),
    );
    let mut processes: Vec<Option<Process>> = processes.into_iter().map(Some).collect();
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
            .map(|&(pid, parent)| Process {
                pid,
                parent,
                ..Process::default()
            })
            .collect();
        parents_first(processes)
            .iter()
            .map(|process| process.pid)
            .collect()
    }

    #[test]
    fn whoever_starts_stands_before_whom_it_starts() {
        // Pid, parent, in the order in which they first ran.
        assert_eq!(order(&[(3, 2), (2, 1), (4, 1), (1, 0)]), [1, 2, 3, 4]);
        assert_eq!(order(&[(1, 0), (2, 1), (3, 1), (4, 2)]), [1, 2, 4, 3]);
        // One that executed another program, and one whose parent was not recorded.
        assert_eq!(order(&[(2, 1), (1, 0), (1, 0), (9, 8)]), [1, 1, 2, 9]);
        assert_eq!(order(&[(0, 0)]), [0]);
        assert_eq!(order(&[(1, 2), (2, 1)]), [1, 2]);
    }
}
