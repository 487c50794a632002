//! The entries of a process's page table, as the kernel shows them.

use super::scan::{HUGE, PRESENT, Region, SWAPPED, regions};
use super::{Linux, mappings};
use crate::kernel::KernelError;
use crate::seen::{PAGE_BYTES, ProcessId};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Neighbouring entries of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRun {
    /// The first page of 4 KiB.
    pub first: u64,
    /// The page after the last one.
    pub after: u64,
    /// The entries are superpages of 2 MiB.
    pub huge: bool,
    /// The pages are swapped out: the entries are there, and no frames.
    pub swapped: bool,
}

/// The kernel's figures of a process's page tables, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTables {
    /// The tables below the root (`VmPTE` in `/proc/PID/status`).
    pub bytes: u64,
    /// The anonymous memory in superpages (`AnonHugePages` in `/proc/PID/smaps_rollup`).
    pub huge_bytes: u64,
}

/// The first address that no user's page has.
const END: u64 = 1 << 47;
/// The frame number in an entry of `pagemap`.
const FRAME: u64 = (1 << 55) - 1;

impl Linux {
    /// The entries of a process's page table, in order.
    ///
    /// # Errors
    /// If the process is gone, may not be looked at, or the kernel lacks `PAGEMAP_SCAN` (Linux
    /// 6.7).
    pub fn entries(&self, process: ProcessId) -> Result<Vec<EntryRun>, KernelError> {
        let folder = self.proc.join(process.pid.to_string());
        let no = |error: std::io::Error| super::no(&error);
        let pagemap = File::open(folder.join("pagemap")).map_err(no)?;
        let all = mappings::of(&self.proc, process.pid).map_err(no)?;
        let mut runs: Vec<EntryRun> = Vec::new();
        for mapping in all.iter().filter(|mapping| mapping.end <= END) {
            let mut take = |region: &Region| {
                let run = EntryRun {
                    first: region.start / PAGE_BYTES,
                    after: region.end / PAGE_BYTES,
                    huge: region.categories & HUGE != 0 && region.categories & PRESENT != 0,
                    swapped: region.categories & PRESENT == 0,
                };
                match runs.last_mut() {
                    Some(last) if last.after == run.first && is_like(last, &run) => {
                        last.after = run.after;
                    }
                    _ => runs.push(run),
                }
            };
            regions(
                &pagemap,
                mapping.start..mapping.end,
                PRESENT | SWAPPED,
                &mut take,
            )?;
        }
        Ok(runs)
    }

    /// The frames of a run of entries. Empty if the kernel shows none to this user.
    ///
    /// # Errors
    /// If the process is gone or may not be looked at.
    pub fn frames(&self, process: ProcessId, run: &EntryRun) -> Result<Vec<u64>, KernelError> {
        let path = self.proc.join(process.pid.to_string()).join("pagemap");
        let no = |error: std::io::Error| super::no(&error);
        let pagemap = File::open(path).map_err(no)?;
        let mut bytes = vec![0_u8; ((run.after - run.first) * 8) as usize];
        let read = pagemap.read_at(&mut bytes, run.first * 8).map_err(no)?;
        let entries = bytes[..read].chunks_exact(8);
        let frames =
            entries.map(|entry| u64::from_le_bytes(entry.try_into().unwrap_or_default()) & FRAME);
        let frames: Vec<u64> = frames.collect();
        // Without CAP_SYS_ADMIN, every frame is 0.
        Ok(if frames.contains(&0) {
            Vec::new()
        } else {
            frames
        })
    }

    /// Returns true if a frame, the first of its page, belongs to the kernel's page of zeroes, or
    /// to its superpage of zeroes if the page is `huge`.
    pub fn is_zeroes(&mut self, frame: u64, huge: bool) -> bool {
        match huge {
            true => super::zeroes::is_huge_zero(frame),
            false => self.frames.is_frame_of_zeroes(frame),
        }
    }

    /// The kernel's own figures of a process's page tables.
    ///
    /// # Errors
    /// If the process is gone or may not be looked at.
    pub fn kernel_tables(&self, process: ProcessId) -> Result<KernelTables, KernelError> {
        let folder = self.proc.join(process.pid.to_string());
        let read = |name: &str| {
            std::fs::read_to_string(folder.join(name)).map_err(|error| super::no(&error))
        };
        Ok(KernelTables {
            bytes: kilobytes(&read("status")?, "VmPTE:"),
            huge_bytes: kilobytes(&read("smaps_rollup")?, "AnonHugePages:"),
        })
    }
}

fn is_like(one: &EntryRun, other: &EntryRun) -> bool {
    (one.huge, one.swapped) == (other.huge, other.swapped)
}

/// The bytes in a line such as `VmPTE: 44 kB`; 0 if there is no such line.
fn kilobytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_their_lines() {
        let text = "VmLib:\t    100 kB\nVmPTE:\t      44 kB\n";
        assert_eq!(kilobytes(text, "VmPTE:"), 44 << 10);
        assert_eq!(kilobytes(text, "AnonHugePages:"), 0);
    }
}
