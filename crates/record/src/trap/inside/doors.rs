//! Opening and closing pages: the program traps at a page that is closed.
//!
//! With userfaultfd, a page that the memory file holds but no page table maps raises SIGBUS. To
//! open a page is to map it, and to close a page is to unmap it. No mapping is ever split. Without
//! userfaultfd, and for files that are not copied, pages are closed by protection (PROT_NONE),
//! which raises SIGSEGV.

#![allow(unsafe_code, reason = "memory at addresses that the program has")]

use std::ops::Range;

use super::arch::call;
use super::layout::{PAGE, second};
use super::regions::{Region, RegionKind};
use crate::trap::Mechanism;

/// The open file of userfaultfd, if it is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doors {
    faults: Option<i32>,
}

const UFFD_USER_MODE_ONLY: u64 = 1;
const UFFD_API: u64 = 0xaa;
const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
const FEATURE_SIGBUS: u64 = 1 << 7;
const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
const MODE_MISSING: u64 = 1;
const MODE_MINOR: u64 = 1 << 2;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_UNREGISTER: u64 = 0x8010_aa01;
const UFFDIO_CONTINUE: u64 = 0xc020_aa07;
/// No thread waits in the kernel for a page: each gets a signal.
const CONTINUE_WAKES_NONE: u64 = 1;

impl Doors {
    /// Doors that protection closes.
    pub(super) const fn protection() -> Self {
        Self { faults: None }
    }

    /// Doors of userfaultfd. `None` if the kernel lacks it or does not allow it.
    pub(super) fn userfaultfd() -> Option<Self> {
        let flags = libc::O_CLOEXEC as u64 | libc::O_NONBLOCK as u64;
        let open = |flags| call(libc::SYS_userfaultfd, [flags, 0, 0, 0, 0, 0]);
        let mut file = open(flags);
        if file < 0 {
            // Unprivileged users may handle the faults of their own code.
            file = open(flags | UFFD_USER_MODE_ONLY);
        }
        let file = i32::try_from(file).ok().filter(|file| *file >= 0)?;
        let features = FEATURE_MISSING_SHMEM | FEATURE_SIGBUS | FEATURE_MINOR_SHMEM;
        let mut api = [UFFD_API, features, 0];
        if control(file, UFFDIO_API, &mut api) < 0 {
            call(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0]);
            return None;
        }
        Some(Self { faults: Some(file) })
    }

    /// The mechanism for the memory file.
    pub(super) const fn mechanism(&self) -> Mechanism {
        match self.faults {
            Some(_) => Mechanism::Userfaultfd,
            None => Mechanism::Protection,
        }
    }

    /// The number of the open file, if there is one.
    pub(super) const fn file(&self) -> Option<i32> {
        self.faults
    }

    /// Gives the open file another number.
    pub(super) fn renumber(&mut self, number: i32) {
        self.faults = self.faults.map(|_| number);
    }

    /// The open file, if it closes the pages of that mapping.
    fn faults_of(&self, region: &Region) -> Option<i32> {
        self.faults.filter(|_| region.kind == RegionKind::Memory)
    }

    /// The protection that a new mapping needs so that its pages are closed.
    pub(super) fn first_protection(&self, region: &Region) -> i32 {
        match self.faults_of(region) {
            None if region.counts() => libc::PROT_NONE,
            _ => region.protection,
        }
    }

    /// Closes all pages of a mapping that counts, whatever their state is.
    ///
    /// # Errors
    /// The kernel's error number, if a range is too scattered for the kernel.
    pub(super) fn close_whole(&self, range: &Range<u64>, region: &Region) -> Result<(), i32> {
        if let Some(file) = self.faults_of(region) {
            let modes = MODE_MISSING | MODE_MINOR;
            let mut register = [range.start, range.end - range.start, modes, 0];
            check(control(file, UFFDIO_REGISTER, &mut register))?;
        }
        self.close(range, region)
    }

    /// Opens all pages of a mapping that counts, mapped or not, until they are closed again.
    ///
    /// # Errors
    /// As [`Doors::close_whole`].
    pub(super) fn open_whole(&self, range: &Range<u64>, region: &Region) -> Result<(), i32> {
        match self.faults_of(region) {
            Some(file) => {
                let mut parts = [range.start, range.end - range.start];
                check(control(file, UFFDIO_UNREGISTER, &mut parts))
            }
            None => protect(range, region.protection),
        }
    }

    /// Opens the pages of a range.
    ///
    /// # Errors
    /// As [`Doors::close_whole`].
    pub(super) fn open(&self, range: &Range<u64>, region: &Region) -> Result<(), i32> {
        let Some(file) = self.faults_of(region) else {
            return protect(range, region.protection);
        };
        let (mut start, mut filled) = (range.start, None);
        while start < range.end {
            let mut parts = [start, range.end - start, CONTINUE_WAKES_NONE, 0];
            let result = control(file, UFFDIO_CONTINUE, &mut parts);
            let mapped = parts[3] as i64;
            match -result as i32 {
                _ if result >= 0 => return Ok(()),
                // Some pages were open already, or the kernel was interrupted.
                _ if mapped > 0 => start += mapped as u64,
                libc::EEXIST => start += PAGE,
                libc::EAGAIN => {}
                // The memory file does not hold the page yet.
                libc::EFAULT if filled != Some(start) => {
                    fill(start);
                    filled = Some(start);
                }
                error => return Err(error),
            }
        }
        Ok(())
    }

    /// Closes the pages of a range. They keep their contents.
    ///
    /// # Errors
    /// As [`Doors::close_whole`].
    pub(super) fn close(&self, range: &Range<u64>, region: &Region) -> Result<(), i32> {
        match self.faults_of(region) {
            Some(_) => {
                let bytes = range.end - range.start;
                let advice = libc::MADV_DONTNEED as u64;
                check(call(
                    libc::SYS_madvise,
                    [range.start, bytes, advice, 0, 0, 0],
                ))
            }
            None => protect(range, libc::PROT_NONE),
        }
    }
}

/// Lets the memory file hold the page of an address.
fn fill(address: u64) {
    // SAFETY: the second place of the program's memory is mapped, readable and never closed. A read
    // lets the kernel allocate a page of zeroes.
    unsafe { (second(address) as *const u8).read_volatile() };
}

/// Sets the protection of a range.
fn protect(range: &Range<u64>, protection: i32) -> Result<(), i32> {
    let bytes = range.end - range.start;
    check(call(
        libc::SYS_mprotect,
        [range.start, bytes, protection as u64, 0, 0, 0],
    ))
}

fn control<const N: usize>(file: i32, request: u64, words: &mut [u64; N]) -> i64 {
    let words = words.as_mut_ptr() as u64;
    call(libc::SYS_ioctl, [file as u64, request, words, 0, 0, 0])
}

/// The error number of a failed call.
pub(super) fn check(result: i64) -> Result<(), i32> {
    if result < 0 {
        Err(-result as i32)
    } else {
        Ok(())
    }
}
