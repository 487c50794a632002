//! The memory that this process may still take.

use std::fs::read_to_string;
use std::path::Path;

/// Bytes reserved for uncounted memory: buffers, stacks, and the model's growth between two checks.
const KEPT: u64 = 128 << 20;

/// Returns the bytes of memory that the model of a replay may take. This is six tenths of the least
/// of available memory, the control groups' limits and the limit of address space. The rest is for
/// losses of the allocator, which are not counted. `None` if no limit is known.
pub(crate) fn available() -> Option<u64> {
    let known = [machine(), control_groups(), address_space()];
    let least = known.into_iter().flatten().min()?;
    Some(least.saturating_sub(KEPT) / 10 * 6)
}

fn machine() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    kib_after(&text, "MemAvailable:")
}

/// Returns the bytes left in the control group of this process and its ancestors (version 2:
/// Documentation/admin-guide/cgroup-v2.rst, "memory.max").
fn control_groups() -> Option<u64> {
    let text = read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let group = Path::new("/sys/fs/cgroup").join(path);
    let left = group.ancestors().filter_map(|group| {
        let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse().ok();
        let (most, now): (u64, u64) = (number("memory.max")?, number("memory.current")?);
        Some(most.saturating_sub(now))
    });
    left.min()
}

fn address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let most = soft_limit(&limits, "Max address space")?;
    let status = read_to_string("/proc/self/status").ok()?;
    Some(most.saturating_sub(kib_after(&status, "VmSize:")?))
}

/// The number of KiB after a name, in bytes.
fn kib_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The soft limit with this name in `/proc/self/limits`; `None` if there is none.
fn soft_limit(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let text = "\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max address space         1073741824           unlimited            bytes     
";
        assert_eq!(soft_limit(text, "Max address space"), Some(1 << 30));
        assert_eq!(soft_limit(text, "Max cpu time"), None);
        assert_eq!(
            kib_after("MemTotal: 9 kB\nMemAvailable:   7 kB\n", "MemAvailable:"),
            Some(7168)
        );
    }

    #[test]
    fn some_memory_is_available() {
        assert!(available().is_some_and(|bytes| bytes > 0));
    }
}
