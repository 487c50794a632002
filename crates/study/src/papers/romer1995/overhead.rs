//! Figure 3: the parts of TLBMCPI.

use super::figures::cycles;
use super::published::POLICIES;
use super::rows::{all_of, claim_of, kernel, most, whose};
use super::runs::ProgramRun;
use super::tables::SHORT;
use crate::papers::Table;

/// The number of letters of a program's longest bar.
const LONGEST: f64 = 40.0;

pub(super) fn table(runs: &[ProgramRun]) -> Table {
    let mut table = Table::new(
        "Figure 3: what TLBMCPI is made of",
        "Cycles for each instruction in handling misses (m), bookkeeping (b) and copying (c). Bars \
         are as long as the worst of a program's policies, but online, allows; + is what does not \
         fit.",
        &[
            "program",
            "whose",
            "policy",
            "misses",
            "bookkeeping",
            "copying",
            "TLBMCPI",
        ],
    );
    for run in runs {
        let others = POLICIES.iter().filter(|policy| **policy != "online");
        let worst = others
            .filter_map(|policy| run.tlbmcpi(policy))
            .fold(0.0, f64::max);
        for policy in POLICIES {
            let Some(measured) = run.under(policy) else {
                continue;
            };
            let parts = [measured.walking, measured.bookkeeping, measured.copying]
                .map(|part| run.per_instruction(part));
            let figures = parts.into_iter().chain([parts.iter().sum()]).map(cycles);
            let head = whose(run.program, run.whose()).into_iter();
            let cells = head.chain([policy.to_owned()]).chain(figures);
            table.row_with_bar(cells, bar(parts, worst));
        }
    }
    directions(&mut table, runs);
    table
}

/// Draws each part as letters, at most as many as the longest bar has.
fn bar(parts: [f64; 3], worst: f64) -> String {
    let mut bar = String::new();
    let mut sum = 0.0;
    for (part, letter) in parts.into_iter().zip(['m', 'b', 'c']) {
        sum += part;
        let end = (LONGEST * sum / worst.max(f64::MIN_POSITIVE)).round();
        while (bar.len() as f64) < end.min(LONGEST) {
            bar.push(letter);
        }
    }
    if sum > worst * (1.0 + 1.0 / LONGEST) {
        bar.push('+');
    }
    bar
}

fn directions(table: &mut Table, runs: &[ProgramRun]) {
    let less =
        |run: &ProgramRun, one: &str, other: &str| Some(run.tlbmcpi(one)? < run.tlbmcpi(other)?);
    if runs.iter().any(|run| run.under("offline").is_some()) {
        claim_of(
            table,
            runs,
            10,
            "offline is below 4 KiB and 16 KiB",
            |run| {
                let smallest = run.tlbmcpi("4k")?.min(run.tlbmcpi("16k")?);
                Some(run.tlbmcpi("offline")? < smallest)
            },
        )
        .because(SHORT);
        for policy in ["online", "approx-online"] {
            let text = format!("{policy} does not perform as well as offline");
            claim_of(table, runs, 10, &text, |run| less(run, "offline", policy));
        }
    }
    for (policy, paper) in [("online", 8), ("approx-online", 9)] {
        let text = format!("{policy} is below 4 KiB");
        claim_of(table, runs, paper, &text, |run| less(run, policy, "4k")).because(SHORT);
    }
    claim_of(
        table,
        runs,
        10,
        "the largest part of approx-online's TLBMCPI is copying",
        |run| {
            let under = run.under("approx-online")?;
            Some(under.copying > under.walking.max(under.bookkeeping))
        },
    );
    claim_of(
        table,
        runs,
        6,
        "asap-4-64 is close to approx-online: at most 0.10 above, or below",
        |run| Some(run.tlbmcpi("asap-4-64")? < run.tlbmcpi("approx-online")? + 0.1),
    );
    table.direction(
        all_of(runs, &["coral", "fpga", "cecil", "fft"], |run| {
            less(run, "approx-online", "asap-4-64")
        }),
        "approx-online is below asap-4-64 for coral, fpga, cecil and fft, whose working sets are \
         large",
    )
    .because(SHORT);
    let gcc = kernel(runs, "gcc");
    let promoting = ["asap", "asap-4-64", "online", "approx-online"];
    table.direction(
        gcc.is_some_and(|run| {
            let mut all = promoting.iter();
            all.all(|policy| less(run, "4k", policy) == Some(true))
        }),
        "gcc does not gain: no policy that promotes while it runs is below 4 KiB",
    );
    let (agrees, text) = most(runs, |run| {
        let of = |policy: &str| {
            run.under(policy)
                .map(|under| under.cycles() - under.bookkeeping)
        };
        Some(of("online")? as f64 > 0.9 * of("approx-online")? as f64)
    });
    table
        .direction(
            agrees,
            "in more than half of the programs, capacity charges spare online less than a tenth, \
             even if their bookkeeping is not counted",
        )
        .words("not always better", text);
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        assert_eq!(
            bar([1.0, 0.0, 0.5], 3.0),
            format!("{}{}", "m".repeat(13), "c".repeat(7))
        );
        assert_eq!(bar([1.0, 1.0, 1.0], 3.0).len(), 40);
        assert_eq!(
            bar([1.0, 5.0, 0.0], 2.0),
            format!("{}{}+", "m".repeat(20), "b".repeat(20))
        );
        assert_eq!(bar([0.0; 3], 0.0), "");
    }
}
