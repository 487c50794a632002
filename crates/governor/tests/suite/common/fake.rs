//! A fake kernel of a few lists. It fails in the ways in which a real kernel was seen to fail.

use super::frames::{FakeFrames, FakePage};
use super::process::{FakeProcess, P};
use broadleaf_governor::{
    BLOCK_BYTES, Kernel, KernelError, LiveBacking, LiveMapping, PAGE_BYTES, ProcessId,
};
use broadleaf_policy::Refusal;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// A kind of kernel call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Vitals,
    Children,
    LivePages,
    Blocks,
    Shared,
    Collapse,
    Split,
}

/// An action of a program.
#[derive(Clone, Debug)]
pub(crate) enum FakeStep {
    Map(LiveMapping),
    Unmap(Range<u64>),
    Touch(Range<u64>),
    Read(Range<u64>),
    Purge(Range<u64>),
    SwapOut(Range<u64>),
    Fork,
    Exec,
    Exit,
}

/// A fake kernel.
#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) now: Duration,
    pub(crate) cpu: Duration,
    pub(crate) processes: BTreeMap<ProcessId, FakeProcess>,
    pub(crate) frames: FakeFrames,
    /// The memory of the machine in bytes.
    pub(crate) total_bytes: u64,
    /// The bytes that other programs use.
    pub(crate) elsewhere: u64,
    /// The free extents, if not all free memory is one extent.
    pub(crate) free_blocks: Option<u64>,
    pub(crate) pressure: Option<u32>,
    /// The limit of the cgroup that holds all processes.
    pub(crate) limit: Option<u64>,
    /// The kernel's answer to a promotion of a block, and the number of times that it still gives
    /// this answer.
    pub(crate) refuse: BTreeMap<(u32, u64), (i32, u32)>,
    /// The refusal that the flags of a block's mapping imply.
    pub(crate) flags: BTreeMap<(u32, u64), Refusal>,
    /// The fixed time of a block's promotion, without the time for its pages.
    pub(crate) micros: f64,
    /// If set, a split leaves the superpage alone and reports success.
    pub(crate) splits_in_vain: bool,
    /// Blocks for which programs asked for superpages.
    pub(crate) asked: Vec<Range<u64>>,
    /// The program's action just before the next call of a kind.
    pub(crate) races: Vec<(Call, u32, FakeStep)>,
    /// The program's action just before the call with this number.
    pub(crate) at_call: BTreeMap<u64, (u32, FakeStep)>,
    /// The number of calls of each kind.
    pub(crate) calls: BTreeMap<Call, u64>,
    /// The number of promotions of each block.
    pub(crate) collapses: BTreeMap<(u32, u64), u32>,
    /// The pages of each promoted block before its promotion, while the superpage exists.
    pub(crate) held: BTreeMap<(u32, u64), u64>,
    next_pid: u32,
}

impl Fake {
    pub(crate) fn new(total_bytes: u64) -> Self {
        Self {
            now: Duration::from_secs(1000),
            cpu: Duration::ZERO,
            processes: BTreeMap::new(),
            frames: FakeFrames::default(),
            total_bytes,
            elsewhere: 0,
            free_blocks: None,
            pressure: Some(0),
            limit: None,
            refuse: BTreeMap::new(),
            flags: BTreeMap::new(),
            micros: 100.0,
            splits_in_vain: false,
            asked: Vec::new(),
            races: Vec::new(),
            at_call: BTreeMap::new(),
            calls: BTreeMap::new(),
            collapses: BTreeMap::new(),
            held: BTreeMap::new(),
            next_pid: 100,
        }
    }

    /// Starts a process without a parent.
    pub(crate) fn spawn(&mut self) -> ProcessId {
        self.add(FakeProcess::default())
    }

    fn add(&mut self, mut process: FakeProcess) -> ProcessId {
        self.next_pid += 1;
        let id = ProcessId {
            pid: self.next_pid,
            started: self.now.as_millis() as u64 / 10,
        };
        process.image = u64::from(id.pid) << 20;
        self.processes.insert(id, process);
        id
    }

    pub(super) fn id(&self, pid: u32) -> Option<ProcessId> {
        self.processes.keys().copied().find(|id| id.pid == pid)
    }

    /// Performs an action of a program. An ended program does nothing.
    pub(crate) fn step(&mut self, pid: u32, step: FakeStep) {
        let Some(id) = self.id(pid) else { return };
        let frames = &mut self.frames;
        let process = self.processes.get_mut(&id).unwrap();
        match step {
            FakeStep::Map(mapping) => process.map(mapping),
            FakeStep::Unmap(blocks) => process.unmap(blocks, frames),
            FakeStep::Touch(pages) => process.touch(pages, frames),
            FakeStep::Read(pages) => process.read(pages),
            FakeStep::Purge(pages) => process.purge(pages, frames),
            FakeStep::SwapOut(pages) => process.swap_out(pages, frames),
            FakeStep::Fork => {
                let child = FakeProcess {
                    parent: pid,
                    faults: 0,
                    ..process.clone()
                };
                for page in child.blocks.values().flat_map(|block| &block.pages) {
                    frames.share(*page);
                }
                let image = child.image;
                let id = self.add(child);
                // A fork runs the same program.
                self.processes.get_mut(&id).unwrap().image = image;
            }
            FakeStep::Exec => {
                process.clear(frames);
                process.image += 1;
            }
            FakeStep::Exit => {
                process.clear(frames);
                self.processes.remove(&id);
            }
        }
        let processes = &self.processes;
        self.held.retain(|(pid, block), _| {
            let mut all = processes.iter();
            let process = all.find(|(id, _)| id.pid == *pid);
            process.is_some_and(|(_, process)| {
                process.blocks.get(block).is_some_and(|block| block.huge)
            })
        });
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        let used = self.frames.used() * PAGE_BYTES + self.elsewhere;
        self.total_bytes.saturating_sub(used)
    }

    /// Returns the bytes in frames that promotions filled and no program stored to.
    pub(crate) fn filled_bytes(&self) -> u64 {
        let processes = self.processes.values();
        let blocks = processes.flat_map(|process| process.blocks.values());
        let pages = blocks.flat_map(|block| &block.pages);
        pages.filter(|page| self.frames.is_filled(**page)).count() as u64 * PAGE_BYTES
    }

    /// Returns the bytes that existing superpages added, by their contents before.
    pub(crate) fn added_bytes(&self) -> u64 {
        self.held.values().map(|held| (P - held) * PAGE_BYTES).sum()
    }

    /// Returns the bytes that a process holds. A shared frame counts in proportion.
    pub(super) fn held_bytes(&self, process: ProcessId) -> u64 {
        let blocks = self
            .processes
            .get(&process)
            .into_iter()
            .flat_map(|process| process.blocks.values());
        let pages = blocks.flat_map(|block| &block.pages);
        let mapped = pages
            .map(|page| self.frames.mappers(*page))
            .filter(|mappers| *mappers > 0);
        mapped.map(|mappers| PAGE_BYTES / mappers).sum::<u64>()
    }

    pub(crate) fn rss_bytes(&self) -> u64 {
        self.processes
            .values()
            .map(FakeProcess::rss_pages)
            .sum::<u64>()
            * PAGE_BYTES
    }

    /// Returns true if a block is a superpage.
    pub(crate) fn is_huge(&self, process: ProcessId, block: u64) -> bool {
        let process = self.processes.get(&process);
        process.is_some_and(|process| process.blocks.get(&block).is_some_and(|block| block.huge))
    }

    /// Returns the number of superpages of a process.
    pub(crate) fn huge(&self, process: ProcessId) -> usize {
        let process = self.processes.get(&process);
        process.map_or(0, |process| {
            process.blocks.values().filter(|block| block.huge).count()
        })
    }

    /// Checks that the map count of each frame is right, and that each superpage is whole.
    pub(crate) fn check(&self) {
        let mut mapped = vec![0; self.frames.mapped().len()];
        for block in self.processes.values().flat_map(|one| one.blocks.values()) {
            for page in &block.pages {
                if let FakePage::Frame(number) = page {
                    mapped[*number as usize] += 1;
                }
            }
            assert!(!block.huge || block.frames() == P);
        }
        assert_eq!(mapped, self.frames.mapped());
    }

    /// Performs the effects of a call: time passes, and programs act.
    pub(super) fn called(
        &mut self,
        call: Call,
        process: ProcessId,
        micros: u64,
    ) -> Result<(), KernelError> {
        self.now += Duration::from_micros(micros);
        self.cpu += Duration::from_micros(micros);
        *self.calls.entry(call).or_default() += 1;
        let number = self.calls.values().sum::<u64>();
        if let Some((pid, step)) = self.at_call.remove(&number) {
            self.step(pid, step);
        }
        while let Some(at) = self.races.iter().position(|(when, ..)| *when == call) {
            let (_, pid, step) = self.races.remove(at);
            self.step(pid, step);
        }
        match self.processes.contains_key(&process) {
            true => Ok(()),
            false => Err(KernelError::Gone),
        }
    }

    /// Charges time that depends on the amount of work.
    pub(super) fn worked(&mut self, micros: f64) {
        self.now += Duration::from_secs_f64(micros / 1e6);
        self.cpu += Duration::from_secs_f64(micros / 1e6);
    }

    /// Promotes one block.
    pub(super) fn collapse_one(&mut self, id: ProcessId, number: u64) -> Result<(), i32> {
        self.worked(self.micros);
        let free = self.free_bytes();
        let left = self.headroom(id).map_or(u64::MAX, |left| left.bytes);
        if let Some((errno, times)) = self.refuse.get_mut(&(id.pid, number))
            && *times > 0
        {
            *times -= 1;
            return Err(*errno);
        }
        let process = self.processes.get_mut(&id).ok_or(libc::ESRCH)?;
        let mapping = LiveMapping::of_block(&process.mappings, number).ok_or(libc::EINVAL)?;
        let fits = match mapping.backing {
            LiveBacking::Anonymous => true,
            LiveBacking::Shmem => mapping.congruent,
            LiveBacking::File | LiveBacking::Other => false,
        };
        // Without a page table the kernel refuses. With a page table it promotes, however empty the
        // block is.
        let block = process.blocks.get_mut(&number).ok_or(libc::EINVAL)?;
        if !fits {
            return Err(libc::EINVAL);
        }
        if block.huge {
            return Ok(());
        }
        let held = block.frames();
        if self.free_blocks == Some(0) || free < BLOCK_BYTES {
            return Err(libc::ENOMEM);
        }
        if left < (P - held) * PAGE_BYTES {
            return Err(libc::EBUSY);
        }
        for page in &mut block.pages {
            match *page {
                FakePage::Absent | FakePage::Zero => *page = self.frames.take(false),
                FakePage::Swapped => *page = self.frames.take(true),
                shared if self.frames.is_shared(shared) => {
                    self.frames.drop(shared);
                    *page = self.frames.take(true);
                }
                FakePage::Frame(_) => {}
            }
        }
        block.huge = true;
        block.folio = true;
        *self.collapses.entry((id.pid, number)).or_default() += 1;
        self.held.insert((id.pid, number), held);
        self.worked(0.9 * held as f64);
        Ok(())
    }
}
