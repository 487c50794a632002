//! Tendencies of TLBs that the thesis's figures have, for each program.

use super::designs::{DesignRun, RANDOM, RESERVE, run};
use super::runs::{AllResults, DesignResults};
use super::worlds::World;
use crate::failure::Failure;
use crate::papers::Table;

/// TLBs that only tendencies compare: they have as many blocks as others, and not their area.
const OF_EQUAL_BLOCKS: [DesignRun; 4] = [
    run("sp_fa_b62", "single:entries=62", RANDOM),
    run("sp_fa_b57", "single:entries=57", RANDOM),
    run(
        "csb16_fa_b64_pre_reserve",
        "complete-subblock:entries=64,block=64k,preload=true,line=64,table=clustered-partial",
        RESERVE,
    ),
    run(
        "psb16_fa_b64_pre",
        "partial-subblock:entries=64,block=64k,preload=true,line=64,table=clustered-partial",
        RESERVE,
    ),
];

/// The TLBs, each with its world.
pub(super) fn observers() -> impl Iterator<Item = (World, &'static str)> {
    OF_EQUAL_BLOCKS
        .iter()
        .map(|design| (World::plentiful(design.policy), design.grid))
}

/// The misses of a TLB of that name.
fn misses(run: &DesignResults, name: &str) -> Result<u64, Failure> {
    match OF_EQUAL_BLOCKS.iter().find(|design| design.name == name) {
        Some(design) => {
            let world = World::plentiful(design.policy);
            Ok(run.counts(world, design.grid)?.misses)
        }
        None => Ok(run.of_design(name)),
    }
}

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

const TENDENCIES: [Tendency; 12] = [
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
        text: "without superpages, a superpage TLB misses as a single-page-size TLB of as many \
               blocks",
        fewer: "spg32k_fa_b62_base",
        more: "sp_fa_b62",
        within: 0.0,
        equal: true,
        cause: "a promotion by the program itself made superpages",
    },
    Tendency {
        text: "without placement, partial subblocks miss as a single-page-size TLB of as many \
               blocks",
        fewer: "psb16_fa_b57_noos",
        more: "sp_fa_b57",
        within: 1.0,
        equal: true,
        cause: "pages of a block lay in place by chance, and share an entry",
    },
    Tendency {
        text: "complete subblocks miss no more than partial subblocks of as many blocks",
        fewer: "csb16_fa_b64_pre_reserve",
        more: "psb16_fa_b64_pre",
        within: 0.0,
        equal: false,
        cause: "a partial-subblock TLB holds a page of its block apart, and another block makes \
                room",
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
    /// The misses of both TLBs.
    fn misses(&self, run: &DesignResults) -> Result<[u64; 2], Failure> {
        Ok([misses(run, self.fewer)?, misses(run, self.more)?])
    }

    /// The excess of misses, in percent, and whether the tendency holds.
    fn of(&self, misses: [u64; 2]) -> (f64, bool) {
        let [fewer, more] = misses.map(|misses| misses as f64);
        let excess = 100.0 * (fewer - more) / more.max(1.0);
        let away = if self.equal { excess.abs() } else { excess };
        (excess, away <= self.within)
    }
}

pub(super) fn table(all: &AllResults) -> Result<Table, Failure> {
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
    for tendency in TENDENCIES.iter().filter(|_| !all.runs.is_empty()) {
        let mut exceptions = Vec::new();
        for run in &all.runs {
            let misses = tendency.misses(run)?;
            let (excess, held) = tendency.of(misses);
            if !held {
                exceptions.push(run.program.name);
            }
            table.row([
                format!("{} against {}", tendency.fewer, tendency.more),
                run.program.name.to_owned(),
                misses[0].to_string(),
                misses[1].to_string(),
                format!("{excess:.2}"),
                if held { "yes" } else { "exception" }.to_owned(),
                if held { "" } else { tendency.cause }.to_owned(),
            ]);
        }
        let programs = all.runs.len();
        let found = match exceptions.len() {
            0 => format!("all {programs} programs"),
            few => format!("{} of {programs} programs", programs - few),
        };
        let cause = match exceptions.is_empty() {
            true => String::new(),
            false => format!("{}: {}", exceptions.join(", "), tendency.cause),
        };
        table
            .direction(exceptions.is_empty(), tendency.text)
            .words("a tendency", found)
            .because(&cause);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tendency(within: f64, equal: bool) -> Tendency {
        Tendency {
            within,
            equal,
            ..TENDENCIES[0]
        }
    }

    #[test]
    fn a_tendency_has_exceptions_above_and_where_misses_are_equal_below() {
        let no_more = tendency(1.0, false);
        assert_eq!(no_more.of([101, 100]), (1.0, true));
        assert_eq!(no_more.of([102, 100]), (2.0, false));
        assert_eq!(no_more.of([50, 100]), (-50.0, true));
        let equal = tendency(1.0, true);
        assert_eq!(equal.of([50, 100]), (-50.0, false));
        assert_eq!(equal.of([99, 100]), (-1.0, true));
        assert!(tendency(0.0, true).of([0, 0]).1);
    }
}
