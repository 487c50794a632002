//! The frames of zeroes that the kernel maps for memory that was only read.
#![allow(unsafe_code, reason = "a local page that is only read")]

use crate::seen::PAGE_BYTES;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr;

/// The bits of a `pagemap` entry that hold the frame number.
pub(super) const FRAME: u64 = (1 << 55) - 1;
/// `KPF_ZERO_PAGE` (`linux/kernel-page-flags.h`).
const ZERO_PAGE: u64 = 1 << 24;

/// The frames of zeroes. `pagemap` shows a page of zeroes without bit 56 and without bit 61,
/// exactly like a page of anonymous memory that a fork shares. Only the frame number
/// distinguishes the two, and the kernel shows it to `CAP_SYS_ADMIN` alone.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The frame of the page of zeroes. The value is 0 if frame numbers are hidden, and `None`
    /// before the first query.
    page: Option<u64>,
}

impl Frames {
    /// Returns true if the kernel shows frame numbers.
    #[cfg(test)]
    pub(super) fn are_visible(&mut self) -> bool {
        self.page() != 0
    }

    /// Returns true if this `pagemap` entry is of the kernel's page of zeroes.
    pub(super) fn is_zero(&mut self, entry: u64) -> bool {
        entry >> 63 == 1 && self.is_frame_of_zeroes(entry & FRAME)
    }

    /// Returns true if this frame is the kernel's page of zeroes.
    pub(super) fn is_frame_of_zeroes(&mut self, frame: u64) -> bool {
        let page = self.page();
        page != 0 && frame == page
    }

    fn page(&mut self) -> u64 {
        *self.page.get_or_insert_with(|| find().unwrap_or(0))
    }
}

/// Returns true if a frame belongs to the kernel's superpage of zeroes. Returns false if
/// `kpageflags` cannot be read.
pub(super) fn is_huge_zero(frame: u64) -> bool {
    let mut flags = [0_u8; 8];
    let read =
        File::open("/proc/kpageflags").and_then(|file| file.read_exact_at(&mut flags, frame * 8));
    read.is_ok() && u64::from_le_bytes(flags) & ZERO_PAGE != 0
}

/// Returns the frame of zeroes: the frame of a page that this process only read.
fn find() -> io::Result<u64> {
    // SAFETY: a new mapping at an address of the kernel's choice, with no other user. It is read
    // within its length and unmapped once.
    let address = unsafe {
        let page = libc::mmap(
            ptr::null_mut(),
            PAGE_BYTES as usize,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        ptr::read_volatile(page.cast::<u8>());
        page
    };
    let mut entry = [0_u8; 8];
    let read = File::open("/proc/self/pagemap")
        .and_then(|file| file.read_exact_at(&mut entry, address as u64 / PAGE_BYTES * 8));
    // SAFETY: the mapping from above, of that length; nothing refers to it any more.
    unsafe { libc::munmap(address, PAGE_BYTES as usize) };
    read?;
    Ok(u64::from_le_bytes(entry) & FRAME)
}
