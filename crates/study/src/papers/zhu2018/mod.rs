//! Zhu 2018: eighteen policies of promotion on simulated Skylake TLBs.

mod block_uses;
mod chapter4;
mod chapter5;
mod curves;
mod files;
mod guests;
mod kept;
mod means;
mod overheads;
mod policies;
mod programs;
mod published;
mod ratios;
mod runs;
mod tables;
#[cfg(test)]
mod tests;
mod unified;

use super::{Experiment, Paper, PaperSetting, Table, none};
use crate::failure::Failure;

pub(crate) const PAPER: Paper = Paper {
    name: "zhu2018",
    title: "Zhu: Exploring Superpage Promotion Policies for Efficient Address Translation (Rice \
            University, 2018)",
    source: "thesis",
    help: "Eighteen policies of promotion: misses, zeroed pages and disk reads of seventeen \
           recorded programs. It records at every scale, which takes longer; --tiny needs gcc \
           alone. With -o, it keeps all points of figure 5.1, and an interrupted run goes on \
           where it ended. --guest also records programs with the references of a kernel.",
    remarks: "Programs of the kinds of the thesis's seventeen are recorded under Valgrind, and \
              replayed on its Skylake TLBs under its eighteen policies. Counts are exact for the \
              recorded references. The traces hold references of user mode alone, but for programs \
              in a guest (--guest). They are shorter: the thesis traces 10^11 references of a whole \
              system for each program. \
              Reservations follow the mappings of Linux, and no memory runs short.",
    cycles_per_access: None,
    switches: None,
    records_guests: true,
    experiments: &[
        Experiment {
            tables: &["table-4-1"],
            run: |_| Ok(vec![chapter4::table()?]),
            only_full: false,
        },
        Experiment {
            tables: &[
                "programs",
                "figure-4-4",
                "figure-4-6",
                "figure-5-1",
                "figure-5-1-blocks",
                "figure-6-1",
                "figure-6-2",
                "figure-6-3",
                "figure-6-4",
                "figure-6-5",
                "figure-6-6",
                "figure-6-7",
                "table-6-2",
                "table-6-3",
                "table-6-4",
                "table-6-5",
                "by-reservation",
                "combination",
                "broken",
                "miss-rates",
                "guest-programs",
                "guest-policies",
            ],
            run: recorded,
            only_full: false,
        },
        Experiment {
            tables: &["not-produced"],
            run: |setting| Ok(vec![tables::not_produced(setting.guest.is_some())]),
            only_full: false,
        },
    ],
};

fn recorded(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let all = runs::all(setting)?;
    let in_guest = guests::all(setting)?;
    Ok(vec![
        tables::programs(&all)?,
        curves::table(&all, "429.mcf"),
        curves::table(&all, "605.mcf"),
        chapter5::table(&all),
        chapter5::blocks(&all),
        ratios::dtlb_misses(&all),
        ratios::stlb_misses(&all),
        ratios::walk_cycles(&all),
        overheads::saved_share(&all),
        overheads::saved_faults(&all),
        overheads::zeroed(&all),
        overheads::false_dirty(&all),
        files::overheads(&all)?,
        files::reservations(&all)?,
        unified::table(&all)?,
        means::table(&all)?,
        overheads::by_kind(&all),
        files::combination(&all),
        tables::broken(&all),
        tables::miss_rates(&all),
        guests::recordings(&all, &in_guest),
        guests::policies_in_guests(&all, &in_guest),
    ])
}
