//! The memory of chases: files of pages, and mappings of them at chosen addresses.

use super::ChaseBacking;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The sizes of a base page, a huge page, a giant page and a cache line.
pub(super) const PAGE: u64 = 4 << 10;
pub(super) const BLOCK: u64 = 2 << 20;
const GIANT: u64 = 1 << 30;
pub(super) const LINE: u64 = 64;
/// The lines of a base page.
pub(super) const LINES: u64 = PAGE / LINE;
/// The lowest address of chases: programs and libraries of 64-bit Linux are above or far below.
pub(super) const BASE: u64 = 1 << 44;

/// The most anonymous huge pages of a chase: half a gigabyte.
const MOST_ANONYMOUS: usize = 256;
const NAME: &CStr = c"broadleaf-probe";

/// The pages that chases map: those of a file in memory, or anonymous ones.
#[derive(Debug)]
pub(super) struct PageFile {
    /// `None`: each mapping has anonymous pages of its own.
    file: Option<OwnedFd>,
    /// The bytes of a page, and of the file.
    page: u64,
    bytes: u64,
    /// The line of `smaps` that counts the huge pages, which have to be advised and checked.
    advised: Option<&'static str>,
}

impl PageFile {
    /// A file of base pages.
    pub(super) fn base(bytes: u64) -> io::Result<Self> {
        Self::new(0, PAGE, bytes)
    }

    /// Huge pages of 2 MiB: a reserved one, one of a file that the kernel makes on advice, or
    /// anonymous ones.
    pub(super) fn huge() -> Option<Self> {
        let reserved = Self::new(libc::MFD_HUGETLB | libc::MFD_HUGE_2MB, BLOCK, BLOCK);
        let reserved = reserved.ok().filter(Self::maps);
        reserved.or_else(|| {
            let mut advised = Self::new(0, BLOCK, BLOCK).ok()?;
            advised.advised = Some("ShmemPmdMapped:");
            if advised.maps() {
                return Some(advised);
            }
            let anonymous = Self {
                file: None,
                advised: Some("AnonHugePages:"),
                ..advised
            };
            anonymous.maps().then_some(anonymous)
        })
    }

    /// A reserved huge page of 1 GiB.
    pub(super) fn giant() -> Option<Self> {
        let reserved = Self::new(libc::MFD_HUGETLB | libc::MFD_HUGE_1GB, GIANT, GIANT);
        reserved.ok().filter(Self::maps)
    }

    fn new(flags: libc::c_uint, page: u64, bytes: u64) -> io::Result<Self> {
        // SAFETY: a literal name. A result that is not negative is a new file descriptor without
        // another owner.
        let file = unsafe {
            let fd = libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC | flags);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: no pointers.
        if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            file: Some(file),
            page,
            bytes,
            advised: None,
        })
    }

    /// The most pages of a chase. Anonymous huge pages take memory each.
    pub(super) fn most_pages(&self) -> usize {
        match self.file {
            Some(_) => (self.bytes / LINE) as usize,
            None => MOST_ANONYMOUS,
        }
    }

    /// Returns true if two mappings of a page can be made.
    fn maps(&self) -> bool {
        Mapped::new(&[0, self.page], self).is_some()
    }
}

/// Mappings of a chase, and the addresses of its nodes.
#[derive(Debug)]
pub(super) struct Mapped {
    ranges: Vec<(u64, u64)>,
    pub(super) nodes: Vec<*mut usize>,
    pub(super) first: u64,
}

impl Mapped {
    const fn empty() -> Self {
        Self {
            ranges: Vec::new(),
            nodes: Vec::new(),
            first: BASE,
        }
    }

    /// Pages at different offsets, each with a node. `None` if the kernel does not map them so.
    pub(super) fn new(offsets: &[u64], file: &PageFile) -> Option<Self> {
        let mut mapped = Self::empty();
        for (at, offset) in offsets.iter().enumerate() {
            let line = at as u64 * LINE;
            let of_file = match file.file {
                Some(_) => line / file.page * file.page,
                None => 0,
            };
            if at >= file.most_pages() {
                return None;
            }
            let place = mapped.page(*offset, file, of_file)?;
            mapped.nodes.push((place + line % file.page) as *mut usize);
        }
        mapped.touch(file)?;
        Some(mapped)
    }

    /// Pages that may come several times, each time with a node on another line.
    pub(super) fn string(offsets: &[u64], file: &PageFile) -> Option<Self> {
        let mut mapped = Self::empty();
        for (at, offset) in offsets.iter().enumerate() {
            let place = BASE.checked_add(*offset)?;
            if !mapped.ranges.contains(&(place, file.page)) {
                mapped.page(*offset, file, 0)?;
            }
            mapped.nodes.push((place + at as u64 * LINE) as *mut usize);
        }
        mapped.touch(file)?;
        Some(mapped)
    }

    /// Pages of the file in a row.
    pub(super) fn whole(pages: u64, file: &PageFile) -> Option<Self> {
        let mut mapped = Self::empty();
        mapped.map(BASE, pages * file.page, Some((file, 0)))?;
        Some(mapped)
    }

    /// One range of anonymous memory, with all pages in place. Ranges of one length that exist
    /// together have different numbers, from 0 on.
    pub(super) fn span(bytes: u64, backing: ChaseBacking, number: u64) -> Option<Self> {
        let bytes = bytes.next_multiple_of(BLOCK);
        let first = BASE.checked_add(number.checked_mul(bytes)?)?;
        let mut mapped = Self::empty();
        mapped.first = first;
        mapped.map(first, bytes, None)?;
        let is_huge = backing != ChaseBacking::Base;
        let advice = match is_huge {
            true => libc::MADV_HUGEPAGE,
            false => libc::MADV_NOHUGEPAGE,
        };
        advise(first, bytes, advice)?;
        let before = huge_bytes("AnonHugePages:")?;
        for at in (0..bytes).step_by(PAGE as usize) {
            // SAFETY: the byte is in the mapping, which nothing else uses.
            unsafe { ((first + at) as *mut u8).write_volatile(1) };
        }
        let got = huge_bytes("AnonHugePages:")?.saturating_sub(before);
        // The kernel makes no huge pages against the advice, but may fail to make them.
        (!is_huge || got >= bytes).then_some(mapped)
    }

    fn page(&mut self, offset: u64, file: &PageFile, of_file: u64) -> Option<u64> {
        let place = BASE.checked_add(offset)?;
        self.map(place, file.page, Some((file, of_file)))?;
        if file.advised.is_some() {
            advise(place, file.page, libc::MADV_HUGEPAGE)?;
        }
        Some(place)
    }

    fn map(&mut self, place: u64, bytes: u64, file: Option<(&PageFile, u64)>) -> Option<()> {
        let of_file = file.and_then(|(file, at)| Some((file, file.file.as_ref()?, at)));
        let flags = match of_file {
            Some((file, ..)) if file.advised.is_none() => libc::MAP_SHARED | libc::MAP_POPULATE,
            Some(_) => libc::MAP_SHARED,
            None => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        };
        let (fd, offset) = of_file.map_or((-1, 0), |(_, file, at)| (file.as_raw_fd(), at));
        // SAFETY: a new mapping, which replaces none.
        let mapped = unsafe {
            libc::mmap(
                place as *mut libc::c_void,
                bytes as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                flags | libc::MAP_FIXED_NOREPLACE,
                fd,
                offset as libc::off_t,
            )
        };
        if mapped == libc::MAP_FAILED {
            return None;
        }
        self.ranges.push((mapped as u64, bytes));
        // Kernels before 4.17 take the place as a hint.
        (mapped as u64 == place).then_some(())
    }

    /// Writes to every node. Returns `None` if advised huge pages are not there.
    fn touch(&self, file: &PageFile) -> Option<()> {
        let huge = || file.advised.map_or(Some(0), huge_bytes);
        let before = huge()?;
        for node in &self.nodes {
            // SAFETY: the node is in a mapping of this value.
            unsafe { node.write_volatile(1) };
        }
        let bytes: u64 = self.ranges.iter().map(|(_, bytes)| bytes).sum();
        let got = huge()?.saturating_sub(before);
        (file.advised.is_none() || got >= bytes).then_some(())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        for (place, bytes) in &self.ranges {
            // SAFETY: the mapping is this value's own.
            unsafe { libc::munmap(*place as *mut libc::c_void, *bytes as usize) };
        }
    }
}

fn advise(place: u64, bytes: u64, advice: i32) -> Option<()> {
    // SAFETY: the range is a mapping of a chase, and no advice of this file drops content.
    let answer = unsafe { libc::madvise(place as *mut libc::c_void, bytes as usize, advice) };
    (answer == 0).then_some(())
}

/// The huge pages of this process of one kind, in bytes, as its `smaps` has them.
fn huge_bytes(kind: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib << 10)
}
