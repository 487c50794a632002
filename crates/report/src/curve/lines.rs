//! The lines of a plot: the policies of one page size. Policies with equal curves share a line.

use broadleaf_metrics::{CellResult, CurvePoint};

/// One curve, and its policies.
#[derive(Clone, Debug)]
pub(super) struct CurveLine {
    /// The letter of its values.
    pub(super) letter: char,
    /// The number of its first result.
    pub(super) first: usize,
    /// The policies. Those with other curves on other machines have the machine's name as well.
    pub(super) policies: Vec<String>,
    pub(super) points: Vec<CurvePoint>,
}

impl CurveLine {
    /// Returns the misses of `entries` entries in sets of `ways` ways, if they were counted.
    pub(super) fn misses(&self, entries: u64, ways: u64) -> Option<u64> {
        let found = self
            .points
            .iter()
            .find(|point| point.ways == ways && point.entries() == entries);
        found.map(|point| point.misses)
    }

    /// Returns the numbers of entries, smallest first.
    pub(super) fn entries(&self) -> Vec<u64> {
        let mut entries: Vec<u64> = self.points.iter().map(CurvePoint::entries).collect();
        entries.retain(|entries| entries.is_power_of_two());
        entries.sort_unstable();
        entries.dedup();
        entries
    }
}

/// The curves of one page size.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    pub(super) lines: Vec<CurveLine>,
    /// Policies that never had a page of this size.
    pub(super) without: Vec<String>,
}

impl Lines {
    pub(super) fn new(results: &[CellResult], page_size: u64) -> Self {
        let mut this = Self::default();
        for (number, result) in results.iter().enumerate() {
            let Some(curve) = &result.curve else {
                continue;
            };
            let is_twin = |other: &&CellResult| other.policy == result.policy;
            let mut twins = results.iter().filter(is_twin);
            let is_known = |other: &CellResult| is_twin(&other) && other.curve == result.curve;
            if results[..number].iter().any(is_known) {
                continue;
            }
            let name = match twins.all(|other| other.curve == result.curve) {
                true => result.policy.clone(),
                false => format!("{} on {}", result.policy, result.machine),
            };
            let points: Vec<CurvePoint> = curve
                .iter()
                .filter(|point| point.page_size == page_size)
                .copied()
                .collect();
            // The TLBs of the machine hold no entries of this size.
            if points.is_empty() {
                continue;
            }
            // A page that was referenced was missed once in any geometry.
            if points.iter().all(|point| point.misses == 0) {
                this.without.push(name);
            } else if let Some(line) = this.lines.iter_mut().find(|line| line.points == points) {
                line.policies.push(name);
            } else {
                this.lines.push(CurveLine {
                    letter: letter(this.lines.len()),
                    first: number,
                    policies: vec![name],
                    points,
                });
            }
        }
        this
    }
}

/// Returns the letter of a line. The letters repeat after 52 lines.
pub(super) fn letter(number: usize) -> char {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char::from(LETTERS[number % LETTERS.len()])
}
