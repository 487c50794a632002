//! Advice by range: as a table, as C, and as a profile for a kernel that reads profiles.

mod cbmm;
mod columns;
mod madvise;
mod perf_script;
mod sites;
mod table;
#[cfg(test)]
mod testing;
mod together;
mod verdict;

pub use cbmm::cbmm;
pub use madvise::madvise;
pub use perf_script::perf_script;
pub use sites::{NO_SITES, flame_graph, folded};
pub use table::range_table;
pub use verdict::verdict;

use crate::printable;
use broadleaf_metrics::{AdvisedRange, RangeAdvice};
use std::collections::BTreeMap;

/// The sentence for advice without ranges.
pub const NOTHING_PAYS: &str =
    "No range is worth a superpage here: none spares more cycles than it costs.";

/// The number of processes that a note names.
const NAMED: usize = 8;

/// Formats a page size in full: `64 KiB`, `2 MiB`.
pub(crate) fn size_in_full(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.checked_ilog2().unwrap_or(0) / 10).min(6);
    format!("{} {}", bytes >> (10 * unit), UNITS[unit as usize])
}

/// Returns the process of a range: its number and its program, as far as the trace records them.
pub fn process_of(range: &AdvisedRange) -> String {
    let number = range.pid.unwrap_or(range.space);
    format!("{number} {}", printable(range.program()))
        .trim_end()
        .to_owned()
}

/// Returns the ranges of the address space that gains most, in order, for formats of one process.
/// The sentence names the other processes, if there are any.
pub fn of_one_process(advice: &RangeAdvice) -> (Vec<&AdvisedRange>, Option<String>) {
    let mut gained: BTreeMap<u32, (i128, String)> = BTreeMap::new();
    for range in &advice.ranges {
        let of = gained.entry(range.space);
        of.or_insert_with(|| (0, process_of(range))).0 += i128::from(range.cycles_gained);
    }
    let best = gained
        .iter()
        .max_by_key(|(space, (gain, _))| (*gain, u32::MAX - **space));
    let Some((best, (_, name))) = best else {
        return (Vec::new(), None);
    };
    let others: Vec<&str> = (gained.iter())
        .filter(|(space, _)| *space != best)
        .map(|(_, (_, name))| name.as_str())
        .collect();
    let note = (!others.is_empty()).then(|| {
        let mut named = others[..others.len().min(NAMED)].join(", ");
        if others.len() > NAMED {
            named.push_str(&format!(" and {} more", others.len() - NAMED));
        }
        format!("the ranges are those of one process, {name}; left out are those of {named}")
    });
    let ranges = advice.ranges.iter().filter(|range| range.space == *best);
    (ranges.collect(), note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::{advice, heap};

    #[test]
    fn sizes_in_full() {
        for (bytes, text) in [
            (4096, "4 KiB"),
            (65_536, "64 KiB"),
            (2 << 20, "2 MiB"),
            (1 << 30, "1 GiB"),
            (512, "512 B"),
        ] {
            assert_eq!(size_in_full(bytes), text);
        }
    }

    #[test]
    fn the_process_that_gains_most_is_the_one() {
        let of = |space, gained| AdvisedRange {
            space,
            pid: Some(100 + space),
            command: vec![format!("/bin/p{space}")],
            cycles_gained: gained,
            ..heap()
        };
        let advice = advice(vec![of(3, 50), of(1, 30), of(1, 30), of(2, 10)]);
        let (ranges, note) = of_one_process(&advice);
        assert!(ranges.len() == 2 && ranges.iter().all(|range| range.space == 1));
        assert_eq!(
            note.as_deref(),
            Some(
                "the ranges are those of one process, 101 p1; left out are those of 102 p2, 103 p3"
            )
        );
        let many = (1..30).map(|space| of(space, 100 - i64::from(space)));
        let (_, note) = of_one_process(&testing::advice(many.collect()));
        let note = note.expect("there are others");
        assert!(note.ends_with(", 109 p9 and 20 more"), "{note}");
        assert_eq!(of_one_process(&testing::advice(vec![])), (vec![], None));
        assert_eq!(of_one_process(&testing::advice(vec![heap()])).1, None);
    }
}
