//! The programs (tables 3.2 and 3.3), broken superpages, miss rates, and the parts that are not
//! produced.

use broadleaf_metrics::CellResult;
use broadleaf_report::number::grouped;

use super::none;
use super::policies::{FREEBSD, GREEDY, POP_64};
use super::published::{BROKEN_SHARE, MISS_RATES, table_3_2};
use super::runs::{ZhuRun, ZhuRuns};
use crate::failure::Failure;
use crate::papers::Table;

/// The programs, beside the thesis's.
pub(super) fn programs(all: &ZhuRuns) -> Result<Table, Failure> {
    let text = "Each program was recorded on this computer with its mappings as Linux made them. A \
                reservation is touched if greedy promotes it. The thesis's accesses are those of a \
                whole system.";
    let columns = [
        "program",
        "kind",
        "thesis's",
        "reservations: thesis",
        "here",
        "accesses: thesis",
        "here",
        "command",
    ];
    let title = "Tables 3.2 and 3.3: the programs";
    let mut table = Table::new(title, text, &columns);
    let thesis = table_3_2()?;
    let published = |represents: &str| -> Result<[String; 2], Failure> {
        let reservations = thesis.number(represents, "touched_reservations")?;
        let accesses = thesis.number(represents, "memory_accesses_1e11")?;
        Ok([
            grouped(reservations as u64),
            format!("{accesses:.2} x 10^11"),
        ])
    };
    for run in &all.runs {
        let [reservations, accesses] = published(run.program.represents)?;
        let command = &run.results.command;
        let name = command.split(' ').next().unwrap_or_default();
        let program = name.rsplit('/').next().unwrap_or_default();
        let arguments = command.strip_prefix(name).unwrap_or_default();
        table.row([
            run.program.name.to_owned(),
            run.program.kind.to_owned(),
            run.program.represents.to_owned(),
            reservations,
            grouped(run.reservations() as u64),
            accesses,
            grouped(run.results.references),
            format!("{program}{arguments}"),
        ]);
    }
    for (program, file) in &all.missing {
        let [reservations, accesses] = published(program.represents)?;
        table.row([
            program.name.to_owned(),
            program.kind.to_owned(),
            program.represents.to_owned(),
            reservations,
            none(),
            accesses,
            none(),
            format!("not recorded: no {file}; install {}", program.packages),
        ]);
    }
    Ok(table)
}

/// Superpages that were broken.
pub(super) fn broken(all: &ZhuRuns) -> Table {
    let text = "Superpages that the program broke into base pages, by an unmapping or a change of \
                rights in part, in percent of the touched reservations. The replay does not count \
                how full each was. So this is the most that can have been part-filled. Without a \
                kernel's events, memory never runs short and no reservation is broken for it.";
    let columns = [
        "program",
        "reservations",
        "broken: greedy",
        "% of reservations",
        "broken: pop-64",
        "% of reservations",
    ];
    let title = "Section 3.3: superpages broken while part-filled, at most";
    let mut table = Table::new(title, text, &columns);
    let demotions = |cell: &CellResult| cell.demotions;
    let share = |broken: f64, reservations: f64| match reservations > 0.0 {
        true => format!("{:.1}", 100.0 * broken / reservations),
        false => none(),
    };
    let (mut whole, mut sums) = (0.0, [0.0; 2]);
    for run in &all.runs {
        let counts = [GREEDY, POP_64].map(|one| run.figure(one, demotions).unwrap_or_default());
        let reservations = run.reservations();
        whole += reservations;
        sums = [sums[0] + counts[0], sums[1] + counts[1]];
        table.row([
            run.program.name.to_owned(),
            format!("{reservations:.0}"),
            format!("{:.0}", counts[0]),
            share(counts[0], reservations),
            format!("{:.0}", counts[1]),
            share(counts[1], reservations),
        ]);
    }
    let percent = 100.0 * sums[0] / f64::max(whole, 1.0);
    table.row([
        "all".to_owned(),
        format!("{whole:.0}"),
        format!("{:.0}", sums[0]),
        share(sums[0], whole),
        format!("{:.0}", sums[1]),
        share(sums[1], whole),
    ]);
    table
        .direction(
            percent < 50.0,
            "few reservations are superpages that break while they are part-filled",
        )
        .number(BROKEN_SHARE, percent, |value| format!("{value:.1} %"))
        .because("user programs give back little memory in parts, and no memory runs short");
    table
}

/// The overall miss rates.
pub(super) fn miss_rates(all: &ZhuRuns) -> Table {
    let text = "Misses of all programs for each access, under FreeBSD and pop-64.";
    let columns = ["TLB", "FreeBSD: thesis", "FreeBSD: here", "pop-64: here"];
    let title = "Section 6.4: overall miss rates";
    let mut table = Table::new(title, text, &columns);
    let accesses: u64 = all.runs.iter().map(|run| run.results.references).sum();
    let rate = |policy: &str, figure: fn(&CellResult) -> u64| {
        let misses = |run: &ZhuRun| run.figure(policy, figure).unwrap_or_default();
        all.runs.iter().map(misses).sum::<f64>() / accesses.max(1) as f64
    };
    let dtlb: fn(&CellResult) -> u64 = |cell| cell.l1_misses;
    let stlb: fn(&CellResult) -> u64 = |cell| cell.l2_misses;
    let names = ["DTLB", "STLB"].into_iter();
    for ((name, published), figure) in names.zip(MISS_RATES).zip([dtlb, stlb]) {
        table.row([
            name.to_owned(),
            format!("{published:.1e}"),
            format!("{:.1e}", rate(FREEBSD, figure)),
            format!("{:.1e}", rate(POP_64, figure)),
        ]);
    }
    let [first, second] = [rate(FREEBSD, dtlb), rate(FREEBSD, stlb)];
    let spared = |figure| 1.0 - rate(POP_64, figure) / rate(FREEBSD, figure);
    table
        .direction(
            first > second && spared(stlb) > spared(dtlb),
            "the DTLB misses more often than the STLB, and its misses fall less with pop-64",
        )
        .number(81.0, 100.0 * spared(stlb), |value| {
            format!("STLB -{value:.0} %")
        })
        .number(47.0, 100.0 * spared(dtlb), |value| {
            format!("DTLB -{value:.0} %")
        })
        .because("the thesis gives means of ratios, and this table the ratio of sums");
    table
}

/// The figures of chapters 3 to 6 that cannot be produced yet, each with the reason.
const NOT_PRODUCED: [[&str; 2]; 8] = [
    [
        "kernel references in the figures of all programs",
        "Valgrind records user mode alone; --guest adds tables of three programs in a guest",
    ],
    [
        "table 3.1: reservations by the thirteen events of the kernel",
        "Linux reserves no memory, so no RV_ event comes; recordings of other kernels have them",
    ],
    [
        "section 3.3: how full broken superpages are",
        "the replay of user mode counts superpages that break, and not their pages",
    ],
    [
        "figures 4.1 to 4.3: designs of the STLB's lookup",
        "drawings without data; the machine looks up 2 MiB first, as the thesis assumes",
    ],
    [
        "figures 4.4 to 4.7: the measured curves",
        "hardware counters of the same run are needed; the simulated curves are there",
    ],
    [
        "figures 4.8 to 4.11: code misses and measured curves without them",
        "the counter of ITLB walks on the same hardware is needed",
    ],
    [
        "table 6.2: its third column of dirty-x",
        "the thesis does not say which threshold it has",
    ],
    [
        "table 6.5: the thesis's rows of dirty-x",
        "the copy of the thesis that this paper follows lacks them; ours are there",
    ],
];

/// The part that a guest gives.
const WITHOUT_GUEST: [&str; 2] = [
    "three programs in a booted guest",
    "no guest was given: build one with workloads/guest/build.py, and give it with --guest",
];

/// The parts that are not produced, with the reasons.
pub(super) fn not_produced(has_guest: bool) -> Table {
    let text = "Parts of chapters 3 to 6 that user-mode recordings cannot give, and figures that \
                have no data.";
    let mut table = Table::new("Not produced yet", text, &["part", "reason"]);
    for row in NOT_PRODUCED
        .into_iter()
        .chain((!has_guest).then_some(WITHOUT_GUEST))
    {
        table.row(row.map(str::to_owned));
    }
    table
}
