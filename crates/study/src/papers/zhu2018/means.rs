//! Table 6.5: means over the programs, and the claims of section 6.3.1.

use broadleaf_metrics::{CellResult, mean};

use super::none;
use super::policies::{BASE, GREEDY, POLICIES, POP_64};
use super::published::table_6_5;
use super::ratios::mean_ratio;
use super::runs::{ZhuRun, ZhuRuns};
use crate::failure::Failure;
use crate::papers::Table;

/// A column of table 6.5.
struct MeanColumn {
    name: &'static str,
    /// The name in the thesis's table.
    published: &'static str,
    value: fn(&ZhuRuns, &str) -> Option<f64>,
}

const COLUMNS: [MeanColumn; 5] = [
    MeanColumn {
        name: "DTLB misses",
        published: "dtlb_misses",
        value: |all, policy| mean_ratio(all, policy, |cell| cell.l1_misses),
    },
    MeanColumn {
        name: "STLB misses",
        published: "stlb_misses",
        value: |all, policy| mean_ratio(all, policy, |cell| cell.l2_misses),
    },
    MeanColumn {
        name: "walk cycles",
        published: "page_walk_latency",
        value: |all, policy| mean_ratio(all, policy, |cell| cell.walk_cycles),
    },
    MeanColumn {
        name: "faults saved",
        published: "page_fault_reduction",
        value: |all, policy| mean_pages(all, policy, saved),
    },
    MeanColumn {
        name: "zeroed",
        published: "page_zero_overhead",
        value: zeroed,
    },
];

/// The faults that a policy saves.
pub(super) fn saved(cell: &CellResult) -> u64 {
    u64::try_from(cell.faults_saved).unwrap_or(0)
}

/// Pages for each touched reservation; `None` if the program touched none.
pub(super) fn by_reservation(
    run: &ZhuRun,
    policy: &str,
    figure: fn(&CellResult) -> u64,
) -> Option<f64> {
    let reservations = run.reservations();
    let pages = run.figure(policy, figure)?;
    (reservations > 0.0).then(|| pages / reservations)
}

/// The mean over the programs of their pages for each touched reservation.
fn mean_pages(all: &ZhuRuns, policy: &str, figure: fn(&CellResult) -> u64) -> Option<f64> {
    let each = all.runs.iter();
    let values: Vec<f64> = each
        .filter_map(|run| by_reservation(run, policy, figure))
        .collect();
    mean(&values)
}

/// The zeroed pages for each touched reservation: the mean over the programs.
pub(super) fn zeroed(all: &ZhuRuns, policy: &str) -> Option<f64> {
    mean_pages(all, policy, |cell| cell.extra_zeroed_pages)
}

/// The gain of a policy in walk cycles, and its zeroed pages, as shares of those of greedy.
#[derive(Clone, Copy, Debug)]
struct Against {
    kept: f64,
    zeroed: f64,
}

/// The least share of greedy's gain that counts as most of it, and the greatest share of its
/// zeroing that counts as a small part.
const MOST: f64 = 0.5;
const SMALL: f64 = 0.25;

/// The lifetimes, with their accesses.
const LIVES: [(&str, u64); 4] = [
    ("life-1e6", 1_000_000),
    ("life-1e7", 10_000_000),
    ("life-1e8", 100_000_000),
    ("life-1e9", 1_000_000_000),
];

impl Against {
    fn greedy([gain, zeroed]: [f64; 2], [most, all]: [f64; 2]) -> Self {
        Self {
            kept: (1.0 - gain) / (1.0 - most),
            zeroed: zeroed / all,
        }
    }

    fn is_good(self) -> bool {
        self.kept > MOST && self.zeroed < SMALL
    }

    fn written(self) -> String {
        let [kept, zeroed] = [self.kept, self.zeroed].map(|share| 100.0 * share);
        format!("{kept:.0} % of the gain, {zeroed:.0} % of the zeroing")
    }
}

/// The programs in which pop-64 zeroes more than a small part of greedy's pages.
fn zeroing(all: &ZhuRuns) -> Vec<&'static str> {
    let pages = |run: &ZhuRun, policy| {
        let zeroed = run.figure(policy, |cell| cell.extra_zeroed_pages);
        zeroed.unwrap_or_default()
    };
    let each = all.runs.iter();
    each.filter(|run| pages(run, POP_64) > SMALL * pages(run, GREEDY))
        .map(|run| run.program.name)
        .collect()
}

/// Table 6.5, with the thesis's means beside ours.
pub(super) fn table(all: &ZhuRuns) -> Result<Table, Failure> {
    let mut columns = vec!["policy"];
    for column in &COLUMNS {
        columns.extend(["thesis", column.name]);
    }
    let text = "Misses and walk cycles are means over the programs of the ratios to FreeBSD. Saved \
                faults and zeroed pages are base pages for each touched reservation of a program, \
                and again the mean over the programs. The thesis has no rows of dirty-x.";
    let title = "Table 6.5: overall performance of 18 policies";
    let mut table = Table::new(title, text, &columns);
    let thesis = table_6_5()?;
    for policy in &POLICIES {
        let mut cells = vec![policy.name.to_owned()];
        for column in &COLUMNS {
            let published = thesis.find(policy.name, column.published);
            let here = (column.value)(all, policy.policy);
            cells.extend(
                [published, here]
                    .map(|value| value.map_or_else(none, |value| format!("{value:.2}"))),
            );
        }
        table.row(cells);
    }
    let walks = &COLUMNS[2];
    let here = |policy: &str| {
        let value = |column: &MeanColumn| (column.value)(all, policy).unwrap_or(f64::NAN);
        [value(walks), value(&COLUMNS[4])]
    };
    let published = |name: &str| -> Result<[f64; 2], Failure> {
        Ok([
            thesis.number(name, walks.published)?,
            thesis.number(name, COLUMNS[4].published)?,
        ])
    };
    let most = [published(GREEDY)?, here(GREEDY)];
    let against = |name: &str| -> Result<[Against; 2], Failure> {
        Ok([
            Against::greedy(published(name)?, most[0]),
            Against::greedy(here(name), most[1]),
        ])
    };
    let [hers, ours] = against(POP_64)?;
    table
        .direction(
            ours.is_good(),
            "pop-64 keeps most of greedy's gain at a small part of its zeroing",
        )
        .words(&hers.written(), ours.written())
        .because(format!(
            "pop-64 zeroes more than {:.0} percent of greedy's pages in {}: blocks that have 64 \
             pages stay part-filled in these short runs",
            100.0 * SMALL,
            zeroing(all).join(", ")
        ));
    let claim = table.direction(
        false,
        "life-x predicts badly: no lifetime does what pop-64 does",
    );
    let (mut tested, mut good) = (0, Vec::new());
    for (life, accesses) in LIVES {
        let passes = |run: &&ZhuRun| run.results.references >= accesses;
        let programs = all.runs.iter().filter(passes).count();
        let [hers, ours] = against(life)?;
        // A lifetime that passes in few traces is no test of it.
        if 2 * programs < all.runs.len() {
            let count = format!("it passes in {programs} of {} programs", all.runs.len());
            claim.words(
                &format!("{life} {}", hers.written()),
                format!("not tested, {count}"),
            );
            continue;
        }
        tested += 1;
        good.extend(ours.is_good().then_some(life));
        claim.words(&format!("{life} {}", hers.written()), ours.written());
    }
    claim.agrees = good.is_empty();
    claim.because(format!("{} does too", good.join(" and ")));
    if tested == 0 {
        claim.not_shown_because("the traces are shorter than the lifetimes");
    }
    let foresight = here("foresight")[0];
    table
        .direction(
            most[1][0] < foresight && foresight < 1.0,
            "early promotion spares walks, and promoting part-filled reservations spares more",
        )
        .number(0.64, foresight, |value| format!("foresight x{value:.2}"))
        .number(0.14, most[1][0], |value| format!("greedy x{value:.2}"))
        .because("other programs");
    let base = (walks.value)(all, BASE).unwrap_or(f64::NAN);
    let mean = thesis.number("4K-user", walks.published)?;
    table
        .direction(
            base > 1.5,
            "without superpages, walks take many times the cycles of FreeBSD's",
        )
        .number(mean, base, |value| format!("x{value:.2}"))
        .because(
            "traces are shorter and programs smaller: FreeBSD fills few blocks before a trace \
             ends, and one program of the thesis misses the STLB almost never under FreeBSD",
        );
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_thesis_support_its_claims() {
        let thesis = table_6_5().unwrap();
        let of = |name: &str| {
            let number = |column| thesis.number(name, column).unwrap();
            [number("page_walk_latency"), number("page_zero_overhead")]
        };
        let good = |name: &str| Against::greedy(of(name), of("greedy")).is_good();
        assert!(good("pop-64") && good("pop-128"));
        for life in ["life-1e6", "life-1e7", "life-1e8", "life-1e9"] {
            assert!(!good(life), "{life}");
        }
    }
}
