//! Random cyclic pointer chases on this machine, timed.
//!
//! Every page of a chase holds one node, on one cache line. Base pages alias a small file in
//! memory: 64 pages of addresses share one page of memory and use different lines of it. So the
//! data stays in the nearest cache, whatever the number of pages is, and the control chase visits
//! the same lines through few pages.
#![allow(unsafe_code, reason = "mappings of this process, and pointers in them")]

use std::hint::black_box;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The size of a base page, and of a cache line.
const PAGE: u64 = 4 << 10;
const LINE: u64 = 64;
const LINES: u64 = PAGE / LINE;
const BLOCK: u64 = 2 << 20;
/// The pages that a control chase visits at a time.
const CONTROL_PAGES: usize = 32;
/// The most nodes of a chase. Each is a mapping, of which a process has 65,530.
pub const MOST_NODES: usize = 32 << 10;
/// The lowest address of chases: programs and libraries of 64-bit Linux lie above or far below.
const BASE: u64 = 1 << 44;

/// The backing of a chase's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChaseBacking {
    /// Base pages that alias a small file in memory.
    Base,
    /// Anonymous huge pages of 2 MiB. A chase is refused if the kernel does not give them.
    Huge,
    /// Anonymous memory in base pages, with memory of its own for each page.
    Plain,
}

/// The cost of a chase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChaseCost {
    /// The nanoseconds of a load, in the quickest sample.
    pub nanoseconds: f64,
    /// The misses of the data TLBs by the processor's counter, for each load, in the sample with
    /// the fewest. `None` without a counter.
    pub misses: Option<f64>,
}

/// A timer of chases, which owns the memory that base pages alias.
#[derive(Debug)]
pub struct ChaseTimer {
    memory: OwnedFd,
    counter: Option<perf_event::Counter>,
    random: u64,
}

impl ChaseTimer {
    /// Creates a timer for the calling thread. `seed` determines the orders of chases.
    ///
    /// # Errors
    /// Returns the kernel's error if the memory cannot be made.
    pub fn new(seed: u64) -> io::Result<Self> {
        // SAFETY: a literal name. A result that is not negative is a new file descriptor without
        // another owner.
        let memory = unsafe {
            let fd = libc::memfd_create(c"broadleaf-probe".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let bytes = (MOST_NODES as u64 / LINES) * PAGE;
        // SAFETY: no pointers.
        if unsafe { libc::ftruncate(memory.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            memory,
            counter: crate::counters::own_tlb_misses(),
            random: seed | 1,
        })
    }

    /// Returns true if the processor counts TLB misses.
    pub const fn has_counter(&self) -> bool {
        self.counter.is_some()
    }

    /// Times a chase over the pages at these offsets from the lowest address, `samples` times in
    /// one random order. Returns `None` if the kernel does not map them so, or if there are too
    /// many.
    pub fn time(
        &mut self,
        offsets: &[u64],
        backing: ChaseBacking,
        samples: usize,
    ) -> Option<ChaseCost> {
        if offsets.is_empty() || offsets.len() > MOST_NODES {
            return None;
        }
        let mapped = Mapped::new(offsets, backing, self.memory.as_raw_fd())?;
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        self.shuffle(&mut order);
        Some(self.chase(&mapped.nodes, &order, samples))
    }

    /// Times a chase over as many lines as a chase of `nodes` pages has, through few pages. At most
    /// [`CONTROL_PAGES`] pages are visited at a time, so the TLBs hardly matter.
    pub fn time_control(&mut self, nodes: usize, samples: usize) -> Option<ChaseCost> {
        let pages = (nodes as u64).div_ceil(LINES);
        let mapped = Mapped::whole(pages, self.memory.as_raw_fd())?;
        let mut order: Vec<usize> = (0..nodes).collect();
        for part in order.chunks_mut(CONTROL_PAGES * LINES as usize) {
            self.shuffle(part);
        }
        let node = |at: u64| (mapped.first + at * LINE) as *mut usize;
        let nodes: Vec<*mut usize> = (0..nodes as u64).map(node).collect();
        Some(self.chase(&nodes, &order, samples))
    }

    /// Times a string of pages that is repeated in its own order. A page may come several times, on
    /// a line of its own each time, so a string has at most 64 pages.
    pub fn time_string(&mut self, offsets: &[u64], samples: usize) -> Option<ChaseCost> {
        if offsets.is_empty() || offsets.len() as u64 > LINES {
            return None;
        }
        let mut mapped = Mapped::empty();
        for (at, offset) in offsets.iter().enumerate() {
            let place = BASE.checked_add(*offset)?;
            if !mapped.ranges.contains(&(place, PAGE)) {
                mapped.map(place, PAGE, Some((self.memory.as_raw_fd(), 0)))?;
            }
            let node = place + at as u64 * LINE;
            mapped.nodes.push(node as *mut usize);
        }
        let order: Vec<usize> = (0..offsets.len()).collect();
        Some(self.chase(&mapped.nodes, &order, samples))
    }

    /// Times chases over `lines` lines of huge memory that are `step` bytes apart, dependent and
    /// independent. Returns the nanoseconds of a load of both.
    pub fn time_span(
        &mut self,
        span: u64,
        backing: ChaseBacking,
        samples: usize,
    ) -> Option<(f64, f64)> {
        let mapped = Mapped::span(span, backing)?;
        let count = (span / PAGE) as usize;
        // A line of each page, in different sets of the caches.
        let node = |at: u64| (mapped.first + at * PAGE + at * 7 % LINES * LINE) as *mut usize;
        let nodes: Vec<*mut usize> = (0..count as u64).map(node).collect();
        let mut order: Vec<usize> = (0..count).collect();
        self.shuffle(&mut order);
        let dependent = self.chase(&nodes, &order, samples).nanoseconds;
        let independent = (0..samples).map(|_| independent(&nodes, &order));
        let independent = independent.fold(f64::INFINITY, f64::min);
        Some((dependent, independent))
    }

    /// Links the nodes in this order, and goes round them.
    fn chase(&mut self, nodes: &[*mut usize], order: &[usize], samples: usize) -> ChaseCost {
        for (at, from) in order.iter().enumerate() {
            let to = order[(at + 1) % order.len()];
            // SAFETY: the nodes are aligned words of live mappings that nothing else uses.
            unsafe { nodes[*from].write(nodes[to] as usize) };
        }
        let loads = (2 * nodes.len()).max(LEAST_LOADS);
        let mut at = nodes[order[0]] as usize;
        at = go(at, loads);
        let (mut nanoseconds, mut misses) = (f64::INFINITY, None);
        for _ in 0..samples.max(1) {
            let before = self.counter.as_mut().and_then(|one| one.read().ok());
            let began = Instant::now();
            at = go(at, loads);
            let took = began.elapsed();
            let after = self.counter.as_mut().and_then(|one| one.read().ok());
            nanoseconds = f64::min(nanoseconds, took.as_nanos() as f64 / loads as f64);
            if let (Some(before), Some(after)) = (before, after) {
                let share = after.saturating_sub(before) as f64 / loads as f64;
                misses = Some(misses.map_or(share, |known: f64| known.min(share)));
            }
        }
        black_box(at);
        ChaseCost {
            nanoseconds,
            misses,
        }
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            order.swap(last, (self.random % (last as u64 + 1)) as usize);
        }
    }
}

/// The loads of a sample, at least: some tens of microseconds, far above the clock's step.
const LEAST_LOADS: usize = 8 << 10;

/// Follows pointers, one load after the other.
#[inline(never)]
fn go(first: usize, loads: usize) -> usize {
    let mut at = first;
    for _ in 0..loads {
        // SAFETY: each node holds the address of another node of the same live mappings.
        at = unsafe { (at as *const usize).read_volatile() };
    }
    at
}

/// The nanoseconds of a load of nodes whose addresses do not depend on other loads.
#[inline(never)]
fn independent(nodes: &[*mut usize], order: &[usize]) -> f64 {
    let addresses: Vec<*const usize> = order.iter().map(|at| nodes[*at].cast_const()).collect();
    let mut sum = 0_usize;
    let began = Instant::now();
    for address in &addresses {
        // SAFETY: the nodes are aligned words of live mappings.
        sum = sum.wrapping_add(unsafe { address.read_volatile() });
    }
    let took = began.elapsed();
    black_box(sum);
    took.as_nanos() as f64 / addresses.len() as f64
}

/// Returns the core clock in cycles a nanosecond, from a chain of additions and exclusive ors that
/// each take one cycle. The quickest of several trials counts.
pub fn core_clock() -> f64 {
    const STEPS: u32 = 200_000;
    let (add, flip) = (black_box(0x9e37_79b9_7f4a_7c15_u64), black_box(0x5bd1_e995));
    let trial = || {
        let mut value = black_box(1_u64);
        let began = Instant::now();
        for _ in 0..STEPS {
            value = value.wrapping_add(add) ^ flip;
        }
        black_box(value);
        began.elapsed()
    };
    let quickest = (0..20).map(|_| trial()).min().unwrap_or(Duration::MAX);
    f64::from(2 * STEPS) / quickest.as_nanos().max(1) as f64
}

/// Mappings of a chase, and the addresses of its nodes.
struct Mapped {
    ranges: Vec<(u64, u64)>,
    nodes: Vec<*mut usize>,
    first: u64,
}

impl Mapped {
    const fn empty() -> Self {
        Self {
            ranges: Vec::new(),
            nodes: Vec::new(),
            first: 0,
        }
    }

    /// Pages at offsets, each with a node.
    fn new(offsets: &[u64], backing: ChaseBacking, memory: i32) -> Option<Self> {
        let mut mapped = Self::empty();
        for (at, offset) in offsets.iter().enumerate() {
            let at = at as u64;
            let place = BASE.checked_add(*offset)?;
            let line = at % LINES * LINE;
            let inside = match backing {
                ChaseBacking::Base => {
                    mapped.map(place, PAGE, Some((memory, at / LINES * PAGE)))?;
                    line
                }
                ChaseBacking::Plain => {
                    mapped.map(place, PAGE, None)?;
                    line
                }
                ChaseBacking::Huge => {
                    mapped.map(place, BLOCK, None)?;
                    mapped.advise(place, BLOCK, libc::MADV_HUGEPAGE)?;
                    line + at / LINES % (BLOCK / PAGE) * PAGE
                }
            };
            mapped.nodes.push((place + inside) as *mut usize);
        }
        mapped.touch(backing)?;
        Some(mapped)
    }

    /// Pages of the file in a row.
    fn whole(pages: u64, memory: i32) -> Option<Self> {
        let mut mapped = Self::empty();
        mapped.first = BASE;
        mapped.map(BASE, pages * PAGE, Some((memory, 0)))?;
        Some(mapped)
    }

    /// One range of anonymous memory.
    fn span(bytes: u64, backing: ChaseBacking) -> Option<Self> {
        let mut mapped = Self::empty();
        mapped.first = BASE;
        let bytes = bytes.next_multiple_of(BLOCK);
        mapped.map(BASE, bytes, None)?;
        let advice = match backing {
            ChaseBacking::Huge => libc::MADV_HUGEPAGE,
            _ => libc::MADV_NOHUGEPAGE,
        };
        mapped.advise(BASE, bytes, advice)?;
        let touched = (0..bytes).step_by(PAGE as usize);
        mapped.nodes = touched.map(|at| (BASE + at) as *mut usize).collect();
        mapped.touch(backing)?;
        mapped.nodes = Vec::new();
        Some(mapped)
    }

    fn map(&mut self, place: u64, bytes: u64, file: Option<(i32, u64)>) -> Option<()> {
        let flags = match file {
            Some(_) => libc::MAP_SHARED | libc::MAP_POPULATE,
            None => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        };
        let (fd, offset) = file.unwrap_or((-1, 0));
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

    fn advise(&self, place: u64, bytes: u64, advice: i32) -> Option<()> {
        // SAFETY: the range is a mapping of this value, and no advice of this file drops content.
        let answer = unsafe { libc::madvise(place as *mut libc::c_void, bytes as usize, advice) };
        (answer == 0).then_some(())
    }

    /// Writes to every node. Returns `None` if huge pages were asked for and are not there.
    fn touch(&self, backing: ChaseBacking) -> Option<()> {
        let before = match backing {
            ChaseBacking::Huge => anonymous_huge_bytes()?,
            _ => 0,
        };
        for node in &self.nodes {
            // SAFETY: the node is in a mapping of this value.
            unsafe { node.write_volatile(1) };
        }
        if backing == ChaseBacking::Huge {
            let bytes: u64 = self.ranges.iter().map(|(_, bytes)| bytes).sum();
            let got = anonymous_huge_bytes()?.saturating_sub(before);
            return (got >= bytes).then_some(());
        }
        Some(())
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

/// The anonymous huge pages of this process, in bytes, as its `smaps` has them.
fn anonymous_huge_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Pins the calling thread to a processor.
pub fn pin(cpu: usize) -> bool {
    // SAFETY: a structure of bits, for which zeroes are values; the call reads it alone.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pages_cost_more_than_few_and_mappings_go() {
        let mut timer = ChaseTimer::new(1).expect("a timer");
        let far: Vec<u64> = (0..64).map(|page| page << 30).collect();
        let few = timer.time(&far[..2], ChaseBacking::Base, 5).expect("pages");
        assert!(few.nanoseconds > 0.1, "{few:?}");
        // Each place is free again, so the same chase can be mapped.
        for _ in 0..3 {
            assert!(timer.time(&far, ChaseBacking::Base, 3).is_some());
        }
        let row: Vec<u64> = (0..16384).map(|page| page * PAGE).collect();
        let many = timer.time(&row, ChaseBacking::Base, 3).expect("pages");
        let control = timer.time_control(row.len(), 3).expect("pages");
        assert!(
            many.nanoseconds > control.nanoseconds,
            "{many:?} {control:?}"
        );
        assert!(timer.time(&[], ChaseBacking::Base, 3).is_none());
        assert!(timer.time(&[0, 0], ChaseBacking::Base, 3).is_none());
    }

    #[test]
    fn the_core_clock_is_plausible() {
        let clock = core_clock();
        assert!((0.05..20.0).contains(&clock), "{clock}");
    }
}
