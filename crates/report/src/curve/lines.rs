//! The lines of a plot: the policies of one page size. Policies with equal curves share a line.

use broadleaf_metrics::{CellResult, CurvePoint};

/// One curve, and its policies.
#[derive(Clone, Debug)]
pub(super) struct CurveLine<'a> {
    /// The letter of its values.
    pub(super) letter: char,
    pub(super) policies: Vec<&'a str>,
    pub(super) points: Vec<CurvePoint>,
}

impl CurveLine<'_> {
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
pub(super) struct Lines<'a> {
    pub(super) lines: Vec<CurveLine<'a>>,
    /// Policies that never had a page of this size.
    pub(super) without: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(results: &'a [CellResult], page_size: u64) -> Self {
        let mut this = Self::default();
        let mut known: Vec<&str> = Vec::new();
        for result in results {
            let Some(curve) = &result.curve else {
                continue;
            };
            if known.contains(&result.policy.as_str()) {
                continue;
            }
            known.push(&result.policy);
            let points: Vec<CurvePoint> = curve
                .iter()
                .filter(|point| point.page_size == page_size)
                .copied()
                .collect();
            // A page that was referenced was missed once in any geometry.
            if points.iter().all(|point| point.misses == 0) {
                this.without.push(&result.policy);
            } else if let Some(line) = this.lines.iter_mut().find(|line| line.points == points) {
                line.policies.push(&result.policy);
            } else {
                this.lines.push(CurveLine {
                    letter: letter(this.lines.len()),
                    policies: vec![&result.policy],
                    points,
                });
            }
        }
        this
    }
}

/// Returns the letter of a line. The letters repeat after 52 lines.
fn letter(number: usize) -> char {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char::from(LETTERS[number % LETTERS.len()])
}
