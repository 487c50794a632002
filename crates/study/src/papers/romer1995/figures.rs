//! Figures 1, 4 and 5, as series: TLBMCPI and memory.

use super::none;
use super::policies::SIZES;
use super::published::POLICIES;
use super::rows::{claim_of, whose};
use super::runs::ProgramRun;
use super::tables::SHORT;
use crate::papers::Table;

/// TLBMCPI.
pub(super) fn cycles(figure: f64) -> String {
    format!("{figure:.3}")
}

fn percent(figure: f64) -> String {
    format!("{figure:.1}")
}

/// Two rows for each run: TLBMCPI, and memory in excess of the 4 KiB policy's.
fn both(table: &mut Table, runs: &[ProgramRun], policies: &[&str]) {
    for run in runs {
        let row = |table: &mut Table, series: &str, of: &dyn Fn(&str) -> Option<String>| {
            let cells = policies
                .iter()
                .map(|policy| of(policy).unwrap_or_else(none));
            let head = whose(run.program, run.whose()).into_iter();
            table.row(head.chain([series.to_owned()]).chain(cells));
        };
        row(table, "TLBMCPI", &|policy| run.tlbmcpi(policy).map(cycles));
        row(table, "memory (+ %)", &|policy| {
            run.memory_overhead(policy).map(percent)
        });
    }
}

fn heads<'a>(policies: &[&'a str]) -> Vec<&'a str> {
    ["program", "whose", "series"]
        .into_iter()
        .chain(policies.iter().copied())
        .collect()
}

pub(super) fn page_size_tradeoff(runs: &[ProgramRun]) -> Table {
    let mut table = Table::new(
        "Figure 1: TLBMCPI and memory over the size of pages",
        "Cycles in service of the TLB for each instruction, and memory at its peak beyond what 4 \
         KiB take. The paper's figure has no numbers.",
        &heads(&SIZES),
    );
    both(&mut table, runs, &SIZES);
    let (first, last) = (SIZES[0], SIZES[SIZES.len() - 1]);
    claim_of(
        &mut table,
        runs,
        10,
        "pages of 256 KiB have a lower TLBMCPI than 4 KiB and take more memory",
        |run| {
            let fewer = run.tlbmcpi(last)? < run.tlbmcpi(first)?;
            Some(fewer && run.memory_overhead(last)? > run.memory_overhead(first)?)
        },
    );
    claim_of(
        &mut table,
        runs,
        10,
        "no single page size is ideal: none is within a tenth of the least TLBMCPI and adds less \
         than 1 percent of memory",
        |run| {
            let least = SIZES
                .iter()
                .filter_map(|size| run.tlbmcpi(size))
                .fold(f64::MAX, f64::min);
            let ideal = |size: &&'static str| {
                run.tlbmcpi(size) <= Some(1.1 * least) && run.memory_overhead(size) < Some(1.0)
            };
            Some(!SIZES.iter().any(ideal))
        },
    );
    table
}

pub(super) fn memory(runs: &[ProgramRun]) -> Table {
    let policies = &POLICIES[1..];
    let heads: Vec<&str> = ["program", "whose"]
        .into_iter()
        .chain(policies.iter().copied())
        .collect();
    let mut table = Table::new(
        "Figure 4: memory beyond that of 4 KiB, in percent",
        "At the peak. The paper's figure has no numbers; its text has some.",
        &heads,
    );
    let text = ["-", "10 to 25", "-", "0", "up to 12", "up to 4", "up to 4"];
    table.row(
        whose("all", "paper")
            .into_iter()
            .chain(text.map(str::to_owned)),
    );
    for run in runs {
        let cells = policies
            .iter()
            .map(|policy| run.memory_overhead(policy).map_or_else(none, percent));
        table.row(whose(run.program, run.whose()).into_iter().chain(cells));
    }
    let most_of = |policy: &str| {
        let all = runs.iter().filter_map(|run| run.memory_overhead(policy));
        all.fold(0.0, f64::max)
    };
    let online = most_of("online").max(most_of("approx-online"));
    let part = |part: f64| format!("{part:.1} percent at most");
    table
        .direction(
            online <= 4.0,
            "online and approx-online never take more than 4 percent",
        )
        .number(4.0, online, part);
    let over_two = |run: &&ProgramRun| {
        let policies = ["approx-online", "online"];
        (policies.iter()).any(|policy| run.memory_overhead(policy) > Some(2.0))
    };
    let count = runs.iter().filter(over_two).count();
    table
        .direction(
            count <= 1,
            "online and approx-online take more than 2 percent in one case at most",
        )
        .number(1.0, count as f64, |count| format!("{count} programs"))
        .because(
            "the kernels are small, so that one superpage with a hole is a larger part of \
                  their memory",
        );
    table
        .direction(most_of("asap") == 0.0, "asap takes no more than 4 KiB do")
        .number(0.0, most_of("asap"), part);
    claim_of(
        &mut table,
        runs,
        4,
        "asap-4-64 takes 5 percent more memory or more",
        |run| Some(run.memory_overhead("asap-4-64")? >= 5.0),
    )
    .because(
        "the paper does not say where its programs' holes are; ours leave few pieces of 64 \
              KiB between half full and full",
    );
    table
        .direction(
            most_of("asap-4-64") > most_of("asap"),
            "asap-4-64 takes more memory than asap, since it fills pieces that are half full",
        )
        .number(12.0, most_of("asap-4-64"), part)
        .because("the paper does not say where its programs' holes are");
    claim_of(
        &mut table,
        runs,
        10,
        "pages of 64 KiB take more memory than approx-online",
        |run| Some(run.memory_overhead("64k")? > run.memory_overhead("approx-online")?),
    );
    table
}

pub(super) fn tradeoff(runs: &[ProgramRun]) -> Table {
    let policies = [
        "4k",
        "16k",
        "64k",
        "256k",
        "offline",
        "asap",
        "asap-4-64",
        "online",
        "approx-online",
    ];
    let mut table = Table::new(
        "Figure 5: TLBMCPI against memory",
        "As in figure 1, with the policies that promote. The ideal is zero in both rows.",
        &heads(&policies),
    );
    both(&mut table, runs, &policies);
    for other in ["asap", "asap-4-64", "online"] {
        let text = format!("approx-online is ahead of {other} in TLBMCPI, memory or both");
        claim_of(&mut table, runs, 10, &text, |run| {
            let better = run.tlbmcpi("approx-online")? < run.tlbmcpi(other)?;
            let smaller = run.memory_overhead("approx-online")? < run.memory_overhead(other)?;
            Some(better || smaller)
        })
        .because(SHORT);
    }
    if runs.iter().any(|run| run.under("offline").is_some()) {
        claim_of(
            &mut table,
            runs,
            9,
            "approx-online is within 0.10 of offline in TLBMCPI",
            |run| Some(run.tlbmcpi("approx-online")? < run.tlbmcpi("offline")? + 0.1),
        )
        .because(SHORT);
    }
    table
}
