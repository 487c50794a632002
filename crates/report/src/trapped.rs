//! The counts of a run whose TLB misses trapped.

use crate::View;
use crate::grid::{Align, Grid, paragraph};
use crate::number::grouped;
use crate::paint::Style;
use broadleaf_metrics::Trapped;

/// Renders the counts of a run, and what to know about them.
pub fn trap_table(trapped: &Trapped, view: View) -> String {
    let mut grid = Grid::new()
        .column("", Align::Left)
        .column("count", Align::Right)
        .column("", Align::Left);
    let mut row = |name: &str, count: u64, meaning: &str| {
        grid.row([name.to_owned(), grouped(count), meaning.to_owned()]);
    };
    row("L1 misses", trapped.l1_misses, "references that trapped");
    if trapped.l2_hits > 0 {
        row(
            "L2 hits",
            trapped.l2_hits,
            "of these, found in the second level",
        );
    }
    if trapped.l3_hits > 0 {
        row(
            "L3 hits",
            trapped.l3_hits,
            "of these, found in the third level",
        );
    }
    row("walks", trapped.walks, "of these, found in no level");
    if trapped.superpage_walks > 0 {
        row(
            "superpage walks",
            trapped.superpage_walks,
            "walks that ended at a superpage",
        );
    }
    if trapped.subblock_misses > 0 {
        row(
            "subblock misses",
            trapped.subblock_misses,
            "walks for a page of a block with an entry",
        );
    }
    row("walk cycles", trapped.walk_cycles, "by the machine's costs");
    row(
        "system calls",
        trapped.system_calls,
        "the kernel's references do not count",
    );
    if trapped.threads > 0 {
        row("threads", trapped.threads, "started; all share one TLB");
    }
    if trapped.processes > 0 {
        row(
            "processes",
            trapped.processes,
            "started; their misses do not count",
        );
    }
    if trapped.programs > 0 {
        row(
            "programs",
            trapped.programs,
            "replaced the first one; their misses count",
        );
    }
    if trapped.steps > 0 {
        row(
            "steps",
            trapped.steps,
            "instructions that need more pages than the TLB holds",
        );
    }
    let head = format!(
        "{} under {}, data references, by {}: {:.2} s, of these {:.2} s of processor time\n\n",
        trapped.machine,
        trapped.policy,
        trapped.mechanism,
        trapped.elapsed_seconds,
        trapped.user_seconds + trapped.system_seconds,
    );
    let mut text = head + &grid.render(view);
    for note in notes(trapped) {
        text.push('\n');
        text.push_str(&paragraph(&note, Style::Plain, view));
    }
    text + "\nNext, for all policies and machines: broadleaf record -- COMMAND\n"
}

/// What a reader has to know about the counts.
fn notes(trapped: &Trapped) -> Vec<String> {
    let mut notes = Vec::new();
    if trapped.ended_early {
        notes.push(
            "The program replaced itself by one that the engine could not load: counting ended \
             there."
                .to_owned(),
        );
    }
    if trapped.threads > 0 {
        notes.push(
            "Threads ran at once, in an order that differs from run to run: so do the counts."
                .to_owned(),
        );
    }
    let own = own_seconds(trapped);
    let rate = trapped.l1_misses as f64 / own.max(LEAST_SECONDS);
    if trapped.l1_misses > FEW_MISSES && rate > MOST_MISSES_PER_SECOND {
        notes.push(format!(
            "About {} misses in each second of the program's own time: beyond a million, a \
             recording and a comparison are quicker, and show every machine.",
            grouped(rate as u64)
        ));
    }
    notes
}

/// An estimate of the processor time that the program would take alone, in seconds.
fn own_seconds(trapped: &Trapped) -> f64 {
    let whole = trapped.user_seconds + trapped.system_seconds;
    whole - trapped.l1_misses as f64 * TRAP_SECONDS
}

/// The processor time of a trap, in seconds, as measured (the book's page on traps).
const TRAP_SECONDS: f64 = 3.7e-6;
/// Traps cost more than a recording beyond this number of misses in a second.
const MOST_MISSES_PER_SECOND: f64 = 1e6;
/// Fewer misses take less than two seconds, whatever their rate is.
const FEW_MISSES: u64 = 500_000;
const LEAST_SECONDS: f64 = 0.01;
