//! The flags of mappings, which explain a refusal. `smaps` is slow, so it is read only after a
//! refusal.

use crate::seen::{BLOCK_BYTES, ProcessId};
use broadleaf_policy::Refusal;
use std::path::Path;
use std::time::Duration;

/// The flags serve for the next refusals for this time.
const FRESH: Duration = Duration::from_secs(1);

/// The mappings of one process whose flags allow no superpage.
#[derive(Debug)]
pub(super) struct MappingFlags {
    process: ProcessId,
    at: Duration,
    /// The first byte, the byte after the last, and the reason. Sorted.
    ruled_out: Vec<(u64, u64, Refusal)>,
}

impl MappingFlags {
    pub(super) fn read(proc: &Path, process: ProcessId, at: Duration) -> Option<Self> {
        let smaps = std::fs::read(proc.join(process.pid.to_string()).join("smaps")).ok()?;
        Some(Self {
            process,
            at,
            ruled_out: ruled_out(&String::from_utf8_lossy(&smaps)),
        })
    }

    pub(super) fn is_fresh(&self, process: ProcessId, now: Duration) -> bool {
        self.process == process && now.saturating_sub(self.at) < FRESH
    }

    pub(super) fn refusal(&self, block: u64) -> Option<Refusal> {
        let address = block * BLOCK_BYTES;
        let mut all = self.ruled_out.iter();
        let found = all.find(|(start, end, _)| (*start..*end).contains(&address))?;
        Some(found.2)
    }
}

fn ruled_out(smaps: &str) -> Vec<(u64, u64, Refusal)> {
    let mut found = Vec::new();
    let mut mapping = None;
    for line in smaps.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            if let (Some((start, end)), Some(refusal)) = (mapping.take(), refusal(flags)) {
                found.push((start, end, refusal));
            }
        } else {
            mapping = range(line).or(mapping);
        }
    }
    found
}

/// Returns the reason that the flags of a mapping give: userfaultfd for missing pages, write
/// protection or minor faults, or advice against superpages.
fn refusal(flags: &str) -> Option<Refusal> {
    let has = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
    if has("um") || has("uw") || has("ui") {
        Some(Refusal::Userfaultfd)
    } else if has("nh") {
        Some(Refusal::AdvisedAgainst)
    } else {
        None
    }
}

/// Returns the addresses in the first line of a mapping: `7f0000000000-7f0000400000 rw-p ...`.
fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    Some((number(start)?, number(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_give_reasons() {
        let smaps = "\
00400000-00800000 rw-p 00000000 00:00 0 \n\
Size:               4096 kB\n\
VmFlags: rd wr mr mw me ac sd \n\
00800000-00c00000 rw-p 00000000 00:00 0 \n\
VmFlags: rd wr mr mw me um ac \n\
00c00000-01000000 rw-p 00000000 00:00 0 [heap]\n\
VmFlags: rd wr nh \n";
        let known = MappingFlags {
            process: ProcessId { pid: 7, started: 1 },
            at: Duration::from_secs(5),
            ruled_out: ruled_out(smaps),
        };
        let refusals: Vec<_> = (0..9).map(|block| known.refusal(block)).collect();
        let (watched, advised) = (Some(Refusal::Userfaultfd), Some(Refusal::AdvisedAgainst));
        assert_eq!(
            refusals,
            [
                None, None, None, None, watched, watched, advised, advised, None
            ]
        );
        assert!(known.is_fresh(known.process, Duration::from_millis(5900)));
        assert!(!known.is_fresh(known.process, Duration::from_secs(6)));
        let other = ProcessId { pid: 7, started: 2 };
        assert!(!known.is_fresh(other, Duration::from_secs(5)));
    }
}
