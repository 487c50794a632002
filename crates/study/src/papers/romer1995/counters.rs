//! Section 8.1 and appendix A: the memory of counters that the policies hold at the end of a
//! program.

use std::collections::BTreeSet;

use broadleaf_charges::ChargeCounters;

use super::programs::PROGRAMS;
use super::runs::replay;
use crate::failure::Failure;
use crate::papers::generated::{GeneratedTrace, Said};
use crate::papers::{PaperSetting, Table};

/// The replayed program: the paper's program with the most memory.
const PROGRAM: &str = "cecil";
/// The policies with the paper's batches, which need additional counters (appendix A), and the
/// paper's KB of counters per 8 MB.
const POLICIES: [(&str, &str, f64); 2] = [
    ("approx-online", "approx-online(deferral=1600)", 25.0),
    ("online", "online(deferral=1600)", 33.0),
];
/// The paper's counters for each base page, under approx-online.
const EACH: f64 = 3.125;
/// Base pages of 8 MB, the largest superpage.
const SEGMENT: u64 = 2048;

pub(super) fn table(setting: &PaperSetting) -> Result<Table, Failure> {
    let mut table = Table::new(
        "Section 8.1: counters in bytes for each 8 MB",
        format!(
            "What the policies hold at the end of {PROGRAM}, with charges of pieces above 64 KiB \
             in batches of 1,600 misses: counters of prefetch charges, of what is in the TLB and \
             of deferred charges, and for online of capacity charges. Only each 8 MB of memory \
             that the program refers to has counters."
        ),
        &[
            "policy",
            "8 MB in use",
            "counters",
            "bytes",
            "KB each: paper",
            "KB each: here",
            "of memory (%)",
        ],
    );
    let scale = setting.scale;
    let Some(program) = PROGRAMS.into_iter().find(|known| known.name == PROGRAM) else {
        return Err(Failure::failed("a program is missing"));
    };
    let names = POLICIES.map(|(_, policy, _)| policy);
    let outcome = replay(setting, PROGRAM, &names)
        .generated(GeneratedTrace::new(move || program.say(scale)))?;
    let segments = segments(program.say(scale));
    for ((policy, _, paper), counters) in POLICIES.iter().zip(&outcome.counters) {
        let kib = kib_each(*counters, segments);
        table.row([
            (*policy).to_owned(),
            segments.to_string(),
            counters.count.to_string(),
            counters.bytes.to_string(),
            format!("{paper:.0}"),
            format!("{kib:.1}"),
            format!("{:.2}", 100.0 * kib / 8192.0),
        ]);
    }
    claims(&mut table, &outcome.counters, segments);
    Ok(table)
}

/// The number of 8 MB units of memory that a trace references.
fn segments(trace: impl Iterator<Item = Said>) -> u64 {
    let visited: BTreeSet<u64> = trace
        .filter_map(|said| match said {
            Said::Visit(visit) => Some(visit.unit / SEGMENT),
            Said::Event(_) => None,
        })
        .collect();
    visited.len() as u64
}

/// The KB of counters per 8 MB.
fn kib_each(counters: ChargeCounters, segments: u64) -> f64 {
    counters.bytes as f64 / 1024.0 / segments.max(1) as f64
}

fn claims(table: &mut Table, counters: &[ChargeCounters], segments: u64) {
    for ((policy, _, paper), counters) in POLICIES.iter().zip(counters) {
        let kib = kib_each(*counters, segments);
        table
            .direction(
                kib > 0.0 && kib <= *paper,
                format!("the counters of {policy} take {paper:.0} KB or less for each 8 MB in use"),
            )
            .number(*paper, kib, |kib| format!("{kib:.1} KB"))
            .because(
                "a capacity charge of online takes 16 bytes here and 4 in the paper: the \
                      number of the last reset is kept with it, so that a reset takes no time",
            );
    }
    let each = counters.first().map_or(0.0, |counters| {
        counters.count as f64 / (segments.max(1) * SEGMENT) as f64
    });
    table
        .direction(
            (each - EACH).abs() < 0.005,
            "approx-online has 3.125 counters for each base page, to within 0.005",
        )
        .number(EACH, each, |count| format!("{count:.3}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(counters: [ChargeCounters; 2], segments: u64) -> Vec<bool> {
        let mut table = Table::default();
        claims(&mut table, &counters, segments);
        table.claims.iter().map(|claim| claim.agrees).collect()
    }

    #[test]
    fn counters_of_other_sizes_break_the_claims() {
        let of = |count, bytes| ChargeCounters { count, bytes };
        let paper = [of(6397, 25_588), of(8444, 33_776)];
        assert_eq!(agree(paper, 1), [true; 3]);
        assert_eq!(
            agree(paper.map(|one| of(2 * one.count, 2 * one.bytes)), 2),
            [true; 3]
        );
        assert_eq!(agree([of(6142, 25_601), of(8444, 33_793)], 1), [false; 3]);
        assert_eq!(agree([of(0, 0); 2], 1), [false; 3]);
    }

    #[test]
    fn counters_are_those_that_the_policies_hold() {
        let setting = PaperSetting::tiny(3.0, None);
        let counters = table(&setting).expect("a replay").rows;
        let [approximate, both] = [0, 1].map(|row: usize| -> [u64; 3] {
            [1, 2, 3].map(|cell: usize| counters[row][cell].parse().expect("a number"))
        });
        // Counters of charges and of the TLB have four bytes; those of base pages are bits.
        let segments = approximate[0];
        assert_eq!(approximate[1], segments * 6397);
        assert_eq!(
            approximate[2],
            segments * (4 * (6397 - SEGMENT) + SEGMENT / 8)
        );
        assert_eq!(both[1] - approximate[1], segments * 2047);
    }
}
