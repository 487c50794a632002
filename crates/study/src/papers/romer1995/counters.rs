//! Section 8.1 and appendix A: the memory that counters take.

use broadleaf_translation::charges::Ladder;

use crate::papers::Table;

/// Orders of the pages of 4 KiB to 8 MiB.
const ORDERS: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/// The level of 64 KiB: updates of larger candidates are put off.
const EAGER: usize = 4;
/// Bytes of a counter.
const WORD: u64 = 4;

/// Counters for each 8 MiB: of prefetch charges, `tlbcount`, of updates that were put off, and of
/// capacity charges.
fn counters() -> Option<[u64; 4]> {
    let ladder = Ladder::new(&ORDERS).ok()?;
    let largest = ladder.pages(ladder.largest());
    let candidates = |from: usize| -> u64 {
        (from..=ladder.largest())
            .map(|level| largest / ladder.pages(level))
            .sum()
    };
    Some([
        candidates(1),
        candidates(0),
        candidates(EAGER),
        candidates(1),
    ])
}

pub(super) fn table() -> Table {
    let mut table = Table::new(
        "Section 8.1: counters in bytes for each 8 MB",
        "One word of four bytes for each counter: a prefetch counter for each candidate, a tlbcount for each candidate and base page, a deferred counter for each candidate of 64 KiB or more, and for online a capacity counter for each candidate.",
        &[
            "policy",
            "counters",
            "bytes",
            "KB: paper",
            "KB: here",
            "of 8 MB (%)",
        ],
    );
    let [prefetch, tlbcount, deferred, capacity] = counters().unwrap_or_default();
    let approximate = prefetch + tlbcount + deferred;
    let both = [
        ("approx-online", approximate, 25.0),
        ("online", approximate + capacity, 33.0),
    ];
    for (policy, counters, paper) in both {
        let bytes = counters * WORD;
        let kib = bytes as f64 / 1024.0;
        table.row([
            policy.to_owned(),
            counters.to_string(),
            bytes.to_string(),
            format!("{paper:.0}"),
            format!("{kib:.1}"),
            format!("{:.2}", 100.0 * bytes as f64 / f64::from(8 << 20)),
        ]);
        table
            .direction(
                (kib - paper).abs() < 0.5,
                format!("the counters of {policy} take {paper:.0} KB for each 8 MB"),
            )
            .number(paper, kib, |kib| format!("{kib:.1} KB"));
    }
    let each = approximate as f64 / 2048.0;
    table
        .direction(
            (each - 3.125).abs() < 0.005,
            "approx-online has 3.125 counters for each base page",
        )
        .number(3.125, each, |count| format!("{count:.3}"));
    table
}
