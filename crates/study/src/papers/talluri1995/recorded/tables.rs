//! The tables of programs, of misses and of speedups.

use broadleaf_price::execution::{DEFAULT_PENALTY, MeasuredProgram, normalised_speedup, weights};
use broadleaf_report::number::grouped;

use super::designs::DESIGNS;
use super::programs::PROGRAMS;
use super::runs::{AllResults, DesignResults};
use crate::failure::Failure;
use crate::papers::talluri1995::misses;
use crate::papers::talluri1995::speedups::Inputs;
use crate::papers::{PaperSetting, Scale, Table, none};

/// The memory that six programs of ten touch, in bytes.
const LARGE: u64 = 64 << 20;

/// A command longer than this is cut: the page of the book has it.
const LONGEST_COMMAND: usize = 44;

pub(super) fn programs(setting: &PaperSetting, all: &AllResults) -> Table {
    let mut table = Table::new(
        "Recorded programs",
        "Each program was recorded on this computer. References are loads and stores. Touched \
         memory is the sum of the pages that the program referred to.",
        &[
            "program",
            "kind",
            "thesis",
            "references",
            "touched MiB",
            "command",
        ],
    );
    for run in &all.runs {
        let mut command: String = run.command.chars().take(LONGEST_COMMAND).collect();
        if command.len() < run.command.len() {
            command.push_str(" ...");
        }
        table.row([
            run.program.name.to_owned(),
            run.program.kind.to_owned(),
            run.program.represents.to_owned(),
            grouped(run.references),
            format!("{:.1}", run.touched as f64 / (1 << 20) as f64),
            command,
        ]);
    }
    for (program, file) in &all.missing {
        table.row([
            program.name.to_owned(),
            program.kind.to_owned(),
            program.represents.to_owned(),
            none(),
            none(),
            format!("not recorded: no {file}; install {}", program.packages),
        ]);
    }
    if setting.scale == Scale::Tiny {
        table
            .text
            .push_str(" --tiny has the programs that gcc alone makes.");
        return table;
    }
    let references = match setting.scale {
        Scale::Full => 1_000_000_000,
        _ => 100_000_000,
    };
    let lacking = (all.missing.iter())
        .map(|(program, _)| format!("{} is not installed ({})", program.name, program.packages));
    let few = all.runs.iter().filter(|run| run.references < references);
    let few = few.map(|run| {
        let made = grouped(run.references);
        format!("{} makes {made} references only", run.program.name)
    });
    let shortfalls: Vec<String> = lacking.clone().chain(few).collect();
    let enough = all.runs.iter().filter(|run| run.references >= references);
    let enough = enough.count();
    table
        .direction(
            enough == PROGRAMS.len(),
            format!(
                "ten programs of ten kinds make {} references or more",
                grouped(references)
            ),
        )
        .words("ten programs", enough.to_string())
        .because(shortfalls.join("; "));
    let large = all.runs.iter().filter(|run| run.touched > LARGE).count();
    let lacking: Vec<String> = lacking.collect();
    table
        .direction(large >= 6, "six programs or more touch more than 64 MiB")
        .words("two programs", large.to_string())
        .because(match lacking.is_empty() {
            true => "other versions of the programs need less memory".to_owned(),
            false => lacking.join("; "),
        });
    table
}

/// The heads of tables with a column for each design.
fn heads() -> Vec<&'static str> {
    let designs = DESIGNS.iter().map(|design| design.name);
    ["program", "whose"].into_iter().chain(designs).collect()
}

/// The thesis's program with the results of a run, if it is one program.
fn row_of_thesis(run: &DesignResults) -> Option<usize> {
    let mut programs = misses::PROGRAMS.iter();
    programs.position(|program| *program == run.program.represents)
}

pub(super) fn misses(all: &AllResults) -> Result<Table, Failure> {
    let mut table = Table::new(
        "Misses of TLBs in the area of 64 single-page-size blocks",
        "Our rows have misses in a thousand references. The thesis's rows have millions of misses \
         of Appendix J: its programs are other ones of the same kind, with references that it does \
         not count. noos and base mean random frames. reserve means page reservation without \
         superpages. Superpages have page-size assignment with reservation, and partial subblocks \
         page reservation. Complete subblocks need no support.",
        &heads(),
    );
    let thesis = Inputs::read()?;
    for run in &all.runs {
        if let Some(row) = row_of_thesis(run) {
            let cells = DESIGNS.iter().map(|design| {
                let misses = thesis.misses(design.name);
                misses.map_or_else(none, |misses| format!("{:.1}", misses[row] / 1e6))
            });
            let names = [run.program.represents, "thesis"].map(str::to_owned);
            table.row(names.into_iter().chain(cells));
        }
        let cells = (0..DESIGNS.len()).map(|design| format!("{:.3}", run.rate(design)));
        let names = [run.program.name, "here"].map(str::to_owned);
        table.row(names.into_iter().chain(cells));
    }
    Ok(table)
}

pub(super) fn speedups(setting: &PaperSetting, all: &AllResults) -> Result<Table, Failure> {
    let mut table = Table::new(
        "Speedups over 64 single-page-size blocks, in the same area",
        "A miss takes 40 cycles. A reference takes --cycles-per-access, which no memory \
         measured: speedups are estimates. The last rows are normalised speedups: means with the \
         thesis's weights, the inverse of each program's time without misses.",
        &heads(),
    );
    let thesis = Inputs::read()?;
    let base = DESIGNS[0].name;
    let of_thesis: Vec<_> = (DESIGNS.iter())
        .map(|design| thesis.speedups(base, design.name, DEFAULT_PENALTY, DEFAULT_PENALTY))
        .collect();
    let written = |speedup: Option<f64>| speedup.map_or_else(none, |of| format!("{of:.3}"));
    for run in &all.runs {
        if let Some(row) = row_of_thesis(run) {
            let cells = of_thesis.iter();
            let cells = cells.map(|of| written(of.as_ref().map(|of| of.programs[row])));
            let names = [run.program.represents, "thesis"].map(str::to_owned);
            table.row(names.into_iter().chain(cells));
        }
        let program = run.measured(setting.cycles_per_access);
        let cells = run.misses.iter().map(|misses| {
            let speedup = program.speedup(program.misses, *misses as f64, DEFAULT_PENALTY);
            written(Some(speedup))
        });
        let names = [run.program.name, "here"].map(str::to_owned);
        table.row(names.into_iter().chain(cells));
    }
    let cells = (of_thesis.iter()).map(|of| written(of.as_ref().map(|of| of.weighted)));
    let names = ["normalised", "thesis"].map(str::to_owned);
    table.row(names.into_iter().chain(cells));
    let means = normalised(setting, all);
    let cells = means.iter().map(|mean| written(Some(*mean)));
    let names = ["normalised", "here"].map(str::to_owned);
    table.row(names.into_iter().chain(cells));
    claims(
        &mut table,
        &of_thesis
            .iter()
            .map(|of| Some(of.as_ref()?.weighted))
            .collect::<Vec<_>>(),
        &means,
    );
    Ok(table)
}

/// The normalised speedup of each design.
fn normalised(setting: &PaperSetting, all: &AllResults) -> Vec<f64> {
    let programs: Vec<MeasuredProgram> = (all.runs.iter())
        .map(|run| run.measured(setting.cycles_per_access))
        .collect();
    let weights = weights(&programs, DEFAULT_PENALTY);
    let misses = |design: usize| -> Vec<f64> {
        all.runs
            .iter()
            .map(|run| run.misses[design] as f64)
            .collect()
    };
    let base = misses(0);
    (0..DESIGNS.len())
        .map(|design| {
            normalised_speedup(&programs, &weights, &base, &misses(design), DEFAULT_PENALTY)
        })
        .collect()
}

/// The claims of table 8-2: the order of the designs with support by the system.
fn claims(table: &mut Table, thesis: &[Option<f64>], here: &[f64]) {
    for (design, text) in [
        (
            "spg32k_fa_b62",
            "superpages with page-size assignment are faster than single pages",
        ),
        (
            "psb16_fa_b57_pre",
            "partial subblocks with preloading are faster than single pages",
        ),
        (
            "csb4_fa_b35",
            "complete subblocks in the same area are faster than single pages",
        ),
    ] {
        let place = DesignResults::place(design);
        let claim = table.direction(here[place] > 1.0, text);
        if let Some(thesis) = thesis[place] {
            claim.number(thesis, here[place], |speedup| format!("{speedup:.3}"));
        }
        claim.because("the programs have other working sets than those of the thesis");
    }
}
