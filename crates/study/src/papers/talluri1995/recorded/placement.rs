//! Chapter 6: reserved and gathered pages, and the use of superpages, by policy.

use super::designs::{RANDOM, RESERVE};
use super::runs::{AllResults, DesignResults};
use super::walks::by_row;
use super::worlds::World;
use crate::failure::Failure;
use crate::papers::talluri1995::thesis::ThesisTable;
use crate::papers::{Table, none};

/// Page-size assignment with reservation, and superpages of 64 KiB.
pub(super) const ASSIGN_64K: &str = "foxtrot";
/// The same, in which blocks without a reservation are gathered.
const GATHER: &str = "foxtrot(gather=yes)";
/// Sizes by the kind of memory.
const STATIC: &str = "static(files=64k,shared=64k)";
/// Sizes by the working set; blocks are gathered.
const WORKING_SET: &str = "working-set";

/// The superpage TLB that observes each policy. Other tables have it too.
const SUPERPAGE: &str = "superpage:entries=64,sizes=4k+64k,line=256,table=hashed";
/// The TLBs of policies without superpages, which miss alike.
const BASE: &str = "single:entries=64,line=256,table=hashed";
const BASE_RESERVED: &str = "single:entries=64,line=64,table=clustered-partial";

/// The worlds and their TLBs, in the order of the rows.
const WORLDS: [(World, &str); 7] = [
    (World::plentiful(RANDOM), BASE),
    (World::plentiful(RESERVE), BASE_RESERVED),
    (World::plentiful(ASSIGN_64K), SUPERPAGE),
    (World::plentiful(STATIC), SUPERPAGE),
    (World::plentiful(WORKING_SET), SUPERPAGE),
    (World::short(ASSIGN_64K), SUPERPAGE),
    (World::short(GATHER), SUPERPAGE),
];

/// The TLBs, each with its world.
pub(super) fn observers() -> impl Iterator<Item = (World, &'static str)> {
    WORLDS.into_iter()
}

/// The share of pages in superpages that the sizes of table 7-7 imply, in percent: a superpage of
/// 16 pages has one node of a hashed table instead of 16.
fn implied_share(relative_size: f64) -> f64 {
    100.0 * (1.0 - relative_size) * 16.0 / 15.0
}

/// The most pages in superpages, in percent of the most pages in memory.
fn share(run: &DesignResults, world: World) -> Result<f64, Failure> {
    let counts = run.world(world)?;
    let resident = counts.peak_resident_pages.max(1) as f64;
    Ok(100.0 * counts.peak_superpage_pages as f64 / resident)
}

/// The pages of chapter 6, for each program and policy.
pub(super) fn table(all: &AllResults) -> Result<Table, Failure> {
    let mut table = Table::new(
        "Chapter 6: reserved and gathered pages, and the use of superpages",
        "Superpages of 64 KiB, and a superpage TLB of 64 blocks. Short memory has a tenth more \
         free frames than the program needs, half of them in small pieces. Chapter 6 has no \
         table of figures. The thesis's share of pages in superpages follows from the sizes of \
         hashed tables in table 7-7, for its policy of page-size assignment. Added pages came in \
         with a promotion before the program touched them. Reserved pages are frames that wait for \
         their page when most memory is in use. Copied pages were gathered into their block, or \
         copied at a store to a shared page.",
        &[
            "program",
            "whose",
            "policy",
            "% in superpages",
            "promotions",
            "added pages",
            "reservations",
            "broken",
            "reserved pages",
            "copied pages",
            "misses a thousand",
        ],
    );
    let thesis = ThesisTable::named("7-7")?;
    let (mut none_without, mut gathers) = (vec![], vec![]);
    let (mut fewer, mut lapses) = (vec![], vec![]);
    for run in &all.runs {
        let represents = run.program.represents;
        if thesis.rows.iter().any(|(row, _)| *row == represents) {
            let size = thesis.number(represents, "hashed_superpage")?;
            let names = [represents, "thesis", ASSIGN_64K].map(str::to_owned);
            let share = format!("{:.0}", implied_share(size));
            let rest = std::iter::repeat_n(none(), 7);
            table.row(names.into_iter().chain([share]).chain(rest));
        }
        for (world, grid) in WORLDS {
            let counts = run.world(world)?;
            let misses = run.counts(world, grid)?.misses as f64;
            table.row([
                run.program.name.to_owned(),
                "here".to_owned(),
                world.name(),
                format!("{:.1}", share(run, world)?),
                counts.promotions.to_string(),
                counts.added_pages.to_string(),
                counts.reservations.to_string(),
                counts.reservations_broken.to_string(),
                counts.reserved_frames.to_string(),
                counts.copied_pages.to_string(),
                format!("{:.3}", 1000.0 * misses / run.references.max(1) as f64),
            ]);
        }
        let [random, reserve, assign, _, working_set, short, gather] =
            WORLDS.map(|(world, _)| world);
        let of = |world| run.world(world);
        none_without.push(of(random)?.promotions + of(reserve)?.promotions == 0);
        gathers.push(
            of(working_set)?.promotions == 0
                || of(working_set)?.copied_pages > of(random)?.copied_pages,
        );
        lapses.push(share(run, short)? <= share(run, assign)?);
        let misses = |world| Ok::<u64, Failure>(run.counts(world, SUPERPAGE)?.misses);
        fewer.push(misses(gather)? <= misses(short)?);
    }
    for (holds, text, because) in [
        (
            &none_without,
            "without page-size assignment, no superpage is used",
            "a block was promoted",
        ),
        (
            &gathers,
            "a policy without reservation gathers what it promotes",
            "promoted blocks lay in their place by chance",
        ),
        (
            &lapses,
            "short memory leaves no more pages in superpages",
            "reservations of other blocks lapsed",
        ),
        (
            &fewer,
            "where memory is short, gathering adds no TLB misses",
            "a copied block took the extent that a later block would have reserved",
        ),
    ] {
        let (all, count) = by_row(holds);
        table
            .direction(all, text)
            .words("chapter 6", count)
            .because(because);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 of 16 nodes is left if all pages are in superpages.
    #[test]
    fn sizes_imply_shares() {
        assert!((implied_share(1.0 / 16.0) - 100.0).abs() < 1e-9);
        assert!(implied_share(1.0).abs() < 1e-9);
        // Of 32 pages, 16 are in a superpage: 17 nodes.
        assert!((implied_share(17.0 / 32.0) - 50.0).abs() < 1e-9);
    }
}
