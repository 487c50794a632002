//! Tendencies of TLBs that the thesis's figures have, for each program.

use super::runs::{AllResults, DesignResults};
use crate::papers::Table;

/// A tendency: the misses of one design are at most those of another, or equal to them.
struct Tendency {
    text: &'static str,
    fewer: &'static str,
    more: &'static str,
    /// The difference that counts as none, in percent.
    within: f64,
    /// True if the misses must not be much fewer either.
    equal: bool,
    /// The cause of an exception.
    cause: &'static str,
}

const TENDENCIES: [Tendency; 9] = [
    Tendency {
        text: "without support, a superpage TLB has at most 1 percent fewer or more misses than \
               with reservation alone",
        fewer: "spg32k_fa_b62_reserve",
        more: "spg32k_fa_b62_base",
        within: 1.0,
        equal: true,
        cause: "base pages of a superpage TLB depend on no frame, so this is a fault",
    },
    Tendency {
        text: "superpages in the same area miss less than single pages, with page-size assignment",
        fewer: "spg32k_fa_b62",
        more: "sp_fa_b64",
        within: 0.0,
        equal: false,
        cause: "few blocks are promoted, and the TLB has two blocks less",
    },
    Tendency {
        text: "partial subblocks with reservation miss no more than complete subblocks of 16 pages",
        fewer: "psb16_fa_b57",
        more: "csb16_fa_b9",
        within: 0.0,
        equal: false,
        cause: "blocks whose pages are not properly placed take several entries",
    },
    Tendency {
        text: "without placement, partial subblocks miss as a single-page-size TLB of 7 more \
               blocks",
        fewer: "psb16_fa_b57_noos",
        more: "sp_fa_b64",
        within: 10.0,
        equal: true,
        cause: "57 blocks hold a ninth fewer pages, which the working set needs",
    },
    Tendency {
        text: "without placement, preloading adds nothing to partial subblocks",
        fewer: "psb16_fa_b57_noos",
        more: "psb16_fa_b57_pre_noos",
        within: 1.0,
        equal: true,
        cause: "neighbours of random frames were properly placed by chance",
    },
    Tendency {
        text: "preloading adds no misses to complete subblocks of 4 pages",
        fewer: "csb4_fa_b35_pre",
        more: "csb4_fa_b35",
        within: 0.0,
        equal: false,
        cause: "a preloaded block is used in another order, and another block makes room",
    },
    Tendency {
        text: "preloading adds no misses to complete subblocks of 16 pages",
        fewer: "csb16_fa_b9_pre",
        more: "csb16_fa_b9",
        within: 0.0,
        equal: false,
        cause: "a preloaded block is used in another order, and another block makes room",
    },
    Tendency {
        text: "preloading adds no misses to partial subblocks with reservation",
        fewer: "psb16_fa_b57_pre",
        more: "psb16_fa_b57",
        within: 0.0,
        equal: false,
        cause: "a preloaded block is used in another order, and another block makes room",
    },
    Tendency {
        text: "reservation adds no misses to partial subblocks",
        fewer: "psb16_fa_b57",
        more: "psb16_fa_b57_noos",
        within: 1.0,
        equal: false,
        cause: "a block of many pages stays in place of recent single pages",
    },
];

impl Tendency {
    /// The excess of misses, in percent, and whether the tendency holds.
    fn of(&self, run: &DesignResults) -> (f64, bool) {
        let (fewer, more) = (
            run.of_design(self.fewer) as f64,
            run.of_design(self.more) as f64,
        );
        let excess = 100.0 * (fewer - more) / more.max(1.0);
        let away = if self.equal { excess.abs() } else { excess };
        (excess, away <= self.within)
    }
}

pub(super) fn table(all: &AllResults) -> Table {
    let mut table = Table::new(
        "Tendencies, program by program",
        "The excess of the misses of one TLB over those of another. The thesis has exceptions too \
         (fftpde, gcc), so that these are tendencies and no laws.",
        &[
            "tendency",
            "program",
            "misses",
            "others' misses",
            "excess %",
            "holds",
            "likely cause",
        ],
    );
    for tendency in &TENDENCIES {
        let mut holds = 0;
        for run in &all.runs {
            let (excess, held) = tendency.of(run);
            holds += usize::from(held);
            table.row([
                format!("{} against {}", tendency.fewer, tendency.more),
                run.program.name.to_owned(),
                run.of_design(tendency.fewer).to_string(),
                run.of_design(tendency.more).to_string(),
                format!("{excess:.2}"),
                if held { "yes" } else { "exception" }.to_owned(),
                if held { "" } else { tendency.cause }.to_owned(),
            ]);
        }
        table
            .direction(
                2 * holds > all.runs.len() || all.runs.is_empty(),
                tendency.text,
            )
            .words(
                "a tendency",
                format!("{holds} of {} programs", all.runs.len()),
            )
            .because(tendency.cause);
    }
    table
}
