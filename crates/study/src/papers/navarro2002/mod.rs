//! Navarro, Iyer, Druschel, Cox 2002: the experiments of the evaluation slides, with newly written
//! programs.

mod adversaries;
mod best;
mod concurrent;
mod mechanisms;
mod programs;
mod real;
mod remarks;
mod setting;
mod sizes;
mod stand_ins;
mod sustained;
mod web;

use super::{Experiment, Paper};

pub(crate) const PAPER: Paper = Paper {
    name: "navarro2002",
    title: "Navarro, Iyer, Druschel, Cox: Practical, Transparent Operating System Support for \
            Superpages (OSDI 2002)",
    source: "slides",
    help: "Reservation-based superpages of several sizes: best case, each size alone, fragmented \
           memory, a server beside a seeker of contiguity, adversaries, demotion. --full also \
           records real programs, such as gcc and sqlite3, where they are installed.",
    remarks: "The slides' figures are beside ours; a dash marks a missing figure. Speedups are \
              estimates: an access that misses no TLB takes a \
              fixed number of cycles (--cycles-per-access), to which the cycles of walks and of \
              faults are added, those of zeroing, promotion and disk \
              included. No other cache is modelled, so a program whose references miss those too \
              gains less in truth. Counts are exact. Programs are \
              the kernels of those of the paper, as references; --full adds recordings of real \
              ones.",
    cycles_per_access: Some(1.5),
    switches: Some("navarro"),
    records_guests: false,
    experiments: &[
        Experiment {
            tables: &["best-case", "page-sizes"],
            run: best::run,
            only_full: false,
        },
        Experiment {
            tables: &["mesa", "page-coloring", "too-small", "very-large"],
            run: remarks::run,
            only_full: false,
        },
        Experiment {
            tables: &["mechanisms"],
            run: mechanisms::run,
            only_full: false,
        },
        Experiment {
            tables: &["sustained"],
            run: sustained::run,
            only_full: false,
        },
        Experiment {
            tables: &["concurrent"],
            run: concurrent::run,
            only_full: false,
        },
        Experiment {
            tables: &["adversaries", "demotion"],
            run: adversaries::run,
            only_full: false,
        },
        // The longest experiment comes last.
        Experiment {
            tables: &["real-programs"],
            run: real::run,
            only_full: true,
        },
    ],
};

/// A dash, where the slides give no figure.
fn none() -> String {
    "-".to_owned()
}

fn percent(part: f64) -> String {
    format!("{part:.1} %")
}

fn times(factor: f64) -> String {
    format!("{factor:.2}x")
}
