//! What is to be drawn: the policies of one page size, those together whose curves are the same.

use broadleaf_metrics::{CellResult, CurvePoint};

/// One curve, and whose it is.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    /// What it is drawn with.
    pub(super) letter: char,
    pub(super) policies: Vec<&'a str>,
    pub(super) points: Vec<CurvePoint>,
}

impl Line<'_> {
    /// The misses of that many entries in sets of so many ways, where they were counted.
    pub(super) fn misses(&self, entries: u64, ways: u64) -> Option<u64> {
        let found = self
            .points
            .iter()
            .find(|point| point.ways == ways && point.entries() == entries);
        found.map(|point| point.misses)
    }

    /// The numbers of entries that there are, smallest first.
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
    pub(super) lines: Vec<Line<'a>>,
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
            // What was referenced was missed once, whatever the geometry.
            if points.iter().all(|point| point.misses == 0) {
                this.without.push(&result.policy);
            } else if let Some(line) = this.lines.iter_mut().find(|line| line.points == points) {
                line.policies.push(&result.policy);
            } else {
                this.lines.push(Line {
                    letter: letter(this.lines.len()),
                    policies: vec![&result.policy],
                    points,
                });
            }
        }
        this
    }
}

/// The letter of a line; from the fifty-third on they repeat.
fn letter(number: usize) -> char {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char::from(LETTERS[number % LETTERS.len()])
}
