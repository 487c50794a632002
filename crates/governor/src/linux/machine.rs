//! The state of the machine.

use crate::seen::MachineSeen;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The order of an extent of one block.
const BLOCK_ORDER: usize = 9;

/// A state of the machine serves for this time.
const FRESH: Duration = Duration::from_millis(100);

/// The latest state of the machine. Governors of many processes share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest(Arc<Mutex<Option<(Duration, MachineSeen)>>>);

impl Latest {
    pub(super) fn seen(&self, proc: &Path, now: Duration) -> MachineSeen {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *latest {
            Some((at, machine)) if now.saturating_sub(at) < FRESH => machine,
            _ => latest.insert((now, seen(proc))).1,
        }
    }

    /// Drops the state after memory was taken or given back.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn seen(proc: &Path) -> MachineSeen {
    let read = |file: &str| std::fs::read_to_string(proc.join(file)).unwrap_or_default();
    MachineSeen {
        available_bytes: available(&read("meminfo")).unwrap_or(u64::MAX),
        free_blocks: free_blocks(&read("buddyinfo")).unwrap_or(u64::MAX),
        pressure: pressure(&read("pressure/memory")),
    }
}

/// Returns the memory that programs can take now, in bytes; 0 if it is not known.
pub(super) fn available_bytes() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    available(&meminfo).unwrap_or(0)
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Returns the number of blocks in free extents of at least a block's size.
fn free_blocks(buddyinfo: &str) -> Option<u64> {
    let mut total = None;
    for line in buddyinfo.lines() {
        // Node 0, zone   Normal   12   3 ...
        let orders = line.split_whitespace().skip(4).enumerate();
        for (order, count) in orders.skip(BLOCK_ORDER) {
            let count: u64 = count.parse().ok()?;
            *total.get_or_insert(0) += count << (order - BLOCK_ORDER);
        }
    }
    total
}

fn pressure(pressure: &str) -> Option<u32> {
    let some = pressure
        .lines()
        .find_map(|line| line.strip_prefix("some avg10="))?;
    let percent: f64 = some.split_whitespace().next()?.parse().ok()?;
    Some((percent * 100.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(
            available("MemTotal: 9 kB\nMemAvailable:   24111164 kB\n"),
            Some(24_111_164 << 10)
        );
        assert_eq!(available(""), None);
        let buddyinfo = "\
Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      2
Node 0, zone    DMA32      3      4      4      6      3      4      4      4      5      4    725
Node 0, zone   Normal   1214    854    300    139     38     17      8      2      4      3   1000
";
        assert_eq!(free_blocks(buddyinfo), Some(1 + 4 + 4 + 1450 + 3 + 2000));
        assert_eq!(free_blocks(""), None);
        let some = "some avg10=1.23 avg60=0.01 avg300=0.02 total=19\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(pressure(some), Some(123));
        assert_eq!(pressure(""), None);
    }
}
