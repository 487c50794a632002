//! The notes below the table: on ranges that it leaves out, and on all ranges together.

use crate::added_bytes;
use crate::advice::lost_cycles;
use crate::number::{grouped, grouped_signed, percent, ratio, size_signed};
use broadleaf_metrics::{CellResult, MemoryResult};

/// Returns the numbers of chosen ranges that are not in the table, by the reason. A range is left
/// out if others gain more or if it gains nothing alone. No range is left out because it is small.
pub(super) fn left_out(shown: usize, gaining: usize, chosen: usize) -> Vec<String> {
    let number = |count: usize| grouped(count as u64);
    let mut texts = Vec::new();
    if shown < gaining {
        texts.push(format!(
            "The table shows the best {} of {} ranges. --top {gaining} shows all.",
            number(shown),
            number(gaining),
        ));
    }
    if gaining < chosen {
        let (count, take) = match chosen - gaining {
            1 => ("1 range is".to_owned(), "it is worth its cost"),
            count => (
                format!("{} ranges are", number(count)),
                "they are worth their cost",
            ),
        };
        texts.push(format!(
            "{count} left out: alone, what is spared is not more than what is paid, \
            and {take} beside the others only. Other formats have all."
        ));
    }
    texts
}

/// Returns the order of the ranges. Their gain has two parts, which are not ranked apart.
pub(super) fn order(ranked_by: &str) -> String {
    let gain = match ranked_by {
        "byte" => "cycles gained for each byte",
        _ => "cycles gained",
    };
    format!("Best first by {gain}: those of page walks and of page faults, added.")
}

/// Returns the gain of all ranges, as replayed.
pub(super) fn whole(without: &CellResult, with: &CellResult) -> String {
    let difference = |before: u64, after: u64| {
        let gained = i128::from(before) - i128::from(after);
        gained.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    };
    let all = difference(lost_cycles(without), lost_cycles(with));
    let walks = difference(without.walk_cycles, with.walk_cycles);
    let share = percent(walks as f64 / without.walk_cycles as f64);
    let part = |name: &str, saved: i64| match saved {
        0 => format!("{name} cost the same"),
        1.. => format!("{name} save {}", grouped_signed(saved)),
        _ => format!("{name} cost {} more", grouped(saved.unsigned_abs())),
    };
    format!(
        "Whole gain: {} cycles of walks and faults: {}, and {}. \
        Superpages save {share} of the walk cycles of base pages.",
        grouped_signed(all),
        part("walks", walks),
        part("faults", all.saturating_sub(walks)),
    )
}

/// Returns the figures of all ranges together, as replayed.
pub(super) fn together(without: &CellResult, with: &CellResult) -> String {
    let added = added_bytes(with, without);
    let memory = match added {
        0 => "no more memory at the peak".to_owned(),
        _ => format!("{} of memory more at the peak", size_signed(added)),
    };
    format!(
        "All together, as replayed: {} walks instead of {}, {} cycles of walks instead of {} ({}); \
        {} page faults instead of {}, {} cycles of faults instead of {}; {memory}.",
        grouped(with.l2_misses),
        grouped(without.l2_misses),
        grouped(with.walk_cycles),
        grouped(without.walk_cycles),
        ratio(with.walk_cycles, without.walk_cycles),
        grouped(with.page_faults),
        grouped(without.page_faults),
        grouped(fault_cycles(with)),
        grouped(fault_cycles(without)),
    )
}

/// Returns the cycles of page faults.
pub(super) fn fault_cycles(result: &CellResult) -> u64 {
    let cycles = |memory: &MemoryResult| memory.fault_cycles;
    result.memory.as_ref().map_or(0, cycles)
}

/// Returns the limits of the figures of ranges.
pub(super) fn caution(exact: bool) -> String {
    let counted = "The figures of each range assume that no other range has superpages. \
                   All ranges together may save more or less than the sum of their figures.";
    if exact {
        return counted.to_owned();
    }
    format!(
        "{counted} A range's figures are estimates: they are counted for a fully associative TLB \
        with as many entries as this machine's. The figures of all ranges together are exact."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_exceeds_the_whole_gain() {
        let result = |walk_cycles, fault_cycles| CellResult {
            walk_cycles,
            memory: Some(MemoryResult {
                fault_cycles,
                ..MemoryResult::default()
            }),
            ..CellResult::default()
        };
        assert_eq!(
            whole(&result(2_335_445, 38_596_500), &result(111_286, 39_719_100)),
            "Whole gain: 1,101,559 cycles of walks and faults: walks save 2,224,159, and faults \
             cost 1,122,600 more. \
             Superpages save 95.2% of the walk cycles of base pages."
        );
    }
}
