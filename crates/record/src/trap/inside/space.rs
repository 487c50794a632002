//! The program's address space: its mappings, the memory file behind them, and its doors.

#![allow(unsafe_code, reason = "copies of the program's memory")]

use std::ops::Range;

use super::arch::call;
use super::doors::{Doors, check};
use super::layout::{END, LOWEST, PLACES_END, second};
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
    memory: i32,
}

const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;

impl Space {
    /// An empty address space. `memory` is the memory file.
    pub(super) fn new(doors: Doors, memory: i32) -> Self {
        Self {
            regions: Regions::default(),
            doors,
            memory,
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
        let is_code = protection & libc::PROT_EXEC != 0;
        let kind = match contents {
            Contents::File(..) if shared => RegionKind::File,
            Contents::File(..) if is_code => RegionKind::Code,
            _ => RegionKind::Memory,
        };
        let of_file = matches!(contents, Contents::File(..));
        let region = Region {
            kind,
            protection,
            shared,
            of_file,
        };
        let flags = if kind == RegionKind::Code {
            libc::MAP_PRIVATE
        } else {
            libc::MAP_SHARED
        };
        let (file, offset) = match (kind, contents) {
            (RegionKind::Memory, _) | (_, Contents::Zeroes) => (self.memory, range.start),
            (_, Contents::File(file, offset)) => (file, offset),
        };
        let bytes = range.end - range.start;
        let fixed = (flags | libc::MAP_FIXED | libc::MAP_NORESERVE) as u64;
        let map = |at: u64, protection: u64| {
            let arguments = [at, bytes, protection, fixed, file as u64, offset];
            check(call(libc::SYS_mmap, arguments))
        };
        map(range.start, self.doors.first_protection(&region) as u64)?;
        if kind != RegionKind::Code {
            let second_protection = match kind {
                RegionKind::File => protection as u64,
                _ => READ_WRITE,
            };
            map(second(range.start), second_protection)?;
        }
        if let (RegionKind::Memory, Contents::File(file, offset)) = (kind, contents) {
            read_into(range, file, offset)?;
        }
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
                self.forget(&part)?;
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

    /// Drops the contents of a part of the memory file: they are zeroes from now on.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn forget(&self, range: &Range<u64>) -> Result<(), i32> {
        let mode = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u64;
        let bytes = range.end - range.start;
        let arguments = [self.memory as u64, mode, range.start, bytes, 0, 0];
        check(call(libc::SYS_fallocate, arguments))
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
        for (part, before) in parts {
            if before.protection == protection {
                continue;
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

    /// The parts of a page run that count.
    pub(super) fn counted(&self, range: &Range<u64>) -> Vec<(Range<u64>, Region)> {
        let mut parts = self.regions.within(range);
        parts.retain(|(_, region)| region.counts() && region.protection != libc::PROT_NONE);
        parts
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

    /// The parts of a range whose pages the memory file holds.
    pub(super) fn held(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let seek = |from: u64, what: i32| {
            call(
                libc::SYS_lseek,
                [self.memory as u64, from, what as u64, 0, 0, 0],
            )
        };
        let (mut parts, mut at) = (Vec::new(), range.start);
        while at < range.end {
            let start = seek(at, libc::SEEK_DATA);
            if start < 0 || start as u64 >= range.end {
                break;
            }
            let end = (seek(start as u64, libc::SEEK_HOLE) as u64).min(range.end);
            parts.push(start as u64..end);
            at = end;
        }
        parts
    }

    /// Copies the contents of a mapping of the memory file to another, which is as large.
    pub(super) fn copy(&self, from: &Range<u64>, to: u64) {
        for part in self.held(from) {
            let bytes = (part.end - part.start) as usize;
            let target = second(to + (part.start - from.start)) as *mut u8;
            // SAFETY: both parts are mapped at their second places, and do not overlap.
            unsafe {
                std::ptr::copy_nonoverlapping(second(part.start) as *const u8, target, bytes);
            }
        }
    }

    /// Gives a forked process private memory of its own with the same contents. Nothing of it is
    /// counted.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn make_private(&self) -> Result<(), i32> {
        for (range, region) in self.regions.all() {
            let bytes = range.end - range.start;
            let own = region.kind == RegionKind::Memory && !region.shared;
            if own {
                let flags = (libc::MAP_PRIVATE
                    | libc::MAP_ANONYMOUS
                    | libc::MAP_FIXED
                    | libc::MAP_NORESERVE) as u64;
                let arguments = [range.start, bytes, READ_WRITE, flags, u64::MAX, 0];
                check(call(libc::SYS_mmap, arguments))?;
                for part in self.held(&range) {
                    // SAFETY: the new mapping has the range; the second place is mapped.
                    unsafe {
                        std::ptr::copy_nonoverlapping(
                            second(part.start) as *const u8,
                            part.start as *mut u8,
                            (part.end - part.start) as usize,
                        );
                    }
                }
            }
            let protection = region.protection as u64;
            check(call(
                libc::SYS_mprotect,
                [range.start, bytes, protection, 0, 0, 0],
            ))?;
        }
        Ok(())
    }
}

/// Reads a file into a mapping of the memory file. What lies behind the file's end stays zero.
fn read_into(range: &Range<u64>, file: i32, offset: u64) -> Result<(), i32> {
    let (mut at, mut offset) = (range.start, offset);
    while at < range.end {
        let arguments = [file as u64, second(at), range.end - at, offset, 0, 0];
        let read = call(libc::SYS_pread64, arguments);
        match read {
            0 => break,
            _ if read == -i64::from(libc::EINTR) => {}
            _ if read < 0 => return Err(-read as i32),
            _ => {
                at += read as u64;
                offset += read as u64;
            }
        }
    }
    Ok(())
}
