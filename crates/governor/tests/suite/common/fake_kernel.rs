//! The fake kernel's answers to a governor.

use super::fake::{Call, Fake};
use super::frames::FakePage;
use broadleaf_governor::{
    BLOCK_BYTES, BlockSeen, Headroom, Kernel, KernelError, LiveBacking, LiveMapping, LivePages,
    MachineSeen, PAGE_BYTES, ProcessId, Vitals,
};
use broadleaf_policy::Refusal;
use std::ops::Range;
use std::time::Duration;

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

    fn vitals(&mut self, process: ProcessId) -> Result<Vitals, KernelError> {
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

    fn pages(&mut self, process: ProcessId) -> Result<LivePages, KernelError> {
        self.called(Call::LivePages, process, 60)?;
        let found = self.processes.get_mut(&process).unwrap();
        if found.hidden {
            return Err(KernelError::NotAllowed);
        }
        let used = found.used.take();
        let found = &self.processes[&process];
        let held = found.blocks.iter().filter(|(number, _)| {
            let mapping = LiveMapping::of_block(&found.mappings, **number);
            mapping.is_some_and(|mapping| mapping.backing != LiveBacking::Other)
        });
        let seen = held.map(|(number, block)| block.seen(*number));
        let pages = LivePages {
            held: None,
            asked: None,
            used,
            mappings: found.mappings.clone(),
            blocks: seen.filter(|seen| !seen.is_empty()).collect(),
        };
        // 6 ms for a gigabyte of base pages, by measurement. A superpage costs next to nothing.
        let base: u64 = pages
            .blocks
            .iter()
            .map(|seen| u64::from(seen.present))
            .sum();
        self.worked(base as f64 * 0.023 + pages.blocks.len() as f64 * 0.1);
        Ok(pages)
    }

    fn has_news_of_use(&mut self, process: ProcessId) -> bool {
        let found = self.processes.get(&process);
        found.is_some_and(|found| found.used.is_some())
    }

    fn blocks(
        &mut self,
        process: ProcessId,
        blocks: Range<u64>,
    ) -> Result<Vec<BlockSeen>, KernelError> {
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

    fn shared(&mut self, process: ProcessId, block: u64) -> Result<u32, KernelError> {
        self.called(Call::Shared, process, 10)?;
        let block = self.processes[&process].blocks.get(&block);
        let pages = block.into_iter().flat_map(|block| &block.pages);
        Ok(pages.filter(|page| self.frames.is_shared(**page)).count() as u32)
    }

    fn ruled_out(&mut self, process: ProcessId, block: u64) -> Option<Refusal> {
        self.flags.get(&(process.pid, block)).copied()
    }

    fn collapse(&mut self, process: ProcessId, blocks: Range<u64>) -> Result<(), KernelError> {
        self.called(Call::Collapse, process, 5)?;
        if self.processes[&process].out_of_reach {
            return Err(KernelError::NotAllowed);
        }
        // The kernel continues after a failure, and answers for the whole range.
        let mut answer = Ok(());
        for block in blocks {
            if let Err(errno) = self.collapse_one(process, block) {
                answer = Err(KernelError::Errno(errno));
            }
        }
        answer
    }

    fn split(&mut self, process: ProcessId, block: u64) -> Result<(), KernelError> {
        self.called(Call::Split, process, 300)?;
        let found = self.processes.get_mut(&process).unwrap();
        if found.out_of_reach {
            return Err(KernelError::NotAllowed);
        }
        let Some(found) = found.blocks.get_mut(&block) else {
            return Err(KernelError::Errno(libc::ENOMEM));
        };
        let shared = found.pages.iter().any(|page| self.frames.is_shared(*page));
        if shared || self.splits_in_vain || !found.folio {
            return Ok(());
        }
        for page in &mut found.pages {
            if self.frames.is_filled(*page) {
                self.frames.drop(*page);
                *page = FakePage::Zero;
            }
        }
        found.huge = false;
        found.folio = false;
        self.held.remove(&(process.pid, block));
        Ok(())
    }
}
