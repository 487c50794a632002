//! A kernel that is a few lists, and that breaks in the ways in which a real one was seen to.

use super::frames::{Frames, Page};
use super::process::{P, Process};
use broadleaf_governor::{
    BLOCK_BYTES, Behind, BlockSeen, Headroom, Kernel, MachineSeen, Mapping, No, PAGE_BYTES, Pages,
    ProcessId, Vitals,
};
use broadleaf_policy::Refusal;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// What a kernel is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Vitals,
    Children,
    Pages,
    Blocks,
    Shared,
    Collapse,
    Split,
}

/// What a program does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Map(Mapping),
    Unmap(Range<u64>),
    Touch(Range<u64>),
    Read(Range<u64>),
    Purge(Range<u64>),
    SwapOut(Range<u64>),
    Fork,
    Exec,
    Exit,
}

/// A kernel of the tests.
#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) now: Duration,
    pub(crate) cpu: Duration,
    pub(crate) processes: BTreeMap<ProcessId, Process>,
    pub(crate) frames: Frames,
    /// Bytes of the machine.
    pub(crate) total_bytes: u64,
    /// Bytes that somebody else uses.
    pub(crate) elsewhere: u64,
    /// Free extents, where not all that is free is one.
    pub(crate) free_blocks: Option<u64>,
    pub(crate) pressure: Option<u32>,
    /// The limit of the cgroup that all processes are in.
    pub(crate) limit: Option<u64>,
    /// What the kernel answers to a promotion of a block, and how often it still does.
    pub(crate) refuse: BTreeMap<(u32, u64), (i32, u32)>,
    /// The refusal that the flags of a block's mapping imply.
    pub(crate) flags: BTreeMap<(u32, u64), Refusal>,
    /// The fixed time of a block's promotion, without that of its pages.
    pub(crate) micros: f64,
    /// Superpages are not broken, and the kernel says yes.
    pub(crate) splits_in_vain: bool,
    /// Blocks for which programs asked for superpages.
    pub(crate) asked: Vec<Range<u64>>,
    /// What a program does just before the next call of a kind.
    pub(crate) races: Vec<(Call, u32, Step)>,
    /// What a program does just before the call of that number.
    pub(crate) at_call: BTreeMap<u64, (u32, Step)>,
    /// How often the kernel was asked for each thing.
    pub(crate) calls: BTreeMap<Call, u64>,
    /// How often each block became a superpage.
    pub(crate) collapses: BTreeMap<(u32, u64), u32>,
    /// How many pages each superpage that was made held before, as long as it stands.
    pub(crate) held: BTreeMap<(u32, u64), u64>,
    next_pid: u32,
}

impl Fake {
    pub(crate) fn new(total_bytes: u64) -> Self {
        Self {
            now: Duration::from_secs(1000),
            cpu: Duration::ZERO,
            processes: BTreeMap::new(),
            frames: Frames::default(),
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

    /// A process that nobody of these started.
    pub(crate) fn spawn(&mut self) -> ProcessId {
        self.add(Process::default())
    }

    fn add(&mut self, mut process: Process) -> ProcessId {
        self.next_pid += 1;
        let id = ProcessId {
            pid: self.next_pid,
            started: self.now.as_millis() as u64 / 10,
        };
        process.image = u64::from(id.pid) << 20;
        self.processes.insert(id, process);
        id
    }

    fn id(&self, pid: u32) -> Option<ProcessId> {
        self.processes.keys().copied().find(|id| id.pid == pid)
    }

    /// A program does something. One that has ended does nothing.
    pub(crate) fn step(&mut self, pid: u32, step: Step) {
        let Some(id) = self.id(pid) else { return };
        let frames = &mut self.frames;
        let process = self.processes.get_mut(&id).unwrap();
        match step {
            Step::Map(mapping) => process.map(mapping),
            Step::Unmap(blocks) => process.unmap(blocks, frames),
            Step::Touch(pages) => process.touch(pages, frames),
            Step::Read(pages) => process.read(pages),
            Step::Purge(pages) => process.purge(pages, frames),
            Step::SwapOut(pages) => process.swap_out(pages, frames),
            Step::Fork => {
                let child = Process {
                    parent: pid,
                    faults: 0,
                    ..process.clone()
                };
                for page in child.blocks.values().flat_map(|block| &block.pages) {
                    frames.share(*page);
                }
                let image = child.image;
                let id = self.add(child);
                // A fork is the same program.
                self.processes.get_mut(&id).unwrap().image = image;
            }
            Step::Exec => {
                process.clear(frames);
                process.image += 1;
            }
            Step::Exit => {
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

    /// Bytes in frames that promotions filled and nobody stored to.
    pub(crate) fn filled_bytes(&self) -> u64 {
        let processes = self.processes.values();
        let blocks = processes.flat_map(|process| process.blocks.values());
        let pages = blocks.flat_map(|block| &block.pages);
        pages.filter(|page| self.frames.is_filled(**page)).count() as u64 * PAGE_BYTES
    }

    /// Bytes that the superpages which stand added, by what they held before.
    pub(crate) fn added_bytes(&self) -> u64 {
        self.held.values().map(|held| (P - held) * PAGE_BYTES).sum()
    }

    /// Bytes that a process holds, of frames that others map its part alone.
    fn held_bytes(&self, process: ProcessId) -> u64 {
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
        self.processes.values().map(Process::rss_pages).sum::<u64>() * PAGE_BYTES
    }

    /// Whether a block is a superpage.
    pub(crate) fn is_huge(&self, process: ProcessId, block: u64) -> bool {
        let process = self.processes.get(&process);
        process.is_some_and(|process| process.blocks.get(&block).is_some_and(|block| block.huge))
    }

    /// How many superpages a process has.
    pub(crate) fn huge(&self, process: ProcessId) -> usize {
        let process = self.processes.get(&process);
        process.map_or(0, |process| {
            process.blocks.values().filter(|block| block.huge).count()
        })
    }

    /// Each frame is mapped as often as it is said to be, and a superpage is whole.
    pub(crate) fn check(&self) {
        let mut mapped = vec![0; self.frames.mapped().len()];
        for block in self.processes.values().flat_map(|one| one.blocks.values()) {
            for page in &block.pages {
                if let Page::Frame(number) = page {
                    mapped[*number as usize] += 1;
                }
            }
            assert!(!block.huge || block.frames() == P);
        }
        assert_eq!(mapped, self.frames.mapped());
    }

    /// What happens at each call: time passes, and programs run.
    fn called(&mut self, call: Call, process: ProcessId, micros: u64) -> Result<(), No> {
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
            false => Err(No::Gone),
        }
    }

    /// Work that depends on how much there was.
    fn worked(&mut self, micros: f64) {
        self.now += Duration::from_secs_f64(micros / 1e6);
        self.cpu += Duration::from_secs_f64(micros / 1e6);
    }

    /// Makes one superpage.
    fn collapse_one(&mut self, id: ProcessId, number: u64) -> Result<(), i32> {
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
        let mapping = Mapping::of_block(&process.mappings, number).ok_or(libc::EINVAL)?;
        let fits = match mapping.behind {
            Behind::Anonymous => true,
            Behind::Shmem => mapping.congruent,
            Behind::File | Behind::Other => false,
        };
        // Without a page table there is nothing to do. With one it goes ahead, however empty it is.
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
                Page::Absent | Page::Zero => *page = self.frames.take(false),
                Page::Swapped => *page = self.frames.take(true),
                shared if self.frames.is_shared(shared) => {
                    self.frames.drop(shared);
                    *page = self.frames.take(true);
                }
                Page::Frame(_) => {}
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

impl Kernel for Fake {
    fn now(&mut self) -> Duration {
        self.now
    }

    fn own_cpu(&mut self) -> Duration {
        self.cpu
    }

    fn machine(&mut self) -> MachineSeen {
        self.worked(40.0);
        let available_bytes = self.free_bytes();
        MachineSeen {
            available_bytes,
            free_blocks: self.free_blocks.unwrap_or(available_bytes / BLOCK_BYTES),
            pressure: self.pressure,
        }
    }

    fn process(&mut self, pid: u32) -> Option<ProcessId> {
        self.id(pid)
    }

    fn vitals(&mut self, process: ProcessId) -> Result<Vitals, No> {
        self.called(Call::Vitals, process, 20)?;
        let found = &self.processes[&process];
        Ok(Vitals {
            command: "a program (of 2 words)".to_owned(),
            image: found.image,
            faults: found.faults,
            rss_bytes: found.rss_pages() * PAGE_BYTES,
        })
    }

    fn headroom(&mut self, _: ProcessId) -> Option<Headroom> {
        let limit = self.limit?;
        let used = self.frames.used() * PAGE_BYTES;
        Some(Headroom {
            bytes: limit.saturating_sub(used),
            limit,
        })
    }

    fn children(&mut self, process: ProcessId) -> Vec<ProcessId> {
        if self.called(Call::Children, process, 15).is_err() {
            return Vec::new();
        }
        let all = self.processes.iter();
        let children = all.filter(|(_, child)| child.parent == process.pid);
        children.map(|(id, _)| *id).collect()
    }

    fn pages(&mut self, process: ProcessId) -> Result<Pages, No> {
        self.called(Call::Pages, process, 60)?;
        let found = &self.processes[&process];
        if found.hidden {
            return Err(No::NotAllowed);
        }
        let held = found.blocks.iter().filter(|(number, _)| {
            let mapping = Mapping::of_block(&found.mappings, **number);
            mapping.is_some_and(|mapping| mapping.behind != Behind::Other)
        });
        let seen = held.map(|(number, block)| block.seen(*number));
        let pages = Pages {
            held: None,
            asked: None,
            mappings: found.mappings.clone(),
            blocks: seen.filter(|seen| !seen.is_empty()).collect(),
        };
        // 6 ms for a gigabyte of base pages, by measurement; a superpage costs next to nothing.
        let base: u64 = pages
            .blocks
            .iter()
            .map(|seen| u64::from(seen.present))
            .sum();
        self.worked(base as f64 * 0.023 + pages.blocks.len() as f64 * 0.1);
        Ok(pages)
    }

    fn blocks(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<Vec<BlockSeen>, No> {
        self.called(Call::Blocks, process, 20)?;
        let found = &self.processes[&process];
        let seen = blocks.map(|number| match found.blocks.get(&number) {
            Some(block) => block.seen(number),
            None => BlockSeen::empty(number),
        });
        Ok(seen.collect())
    }

    fn held(&mut self, process: ProcessId) -> Option<u64> {
        self.called(Call::Shared, process, 10).ok()?;
        Some(self.held_bytes(process))
    }

    fn asked(&mut self, _: ProcessId) -> Vec<Range<u64>> {
        self.asked.clone()
    }

    fn shared(&mut self, process: ProcessId, block: u64) -> Result<u32, No> {
        self.called(Call::Shared, process, 10)?;
        let block = self.processes[&process].blocks.get(&block);
        let pages = block.into_iter().flat_map(|block| &block.pages);
        Ok(pages.filter(|page| self.frames.is_shared(**page)).count() as u32)
    }

    fn ruled_out(&mut self, process: ProcessId, block: u64) -> Option<Refusal> {
        self.flags.get(&(process.pid, block)).copied()
    }

    fn collapse(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<(), No> {
        self.called(Call::Collapse, process, 5)?;
        if self.processes[&process].out_of_reach {
            return Err(No::NotAllowed);
        }
        // It goes on after a failure, and answers for the whole range.
        let mut answer = Ok(());
        for block in blocks {
            if let Err(errno) = self.collapse_one(process, block) {
                answer = Err(No::Errno(errno));
            }
        }
        answer
    }

    fn split(&mut self, process: ProcessId, block: u64) -> Result<(), No> {
        self.called(Call::Split, process, 300)?;
        let found = self.processes.get_mut(&process).unwrap();
        if found.out_of_reach {
            return Err(No::NotAllowed);
        }
        let Some(found) = found.blocks.get_mut(&block) else {
            return Err(No::Errno(libc::ENOMEM));
        };
        let shared = found.pages.iter().any(|page| self.frames.is_shared(*page));
        if shared || self.splits_in_vain || !found.folio {
            return Ok(());
        }
        for page in &mut found.pages {
            if self.frames.is_filled(*page) {
                self.frames.drop(*page);
                *page = Page::Zero;
            }
        }
        found.huge = false;
        found.folio = false;
        self.held.remove(&(process.pid, block));
        Ok(())
    }
}
