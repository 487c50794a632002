//! Figures 6.4 to 6.7: saved faults, zeroed pages and false dirty pages.

use broadleaf_metrics::{CellResult, mean};

use super::means::{by_reservation, saved, zeroed as mean_zeroed};
use super::none;
use super::policies::{BASE, FREEBSD, GREEDY, POP_64, compared};
use super::ratios::by_policy;
use super::runs::{ZhuRun, ZhuRuns};
use crate::papers::Table;

/// Pages for each touched reservation of anonymous memory, shared memory included.
fn by_anonymous(run: &ZhuRun, policy: &str, figure: fn(&CellResult) -> u64) -> Option<f64> {
    let reservations = run.anonymous_reservations();
    let pages = run.figure(policy, figure)?;
    (reservations > 0.0).then(|| pages / reservations)
}

pub(super) fn saved_share(all: &ZhuRuns) -> Table {
    let share = |run: &ZhuRun, policy: &str| {
        let faults = run.figure(BASE, |cell| cell.page_faults)?;
        Some(100.0 * run.figure(policy, saved)? / faults.max(1.0))
    };
    let title = "Figure 6.4: saved page faults, in percent of all faults";
    let text = "All faults are those of the policy 4k. The thesis draws bars without numbers.";
    let mut table = by_policy(all, title, text, share, 1);
    let falls = |policies: &[&str]| {
        let mean_of = |policy: &&str| {
            let each = all.runs.iter();
            let values: Vec<f64> = each.filter_map(|run| share(run, policy)).collect();
            mean(&values).unwrap_or(f64::NAN)
        };
        let means: Vec<f64> = policies.iter().map(mean_of).collect();
        means.is_sorted_by(|one, next| one >= next)
    };
    let pop = [
        "greedy", "pop-64", "pop-128", "pop-256", "pop-461", "pop-509",
    ];
    let life = ["greedy", "life-1e6", "life-1e7", "life-1e8", "life-1e9"];
    table
        .direction(
            falls(&pop) && falls(&life),
            "more aggressive policies save more page faults",
        )
        .words("always", "by the means over the programs")
        .because("a mean rises with the threshold");
    table
}

pub(super) fn saved_faults(all: &ZhuRuns) -> Table {
    let title = "Figure 6.5: saved page faults for each touched reservation";
    let text = "The touched reservations are the promotions of greedy. The thesis draws bars \
                without numbers; its means are in table 6.5.";
    let of = |run: &ZhuRun, policy: &str| by_reservation(run, policy, saved);
    by_policy(all, title, text, of, 1)
}

pub(super) fn zeroed(all: &ZhuRuns) -> Table {
    let title = "Figure 6.6: extra zeroed pages for each reservation of anonymous memory";
    let text = "Anonymous pages that a promotion filled, and that the program never touched. The \
                thesis gives two programs in numbers: cam4 and redis.";
    let of = |run: &ZhuRun, policy: &str| by_anonymous(run, policy, |cell| cell.extra_zeroed_pages);
    let mut table = by_policy(all, title, text, of, 1);
    let programs = all.runs.iter();
    let less = programs.filter(|run| {
        let [pop, greedy] = [POP_64, GREEDY].map(|policy| of(run, policy).unwrap_or_default());
        pop <= greedy
    });
    let less = less.count();
    let claim = table.direction(
        less == all.runs.len(),
        "pop-64 zeroes no more pages than greedy in any program",
    );
    for (program, [greedy, pop]) in [("cam4", [175.0, 95.0]), ("redis", [246.0, 189.0])] {
        let Some(run) = (all.runs.iter()).find(|run| run.program.represents == program) else {
            continue;
        };
        for (policy, published) in [(GREEDY, greedy), (POP_64, pop)] {
            let here = of(run, policy).unwrap_or_default();
            claim.number(published, here, |value| {
                format!("{program}, {policy}: {value:.1}")
            });
        }
    }
    claim.because("other programs, whose memory is laid out by another allocator");
    let [greedy, pop] = [GREEDY, POP_64].map(|policy| mean_zeroed(all, policy));
    let [greedy, pop] = [greedy, pop].map(|one| one.unwrap_or(f64::NAN));
    table
        .direction(
            greedy > 50.0,
            "greedy zeroes more than 50 extra pages for each reservation",
        )
        .number(128.48, greedy, |value| format!("greedy {value:.1}"))
        .number(23.81, pop, |value| format!("pop-64 {value:.1}"))
        .because("most of our programs fill the blocks that they begin; xz and servers do not");
    table
}

/// The clean pages in superpages of anonymous memory that the system takes for modified. FreeBSD
/// write-protects clean superpages, so it takes none of theirs.
fn falsely_dirty(cell: &CellResult) -> u64 {
    match cell.policy == FREEBSD {
        true => cell.false_dirty_pages_anonymous,
        false => cell.clean_pages_in_superpages_anonymous,
    }
}

/// The clean pages in superpages of files that the system takes for modified.
fn falsely_dirty_of_files(cell: &CellResult) -> u64 {
    match cell.policy == FREEBSD {
        true => cell.false_dirty_pages_file,
        false => cell.clean_pages_in_superpages_file,
    }
}

pub(super) fn false_dirty(all: &ZhuRuns) -> Table {
    let title = "Figure 6.7: false dirty pages for each reservation of anonymous memory";
    let text = "Pages never stored to, in superpages that exist at the end of the trace, in the \
                thesis's sense: a superpage without a store counts all its pages. Superpages of \
                processes that ended are gone.";
    let of = |run: &ZhuRun, policy: &str| by_anonymous(run, policy, falsely_dirty);
    let mut table = by_policy(all, title, text, of, 1);
    let total = |figure: fn(&CellResult) -> u64| -> f64 {
        let each = compared().flat_map(|one| all.runs.iter().map(move |run| (run, one.policy)));
        let differences = each.filter_map(|(run, policy)| by_anonymous(run, policy, figure));
        differences.sum()
    };
    let (dirty, zeroed) = (total(falsely_dirty), total(|cell| cell.extra_zeroed_pages));
    table
        .direction(
            dirty < 2.0 * zeroed && zeroed < 2.0 * dirty,
            "false dirty pages of anonymous memory are much like its zeroed pages",
        )
        .words(
            "very similar",
            format!("sums over programs and policies: {dirty:.0} and {zeroed:.0}"),
        )
        .because(
            "servers end their processes before the trace ends, and memory that a promotion filled \
             is read before it is stored to",
        );
    table
}

/// Averages for each reservation, by kind of reservation.
pub(super) fn by_kind(all: &ZhuRuns) -> Table {
    let text = "Sums over all programs, divided by all touched reservations of the kind. Table 6.5 \
                has means over the programs instead. Pages are zeroed for anonymous memory, and \
                read from disk for files.";
    let columns = [
        "policy",
        "faults saved",
        "anonymous: zeroed",
        "false dirty",
        "file: disk reads",
        "false dirty",
    ];
    let title = "Averages for each reservation, by kind of reservation";
    let mut table = Table::new(title, text, &columns);
    let sum = |of: &dyn Fn(&ZhuRun) -> f64| -> f64 { all.runs.iter().map(of).sum() };
    let anonymous = sum(&ZhuRun::anonymous_reservations);
    let files = sum(&ZhuRun::file_reservations);
    let whole = sum(&ZhuRun::reservations);
    table.text = format!(
        "{} The programs touched {anonymous:.0} reservations of anonymous memory, and {files:.0} \
         of files.",
        table.text
    );
    for policy in compared() {
        let average = |figure: fn(&CellResult) -> u64, reservations: f64| {
            if reservations == 0.0 {
                return none();
            }
            let pages = sum(&|run| run.figure(policy.policy, figure).unwrap_or_default());
            format!("{:.2}", pages / reservations)
        };
        table.row([
            policy.name.to_owned(),
            average(saved, whole),
            average(|cell| cell.extra_zeroed_pages, anonymous),
            average(falsely_dirty, anonymous),
            average(|cell| cell.extra_disk_read_pages, files),
            average(falsely_dirty_of_files, files),
        ]);
    }
    table
}
