//! The kernel that this runs on.
//!
//! What it is asked stands in `proc(5)`, `process_madvise(2)`, `madvise(2)` and the kernel's `Documentation/admin-guide/mm/pagemap.rst`.

mod abilities;
mod asked;
mod calls;
mod cgroup;
mod everyone;
mod flags;
mod machine;
mod mappings;
mod procfs;
mod reading;
mod scan;
mod zeroes;

use crate::kernel::{Kernel, No};
use crate::seen::{
    BLOCK_BYTES, BlockSeen, Headroom, MachineSeen, PAGE_BYTES, PAGES, Pages, ProcessId, Vitals,
};
use broadleaf_policy::Refusal;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

pub use abilities::{Abilities, Obstacle, ThpSetting};
pub use calls::{ThpControl, Usage, allow_only_advised, allow_thp, thp_control, wait_for};
pub use procfs::Description;

/// The kernel that this runs on.
#[derive(Debug)]
pub struct Linux {
    /// Where `proc` is mounted.
    proc: PathBuf,
    /// Processes that were asked for something, each with a file that stands for it and for no later one of the same number.
    handles: BTreeMap<ProcessId, OwnedFd>,
    /// Where the limits of each process's cgroup stand. It is looked for once.
    cgroups: BTreeMap<ProcessId, cgroup::Limits>,
    /// Whether `PAGEMAP_SCAN` is there (Linux 6.7).
    scans: bool,
    machine: machine::Latest,
    /// The frames of zeroes that `pagemap` shows, where `PAGEMAP_SCAN` is not there to name the
    /// pages.
    frames: zeroes::Frames,
    /// The flags of the mappings of one process, as they were a moment ago.
    flags: Option<flags::Known>,
}

impl Default for Linux {
    fn default() -> Self {
        Self::new()
    }
}

impl Linux {
    /// The kernel that this runs on.
    pub fn new() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            handles: BTreeMap::new(),
            cgroups: BTreeMap::new(),
            scans: true,
            machine: machine::Latest::default(),
            frames: zeroes::Frames::default(),
            flags: None,
        }
    }

    /// Returns a kernel for other processes of the same machine. Both share their knowledge of the
    /// machine.
    pub fn beside(&self) -> Self {
        Self {
            machine: self.machine.clone(),
            ..Self::at(self.proc.clone())
        }
    }

    /// The same, with `proc` mounted elsewhere, as that of another container may be. It has to be that of the same processes: what is done to them goes by
    /// their numbers.
    pub fn at(proc: PathBuf) -> Self {
        Self {
            proc,
            ..Self::new()
        }
    }

    /// Whether `PAGEMAP_SCAN` is there, as far as was seen: it is found out when a process is first looked at.
    pub const fn scans(&self) -> bool {
        self.scans
    }

    /// Every process.
    pub fn all(&mut self) -> Vec<ProcessId> {
        let entries = std::fs::read_dir(&self.proc)
            .into_iter()
            .flatten()
            .flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let pids: Vec<u32> = pids.collect();
        pids.into_iter()
            .filter_map(|pid| self.process(pid))
            .collect()
    }

    /// The user that a process runs as, its cgroup and its command line, as far as they can be read.
    pub fn describe(&self, process: ProcessId) -> Description {
        procfs::description(&self.proc, process.pid)
    }

    /// A file that stands for the process.
    fn handle(&mut self, process: ProcessId) -> Result<&OwnedFd, No> {
        if !self.handles.contains_key(&process) {
            let handle = calls::open_process(process.pid)?;
            // It may stand for a later process of that number.
            if self.process(process.pid) != Some(process) {
                return Err(No::Gone);
            }
            self.handles.insert(process, handle);
        }
        self.handles.get(&process).ok_or(No::Gone)
    }

    fn pagemap(&self, process: ProcessId) -> Result<File, No> {
        let path = self.proc.join(process.pid.to_string()).join("pagemap");
        File::open(path).map_err(|error| no(&error))
    }

    /// What the memory of a process looks like.
    fn look(&mut self, process: ProcessId) -> Result<Pages, No> {
        let mappings = mappings::of(&self.proc, process.pid).map_err(|error| no(&error))?;
        let pagemap = self.pagemap(process)?;
        let mut blocks = Vec::new();
        for mapping in &mappings {
            let range = mapping.blocks();
            if range.is_empty() || mapping.behind == crate::Behind::Other {
                continue;
            }
            let mut found = scan::Blocks::in_range(range.clone());
            self.scan(&pagemap, range, &mut found)?;
            blocks.extend(found.into_held());
        }
        Ok(Pages {
            mappings,
            blocks,
            ..Pages::default()
        })
    }
}

impl Kernel for Linux {
    fn now(&mut self) -> Duration {
        calls::clock(libc::CLOCK_MONOTONIC)
    }

    fn own_cpu(&mut self) -> Duration {
        calls::clock(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    fn machine(&mut self) -> MachineSeen {
        self.machine
            .seen(&self.proc, calls::clock(libc::CLOCK_MONOTONIC))
    }

    fn process(&mut self, pid: u32) -> Option<ProcessId> {
        let stat = procfs::stat(&self.proc, pid).ok()?;
        Some(ProcessId {
            pid,
            started: stat.started,
        })
    }

    fn vitals(&mut self, process: ProcessId) -> Result<Vitals, No> {
        let lives = match procfs::stat(&self.proc, process.pid) {
            Ok(stat) if stat.started != process.started || stat.is_dead => Err(No::Gone),
            Ok(stat) => Ok(stat.vitals),
            Err(error) => Err(no(&error)),
        };
        if lives == Err(No::Gone) {
            self.handles.remove(&process);
            self.cgroups.remove(&process);
        }
        lives
    }

    fn headroom(&mut self, process: ProcessId) -> Option<Headroom> {
        let proc = &self.proc;
        let limits = self.cgroups.entry(process);
        limits
            .or_insert_with(|| cgroup::limits(proc, process.pid))
            .left()
    }

    fn children(&mut self, process: ProcessId) -> Vec<ProcessId> {
        let children = procfs::children(&self.proc, process.pid);
        children
            .into_iter()
            .filter_map(|pid| self.process(pid))
            .collect()
    }

    fn pages(&mut self, process: ProcessId) -> Result<Pages, No> {
        let looked = self.look(process);
        match &looked {
            Ok(pages) if !pages.mappings.is_empty() => return looked,
            Err(No::Errno(_)) => return looked,
            _ => {}
        }
        // Of what has no memory, which is what ends and the kernel's own threads, the kernel says that there is no such process, that it may not be looked
        // at, or that it is empty, by its version and who asks.
        match procfs::stat(&self.proc, process.pid) {
            Ok(stat) if stat.is_kernel => Err(No::KernelThread),
            Ok(stat) if stat.has_memory && stat.started == process.started => looked,
            _ => Err(No::Gone),
        }
    }

    fn held(&mut self, process: ProcessId) -> Option<u64> {
        procfs::proportional(&self.proc, process.pid)
    }

    fn asked(&mut self, process: ProcessId) -> Vec<Range<u64>> {
        asked::ranges(&self.proc, process.pid)
    }

    fn blocks(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<Vec<BlockSeen>, No> {
        let pagemap = self.pagemap(process)?;
        let mut found = scan::Blocks::in_range(blocks.clone());
        self.scan(&pagemap, blocks, &mut found)?;
        Ok(found.into_all())
    }

    fn shared(&mut self, process: ProcessId, block: u64) -> Result<u32, No> {
        let pagemap = self.pagemap(process)?;
        let zeroes = self.zeroes(&pagemap, block)?;
        let mut entries = [0_u8; PAGES as usize * 8];
        let offset = block * BLOCK_BYTES / PAGE_BYTES * 8;
        let read = pagemap
            .read_at(&mut entries, offset)
            .map_err(|error| no(&error))?;
        let entries = entries[..read].chunks_exact(8);
        let entries = entries.map(|entry| u64::from_le_bytes(entry.try_into().unwrap_or_default()));
        let shared = entries
            .zip(block * u64::from(PAGES)..)
            .filter(|(entry, page)| {
                reading::is_shared(*entry)
                    && !self.frames.is_zero(*entry)
                    && !zeroes.iter().any(|zeroes| zeroes.contains(page))
            });
        Ok(shared.count() as u32)
    }

    fn ruled_out(&mut self, process: ProcessId, block: u64) -> Option<Refusal> {
        let now = self.now();
        let known = self.flags.take();
        let known = known.filter(|known| known.is_fresh(process, now));
        let known = known.or_else(|| flags::Known::read(&self.proc, process, now));
        let refusal = known.as_ref().and_then(|known| known.refusal(block));
        self.flags = known;
        refusal
    }

    fn collapse(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<(), No> {
        let bytes = (blocks.end - blocks.start) * BLOCK_BYTES;
        self.machine.forget();
        let handle = self.handle(process)?;
        calls::advise(
            handle,
            blocks.start * BLOCK_BYTES,
            bytes,
            calls::MADV_COLLAPSE,
        )
    }

    fn split(&mut self, process: ProcessId, block: u64) -> Result<(), No> {
        // Advice on one base page of a superpage makes the kernel split it; pages that hold zeroes alone are given back (Linux 6.12). It has to be one
        // that is resident, which all are but where the program has given some back.
        let pagemap = self.pagemap(process)?;
        self.machine.forget();
        let page = scan::first_stored(&pagemap, block, self.scans)?;
        let handle = self.handle(process)?;
        calls::advise(handle, page * PAGE_BYTES, PAGE_BYTES, libc::MADV_COLD)
    }
}

impl Linux {
    /// Counts what stands in blocks.
    fn scan(
        &mut self,
        pagemap: &File,
        blocks: Range<u64>,
        found: &mut scan::Blocks,
    ) -> Result<(), No> {
        if self.scans {
            match scan::by_scanning(pagemap, blocks.clone(), found) {
                Err(No::Errno(libc::ENOTTY)) => self.scans = false,
                done => return done,
            }
        }
        reading::by_reading(pagemap, &mut self.frames, blocks, found)
    }

    /// The pages of a block that are the kernel's page of zeroes, as ranges. Without `PAGEMAP_SCAN`
    /// there are none: the frames tell.
    fn zeroes(&mut self, pagemap: &File, block: u64) -> Result<Vec<Range<u64>>, No> {
        if !self.scans {
            return Ok(Vec::new());
        }
        match scan::zeroes(pagemap, block) {
            Err(No::Errno(libc::ENOTTY)) => {
                self.scans = false;
                Ok(Vec::new())
            }
            found => found,
        }
    }
}

/// What an error of a file in `proc` means.
fn no(error: &io::Error) -> No {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => No::Gone,
        Some(libc::EACCES | libc::EPERM) => No::NotAllowed,
        Some(number) => No::Errno(number),
        // What stood there could not be understood, as happens to a process that is just ending.
        None => No::Errno(libc::EIO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn of_a_process_that_has_ended_nothing_is_kept() {
        let mut linux = Linux::new();
        let mut child = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let id = linux.process(child.id()).unwrap();
        linux.headroom(id);
        // There is nothing at that address.
        assert_ne!(linux.split(id, 1 << 20), Ok(()));
        assert_eq!((linux.handles.len(), linux.cgroups.len()), (1, 1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(linux.vitals(id), Err(No::Gone));
        assert_eq!((linux.handles.len(), linux.cgroups.len()), (0, 0));
    }

    #[test]
    fn what_has_ended_and_waits_to_be_asked_for_is_gone() {
        let mut linux = Linux::new();
        let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        let id = linux.process(child.id()).unwrap();
        while linux.vitals(id) != Err(No::Gone) {
            std::thread::yield_now();
        }
        assert_eq!(linux.pages(id), Err(No::Gone));
        child.wait().unwrap();
        assert_eq!(linux.pages(id), Err(No::Gone));
    }

    /// A page that was only read stays the kernel's page of zeroes. `pagemap` shows it as it shows
    /// a page that a fork shares.
    #[test]
    fn pages_of_zeroes_are_not_shared() {
        const READ: u16 = 12;
        let mut memory = vec![0_u8; 2 * BLOCK_BYTES as usize];
        let first = (memory.as_ptr() as u64).div_ceil(BLOCK_BYTES);
        let begin = (first * BLOCK_BYTES - memory.as_ptr() as u64) as usize;
        let block = &mut memory[begin..][..BLOCK_BYTES as usize];
        for (at, page) in block.chunks_mut(PAGE_BYTES as usize).enumerate() {
            if at >= usize::from(READ) {
                page[0] = 1;
            } else {
                std::hint::black_box(page[0]);
            }
        }
        let mut linux = Linux::new();
        let own = linux.process(std::process::id()).unwrap();
        let seen = linux.blocks(own, first..first + 1).unwrap()[0];
        if !linux.scans() || seen.huge {
            eprintln!("skipped: no PAGEMAP_SCAN, or superpages without being asked for");
            return;
        }
        assert_eq!((seen.present, seen.zero), (PAGES as u16 - READ, READ));
        // Tests fork: a child shares these pages until it runs another program.
        let is_exclusive = |linux: &mut Linux| {
            (0..100).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                linux.shared(own, first) == Ok(0)
            })
        };
        assert!(is_exclusive(&mut linux));
        // Older kernels: the frames tell, to those who may see their numbers.
        linux.scans = false;
        if linux.frames.are_visible() {
            assert!(is_exclusive(&mut linux));
            assert_eq!(linux.blocks(own, first..first + 1).unwrap()[0], seen);
        }
        drop(memory);
    }

    /// Before Linux 6.7 populations are read page by page.
    #[test]
    fn reading_counts_as_scanning_does() {
        const BLOCKS: u64 = 4;
        let mut memory = vec![0_u8; ((BLOCKS + 1) * BLOCK_BYTES) as usize];
        let first = (memory.as_ptr() as u64).div_ceil(BLOCK_BYTES);
        let begin = (first * BLOCK_BYTES - memory.as_ptr() as u64) as usize;
        // Every page of one block, every second of the next, and so on.
        for block in 0..BLOCKS as usize {
            let bytes = &mut memory[begin + block * BLOCK_BYTES as usize..][..BLOCK_BYTES as usize];
            for page in bytes.chunks_mut(PAGE_BYTES as usize).step_by(block + 1) {
                page[0] = 1;
            }
        }
        let mut linux = Linux::new();
        let own = linux.process(std::process::id()).unwrap();
        let scanned = linux.blocks(own, first..first + BLOCKS).unwrap();
        if !linux.scans() || scanned.iter().any(|seen| seen.huge) {
            eprintln!("skipped: no PAGEMAP_SCAN, or superpages without being asked for");
            return;
        }
        linux.scans = false;
        assert_eq!(linux.blocks(own, first..first + BLOCKS).unwrap(), scanned);
        let present = scanned.iter().map(|seen| seen.present);
        assert_eq!(present.collect::<Vec<_>>(), [512, 256, 171, 128]);
        drop(memory);
    }

    #[test]
    fn threads_of_the_kernel_have_not_ended() {
        let mut linux = Linux::new();
        let kthreadd = linux.process(2);
        let is_one = |id: &ProcessId| {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", id.pid));
            name.is_ok_and(|name| name == "kthreadd\n")
        };
        let Some(kthreadd) = kthreadd.filter(is_one) else {
            eprintln!("skipped: a container without the kernel's threads");
            return;
        };
        assert_eq!(linux.pages(kthreadd), Err(No::KernelThread));
    }
}
