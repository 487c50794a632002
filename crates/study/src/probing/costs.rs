//! The costs of walks, spans and faults on this processor.

use broadleaf_governor::{ChaseBacking, ChaseTimer, core_clock, measure_fault_costs};
use broadleaf_metrics::{ProbedSpan, ProbedValue};
use broadleaf_probe::{Analysis, Calibration, ChaseCosts};
use broadleaf_units::PageSize;

use super::hardware::HardwareChases;
use super::values::measured;

/// The trials of each cost.
const TRIALS: usize = 5;
/// The pages of a chase that shows the walks of far pages.
const FAR_PAGES: u64 = 256;

/// The least cost of a few orders of a chase, several times.
fn trials(chases: &mut HardwareChases<'_>, pages: &[u64]) -> Vec<f64> {
    let trial = |_| {
        let orders = (0..3).filter_map(|_| Some(chases.reading(pages)?.extra));
        orders.min_by(f64::total_cmp)
    };
    (0..TRIALS).filter_map(trial).collect()
}

/// The costs of a second-level hit and of walks, for pages of a size.
pub(super) fn walks(
    chases: &mut HardwareChases<'_>,
    size: &str,
    calibration: Calibration,
    found: Option<&Analysis>,
) -> Vec<ProbedValue> {
    let mut values = Vec::new();
    let hit = calibration.second_hit;
    if let Some(analysis) = found {
        let first = analysis.first.capacity.value.filter(|_| hit.is_some());
        let pages = first.map(|first| row(2 * first as u64, chases.unit()));
        let cost = pages.map_or_else(Vec::new, |pages| trials(chases, &pages));
        let reason = "no second level shows";
        values.push(measured(
            &format!("L2 {size} hit"),
            cost,
            "cycles more",
            reason,
        ));
    }
    let reach = found.and_then(|found| {
        let second = found.second.as_ref().and_then(|level| level.capacity.value);
        second.or(found.first.capacity.value)
    });
    let most = chases.most_pages() as u64;
    let pages = reach.map_or(FAR_PAGES, |reach| 2 * reach as u64).min(most);
    let cost = trials(chases, &row(pages, chases.unit()));
    let beyond = cost.into_iter().map(|cost| cost - hit.unwrap_or(0.0));
    // Pages that fit show no walk.
    let beyond = beyond.filter(|cost| *cost > calibration.walk / 4.0);
    values.push(measured(
        &format!("walk {size}"),
        beyond.collect(),
        "cycles more than an L2 hit",
        "no chase of such pages is walked",
    ));
    values
}

fn row(count: u64, unit: u64) -> Vec<u64> {
    (0..count).map(|page| page * unit).collect()
}

/// The walks of base pages that need an entry of a page directory each, and a directory each.
pub(super) fn far_walks(
    chases: &mut HardwareChases<'_>,
    calibration: Calibration,
) -> Vec<ProbedValue> {
    let mut values = Vec::new();
    for (span, words) in [(PageSize::SIZE_2M, "2 MiB"), (PageSize::SIZE_1G, "GiB")] {
        for count in [FAR_PAGES, 2 * FAR_PAGES] {
            let pages = row(count, span.bytes());
            let cost = trials(chases, &pages).into_iter();
            let beyond = cost.map(|cost| cost - calibration.second_hit.unwrap_or(0.0));
            values.push(measured(
                &format!("walk 4k, {count} pages, one per {words}"),
                beyond.collect(),
                "cycles more than an L2 hit",
                "such pages cannot be mapped",
            ));
        }
    }
    values
}

/// The spans that are measured, in MiB.
const SPANS: [u64; 8] = [1, 4, 16, 32, 64, 128, 256, 1024];
/// The longest span of a quick probe.
const QUICK_MIB: u64 = 64;

/// The mappings of each span, with different page frames. Loads of the same span of base pages
/// differed by a half in the guest of a host that maps some frames in large pieces.
const MAPPINGS: u64 = 5;
/// The most memory of the mappings of a span together, in MiB.
const TOGETHER_MIB: u64 = 1024;

/// The cost of dependent and independent loads by span.
pub(super) fn spans(timer: &mut ChaseTimer, samples: usize, is_quick: bool) -> Vec<ProbedSpan> {
    let free = available_mib().unwrap_or(0) / 4;
    let most = if is_quick { QUICK_MIB } else { u64::MAX }.min(free);
    let mut spans = Vec::new();
    for mib in SPANS.into_iter().filter(|mib| *mib <= most) {
        for (backing, page_size) in [(ChaseBacking::Base, "4k"), (ChaseBacking::Huge, "2m")] {
            if page_size == "2m" && mib < 2 {
                continue;
            }
            let mappings = (free.min(TOGETHER_MIB) / mib).clamp(1, MAPPINGS) as usize;
            let Some(cost) = timer.time_span(mib << 20, backing, samples, mappings) else {
                continue;
            };
            let clock = core_clock();
            let rounded = |nanoseconds: f64| (nanoseconds * clock * 10.0).round() / 10.0;
            spans.push(ProbedSpan {
                mib,
                page_size: page_size.to_owned(),
                dependent_cycles: rounded(cost.dependent),
                independent_cycles: rounded(cost.independent),
            });
        }
    }
    spans
}

/// The memory that programs can still get, in MiB.
fn available_mib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib >> 10)
}

/// The costs of page faults, of zeroing and of removal.
pub(super) fn faults() -> Vec<ProbedValue> {
    let trials: Vec<_> = (0..TRIALS).map(|_| measure_fault_costs()).collect();
    let of = |name: &str, part: &dyn Fn(usize) -> Option<std::time::Duration>| {
        let found = (0..trials.len()).filter_map(part);
        let found = found.map(|time| time.as_nanos() as f64).collect();
        measured(name, found, "ns", "the kernel gives no such pages")
    };
    let zeroing: Vec<f64> = (0..TRIALS).map(|_| zeroing()).collect();
    vec![
        of("fault 4k, with zeroing", &|at| {
            trials[at].base?.checked_sub(trials[at].base_removal?)
        }),
        of("fault 2m, with zeroing", &|at| {
            trials[at].huge?.checked_sub(trials[at].huge_removal?)
        }),
        of("unmapping 4k", &|at| trials[at].base_removal),
        of("unmapping 2m", &|at| trials[at].huge_removal),
        measured("zeroing 4 KiB", zeroing, "ns", ""),
    ]
}

/// The nanoseconds that zeroing 4 KiB takes, in memory that no cache holds.
fn zeroing() -> f64 {
    const BYTES: usize = 32 << 20;
    let mut memory = vec![1_u8; BYTES];
    let began = std::time::Instant::now();
    memory.fill(std::hint::black_box(0));
    let took = began.elapsed();
    std::hint::black_box(&memory);
    took.as_nanos() as f64 / (BYTES as f64 / PageSize::SIZE_4K.bytes() as f64)
}

/// The part of a walk to a base page that a walk to a page of 2 MiB takes, several times, in
/// percent. Such pages enter the TLB in pieces, so the walk is shorter. `reach` is the number of
/// base pages that the TLB holds.
pub(super) fn shortened(timer: &mut ChaseTimer, reach: usize) -> Vec<f64> {
    let lines = BEYOND * reach;
    let bytes =
        (lines as u64 * PageSize::SIZE_4K.bytes()).next_multiple_of(PageSize::SIZE_2M.bytes());
    let trial = |_| {
        let base = timer
            .time_span(bytes, ChaseBacking::Base, TRIALS, 1)?
            .dependent;
        let huge = timer
            .time_span(bytes, ChaseBacking::Huge, TRIALS, 1)?
            .dependent;
        let near = timer.time_control(lines, TRIALS)?.nanoseconds;
        let part = (huge - near) / (base - near);
        part.is_finite().then(|| (100.0 * part).clamp(0.0, 100.0))
    };
    (0..TRIALS).filter_map(trial).collect()
}

/// How many times the reach of the TLB a chase goes over, so that most of its loads walk.
const BEYOND: usize = 4;

/// The size as which a page of 2 MiB enters the TLB, with its confidence.
///
/// A chase over a line of each 4 KiB of 16 MiB of huge pages needs eight entries. If it is not as
/// fast as a chase over as many lines in 256 KiB, the TLB holds small pieces.
pub(super) fn huge_entry(
    timer: &mut ChaseTimer,
    calibration: Calibration,
) -> Option<(&'static str, f64)> {
    const BYTES: u64 = 16 << 20;
    let lines = (BYTES / PageSize::SIZE_4K.bytes()) as usize;
    let hit = calibration.second_hit.unwrap_or(calibration.walk);
    let mut small = Vec::new();
    for _ in 0..TRIALS {
        let wide = timer.time_span(BYTES, ChaseBacking::Huge, TRIALS, 1)?;
        let near = timer.time_control(lines, TRIALS)?;
        let extra = (wide.dependent - near.nanoseconds) * core_clock();
        small.push(extra > hit / 2.0);
    }
    let count = small.iter().filter(|is_small| **is_small).count();
    let agreeing = count.max(TRIALS - count) as f64 / TRIALS as f64;
    Some((if 2 * count > TRIALS { "4k" } else { "2m" }, agreeing))
}
