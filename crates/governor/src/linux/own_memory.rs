//! Anonymous memory of this process, in blocks.
#![allow(unsafe_code, reason = "mappings of this process")]

use super::cgroup;
use super::machine::available_bytes;
use std::path::Path;
use std::ptr;

/// The size of a block: a huge page.
pub(super) const BLOCK: usize = 2 << 20;
/// The size of a base page.
pub(super) const PAGE: usize = 4 << 10;

/// Touches free memory and frees it again: this size, or half of what this process may take if that
/// is less. The pages are huge if the kernel has huge pages and does not forbid them here. A host
/// that took the memory back maps it again. Returns the number of bytes.
pub fn touch_free_memory(bytes: u64) -> u64 {
    let limits = cgroup::limits(Path::new("/proc"), std::process::id());
    let left = match limits.is_hidden() {
        true => Some(0),
        false => limits.left().map(|left| left.bytes),
    };
    let blocks = touched_bytes(bytes, available_bytes(), left) as usize / BLOCK;
    let memory = OwnMemory::new(blocks, libc::MADV_HUGEPAGE)
        .or_else(|| OwnMemory::new(blocks, libc::MADV_NORMAL));
    match memory {
        Some(memory) => {
            memory.touch(PAGE);
            (blocks * BLOCK) as u64
        }
        None => 0,
    }
}

/// Returns the number of bytes to touch. `available` is the available memory of the machine. `left`
/// is the rest below the cgroup's limit; `None` without a limit.
fn touched_bytes(asked: u64, available: u64, left: Option<u64>) -> u64 {
    asked
        .min(available / 2)
        .min(left.map_or(u64::MAX, |left| left / 2))
}

/// Aligned blocks of anonymous memory of this process.
pub(super) struct OwnMemory {
    mapped: *mut libc::c_void,
    first: *mut u8,
    blocks: usize,
}

impl OwnMemory {
    /// Maps blocks and gives advice on them. Returns `None` if the kernel refuses.
    pub(super) fn new(blocks: usize, advice: i32) -> Option<Self> {
        // SAFETY: a new mapping at a place that the kernel chooses.
        let mapped = unsafe {
            libc::mmap(
                ptr::null_mut(),
                Self::mapped_bytes(blocks),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let bytes = mapped.cast::<u8>();
        let memory = Self {
            mapped,
            first: bytes.wrapping_add(bytes.align_offset(BLOCK)),
            blocks,
        };
        memory.advise(advice)?;
        Some(memory)
    }

    /// The length of the mapping: one block more, for the alignment.
    const fn mapped_bytes(blocks: usize) -> usize {
        (blocks + 1) * BLOCK
    }

    /// Gives advice on the blocks. Returns `None` if the kernel refuses.
    pub(super) fn advise(&self, advice: i32) -> Option<()> {
        // SAFETY: the blocks are in the mapping, and no advice of this file drops their content.
        let answer = unsafe { libc::madvise(self.first.cast(), self.blocks * BLOCK, advice) };
        (answer == 0).then_some(())
    }

    /// Writes a byte at each `step` bytes.
    pub(super) fn touch(&self, step: usize) {
        for at in (0..self.blocks * BLOCK).step_by(step) {
            // SAFETY: the byte is in the mapping, which nothing else uses.
            unsafe { self.first.add(at).write_volatile(1) };
        }
    }

    /// Returns true if all pages are resident after a touch of each `step` bytes.
    pub(super) fn resident_pages(&self, step: usize) -> bool {
        if step == PAGE {
            return true;
        }
        let mut pages = vec![0_u8; self.blocks * BLOCK / PAGE];
        // SAFETY: the vector has a byte for each page of the blocks, and the call writes no others.
        let answer =
            unsafe { libc::mincore(self.first.cast(), self.blocks * BLOCK, pages.as_mut_ptr()) };
        answer == 0 && pages.iter().all(|page| page & 1 == 1)
    }
}

impl Drop for OwnMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.mapped, Self::mapped_bytes(self.blocks)) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault_costs::faults;
    use super::*;

    #[test]
    fn touched_memory_keeps_to_what_there_is() {
        assert_eq!(touched_bytes(100, 1000, None), 100);
        assert_eq!(touched_bytes(900, 1000, None), 500);
        assert_eq!(touched_bytes(900, 1000, Some(300)), 150);
        assert_eq!(touched_bytes(900, 1000, Some(0)), 0);
        assert_eq!(touched_bytes(900, 0, None), 0);
    }

    #[test]
    fn touched_blocks_are_resident() {
        let memory = OwnMemory::new(3, libc::MADV_NOHUGEPAGE).expect("memory");
        assert!(!memory.resident_pages(BLOCK));
        memory.touch(PAGE);
        assert!(memory.resident_pages(BLOCK));
        drop(memory);
        assert_eq!(touch_free_memory(0), 0);
        let before = faults();
        assert_eq!(touch_free_memory(6 << 20), 6 << 20);
        // A huge page is one fault.
        assert!(faults() >= before + 3, "{before}");
    }
}
