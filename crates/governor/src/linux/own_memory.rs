//! Anonymous memory of this process, in blocks.
#![allow(unsafe_code, reason = "mappings of this process")]

use super::machine::available_bytes;
use std::ptr;

/// The size of a block: a huge page.
pub(super) const BLOCK: usize = 2 << 20;
/// The size of a base page.
pub(super) const PAGE: usize = 4 << 10;

/// Touches free memory and frees it again: this size, or half of the available memory if that is
/// less. The pages are huge unless huge pages are forbidden to this process. A host that took the
/// memory back maps it again. Returns false if the kernel refuses.
pub fn touch_free_memory(bytes: u64) -> bool {
    let bytes = bytes.min(available_bytes() / 2);
    let blocks = usize::try_from(bytes).map_or(0, |bytes| bytes.div_ceil(BLOCK));
    let memory = OwnMemory::new(blocks, libc::MADV_HUGEPAGE);
    memory.inspect(|memory| memory.touch(PAGE)).is_some()
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
    use super::*;

    #[test]
    fn touched_blocks_are_resident() {
        let memory = OwnMemory::new(3, libc::MADV_NOHUGEPAGE).expect("memory");
        assert!(!memory.resident_pages(BLOCK));
        memory.touch(PAGE);
        assert!(memory.resident_pages(BLOCK));
        drop(memory);
        assert!(touch_free_memory(5 << 20));
    }
}
