//! Tables 6.2 and 6.3, and the combination of policies of section 6.3.1: reservations of files.

use broadleaf_metrics::CellResult;

use super::none;
use super::policies::{ADVICE, GREEDY, POP_64};
use super::published::{COMBINED_DISK_READ, table_6_2, table_6_3};
use super::runs::{ZhuRun, ZhuRuns};
use crate::failure::Failure;
use crate::papers::Table;

/// The policies of table 6.2, with the columns of the thesis's table.
const POLICIES: [(&str, &str); 11] = [
    ("greedy", "greedy"),
    ("dirty-64", "dirty_a"),
    ("dirty-128", "dirty_b"),
    ("pop-64", "pop_64"),
    ("pop-128", "pop_128"),
    ("pop-256", "pop_256"),
    ("pop-461", "pop_461"),
    ("life-1e6", "life_1e6"),
    ("life-1e7", "life_1e7"),
    ("life-1e8", "life_1e8"),
    ("life-1e9", "life_1e9"),
];

/// A figure of table 6.2.
type FileFigure = (&'static str, &'static str, fn(&CellResult) -> u64);

const FIGURES: [FileFigure; 2] = [
    ("disk reads", "disk_read", |cell| cell.extra_disk_read_pages),
    ("false dirty", "false_dirty", |cell| {
        cell.clean_pages_in_superpages_file
    }),
];

/// The programs with reservations of files.
fn with_files(all: &ZhuRuns) -> impl Iterator<Item = &ZhuRun> {
    let each = all.runs.iter();
    each.filter(|run| run.file_reservations() > 0.0)
}

/// Pages for each reservation of a file.
fn average(run: &ZhuRun, policy: &str, figure: fn(&CellResult) -> u64) -> f64 {
    run.figure(policy, figure).unwrap_or_default() / run.file_reservations().max(1.0)
}

/// Table 6.2.
pub(super) fn overheads(all: &ZhuRuns) -> Result<Table, Failure> {
    let names = POLICIES.iter().map(|(policy, _)| *policy);
    let columns: Vec<&str> = ["program", "pages", "whose"]
        .into_iter()
        .chain(names)
        .collect();
    let text = "Pages for each touched reservation of a file: read from disk and never touched, \
                and clean in superpages at the end. Programs without such reservations are left \
                out. The policies are the thesis's; the thresholds of its columns of dirty-x are \
                ambiguous, and 64 and 128 fit.";
    let mut table = Table::new(
        "Table 6.2: disk I/O for reservations of files",
        text,
        &columns,
    );
    let thesis = table_6_2()?;
    for (name, key, figure) in FIGURES {
        for run in with_files(all) {
            let represents = run.program.represents;
            let row = format!("{key}:{represents}");
            let published: Vec<Option<f64>> = (POLICIES.iter())
                .map(|(_, column)| thesis.find(&row, column))
                .collect();
            if published.iter().any(Option::is_some) {
                let written = published
                    .iter()
                    .map(|value| value.map_or_else(none, |value| format!("{value:.1}")));
                let first = [represents, name, "thesis"].map(str::to_owned);
                table.row(first.into_iter().chain(written));
            }
            let first = [run.program.name, name, "here"].map(str::to_owned);
            let here = POLICIES
                .iter()
                .map(|(policy, _)| average(run, policy, figure));
            table.row(
                first
                    .into_iter()
                    .chain(here.map(|value| format!("{value:.1}"))),
            );
        }
    }
    let (mut suits, mut programs) = (0, 0);
    let mut sums = [0.0; 2];
    for run in with_files(all) {
        let is_less = |(_, _, figure): &FileFigure| {
            average(run, "dirty-64", *figure) <= average(run, POP_64, *figure)
        };
        suits += usize::from(FIGURES.iter().all(is_less));
        programs += 1;
        for (sum, policy) in sums.iter_mut().zip(["dirty-64", POP_64]) {
            *sum += FIGURES
                .iter()
                .map(|(_, _, figure)| average(run, policy, *figure))
                .sum::<f64>();
        }
    }
    let text = "a threshold of dirty pages suits files: dirty-64 reads and marks no more pages \
                than pop-64";
    let [dirty, pop] = sums;
    let claim = table.direction(programs > 0 && suits == programs && dirty < pop, text);
    claim.words(
        "in each of 7 programs",
        format!("in {suits} of {programs} programs; {dirty:.1} pages against {pop:.1} in all"),
    );
    if programs == 0 {
        claim.not_shown_because("no program of this scale has a reservation of a file");
    } else {
        claim.because("programs store to file pages that they mapped privately");
    }
    Ok(table)
}

/// Table 6.3.
pub(super) fn reservations(all: &ZhuRuns) -> Result<Table, Failure> {
    let text = "Reservations of files that the program touched: the promotions of greedy for files \
                alone.";
    let columns = ["program", "thesis's", "thesis", "here", "all reservations"];
    let mut table = Table::new("Table 6.3: reservations of files", text, &columns);
    let thesis = table_6_3()?;
    for run in &all.runs {
        let published = thesis.find(run.program.represents, "file_backed_reservations");
        table.row([
            run.program.name.to_owned(),
            run.program.represents.to_owned(),
            published.map_or_else(none, |value| format!("{value:.0}")),
            format!("{:.0}", run.file_reservations()),
            format!("{:.0}", run.reservations()),
        ]);
    }
    let of_files: f64 = all.runs.iter().map(ZhuRun::file_reservations).sum();
    let whole: f64 = all.runs.iter().map(ZhuRun::reservations).sum();
    let share = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
    table
        .direction(
            of_files < whole / 2.0,
            "programs have few reservations of files: most read files by system calls",
        )
        .number(share(25.0, 38_430.0), share(of_files, whole), |share| {
            format!("{share:.2} % of all reservations")
        })
        .because(
            "our programs touch less memory, and libraries, compilers and virtual machines map \
             their own files",
        );
    Ok(table)
}

/// The combination of policies for the two kinds of memory.
pub(super) fn combination(all: &ZhuRuns) -> Table {
    let text = "The policy advice promotes anonymous memory as pop-64 does. It promotes a file's \
                clean block from 256 populated pages on, write-protected, and again from 256 dirty \
                pages on. Pages are for each touched reservation of a file.";
    let columns = [
        "program",
        "policy",
        "disk reads",
        "false dirty",
        "walk cycles to FreeBSD",
        "greedy: disk reads",
        "false dirty",
    ];
    let title = "Section 6.3.1: the combination for anonymous memory and files";
    let mut table = Table::new(title, text, &columns);
    // A clean page in a superpage without a store costs no write: the superpage is write-protected.
    let written = |cell: &CellResult| cell.false_dirty_pages_file;
    let read = |cell: &CellResult| cell.extra_disk_read_pages;
    for run in with_files(all) {
        for policy in ADVICE {
            let ratio = run.to_freebsd(policy, |cell| cell.walk_cycles);
            let of = |policy: &str, figure| format!("{:.1}", average(run, policy, figure));
            table.row([
                run.program.name.to_owned(),
                policy.to_owned(),
                of(policy, read),
                of(policy, written),
                ratio.map_or_else(none, |ratio| format!("{ratio:.2}")),
                of(GREEDY, read),
                of(GREEDY, written),
            ]);
        }
    }
    let text = "for derby, pop-256 and then dirty-256 read few extra pages and write none";
    let derby = with_files(all).find(|run| run.program.represents == "derby");
    let Some(derby) = derby else {
        let why = "the program derby was not recorded at this scale";
        table.direction(false, text).not_shown_because(why);
        return table;
    };
    let [reads, writes] = [read, written].map(|figure| average(derby, ADVICE[0], figure));
    let most = average(derby, GREEDY, read);
    table
        .direction(reads <= most / 4.0 && writes == 0.0, text)
        .number(COMBINED_DISK_READ, reads, |value| {
            format!("{value:.1} pages read for each reservation")
        })
        .words(
            "264.8 by greedy; no extra writes",
            format!("{most:.1} by greedy; {writes:.1} extra writes"),
        )
        .because("other files: our Derby keeps its database in memory, and maps classes alone");
    table
}
