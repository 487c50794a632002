//! The program's address space: its mappings, the memory file that holds their pages, and its
//! doors.

use std::ops::Range;

use super::arch::call;
use super::contents;
use super::doors::{Doors, check};
use super::layout::{END, LOWEST, PAGE, PLACES_END, second};
use super::regions::{Region, RegionKind, Regions};

/// The contents of a new mapping.
#[derive(Clone, Copy, Debug)]
pub(super) enum Contents {
    /// Zeroes.
    Zeroes,
    /// A file from an offset on: its open file and the offset in bytes.
    File(i32, u64),
}

/// An address space.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) regions: Regions,
    pub(super) doors: Doors,
    /// The memory file.
    pub(super) memory: i32,
    /// The parts of the memory file that are mapped no more, and that forked processes may have.
    pub(super) lent: Vec<Range<u64>>,
    /// The first place in the memory file that was never used, after those of all addresses.
    pub(super) unused: u64,
}

/// Private files of at least so many bytes that are mapped to be read alone are not copied into the
/// memory file. Their pages are closed by protection, which costs more for each miss.
const LARGE_FILE: u64 = 1 << 24;

/// The protection of the engine's place of the program's memory.
pub(super) const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;

impl Space {
    /// An empty address space. `memory` is the memory file.
    pub(super) fn new(doors: Doors, memory: i32) -> Self {
        Self {
            regions: Regions::default(),
            doors,
            memory,
            lent: Vec::new(),
            unused: END,
        }
    }

    /// The numbers of the engine's own open files.
    pub(super) fn files(&self) -> [Option<i32>; 2] {
        [Some(self.memory), self.doors.file()]
    }

    /// A free place of that many bytes. `hint` is the address that the program prefers, or 0.
    pub(super) fn place(&self, bytes: u64, hint: u64) -> Option<u64> {
        let hint = super::layout::page_start(hint);
        let end = hint.checked_add(bytes)?;
        if hint >= LOWEST && end <= END && self.regions.is_free(&(hint..end)) {
            return Some(hint);
        }
        self.regions.highest_free(bytes, PLACES_END, LOWEST)
    }

    /// Maps a range in place of what it held.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn map(
        &mut self,
        range: &Range<u64>,
        contents: Contents,
        protection: i32,
        shared: bool,
    ) -> Result<(), i32> {
        self.unmap(range)?;
        let bytes = range.end - range.start;
        let is_code = protection & libc::PROT_EXEC != 0;
        let is_large = bytes >= LARGE_FILE && protection & libc::PROT_WRITE == 0;
        let kind = match contents {
            Contents::File(..) if shared => RegionKind::File,
            Contents::File(..) if is_code => RegionKind::Code,
            Contents::File(..) if is_large => RegionKind::File,
            _ => RegionKind::Memory,
        };
        let of_file = matches!(contents, Contents::File(..));
        let distance = match kind {
            RegionKind::Memory => self.distance(range),
            RegionKind::File | RegionKind::Code => 0,
        };
        let region = Region {
            kind,
            protection,
            shared,
            of_file,
            distance,
            is_lent: false,
        };
        let (file, offset) = match (kind, contents) {
            (RegionKind::Memory, _) | (_, Contents::Zeroes) => {
                (self.memory, region.contents(range).start)
            }
            (_, Contents::File(file, offset)) => (file, offset),
        };
        self.attach(range, &region, (file, offset))?;
        if let (RegionKind::Memory, Contents::File(file, offset)) = (kind, contents) {
            contents::read_into(range, file, offset)?;
        }
        self.enter(range, region)
    }

    /// Maps a file at both places of a range; code at one.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn attach(
        &self,
        range: &Range<u64>,
        region: &Region,
        (file, offset): (i32, u64),
    ) -> Result<(), i32> {
        let is_shared = region.kind == RegionKind::Memory || region.shared;
        let flags = if is_shared {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        };
        let fixed = (flags | libc::MAP_FIXED | libc::MAP_NORESERVE) as u64;
        let map = |at: u64, protection: u64| {
            let bytes = range.end - range.start;
            let arguments = [at, bytes, protection, fixed, file as u64, offset];
            check(call(libc::SYS_mmap, arguments))
        };
        map(range.start, self.doors.first_protection(region) as u64)?;
        match region.kind {
            RegionKind::Code => Ok(()),
            RegionKind::File => map(second(range.start), region.protection as u64),
            RegionKind::Memory => map(second(range.start), READ_WRITE),
        }
    }

    /// Notes a mapping and closes its pages.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn enter(&mut self, range: &Range<u64>, region: Region) -> Result<(), i32> {
        self.regions.put(range.clone(), region);
        if region.counts() {
            self.doors.close_whole(range, &region)?;
        }
        Ok(())
    }

    /// Unmaps a range and forgets its contents.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn unmap(&mut self, range: &Range<u64>) -> Result<(), i32> {
        for (part, region) in self.regions.within(range) {
            let bytes = part.end - part.start;
            check(call(libc::SYS_munmap, [part.start, bytes, 0, 0, 0, 0]))?;
            if region.kind == RegionKind::Memory {
                self.give_up(&part, &region)?;
            }
            if region.kind != RegionKind::Code {
                check(call(
                    libc::SYS_munmap,
                    [second(part.start), bytes, 0, 0, 0, 0],
                ))?;
            }
        }
        self.regions.remove(range);
        Ok(())
    }

    /// Sets the protection of a range. Returns the parts that had another protection; their pages
    /// are closed.
    ///
    /// # Errors
    /// The kernel's error number. A part of the range is not mapped, for example.
    pub(super) fn protect(
        &mut self,
        range: &Range<u64>,
        protection: i32,
    ) -> Result<Vec<Range<u64>>, i32> {
        let parts = self.regions.within(range);
        let mapped: u64 = parts.iter().map(|(part, _)| part.end - part.start).sum();
        if mapped < range.end - range.start {
            return Err(libc::ENOMEM);
        }
        let mut changed = Vec::new();
        for (part, mut before) in parts {
            if before.protection == protection {
                continue;
            }
            if before.is_private_file() && protection & libc::PROT_WRITE != 0 {
                self.own(&part, &before)?;
                before.kind = RegionKind::Memory;
            }
            let now = Region {
                protection,
                ..before
            };
            if before.counts() && !now.counts() {
                self.doors.open_whole(&part, &before)?;
            }
            let bytes = part.end - part.start;
            let kernel = self.doors.first_protection(&now) as u64;
            check(call(
                libc::SYS_mprotect,
                [part.start, bytes, kernel, 0, 0, 0],
            ))?;
            if before.kind == RegionKind::File {
                let arguments = [second(part.start), bytes, protection as u64, 0, 0, 0];
                check(call(libc::SYS_mprotect, arguments))?;
            }
            self.regions.put(part.clone(), now);
            if now.counts() {
                self.doors.close_whole(&part, &now)?;
            }
            changed.push(part);
        }
        Ok(changed)
    }

    /// The address at which the engine and the kernel reach a byte of the program's memory.
    pub(super) fn reach(&self, address: u64) -> u64 {
        match self.regions.at(address) {
            Some(region) if region.kind != RegionKind::Code => second(address),
            _ => address,
        }
    }

    /// Opens pages. Those that do not count are left out.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn open(&self, pages: &[u64]) -> Result<(), i32> {
        let doors = &self.doors;
        self.for_each(pages, |part, region| doors.open(part, region))
    }

    /// Closes pages that are open. Those that do not count are left out.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn close(&self, pages: &[u64]) -> Result<(), i32> {
        let doors = &self.doors;
        self.for_each(pages, |part, region| doors.close(part, region))
    }

    /// Calls `work` for each run of pages, which are in order. The parts of a run that lie in
    /// several mappings are runs of their own.
    fn for_each(
        &self,
        pages: &[u64],
        mut work: impl FnMut(&Range<u64>, &Region) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let mut at = 0;
        while let Some(first) = pages.get(at) {
            let run = pages[at..].iter().zip(*first..);
            let length = run.take_while(|(page, next)| **page == *next).count();
            let range = first * PAGE..(first + length as u64) * PAGE;
            at += length;
            if length == 1 {
                // Most misses open a page and close a page.
                if let Some(region) = self.regions.at(range.start).filter(can_trap) {
                    work(&range, &region)?;
                }
                continue;
            }
            for (part, region) in self.regions.within(&range) {
                if can_trap(&region) {
                    work(&part, &region)?;
                }
            }
        }
        Ok(())
    }

    /// Opens every page, for a system call that the engine does not know or a single step.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn open_all(&self) -> Result<(), i32> {
        let mut counted = self.regions.all();
        counted.retain(|(_, region)| region.counts());
        counted
            .iter()
            .try_for_each(|(range, region)| self.doors.open_whole(range, region))
    }

    /// Closes every page.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn close_all(&self) -> Result<(), i32> {
        let mut counted = self.regions.all();
        counted.retain(|(_, region)| region.counts());
        counted
            .iter()
            .try_for_each(|(range, region)| self.doors.close_whole(range, region))
    }
}

/// Returns true if references to a mapping's pages can trap and count.
fn can_trap(region: &Region) -> bool {
    region.counts() && region.protection != libc::PROT_NONE
}
