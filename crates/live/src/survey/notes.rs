//! Notes on what keeps processes of this machine from superpages, or this user from processes.

use broadleaf_governor::{
    Abilities, Budgets, KernelError, Linux, MachineSeen, Obstacle, ThpSetting,
};
use broadleaf_report::number::{grouped, size};

/// The capabilities for looking at processes of other users: the first allows the look, the second
/// opens the files of `proc`.
const PRIVILEGES: &str = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH";

/// The reason why a process could not be looked at, and the remedy.
pub(super) fn reason(no: KernelError, uid: Option<u32>) -> String {
    let own = rustix::process::geteuid().as_raw();
    match (no, uid) {
        (KernelError::NotAllowed, Some(uid)) if uid != own => format!(
            "the process belongs to another user (number {uid}): only that user or root can look \
            at it ({PRIVILEGES})"
        ),
        (KernelError::NotAllowed, _) => {
            format!(
                "the kernel does not let this user look at this process; {PRIVILEGES} would allow \
                it"
            )
        }
        (no, _) => no.to_string(),
    }
}

/// The reason why no process with memory can be seen.
pub(super) fn no_process() -> String {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo");
    match mounts {
        Err(_) => Obstacle::NoProc.to_string(),
        Ok(mounts) if hides_processes(&mounts) => format!(
            "no process can be seen but this one: /proc is mounted with hidepid, so it shows this \
            user's processes alone. As root, or with CAP_SYS_PTRACE, all can be seen \
            ({PRIVILEGES} to look at them)"
        ),
        Ok(_) => "there is no process with memory here but this one".to_owned(),
    }
}

/// The reason why a process cannot be found.
pub(super) fn absent(pid: u32) -> String {
    match std::fs::exists("/proc/self") {
        Ok(true) => format!("there is no process {pid}"),
        _ => format!("process {pid}: {}", Obstacle::NoProc),
    }
}

/// Returns true if the `proc` at `/proc` hides other users' processes, by the lines of `mountinfo`.
fn hides_processes(mounts: &str) -> bool {
    let mut lines = mounts.lines();
    lines.any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let options = words.last().unwrap_or(&"").split(',');
        words.get(4) == Some(&"/proc")
            && options
                .filter_map(|option| option.strip_prefix("hidepid="))
                .any(|value| !matches!(value, "0" | "off"))
    })
}

/// The notes on the machine and on processes to which superpages are forbidden. `promotions` is the
/// most promotions that a policy would make in one process.
pub(super) fn all(
    linux: &Linux,
    machine: &MachineSeen,
    forbidden: &[String],
    promotions: u64,
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(setting(&Abilities::here()));
    if !forbidden.is_empty() {
        notes.push(format!(
            "superpages are forbidden to {}, by prctl(PR_SET_THP_DISABLE): the kernel would \
            refuse every block",
            forbidden.join(", ")
        ));
    }
    if !linux.scans() {
        notes.push(
            "this kernel has no PAGEMAP_SCAN (Linux 6.7 has): pages of zeroes that were only read \
            count as resident, and superpages as full blocks"
                .to_owned(),
        );
    }
    if machine.free_blocks < promotions {
        notes.push(format!(
            "free memory holds {} extents of 2 MiB now: before more superpages than these, the \
            kernel must make room",
            grouped(machine.free_blocks)
        ));
    }
    let short = Budgets::DEFAULT.shortage(machine, std::iter::empty());
    if short.is_any() {
        notes.push(format!(
            "memory is short on this machine ({} available): a governor would wait before it \
            promotes anything",
            size(machine.available_bytes)
        ));
    }
    notes
}

fn setting(abilities: &Abilities) -> Option<String> {
    match abilities.setting {
        None if abilities.has_thp => Some(Obstacle::SettingUnknown.to_string()),
        None => Some(Obstacle::NoThp.to_string()),
        Some(ThpSetting::Always) => Some(
            "the kernel makes superpages of its own accord here \
            (/sys/kernel/mm/transparent_hugepage/enabled says always)"
                .to_owned(),
        ),
        Some(ThpSetting::Madvise | ThpSetting::Never) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_way_is_said_in_words() {
        let told = |has_thp, setting| {
            super::setting(&Abilities {
                has_thp,
                setting,
                ..Abilities::here()
            })
        };
        assert_eq!(told(false, None), Some(Obstacle::NoThp.to_string()));
        assert_eq!(told(true, None), Some(Obstacle::SettingUnknown.to_string()));
        let always = told(true, Some(ThpSetting::Always));
        assert!(always.is_some_and(|note| note.contains("own accord")));
        assert_eq!(told(true, Some(ThpSetting::Madvise)), None);
        assert_eq!(told(true, Some(ThpSetting::Never)), None);
        let other = reason(KernelError::NotAllowed, Some(u32::MAX));
        assert!(other.contains("another user") && other.contains("CAP_SYS_PTRACE"));
        assert!(reason(KernelError::NotAllowed, None).contains("CAP_SYS_PTRACE"));
        assert_eq!(reason(KernelError::Gone, Some(1)), "the process has ended");
    }

    #[test]
    fn a_proc_that_hides_processes_is_known() {
        let line = |options: &str| format!("22 1 0:20 / /proc rw,nosuid - proc proc rw{options}\n");
        assert!(!hides_processes(&line("")));
        assert!(!hides_processes(&line(",hidepid=0")));
        assert!(hides_processes(&line(",hidepid=invisible")));
        assert!(hides_processes(&line(",gid=4,hidepid=2")));
        assert!(!hides_processes(
            "22 1 0:20 / /mnt rw - proc proc rw,hidepid=2\n"
        ));
        assert!(absent(4_194_304).contains("there is no process"));
    }

    #[test]
    fn a_machine_without_memory_and_forbidden_processes_are_noted() {
        let machine = MachineSeen {
            free_blocks: 2,
            available_bytes: 1 << 20,
            ..MachineSeen::default()
        };
        let notes = all(&Linux::new(), &machine, &["7 redis".to_owned()], 3);
        assert!(
            notes
                .iter()
                .any(|note| note.contains("(1.00 MiB available)"))
        );
        assert!(notes.iter().any(|note| note.contains("holds 2 extents")));
        assert!(
            notes
                .iter()
                .any(|note| note.contains("forbidden to 7 redis,"))
        );
    }
}
