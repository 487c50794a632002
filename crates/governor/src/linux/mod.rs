//! The Linux kernel of this machine, as an implementation of [`Kernel`].
//!
//! The interfaces are described in `proc(5)`, `process_madvise(2)`, `madvise(2)` and the kernel's
//! `Documentation/admin-guide/mm/pagemap.rst`.

mod abilities;
mod asked;
mod calls;
mod cgroup;
mod chases;
mod cooling;
mod entries;
mod everyone;
mod fault_costs;
mod flags;
mod machine;
mod mappings;
mod own_memory;
mod procfs;
mod reading;
mod scan;
mod switches;
#[cfg(test)]
mod tests;
mod zeroes;

use crate::heat::HeatSampler;
use crate::kernel::{Kernel, KernelError};
use crate::seen::{
    BLOCK_BYTES, BlockSeen, Headroom, LivePages, MachineSeen, PAGE_BYTES, PAGES, ProcessId, Vitals,
};
use broadleaf_policy::Refusal;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use abilities::{Abilities, Obstacle, ThpSetting};
pub use calls::{
    ThpControl, Usage, allow_only_advised, allow_thp, forbid_thp, thp_control, wait_for,
};
pub use chases::{ChaseBacking, ChaseCost, ChaseTimer, SpanCost, core_clock, pin};
pub(crate) use cooling::ProcessCooler;
pub use entries::{EntryRun, KernelTables};
pub use fault_costs::{MeasuredFaultCosts, measure_fault_costs};
pub use own_memory::touch_free_memory;
pub use procfs::Description;
pub use switches::ignore_thp_switches;

/// The Linux kernel of this machine.
#[derive(Debug)]
pub struct Linux {
    /// The mount point of `proc`.
    proc: PathBuf,
    /// File descriptors of the processes that were changed. A descriptor never refers to a later
    /// process with the same number.
    handles: BTreeMap<ProcessId, OwnedFd>,
    /// The limit files of each process's cgroup. They are looked up once.
    cgroups: BTreeMap<ProcessId, cgroup::LimitFiles>,
    /// True if the kernel has `PAGEMAP_SCAN` (Linux 6.7).
    scans: bool,
    machine: machine::Latest,
    /// The frames of zeroes in `pagemap`, for kernels without `PAGEMAP_SCAN`.
    frames: zeroes::Frames,
    /// The recent flags of the mappings of one process.
    flags: Option<flags::MappingFlags>,
    /// A thread that measures the use of blocks, if the policy weighs use. Kernels may share it.
    sampler: Option<Arc<HeatSampler>>,
}

impl Default for Linux {
    fn default() -> Self {
        Self::new()
    }
}

impl Linux {
    /// Creates a kernel that reads `/proc`.
    pub fn new() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            handles: BTreeMap::new(),
            cgroups: BTreeMap::new(),
            scans: true,
            machine: machine::Latest::default(),
            frames: zeroes::Frames::default(),
            flags: None,
            sampler: None,
        }
    }

    /// Returns a kernel for other processes of the same machine. Both share the latest state of the
    /// machine.
    pub fn beside(&self) -> Self {
        Self {
            machine: self.machine.clone(),
            ..Self::at(self.proc.clone())
        }
    }

    /// Creates a kernel that reads `proc` at another mount point, such as the one of another
    /// container. It must show the same processes: actions use their numbers.
    pub fn at(proc: PathBuf) -> Self {
        Self {
            proc,
            ..Self::new()
        }
    }

    /// From now on, reports the use of blocks with the memory of processes, as a sampler measures
    /// it. Without a sampler, no use is reported.
    pub fn set_heat(&mut self, sampler: Option<Arc<HeatSampler>>) {
        self.sampler = sampler;
    }

    /// Returns true if `PAGEMAP_SCAN` is available, as far as is known. The first read of a process
    /// finds out.
    pub const fn scans(&self) -> bool {
        self.scans
    }

    /// Returns true if the memory limits of some process cannot be read: its cgroup is outside of
    /// this container, and its own root does not show the cgroup either.
    pub fn hides_limits(&self) -> bool {
        self.cgroups.values().any(cgroup::LimitFiles::is_hidden)
    }

    /// Returns every process.
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

    /// Returns the user, cgroup and command line of a process, as far as they can be read.
    pub fn describe(&self, process: ProcessId) -> Description {
        procfs::description(&self.proc, process.pid)
    }

    /// Returns a file descriptor that refers to the process.
    fn handle(&mut self, process: ProcessId) -> Result<&OwnedFd, KernelError> {
        if !self.handles.contains_key(&process) {
            let handle = calls::open_process(process.pid)?;
            // The descriptor may refer to a later process with the same number.
            if self.process(process.pid) != Some(process) {
                return Err(KernelError::Gone);
            }
            self.handles.insert(process, handle);
        }
        self.handles.get(&process).ok_or(KernelError::Gone)
    }

    fn pagemap(&self, process: ProcessId) -> Result<File, KernelError> {
        let path = self.proc.join(process.pid.to_string()).join("pagemap");
        File::open(path).map_err(|error| no(&error))
    }

    /// Reads the memory of a process.
    fn look(&mut self, process: ProcessId) -> Result<LivePages, KernelError> {
        let mappings = mappings::of(&self.proc, process.pid).map_err(|error| no(&error))?;
        let pagemap = self.pagemap(process)?;
        let mut blocks = Vec::new();
        for mapping in &mappings {
            let range = mapping.blocks();
            if range.is_empty() || mapping.backing == crate::LiveBacking::Other {
                continue;
            }
            let mut found = scan::Blocks::in_range(range.clone());
            self.scan(&pagemap, range, &mut found)?;
            blocks.extend(found.into_held());
        }
        Ok(LivePages {
            mappings,
            blocks,
            ..LivePages::default()
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

    fn vitals(&mut self, process: ProcessId) -> Result<Vitals, KernelError> {
        let lives = match procfs::stat(&self.proc, process.pid) {
            Ok(stat) if stat.started != process.started || stat.is_dead => Err(KernelError::Gone),
            Ok(stat) => Ok(stat.vitals),
            Err(error) => Err(no(&error)),
        };
        if lives == Err(KernelError::Gone) {
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

    fn pages(&mut self, process: ProcessId) -> Result<LivePages, KernelError> {
        let mut looked = self.look(process);
        if let (Ok(pages), Some(sampler)) = (&mut looked, &self.sampler) {
            pages.used = sampler.exchange(process, pages);
        }
        match &looked {
            Ok(pages) if !pages.mappings.is_empty() => return looked,
            Err(KernelError::Errno(_)) => return looked,
            _ => {}
        }
        // Ending processes and kernel threads have no memory. Depending on its version and on the
        // caller, the kernel reports one of three answers: no such process, no permission, or empty
        // memory.
        match procfs::stat(&self.proc, process.pid) {
            Ok(stat) if stat.is_kernel => Err(KernelError::KernelThread),
            Ok(stat) if stat.has_memory && stat.started == process.started => looked,
            _ => Err(KernelError::Gone),
        }
    }

    fn has_news_of_use(&mut self, process: ProcessId) -> bool {
        (self.sampler.as_ref()).is_some_and(|sampler| sampler.has(process))
    }

    fn held(&mut self, process: ProcessId) -> Option<u64> {
        procfs::proportional(&self.proc, process.pid)
    }

    fn asked(&mut self, process: ProcessId) -> Vec<Range<u64>> {
        asked::ranges(&self.proc, process.pid)
    }

    fn blocks(
        &mut self,
        process: ProcessId,
        blocks: Range<u64>,
    ) -> Result<Vec<BlockSeen>, KernelError> {
        let pagemap = self.pagemap(process)?;
        let mut found = scan::Blocks::in_range(blocks.clone());
        self.scan(&pagemap, blocks, &mut found)?;
        Ok(found.into_all())
    }

    fn shared(&mut self, process: ProcessId, block: u64) -> Result<u32, KernelError> {
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
        let known = known.or_else(|| flags::MappingFlags::read(&self.proc, process, now));
        let refusal = known.as_ref().and_then(|known| known.refusal(block));
        self.flags = known;
        refusal
    }

    fn collapse(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<(), KernelError> {
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

    fn split(&mut self, process: ProcessId, block: u64) -> Result<(), KernelError> {
        // Advice on one base page of a superpage makes the kernel split it and free the pages of
        // zeroes (Linux 6.12). The page must be resident. All pages are resident, unless the
        // program has returned some.
        let pagemap = self.pagemap(process)?;
        self.machine.forget();
        let page = scan::first_stored(&pagemap, block, self.scans)?;
        let handle = self.handle(process)?;
        calls::advise(handle, page * PAGE_BYTES, PAGE_BYTES, libc::MADV_COLD)
    }
}

impl Linux {
    /// Counts the pages of blocks.
    fn scan(
        &mut self,
        pagemap: &File,
        blocks: Range<u64>,
        found: &mut scan::Blocks,
    ) -> Result<(), KernelError> {
        if self.scans {
            match scan::by_scanning(pagemap, blocks.clone(), found) {
                Err(KernelError::Errno(libc::ENOTTY)) => self.scans = false,
                done => return done,
            }
        }
        reading::by_reading(pagemap, &mut self.frames, blocks, found)
    }

    /// Returns the ranges of a block that map the kernel's page of zeroes. Without `PAGEMAP_SCAN`
    /// the list is empty: frame numbers identify the page of zeroes.
    fn zeroes(&mut self, pagemap: &File, block: u64) -> Result<Vec<Range<u64>>, KernelError> {
        if !self.scans {
            return Ok(Vec::new());
        }
        match scan::zeroes(pagemap, block) {
            Err(KernelError::Errno(libc::ENOTTY)) => {
                self.scans = false;
                Ok(Vec::new())
            }
            found => found,
        }
    }
}

/// Converts an error of a file in `proc`.
fn no(error: &io::Error) -> KernelError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => KernelError::Gone,
        Some(libc::EACCES | libc::EPERM) => KernelError::NotAllowed,
        Some(number) => KernelError::Errno(number),
        // The contents were invalid, as happens for a process that is just ending.
        None => KernelError::Errno(libc::EIO),
    }
}
