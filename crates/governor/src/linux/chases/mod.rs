//! Random cyclic pointer chases on this machine, timed.
//!
//! Every page of a chase holds one node, on one cache line. Pages alias a small file in memory: 64
//! base pages of addresses share one page of memory and use different lines of it. So the data
//! stays in the nearest cache, whatever the number of pages is, and the control chase visits the
//! same lines through few pages.
#![allow(unsafe_code, reason = "mappings of this process, and pointers in them")]

mod memory;

use memory::{LINE, LINES, Mapped, PAGE, PageFile};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

/// The pages that a control chase visits at a time.
const CONTROL_PAGES: usize = 32;
/// The most nodes of a chase. Each is a mapping, of which a process has 65,530.
const MOST_NODES: usize = 32 << 10;

/// The pages of a chase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChaseBacking {
    /// Base pages.
    Base,
    /// Huge pages of 2 MiB.
    Huge,
    /// Huge pages of 1 GiB, if the administrator has reserved one.
    Giant,
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

/// The nanoseconds of a load over a span of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanCost {
    /// Each load waits for the one before.
    pub dependent: f64,
    /// No load waits for another.
    pub independent: f64,
    /// The mappings whose mean this is.
    pub mappings: usize,
}

/// A timer of chases, which owns the memory that base pages alias.
#[derive(Debug)]
pub struct ChaseTimer {
    base: PageFile,
    huge: Option<PageFile>,
    giant: Option<PageFile>,
    last: Option<LastPages>,
    counter: Option<perf_event::Counter>,
    random: u64,
}

/// The pages of the last chase, still mapped.
#[derive(Debug)]
struct LastPages {
    offsets: Vec<u64>,
    backing: ChaseBacking,
    mapped: Mapped,
}

impl ChaseTimer {
    /// Creates a timer for the calling thread. `seed` determines the orders of chases.
    ///
    /// # Errors
    /// Returns the kernel's error if the memory cannot be made.
    pub fn new(seed: u64) -> io::Result<Self> {
        Ok(Self {
            base: PageFile::base(MOST_NODES as u64 / LINES * PAGE)?,
            huge: PageFile::huge(),
            giant: PageFile::giant(),
            last: None,
            counter: crate::counters::own_tlb_misses(),
            random: seed | 1,
        })
    }

    /// The most pages of a chase; 0 if this machine gives no such pages.
    pub fn most_pages(&self, backing: ChaseBacking) -> usize {
        self.file(backing).map_or(0, PageFile::most_pages)
    }

    const fn file(&self, backing: ChaseBacking) -> Option<&PageFile> {
        match backing {
            ChaseBacking::Base => Some(&self.base),
            ChaseBacking::Huge => self.huge.as_ref(),
            ChaseBacking::Giant => self.giant.as_ref(),
        }
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
        if offsets.is_empty() || offsets.len() > self.most_pages(backing) {
            return None;
        }
        let is_same = |last: &LastPages| last.backing == backing && last.offsets == offsets;
        // A chase is often timed in several orders, and mapping its pages takes longest.
        let last = match self.last.take().filter(is_same) {
            Some(last) => last,
            None => LastPages {
                offsets: offsets.to_vec(),
                backing,
                mapped: Mapped::new(offsets, self.file(backing)?)?,
            },
        };
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        self.shuffle(&mut order);
        let cost = self.chase(&last.mapped.nodes, &order, samples);
        self.last = Some(last);
        Some(cost)
    }

    /// Times a chase over as many lines as a chase of `nodes` pages has, through few pages. At most
    /// [`CONTROL_PAGES`] pages are visited at a time, so the TLBs hardly matter.
    pub fn time_control(&mut self, nodes: usize, samples: usize) -> Option<ChaseCost> {
        let pages = (nodes as u64).div_ceil(LINES);
        self.last = None;
        let mapped = Mapped::whole(pages, &self.base)?;
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
    pub fn time_string(
        &mut self,
        offsets: &[u64],
        backing: ChaseBacking,
        samples: usize,
    ) -> Option<ChaseCost> {
        if offsets.is_empty() || offsets.len() as u64 > LINES {
            return None;
        }
        self.last = None;
        let mapped = Mapped::string(offsets, self.file(backing)?)?;
        // References in no order lead to an arbitrary state of replacement.
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        self.shuffle(&mut order);
        for at in &order {
            // SAFETY: the nodes are aligned words of live mappings.
            black_box(unsafe { mapped.nodes[*at].read_volatile() });
        }
        let order: Vec<usize> = (0..offsets.len()).collect();
        Some(self.chase(&mapped.nodes, &order, samples))
    }

    /// Times chases over a line of each base page of anonymous memory, dependent and independent
    /// loads. Returns the nanoseconds of a load of both: means over at most this number of
    /// mappings. They exist together, so each has other page frames. A host may map frames of its
    /// guests in pieces of different sizes, so equal chases differ by their frames. `None` if the
    /// kernel does not give such pages.
    pub fn time_span(
        &mut self,
        bytes: u64,
        backing: ChaseBacking,
        samples: usize,
        mappings: usize,
    ) -> Option<SpanCost> {
        self.last = None;
        let mut all = Vec::new();
        let mut costs = Vec::new();
        for number in 0..mappings.max(1) {
            // The memory may be too fragmented for more huge pages.
            let Some(mapped) = Mapped::span(bytes, backing, number as u64) else {
                break;
            };
            costs.push(self.time_mapping(&mapped, bytes, samples));
            all.push(mapped);
        }
        let mean =
            |of: fn(&SpanCost) -> f64| costs.iter().map(of).sum::<f64>() / costs.len() as f64;
        (!costs.is_empty()).then(|| SpanCost {
            dependent: mean(|cost| cost.dependent),
            independent: mean(|cost| cost.independent),
            mappings: costs.len(),
        })
    }

    /// Times both kinds of loads in one mapping.
    fn time_mapping(&mut self, mapped: &Mapped, bytes: u64, samples: usize) -> SpanCost {
        let count = bytes / PAGE;
        // The lines of a page are spread, so that no set of a cache has more than its share.
        let line = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        let node = |at: u64| (mapped.first + at * PAGE + line(at) * LINE) as *mut usize;
        let nodes: Vec<*mut usize> = (0..count).map(node).collect();
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        self.shuffle(&mut order);
        let dependent = self.chase(&nodes, &order, samples).nanoseconds;
        let independent = (0..samples).map(|_| independent(&nodes, &order));
        SpanCost {
            dependent,
            independent: independent.fold(f64::INFINITY, f64::min),
            mappings: 1,
        }
    }

    /// Times dependent loads of all lines of anonymous memory, in one random order. `None` if the
    /// kernel does not give such pages.
    pub fn time_lines(
        &mut self,
        bytes: u64,
        backing: ChaseBacking,
        samples: usize,
    ) -> Option<ChaseCost> {
        self.last = None;
        let mapped = Mapped::span(bytes, backing, 0)?;
        let node = |at: u64| (mapped.first + at * LINE) as *mut usize;
        let nodes: Vec<*mut usize> = (0..bytes / LINE).map(node).collect();
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        self.shuffle(&mut order);
        Some(self.chase(&nodes, &order, samples))
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
        // Other programs may disturb one pair of times.
        let costs_more = |_| {
            let many = timer.time(&row, ChaseBacking::Base, 3).expect("pages");
            let control = timer.time_control(row.len(), 3).expect("pages");
            many.nanoseconds > control.nanoseconds
        };
        assert!((0..5).any(costs_more));
        assert!(timer.time(&[], ChaseBacking::Base, 3).is_none());
        assert!(timer.time(&[0, 0], ChaseBacking::Base, 3).is_none());
        let string = timer.time_string(&[0, PAGE, 0, PAGE * 2], ChaseBacking::Base, 3);
        assert!(string.is_some());
        let span = timer.time_span(8 << 20, ChaseBacking::Base, 3, 2);
        let span = span.expect("base pages");
        assert!(span.independent < span.dependent, "{span:?}");
        assert_eq!(span.mappings, 2);
        // Spans with different numbers exist together.
        let mapping = |number| Mapped::span(8 << 20, ChaseBacking::Base, number);
        let (first, second) = (mapping(0).expect("memory"), mapping(1).expect("memory"));
        assert_eq!(second.first, first.first + (8 << 20));
        assert!(mapping(0).is_none(), "the place is taken");
        drop((first, second));
        let near = timer.time_lines(16 << 10, ChaseBacking::Base, 3);
        let near = near.expect("base pages");
        assert!(near.nanoseconds < span.dependent, "{near:?} {span:?}");
    }

    #[test]
    fn the_core_clock_is_plausible() {
        let clock = core_clock();
        assert!((0.05..20.0).contains(&clock), "{clock}");
    }
}
