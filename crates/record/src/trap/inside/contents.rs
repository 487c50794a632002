//! The contents of the program's memory: files that are copied into the memory file, mappings that
//! move, and the memory of processes that fork.

#![allow(unsafe_code, reason = "copies of the program's memory")]

use std::ops::Range;

use super::arch::call;
use super::doors::check;
use super::layout::second;
use super::regions::{Region, RegionKind};
use super::space::{Contents, READ_WRITE, Space};

impl Space {
    /// Copies a private file into the memory file, before the program writes to its mapping or
    /// moves it. Memory after the file's end stays zero. Pages are closed.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn own(&mut self, range: &Range<u64>, before: &Region) -> Result<(), i32> {
        let distance = self.distance(range);
        let mut at = range.start;
        while at < range.end {
            let to = at + distance;
            let arguments = [self.memory as u64, second(at), range.end - at, to, 0, 0];
            let written = call(libc::SYS_pwrite64, arguments);
            match written {
                _ if written > 0 => at += written as u64,
                _ if written == -i64::from(libc::EINTR) => {}
                // The file ends here.
                _ if written == -i64::from(libc::EFAULT) => break,
                _ => return Err(-written as i32),
            }
        }
        let region = Region {
            kind: RegionKind::Memory,
            distance,
            ..*before
        };
        self.attach(range, &region, (self.memory, region.contents(range).start))?;
        self.enter(range, region)
    }

    /// The distance from its address at which a new mapping of a range has its contents in the
    /// memory file. It is 0 unless a forked process still has what lies there.
    pub(super) fn distance(&mut self, range: &Range<u64>) -> u64 {
        let is_met = |lent: &Range<u64>| lent.start < range.end && range.start < lent.end;
        if !self.lent.iter().any(is_met) {
            return 0;
        }
        let place = self.unused;
        self.unused += range.end - range.start;
        place - range.start
    }

    /// Drops the contents of a part of a mapping of the memory file: they are zeroes from now on.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn forget(&self, part: &Range<u64>, region: &Region) -> Result<(), i32> {
        let mode = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u64;
        let Range { start, end } = region.contents(part);
        let arguments = [self.memory as u64, mode, start, end - start, 0, 0];
        check(call(libc::SYS_fallocate, arguments))
    }

    /// Gives up the contents of a part that is unmapped. A forked process keeps what it has.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn give_up(&mut self, part: &Range<u64>, region: &Region) -> Result<(), i32> {
        if !region.is_lent {
            return self.forget(part, region);
        }
        self.lent.push(region.contents(part));
        Ok(())
    }

    /// The parts of a mapping of the memory file whose pages the file holds.
    pub(super) fn held(&self, range: &Range<u64>, region: &Region) -> Vec<Range<u64>> {
        let seek = |from: u64, what: i32| {
            call(
                libc::SYS_lseek,
                [self.memory as u64, from, what as u64, 0, 0, 0],
            )
        };
        let contents = region.contents(range);
        let (mut parts, mut at) = (Vec::new(), contents.start);
        while at < contents.end {
            let start = seek(at, libc::SEEK_DATA);
            if start < 0 || start as u64 >= contents.end {
                break;
            }
            at = (seek(start as u64, libc::SEEK_HOLE) as u64).min(contents.end);
            let address = |place: u64| place.wrapping_sub(region.distance);
            parts.push(address(start as u64)..address(at));
        }
        parts
    }

    /// Copies the contents of a mapping of the memory file to another, which is as large.
    pub(super) fn copy(&self, from: &Range<u64>, region: &Region, to: u64) {
        for part in self.held(from, region) {
            let bytes = (part.end - part.start) as usize;
            let target = second(to + (part.start - from.start)) as *mut u8;
            // SAFETY: both parts are mapped at their second places, and do not overlap.
            unsafe {
                std::ptr::copy_nonoverlapping(second(part.start) as *const u8, target, bytes);
            }
        }
    }

    /// Moves a mapping that processes share to another range, whose first bytes have its contents
    /// from then on. The rest of a longer range is new memory, or more of the file. The pages of
    /// both ranges are closed.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn relocate(
        &mut self,
        old: &Range<u64>,
        region: &Region,
        new: &Range<u64>,
    ) -> Result<(), i32> {
        self.unmap(new)?;
        let bytes = (old.end - old.start).min(new.end - new.start);
        let moved = new.start..new.start + bytes;
        match region.kind {
            RegionKind::Memory => {
                let contents = region.contents(old);
                let there = Region {
                    distance: contents.start.wrapping_sub(new.start),
                    ..*region
                };
                self.attach(&moved, &there, (self.memory, contents.start))?;
                self.enter(&moved, there)?;
                for at in [old.start, second(old.start)] {
                    let bytes = old.end - old.start;
                    check(call(libc::SYS_munmap, [at, bytes, 0, 0, 0, 0]))?;
                }
                self.regions.remove(old);
                // Later mappings at the old addresses have another place.
                self.lent.push(contents);
                if moved.end < new.end {
                    let more = moved.end..new.end;
                    self.map(&more, Contents::Zeroes, region.protection, region.shared)?;
                }
                Ok(())
            }
            RegionKind::File | RegionKind::Code => {
                // Closed pages have one protection, so that both places are one mapping each.
                self.doors.close(old, region)?;
                let how = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;
                let (from, to) = (old.end - old.start, new.end - new.start);
                for [at, place] in [[old.start, new.start], [old.start, new.start].map(second)] {
                    check(call(libc::SYS_mremap, [at, from, to, how, place, 0]))?;
                }
                self.regions.remove(old);
                self.enter(new, *region)
            }
        }
    }

    /// Opens all pages of a forked process for good, since nothing of it is counted. It gets
    /// private memory of its own with the same contents, unless it shares its parent's memory.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(super) fn leave(&self, shares_memory: bool) -> Result<(), i32> {
        for (range, region) in self.regions.all() {
            let bytes = range.end - range.start;
            let is_own = region.kind == RegionKind::Memory && !region.shared;
            if is_own && !shares_memory {
                let flags = (libc::MAP_PRIVATE
                    | libc::MAP_ANONYMOUS
                    | libc::MAP_FIXED
                    | libc::MAP_NORESERVE) as u64;
                let arguments = [range.start, bytes, READ_WRITE, flags, u64::MAX, 0];
                check(call(libc::SYS_mmap, arguments))?;
                for part in self.held(&range, &region) {
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

/// Reads a file into a mapping of the memory file. Memory after the file's end stays zero.
///
/// # Errors
/// The kernel's error number.
pub(super) fn read_into(range: &Range<u64>, file: i32, offset: u64) -> Result<(), i32> {
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
