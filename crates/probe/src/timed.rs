//! Decisions by the cycles that chases cost.

use crate::{Chase, ChaseOracle, TlbLevel, Verdict};

/// The cost of a load of a chase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChaseReading {
    /// The cycles beyond those of the control.
    pub extra: f64,
    /// The TLB misses that the processor counted. `None` without a counter.
    pub misses: Option<f64>,
}

impl ChaseReading {
    /// The lesser of both costs.
    fn least(self, other: Self) -> Self {
        let both = self.misses.zip(other.misses);
        Self {
            extra: self.extra.min(other.extra),
            misses: both.map(|(one, other)| one.min(other)),
        }
    }
}

/// The least costs of several random orders.
fn least(costs: &mut dyn ChaseCosts, pages: &[u64], orders: usize) -> Option<ChaseReading> {
    let mut least = costs.reading(pages)?;
    for _ in 1..orders {
        least = least.least(costs.reading(pages)?);
    }
    Some(least)
}

/// The costs of chases on a processor. A chase over the same cache lines in few pages is the
/// control: its cost is taken off.
pub trait ChaseCosts {
    /// Returns the cost of a load in one random order. `None` if the chase cannot be mapped.
    fn reading(&mut self, pages: &[u64]) -> Option<ChaseReading>;

    /// Returns the cycles of a reference of a string, repeated in its own order, beyond those of
    /// the control.
    fn string(&mut self, pages: &[u64]) -> Option<f64>;

    /// The lowest address bit that chases keep above every index.
    fn above(&self) -> u32;

    /// The bytes of a page.
    fn unit(&self) -> u64;

    /// The most pages of a chase.
    fn most_pages(&self) -> usize;
}

/// The costs by which chases are judged, in cycles of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The cycles that a hit of the second level takes more than one of the first. `None` if no
    /// second level shows.
    pub second_hit: Option<f64>,
    /// The cycles that a walk takes more than a hit of the last level, its tables in a cache.
    pub walk: f64,
    /// The difference of repeated costs where they should be alike.
    pub noise: f64,
    /// The level whose misses the processor's counter counts. `None` without a counter.
    pub counted: Option<TlbLevel>,
}

/// The reason why costs cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CalibrationError {
    /// A chase cannot be mapped.
    Unmapped,
    /// The cycles by which equal chases differ.
    Noisy(f64),
    /// No number of pages costs more than few pages do.
    Flat,
}

impl std::fmt::Display for CalibrationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unmapped => f.write_str("the kernel does not map the pages of the chases"),
            Self::Noisy(cycles) => write!(
                f,
                "the times are too noisy: equal chases differ by {cycles:.1} cycles a load"
            ),
            Self::Flat => f.write_str("many pages cost no more than few, so no TLB shows"),
        }
    }
}

/// The most cycles by which equal chases may differ: a third of a cheap second-level hit.
const MOST_NOISE: f64 = 1.5;
/// The pages of a chase of far pages, and their distance as a power of two: a GiB.
const FAR_PAGES: u64 = 256;
const FAR_SHIFT: u32 = 30;
/// The cost of a walk of a far page, in walks whose tables are near, at least.
const FAR_COST: f64 = 3.0;
/// The share of the noise-free steps of a ladder within which costs form a plateau.
const PLATEAU: f64 = 0.2;
/// The rungs of a plateau, at least.
const LEAST_RUNGS: usize = 3;
/// The pages of the ladder's rungs: two for each doubling.
const LOWEST: usize = 8;

/// The cost of each rung of a ladder of pages in a row: the pages, and the least cost of a load.
pub fn ladder(costs: &mut dyn ChaseCosts, orders: usize) -> Option<Vec<(usize, ChaseReading)>> {
    let mut rungs = Vec::new();
    let mut count = LOWEST;
    while count <= costs.most_pages() {
        for pages in [count, count * 3 / 2] {
            if pages > costs.most_pages() {
                break;
            }
            let row: Vec<u64> = (0..pages as u64).map(|page| page * costs.unit()).collect();
            rungs.push((pages, least(costs, &row, orders)?));
        }
        count *= 2;
    }
    Some(rungs)
}

/// Finds the costs of a second-level hit and of a walk.
///
/// # Errors
/// [`CalibrationError`] if chases cannot run, or if their costs say nothing.
pub fn calibrate(costs: &mut dyn ChaseCosts) -> Result<Calibration, CalibrationError> {
    /// Repetitions of a small chase that show the noise, and orders of each rung.
    const REPEATED: usize = 9;
    const ORDERS: usize = 3;
    let small: Vec<u64> = (0..LOWEST as u64).map(|page| page * costs.unit()).collect();
    let mut repeated = Vec::new();
    for _ in 0..REPEATED {
        let reading = costs.reading(&small).ok_or(CalibrationError::Unmapped)?;
        repeated.push(reading.extra);
    }
    repeated.sort_by(f64::total_cmp);
    // Rare disturbances do not count: the least of several trials decides later.
    let noise = repeated[REPEATED / 2] - repeated[0];
    if noise > MOST_NOISE {
        return Err(CalibrationError::Noisy(noise));
    }
    let rungs = ladder(costs, ORDERS).ok_or(CalibrationError::Unmapped)?;
    let readings: Vec<ChaseReading> = rungs.iter().map(|(_, reading)| *reading).collect();
    let mut found = calibration(&readings, noise)?;
    // The longest rungs need much of a cache, which neighbours may take. Far pages need little.
    let count = FAR_PAGES.min(costs.most_pages() as u64);
    let far: Vec<u64> = (0..count).map(|page| page << FAR_SHIFT).collect();
    if let Some(far) = least(costs, &far, ORDERS) {
        let beyond = far.extra - found.second_hit.unwrap_or(0.0);
        let cap = beyond / FAR_COST;
        if cap > MOST_NOISE {
            found.walk = found.walk.min(cap);
        }
    }
    Ok(found)
}

/// The calibration from the costs of a ladder's rungs.
fn calibration(readings: &[ChaseReading], noise: f64) -> Result<Calibration, CalibrationError> {
    let extras: Vec<f64> = readings.iter().map(|reading| reading.extra).collect();
    let base = extras.first().copied().unwrap_or(0.0);
    let highest = extras.iter().copied().fold(0.0, f64::max);
    // A second-level hit takes two cycles at least.
    let least = (base + 4.0 * noise).max(base + 2.0);
    if highest <= least {
        return Err(CalibrationError::Flat);
    }
    let plateau = first_plateau(&extras, least, highest / 2.0);
    let walk = highest - plateau.unwrap_or(base);
    Ok(Calibration {
        second_hit: plateau.map(|cost| cost - base),
        // Far tables cost more than near ones, and the judgement is on the safe side with less.
        walk: walk / 2.0,
        noise,
        counted: counted(readings, plateau),
    })
}

/// The level whose misses a counter counts: the first if loads count that hit the second level,
/// and all levels if walks alone do.
fn counted(readings: &[ChaseReading], plateau: Option<f64>) -> Option<TlbLevel> {
    /// The misses of a load that clearly misses, and of one that clearly does not.
    const CLEAR: (f64, f64) = (0.7, 0.1);
    let of_walks = readings.last()?.misses?;
    if of_walks < CLEAR.0 {
        return None;
    }
    let Some(plateau) = plateau else {
        return Some(TlbLevel::All);
    };
    let near = |one: &&ChaseReading| (one.extra - plateau).abs() <= PLATEAU / 4.0 * plateau;
    let of_hits = readings.iter().find(near)?.misses?;
    match of_hits {
        hits if hits >= CLEAR.0 => Some(TlbLevel::First),
        hits if hits <= CLEAR.1 => Some(TlbLevel::All),
        _ => None,
    }
}

/// The cost of the first plateau above `least`, if it is below `most`.
fn first_plateau(extras: &[f64], least: f64, most: f64) -> Option<f64> {
    let mut best: Option<(usize, f64)> = None;
    for (at, cost) in extras.iter().enumerate() {
        if *cost <= least || *cost >= most {
            continue;
        }
        let alike = |other: &&f64| (**other - cost).abs() <= PLATEAU * cost;
        let rungs = extras[at..].iter().take_while(alike).count();
        let is_longer = best.is_none_or(|(known, _)| rungs > known);
        if rungs >= LEAST_RUNGS && is_longer {
            let mut costs: Vec<f64> = extras[at..at + rungs].to_vec();
            costs.sort_by(f64::total_cmp);
            best = Some((rungs, costs[rungs / 2]));
        }
    }
    best.map(|(_, cost)| cost)
}

/// An oracle that judges chases by their costs.
pub struct Timed<'a> {
    costs: &'a mut dyn ChaseCosts,
    calibration: Calibration,
    groups: usize,
    orders: usize,
}

/// The share of misses up to which pages of one set fit the first level, in the best of several
/// orders. Random rules miss by no more than a fifth if one page is too many.
const FITS: f64 = 0.15;
/// The most repeats of a capacity, which takes long.
const MOST_REPEATS: usize = 5;
/// The share of misses up to which other chases fit. Code, walk entries and neighbours take some
/// entries of the last level, and a few pages more than fit make most of a row miss.
const MOSTLY_FITS: f64 = 0.4;

impl<'a> Timed<'a> {
    /// An oracle. Each answer is the majority of `groups` groups, and each group takes the best of
    /// `orders` random orders.
    pub fn new(
        costs: &'a mut dyn ChaseCosts,
        calibration: Calibration,
        groups: usize,
        orders: usize,
    ) -> Self {
        Self {
            costs,
            calibration,
            groups: groups.max(1),
            orders: orders.max(1),
        }
    }

    /// The share of tested pages that miss a level, for a cost of all loads. A counter of the
    /// level decides, and else the cycles.
    fn share(&self, level: TlbLevel, reading: ChaseReading, chase: &Chase) -> f64 {
        let Calibration {
            second_hit,
            walk,
            counted,
            ..
        } = self.calibration;
        let dilution = chase.offsets.len() as f64 / chase.tested.max(1) as f64;
        let hit = second_hit.unwrap_or(0.0);
        let share = match (reading.misses, level, second_hit) {
            (Some(misses), ..) if counted == Some(level) => misses,
            (_, TlbLevel::First, Some(hit)) => reading.extra / hit,
            _ => (reading.extra - hit).max(0.0) / walk,
        };
        share * dilution
    }
}

impl std::fmt::Debug for Timed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timed")
            .field("calibration", &self.calibration)
            .finish_non_exhaustive()
    }
}

impl ChaseOracle for Timed<'_> {
    fn fits(&mut self, level: TlbLevel, chase: &Chase) -> Option<Verdict> {
        let mut fitting = 0;
        for _ in 0..self.groups {
            let least = least(self.costs, &chase.offsets, self.orders)?;
            let most = match (level, chase.is_row) {
                (TlbLevel::First, false) => FITS,
                _ => MOSTLY_FITS,
            };
            fitting += usize::from(self.share(level, least, chase) < most);
        }
        // A row fits if some order of it does: disturbances only ever add misses.
        let fits = match chase.is_row {
            true => fitting > 0,
            false => 2 * fitting > self.groups,
        };
        let agreeing = if fits { fitting } else { self.groups - fitting };
        Some(Verdict {
            fits,
            confidence: agreeing as f64 / self.groups as f64,
        })
    }

    fn miss_ratio(
        &mut self,
        level: TlbLevel,
        string: &[u64],
        all_miss: &[u64],
        _: u64,
    ) -> Option<f64> {
        let base = match level {
            TlbLevel::First => 0.0,
            TlbLevel::All => self.calibration.second_hit?,
        };
        let (cost, full) = (self.costs.string(string)?, self.costs.string(all_miss)?);
        let least = 4.0 * self.calibration.noise + 1.0;
        let is_clear = full - base > least;
        is_clear.then(|| ((cost - base) / (full - base)).clamp(0.0, 1.0))
    }

    fn above(&self) -> u32 {
        self.costs.above()
    }

    fn unit(&self) -> u64 {
        self.costs.unit()
    }

    fn most_pages(&self) -> usize {
        self.costs.most_pages()
    }

    fn repeats(&self) -> usize {
        self.groups.min(MOST_REPEATS)
    }

    fn intruders(&self) -> f64 {
        0.04
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(extras: &[f64]) -> Vec<ChaseReading> {
        let reading = |extra: &f64| ChaseReading {
            extra: *extra,
            misses: None,
        };
        extras.iter().map(reading).collect()
    }

    #[test]
    fn a_ladder_has_a_plateau_of_second_level_hits() {
        // A Zen 5 core, measured.
        let extras = [
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.9, 6.9, 6.9, 6.9, 6.9, 6.9, 6.9, 7.5, 8.0, 9.0,
            17.5, 27.0, 40.0, 49.0, 60.0, 70.0,
        ];
        let found = calibration(&readings(&extras), 0.1).expect("costs");
        assert_eq!(found.second_hit, Some(6.9));
        assert_eq!(found.counted, None);
        assert!((30.0..33.0).contains(&found.walk), "{found:?}");
    }

    #[test]
    fn a_ladder_without_a_plateau_has_no_second_level() {
        let extras = [0.0, 0.0, 0.0, 20.0, 30.0, 30.0, 31.0, 30.0];
        let found = calibration(&readings(&extras), 0.1).expect("costs");
        assert_eq!(found.second_hit, None);
        assert_eq!(
            calibration(&readings(&[0.0, 0.3, 0.1]), 0.1),
            Err(CalibrationError::Flat)
        );
    }

    #[test]
    fn the_level_of_a_counter_shows_in_the_ladder() {
        let extras = [0.0, 0.0, 7.0, 7.0, 7.0, 7.0, 20.0, 40.0];
        let with = |of_hits: f64, of_walks: f64| {
            let mut readings = readings(&extras);
            for one in &mut readings {
                one.misses = Some(match one.extra {
                    0.0 => 0.0,
                    7.0 => of_hits,
                    _ => of_walks,
                });
            }
            calibration(&readings, 0.1).expect("costs").counted
        };
        assert_eq!(with(1.0, 1.0), Some(TlbLevel::First));
        assert_eq!(with(0.01, 0.98), Some(TlbLevel::All));
        assert_eq!(with(0.4, 0.98), None);
        assert_eq!(with(0.0, 0.0), None);
    }
}
