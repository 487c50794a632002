//! The programs, their need of the cache (figure 3), and the misses of the mixes (table II).

use broadleaf_report::number::grouped;

use super::none;
use super::published::need;
use super::runs::{ChenRuns, MixedSchemes, RecordedAlone, SHARES};
use super::schemes::{ORIGINAL, share};
use crate::papers::Table;

pub(super) fn programs(runs: &ChenRuns) -> Table {
    let text = format!(
        "Each program was recorded on this computer, by cache lines of data and instructions. {} \
         instructions of each count.",
        grouped(runs.counted)
    );
    let columns = [
        "program",
        "kind",
        "paper",
        "instructions",
        "accesses",
        "command",
    ];
    let mut table = Table::new("Recorded programs", text, &columns);
    for one in &runs.programs {
        let name = one.command.split(' ').next().unwrap_or_default();
        let program = name.rsplit('/').next().unwrap_or_default();
        let arguments = one.command.strip_prefix(name).unwrap_or_default();
        table.row([
            one.program.name.to_owned(),
            one.program.kind.to_owned(),
            one.program.represents.to_owned(),
            grouped(one.instructions),
            grouped(one.accesses),
            format!("{program}{arguments}"),
        ]);
    }
    for (program, file) in &runs.missing {
        table.row([
            program.name.to_owned(),
            program.kind.to_owned(),
            program.represents.to_owned(),
            none(),
            none(),
            format!("not recorded: no {file}; install {}", program.packages),
        ]);
    }
    table
}

pub(super) fn needs(runs: &ChenRuns) -> Table {
    let mut table = Table::new(
        "Figure 3: IPC in a share of the last level",
        "Each program runs alone with base pages, in an eighth, a quarter, a half and the whole of \
         the colours. The columns have its IPC in percent of that in the whole. The need is the \
         least share that loses at most 2 percent. The mixes divide the cache by these needs.",
        &[
            "program",
            "paper",
            "IPC",
            "in 1/8",
            "in 1/4",
            "in 1/2",
            "need",
            "paper's need",
        ],
    );
    for one in &runs.programs {
        let [parts @ .., whole] = one.ipc_in;
        let parts = parts.map(|ipc| format!("{:.1}", 100.0 * ipc / whole));
        let first = [
            one.program.name.to_owned(),
            one.program.represents.to_owned(),
            format!("{whole:.3}"),
        ];
        let last = [share(one.need()), share(need(one.program.represents))];
        table.row(first.into_iter().chain(parts).chain(last));
    }
    let needs: Vec<u32> = runs.programs.iter().map(RecordedAlone::need).collect();
    let [most, least] = [needs.iter().max(), needs.iter().min()];
    let [most, least] = [most, least].map(|need| need.copied().unwrap_or(8));
    let count = needs.iter().filter(|need| **need == SHARES[0]).count();
    table
        .direction(
            most > least,
            "programs differ in the share of the last level that they need",
        )
        .words(
            "1/8 for five of ten programs, 1/4 to 1/2 for the others",
            format!(
                "1/8 for {count} of {} programs, at most {} for the others",
                needs.len(),
                share(most)
            ),
        )
        .because("other programs, whose data fit the cache better or worse than the paper's");
    table
}

/// The events of all programs of a mix under a scheme, for each thousand instructions.
fn per_thousand(
    mixed: &MixedSchemes,
    scheme: usize,
    events: impl Fn(&broadleaf_metrics::CoreResult) -> u64,
) -> Option<f64> {
    let programs = || mixed.schemes[scheme].programs.iter();
    let instructions: u64 = programs().map(|one| one.counts.instructions).sum();
    let events: u64 = programs().map(|one| events(&one.counts)).sum();
    (instructions > 0).then(|| 1000.0 * events as f64 / instructions as f64)
}

/// The misses of the last level for each thousand instructions: data, walks and code.
pub(super) fn llc_mpki(mixed: &MixedSchemes, scheme: usize) -> Option<f64> {
    per_thousand(mixed, scheme, |counts| {
        counts.last_level_misses().iter().sum()
    })
}

/// The page walks for each thousand instructions.
pub(super) fn tlb_mpki(mixed: &MixedSchemes, scheme: usize) -> Option<f64> {
    per_thousand(mixed, scheme, |counts| counts.walks)
}

pub(super) fn misses(runs: &ChenRuns) -> Table {
    let mut table = Table::new(
        "Table II: the mixes, and their misses for each thousand instructions",
        "The misses are those of the original scheme, over all four programs. TLB misses are page \
         walks: of data and of instructions here, of data in the paper.",
        &[
            "mix",
            "paper",
            "programs",
            "needs",
            "LLC paper",
            "LLC",
            "TLB paper",
            "TLB",
        ],
    );
    let written = |figure: Option<f64>| figure.map_or_else(none, |figure| format!("{figure:.2}"));
    for mixed in &runs.mixes {
        let needs: Vec<String> = mixed.needs.iter().map(|need| share(*need)).collect();
        table.row([
            mixed.mix.name.to_owned(),
            mixed.mix.programs.join(" "),
            mixed.programs.join(" "),
            needs.join(" "),
            format!("{:.2}", mixed.mix.llc_mpki),
            written(llc_mpki(mixed, ORIGINAL)),
            format!("{:.2}", mixed.mix.tlb_mpki),
            written(tlb_mpki(mixed, ORIGINAL)),
        ]);
    }
    table
}
