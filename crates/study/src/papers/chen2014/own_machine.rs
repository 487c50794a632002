//! The machine of this processor: a core of the catalogue, with the last level of caches and the
//! main memory that this computer gives a program.
//!
//! A computer that others use too gives a program less than its processor has. So these two are
//! measured, by pointer chases over memory of growing size.

use broadleaf_governor::{ChaseBacking, ChaseTimer, core_clock};
use broadleaf_machine::{FarMemory, Machine, MachineCaches, machine};

use crate::failure::Failure;
use crate::native::native;

/// The step in which the size of the last level is found, in bytes.
const STEP: u64 = 1 << 20;
/// The memory that no last level holds, in bytes.
const FAR: u64 = 128 << 20;
/// The samples of each chase.
const SAMPLES: usize = 3;

/// The machine, and what was measured. `None` if the catalogue has no core for this processor, or
/// nothing can be measured.
pub(super) fn own_machine() -> Result<Option<(Machine, String)>, Failure> {
    let Ok(names) = native() else {
        return Ok(None);
    };
    let found = names
        .iter()
        .find_map(|name| machine(&format!("{name}-core")).ok());
    let Some(mut found) = found else {
        return Ok(None);
    };
    let Some(caches) = &found.caches else {
        return Ok(None);
    };
    let Some(far) = measure(caches) else {
        return Ok(None);
    };
    found.caches = Some(caches.with_far_memory(&far).map_err(Failure::failed)?);
    let words = format!(
        "{} with a last level of {} MiB and {} cycles, and a main memory of {} cycles, as measured",
        found.name,
        (far.last_level_bytes as f64) / f64::from(1 << 20),
        far.last_level_cycles,
        far.memory_cycles,
    );
    Ok(Some((found, words)))
}

/// Measures the last level and the main memory.
fn measure(caches: &MachineCaches) -> Option<FarMemory> {
    let spec = &caches.hierarchy;
    let clock = core_clock();
    let mut timer = ChaseTimer::new(1).ok()?;
    let mut cycles = |bytes: u64| {
        let cost = timer.time_lines(bytes, ChaseBacking::Huge, SAMPLES)?;
        Some(cost.nanoseconds * clock)
    };
    let above = spec.cache(spec.levels().checked_sub(2)?, false)?;
    let (inside, far) = (cycles(4 * above.bytes)?, cycles(FAR)?);
    let middle = f64::midpoint(inside, far);
    let mut last_level_bytes = 4 * above.bytes;
    while last_level_bytes < FAR / 2 && cycles(last_level_bytes + STEP)? < middle {
        last_level_bytes += STEP;
    }
    let levels_above = (0..spec.levels() - 1).filter_map(|level| spec.cache(level, false));
    let levels_above: u64 = levels_above.map(|cache| cache.latency).sum();
    let last_level_cycles = (inside as u64).saturating_sub(levels_above).max(1);
    let nearer = levels_above + last_level_cycles;
    Some(FarMemory {
        last_level_bytes,
        last_level_cycles,
        memory_cycles: (far as u64).saturating_sub(nearer).max(1),
    })
}
