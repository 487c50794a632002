//! Table 6.4: DTLB misses with split and unified DTLBs.

use broadleaf_metrics::CellResult;

use super::none;
use super::policies::FREEBSD;
use super::published::table_6_4;
use super::runs::{COMPARED, UNIFIED, UNIFIED_POLICIES, ZhuRuns};
use crate::failure::Failure;
use crate::papers::Table;

/// The DTLBs: the thesis's name and the machine.
const DESIGNS: [(&str, &str); 3] = [
    ("64(4KB)+32(2MB)", "skylake"),
    ("64(4KB/2MB)", UNIFIED[0]),
    ("96(4KB/2MB)", UNIFIED[1]),
];

pub(super) fn table(all: &ZhuRuns) -> Result<Table, Failure> {
    let text = "Misses of the program for 605.mcf, relative to FreeBSD on the split DTLB. The \
                thesis does not give the index functions of unified DTLBs; here bits 15 to 12 \
                select the set of a 4 KiB page, and bits 24 to 21 that of a 2 MiB page.";
    let columns = ["DTLB", "FreeBSD: thesis", "here", "pop-64: thesis", "here"];
    let title = "Table 6.4: DTLB misses of three DTLBs";
    let mut table = Table::new(title, text, &columns);
    let thesis = table_6_4()?;
    let run = (all.runs.iter()).find(|run| run.program.represents == COMPARED);
    let misses = |policy: &str, machine: &str| -> Option<f64> {
        let results = &run?.results;
        let mut cells = results.cells.iter().chain(&results.unified);
        let is_it = |cell: &&CellResult| cell.policy == policy && cell.machine == machine;
        cells.find(is_it).map(|cell| cell.l1_misses as f64)
    };
    let reference = misses(FREEBSD, DESIGNS[0].1).filter(|misses| *misses > 0.0);
    let ratio = |policy: &str, machine: &str| Some(misses(policy, machine)? / reference?);
    for (design, machine) in DESIGNS {
        let mut cells = vec![design.to_owned()];
        for (policy, name) in UNIFIED_POLICIES.into_iter().zip(["FreeBSD", "pop-64"]) {
            cells.push(format!("{:.2}", thesis.number(design, name)?));
            let here = ratio(policy, machine);
            cells.push(here.map_or_else(none, |ratio| format!("{ratio:.2}")));
        }
        table.row(cells);
    }
    let text = "superpages promoted early gain more from a unified DTLB than FreeBSD's do";
    let gain =
        |policy: &str, machine: &str| Some(ratio(policy, machine)? / ratio(policy, DESIGNS[0].1)?);
    let gains: Option<Vec<[f64; 2]>> = UNIFIED
        .iter()
        .map(|machine| {
            let [freebsd, pop] = UNIFIED_POLICIES.map(|policy| gain(policy, machine));
            Some([freebsd?, pop?])
        })
        .collect();
    let Some(gains) = gains else {
        let why = "the program for 605.mcf was not recorded at this scale";
        table.direction(false, text).not_shown_because(why);
        return Ok(table);
    };
    let claim = table.direction(gains.iter().all(|[freebsd, pop]| pop < freebsd), text);
    for ([freebsd, pop], (published, entries)) in
        gains.iter().zip([(0.15 / 0.25, 64), (0.10 / 0.25, 96)])
    {
        claim.number(published, *pop, |value| {
            format!("pop-64 on {entries} entries x{value:.2}")
        });
        let of_thesis = if entries == 64 { 0.99 } else { 0.71 };
        claim.number(of_thesis, *freebsd, |value| {
            format!("FreeBSD on {entries} entries x{value:.2}")
        });
    }
    claim.because(
        "our network simplex fills its blocks at the start, so FreeBSD promotes as many of them as \
         pop-64 does",
    );
    Ok(table)
}
