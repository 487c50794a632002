//! The ranges for which a program asked for superpages.

use super::abilities::{ThpSetting, setting_here};
use crate::seen::BLOCK_BYTES;
use std::ops::Range;
use std::path::Path;

/// Returns the ranges of blocks that a process advised with `MADV_HUGEPAGE`. The list is empty if
/// the kernel ignores or does not report the advice.
pub(super) fn ranges(proc: &Path, pid: u32) -> Vec<Range<u64>> {
    if !matches!(
        setting_here(),
        Some(ThpSetting::Always | ThpSetting::Madvise)
    ) {
        return Vec::new();
    }
    let bytes = std::fs::read(proc.join(pid.to_string()).join("smaps")).unwrap_or_default();
    advised(&String::from_utf8_lossy(&bytes))
}

/// Returns the blocks of mappings whose line `VmFlags` has `hg` (`proc_pid_smaps(5)`).
fn advised(smaps: &str) -> Vec<Range<u64>> {
    let mut blocks = 0..0;
    let mut found = Vec::new();
    for line in smaps.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            if flags.split_whitespace().any(|flag| flag == "hg") && !blocks.is_empty() {
                found.push(blocks.clone());
            }
        } else if let Some(range) = mapped(line) {
            blocks = range;
        }
    }
    found
}

/// Returns the blocks that lie wholly in a mapping. `line` is the first line of the mapping.
fn mapped(line: &str) -> Option<Range<u64>> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let address = |digits| u64::from_str_radix(digits, 16).ok();
    Some(address(start)?.div_ceil(BLOCK_BYTES)..address(end)? / BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advised_mappings_are_found() {
        let smaps = "\
7f0000000000-7f0000800000 rw-p 00000000 00:00 0 
Size:               8192 kB
VmFlags: rd wr mr mw me ac sd hg 
7f0000900000-7f0001000000 rw-p 00000000 00:00 0                  [anon: a-b c]
Rss:                   4 kB
VmFlags: rd wr mr mw me ac sd 
7f0001100000-7f0001500000 rw-p 00000000 00:00 0 
VmFlags: rd hg
7f0002000000-7f0002001000 rw-p 00000000 00:00 0 
VmFlags: rd hg
";
        let first = 0x7f00_0000_0000 / BLOCK_BYTES;
        assert_eq!(advised(smaps), [first..first + 4, first + 9..first + 10]);
        assert_eq!(advised("nonsense\nVmFlags: hg\n"), []);
    }
}
