//! The facts of x86 cores. CPUID describes the core that executes it.

use broadleaf_machine::{CoreFacts, cpuid_facts};
use raw_cpuid::native_cpuid::cpuid_count;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

fn facts() -> CoreFacts {
    cpuid_facts(&|leaf, subleaf| {
        let found = cpuid_count(leaf, subleaf);
        [found.eax, found.ebx, found.ecx, found.edx]
    })
}

/// The facts of each processor that this process may run on. A thread of its own moves from one to
/// the next, so that the calling thread stays where it is.
pub(super) fn cores() -> Vec<(usize, CoreFacts)> {
    let each = || {
        let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let pinned = cpus.filter_map(|cpu| {
            let mut one = CpuSet::new();
            one.set(cpu);
            sched_setaffinity(None, &one).ok()?;
            Some((cpu, facts()))
        });
        pinned.collect::<Vec<_>>()
    };
    let found = std::thread::scope(|scope| scope.spawn(each).join());
    match found {
        Ok(cores) if !cores.is_empty() => cores,
        // The system allows no thread to be moved.
        _ => vec![(0, facts())],
    }
}
