//! Chapter 7's tables of page tables, as far as they follow from the thesis's own counts: the
//! lines of linear tables, and the memory of tables with superpages.

use super::misses::PROGRAMS;
use super::thesis::ThesisTable;
use crate::failure::Failure;
use crate::papers::Table;

/// Half of the last digit of the printed ratios.
const HALF_DIGIT: f64 = 0.005;
/// Half of the unit of Appendix J, a thousand misses.
const HALF_MISS: f64 = 0.5;
/// The bytes of a hashed node, of a clustered node, and of one with one mapping.
const NODES: [f64; 3] = [24.0, 144.0, 24.0];
/// The base pages of a block.
const SUBBLOCKS: f64 = 16.0;

/// The lines of a linear table for each miss: eight of 64 blocks hold pages of the table, so that
/// the figure is the misses of 56 blocks by those of 64. Appendix J has 57 blocks.
pub(super) fn linear_lines() -> Result<Table, Failure> {
    let (lines, misses) = (ThesisTable::named("7-3")?, ThesisTable::named("J-31")?);
    let mut table = Table::new(
        "Cache lines a miss of linear page tables (table 7-3)",
        "Eight of the 64 blocks hold pages of the table, and each miss of the other 56 reads one \
         line. So the printed figure is the misses of 56 blocks by those of 64. Table J-31 has 57 \
         and 64 blocks, in thousands of misses: their ratio is a lower bound.",
        &["program", "7-3, linear", "J-31, 57 by 64", "least", "most"],
    );
    let mut agree = 0;
    for program in PROGRAMS {
        let printed = lines.number(program, "linear")?;
        let fewer = misses.number(program, "psb16_fa_b57_pre")?;
        let all = misses.number(program, "psb16_fa_b64_pre")?;
        let least = (fewer - HALF_MISS) / (all + HALF_MISS);
        let most = (fewer + HALF_MISS) / (all - HALF_MISS);
        let figures = [printed, fewer / all, least, most].map(|figure| format!("{figure:.2}"));
        table.row([program.to_owned()].into_iter().chain(figures));
        agree += usize::from(printed + HALF_DIGIT >= least);
    }
    table.direction(
        agree == PROGRAMS.len(),
        format!("{agree} of 10 printed figures are at least the ratio of 57 and 64 blocks"),
    );
    Ok(table)
}

/// The most and the least of a figure that is printed with two digits.
fn range(printed: f64) -> [f64; 2] {
    [printed - HALF_DIGIT, printed + HALF_DIGIT]
}

/// The memory of a clustered table with superpages, by that of a hashed table with base pages.
/// A superpage takes one hashed node instead of sixteen, and a compact clustered node. `hashed` is
/// the hashed table with superpages, and `clustered` the clustered table without, both by the
/// hashed table without.
fn clustered_with_superpages(hashed: f64, clustered: f64) -> f64 {
    // For each base page: so many superpages.
    let superpages = (1.0 - hashed) / (SUBBLOCKS - 1.0);
    let [node, block, compact] = NODES;
    clustered - superpages * (block - compact) / node
}

/// The sizes of page tables with superpages, from those without.
pub(super) fn memory() -> Result<Table, Failure> {
    let (base, mixed) = (ThesisTable::named("7-6")?, ThesisTable::named("7-7")?);
    let workloads = ThesisTable::named("2-1")?;
    let mut table = Table::new(
        "Memory of clustered page tables with superpages (tables 7-6 and 7-7)",
        "The columns of both tables are by a hashed table of base pages, whose nodes have 24 \
         bytes. From the hashed table with superpages follows the number of superpages, and from \
         it the clustered table: 144 bytes for a block, and 24 for a block that is a superpage. \
         The hashed table itself is 24 bytes for each page of the peak memory of table 2-1.",
        &[
            "program",
            "7-7, clustered",
            "here",
            "least",
            "most",
            "hashed KB",
            "from 2-1",
        ],
    );
    let (mut rows, mut agree) = (0, 0);
    let mut sizes = 0;
    let mut apart = Vec::new();
    for (program, _) in &base.rows {
        let printed = mixed.number(program, "clustered_superpage")?;
        let hashed = mixed.number(program, "hashed_superpage")?;
        let clustered = base.number(program, "clustered_s16")?;
        let here = clustered_with_superpages(hashed, clustered);
        let [least, most] =
            [0, 1].map(|end| clustered_with_superpages(range(hashed)[end], range(clustered)[end]));
        let size = base.number(program, "hashed_size_KB")?;
        // The kernel's own memory is not in table 2-1.
        let megabytes = workloads.number(program, "peak_memory_MB").ok();
        let expected = megabytes.map(|megabytes| megabytes * KB_OF_A_MEGABYTE);
        let figures = [printed, here, least, most].map(|figure| format!("{figure:.2}"));
        let sizes_shown = [
            format!("{size:.0}"),
            expected.map_or_else(crate::papers::none, |size| format!("{size:.0}")),
        ];
        table.row(
            [(*program).to_owned()]
                .into_iter()
                .chain(figures)
                .chain(sizes_shown),
        );
        rows += 1;
        let fits = range(printed)[1] >= least && range(printed)[0] <= most;
        agree += usize::from(fits);
        if !fits {
            apart.push(format!(
                "{program}: {:.0} percent",
                100.0 * (printed / here - 1.0)
            ));
        }
        sizes += usize::from(expected.is_some_and(|expected| (size - expected).abs() <= ROUNDING));
    }
    table.text.push_str(&format!(
        " {} rows differ by more than the rounding of the printed figures: {}.",
        apart.len(),
        apart.join("; ")
    ));
    table.direction(
        agree == rows - APART,
        format!("{agree} of {rows} rows agree within the rounding of the printed figures"),
    );
    table.direction(
        sizes == PROGRAMS.len() - SIZES_APART,
        format!("{sizes} of 10 hashed tables have 24 bytes for each page of table 2-1"),
    );
    Ok(table)
}

/// The hashed nodes of a megabyte of base pages, in KB.
const KB_OF_A_MEGABYTE: f64 = 256.0 * NODES[0] / 1024.0;
/// Half of the last digits of a size in KB and of a memory in MB.
const ROUNDING: f64 = 0.5 + 0.05 * KB_OF_A_MEGABYTE;
/// The rows of compress and gcc differ by 4 to 5 percent.
const APART: usize = 2;
/// The hashed table of ML has 194 KB. The peak memory of table 2-1 gives 192.
const SIZES_APART: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_eleven_rows_follow_from_the_thesis_s_own_counts() {
        for table in [linear_lines(), memory()] {
            let table = table.expect("a table");
            assert!(table.claims.iter().all(|claim| claim.agrees), "{table:?}");
        }
        // A block of 16 pages as one superpage: 24 bytes instead of 144.
        let whole = clustered_with_superpages(1.0 / 16.0, 144.0 / (16.0 * 24.0));
        assert!((whole - 1.0 / 16.0).abs() < 1e-12);
    }
}
