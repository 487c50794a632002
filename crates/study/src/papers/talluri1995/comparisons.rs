//! The comparisons of TLBs in chapters 3 to 5: pairs of TLBs, for each subblock factor or
//! superpage size.

use broadleaf_price::TlbPlan;

use super::names::TlbFamily;
use super::thesis::ThesisTable;
use crate::failure::Failure;

/// The orders of 2, 4, 8 and 16 base pages.
pub(super) const ORDERS: [u32; 4] = [1, 2, 3, 4];

/// The TLB that another is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ComparedWith {
    /// Single page size, as many blocks.
    Single,
    /// Single page size, equal reach: as many times the blocks as a block has pages.
    SingleOfEqualReach,
    /// Superpages of the size of a block, as many blocks.
    Superpage,
    /// Complete subblocks, as many blocks.
    Complete,
}

impl ComparedWith {
    const fn text(self) -> &'static str {
        match self {
            Self::Single => "single page size",
            Self::SingleOfEqualReach => "single page size, equal reach",
            Self::Superpage => "superpages",
            Self::Complete => "complete subblocks",
        }
    }
}

/// One row of a table of the thesis: a kind of TLB compared with another.
pub(super) struct ComparisonRow {
    /// The table.
    pub(super) table: &'static str,
    /// The row.
    pub(super) row: &'static str,
    /// The names of the columns with areas and with access times, one for each order.
    areas: [&'static str; 4],
    times: [&'static str; 4],
    /// The kind.
    kind: fn(u32) -> TlbFamily,
    ways: Option<u32>,
    /// The numbers of blocks that the row is for. The thesis prints one value for 64 to 256.
    pub(super) blocks: &'static [u32],
    with: ComparedWith,
}

/// The two TLBs of a cell.
pub(super) struct ComparedPlans {
    pub(super) new: TlbPlan,
    pub(super) base: TlbPlan,
}

impl ComparisonRow {
    /// The TLB and the one that it is compared with.
    pub(super) fn plans(&self, order: u32, blocks: u32) -> ComparedPlans {
        let reach = self.with == ComparedWith::SingleOfEqualReach;
        let own = if reach { blocks >> order } else { blocks };
        let base = match self.with {
            ComparedWith::Single | ComparedWith::SingleOfEqualReach => TlbFamily::SinglePageSize,
            ComparedWith::Superpage => TlbFamily::Superpage(order),
            ComparedWith::Complete => TlbFamily::CompleteSubblock(order),
        };
        ComparedPlans {
            new: (self.kind)(order).plan(self.ways, own),
            base: base.plan(self.ways, blocks),
        }
    }

    /// The printed relative areas.
    pub(super) fn areas(&self) -> Result<[f64; 4], Failure> {
        self.printed(self.row_of_areas(), self.areas)
    }

    /// The printed relative access times.
    pub(super) fn times(&self) -> Result<[f64; 4], Failure> {
        self.printed(self.row_of_times(), self.times)
    }

    fn printed(&self, row: &str, columns: [&str; 4]) -> Result<[f64; 4], Failure> {
        let table = ThesisTable::named(self.table)?;
        let mut cells = [0.0; 4];
        for (cell, column) in cells.iter_mut().zip(columns) {
            *cell = table.number(row, column)?;
        }
        Ok(cells)
    }

    /// Tables 3-1, 3-2 and 5-2 have a row for areas and a row for access times.
    fn row_of_areas(&self) -> &'static str {
        match self.table {
            "3-1" => "relative_chip_area_b64-256",
            "3-2" | "5-2" => "relative_chip_area",
            _ => self.row,
        }
    }

    fn row_of_times(&self) -> &'static str {
        match self.table {
            "3-1" => "relative_access_time_b64-256",
            "3-2" | "5-2" => "relative_access_time",
            _ => self.row,
        }
    }

    /// The kind and the ways, for people.
    pub(super) fn subject(&self) -> String {
        let kind = match (self.kind)(1) {
            TlbFamily::SinglePageSize => "single page size",
            TlbFamily::Superpage(_) => "superpages",
            TlbFamily::CompleteSubblock(_) => "complete subblocks",
            TlbFamily::PartialSubblock(_) => "partial subblocks",
        };
        format!("{kind} / {}", self.with.text())
    }

    /// The ways, and a number of blocks.
    pub(super) fn shape(&self, blocks: impl std::fmt::Display) -> String {
        let ways = if self.ways.is_some() {
            "4-way"
        } else {
            "fully"
        };
        format!("{ways} {blocks}")
    }

    /// The numbers of blocks, for people.
    pub(super) fn range(&self) -> String {
        match self.blocks {
            [one] => one.to_string(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        }
    }
}

/// The ways of a row, and its numbers of blocks.
type RowShape = (Option<u32>, &'static [u32]);

const FOUR_WAYS: Option<u32> = Some(4);
/// The blocks of rows that are printed for several sizes, or for none in particular.
const COMMON: &[u32] = &[64, 128, 256];

const SUPERPAGES: [&str; 4] = ["sp8k", "sp16k", "sp32k", "sp64k"];
const WITH_SUPERPAGES: [&str; 4] = [
    "using_superpages_sp8k",
    "using_superpages_sp16k",
    "using_superpages_sp32k",
    "using_superpages_sp64k",
];
const AREAS: [&str; 4] = ["area_s2", "area_s4", "area_s8", "area_s16"];
const TIMES: [&str; 4] = ["access_s2", "access_s4", "access_s8", "access_s16"];
const AREAS_OF_SIZES: [&str; 4] = ["area_s2_8k", "area_s4_16k", "area_s8_32k", "area_s16_64k"];
const TIMES_OF_SIZES: [&str; 4] = [
    "access_s2_8k",
    "access_s4_16k",
    "access_s8_32k",
    "access_s16_64k",
];
const FULLY: [&str; 4] = ["fa_s2", "fa_s4", "fa_s8", "fa_s16"];
const FOUR: [&str; 4] = ["sa4_s2", "sa4_s4", "sa4_s8", "sa4_s16"];

const fn row(
    (table, row): (&'static str, &'static str),
    (areas, times): ([&'static str; 4], [&'static str; 4]),
    kind: fn(u32) -> TlbFamily,
    (ways, blocks): RowShape,
    with: ComparedWith,
) -> ComparisonRow {
    ComparisonRow {
        table,
        row,
        areas,
        times,
        kind,
        ways,
        blocks,
        with,
    }
}

/// The rows of tables 3-1, 3-2, 4-2, 4-7, 4-8, 5-2, 5-10, 5-12 and 5-14.
pub(super) fn rows() -> Vec<ComparisonRow> {
    use ComparedWith::{Complete, Single, SingleOfEqualReach, Superpage};
    use TlbFamily::{CompleteSubblock as Csb, PartialSubblock as Psb, Superpage as Spg};
    let own = (AREAS, TIMES);
    let sizes = (AREAS_OF_SIZES, TIMES_OF_SIZES);
    let fully = (None, COMMON);
    let four: RowShape = (FOUR_WAYS, &[256]);
    let mut rows = vec![
        row(("3-1", ""), (SUPERPAGES, SUPERPAGES), Spg, fully, Single),
        row(
            ("3-2", ""),
            (WITH_SUPERPAGES, WITH_SUPERPAGES),
            Spg,
            four,
            Single,
        ),
        row(("4-2", "fa_b64-256"), own, Csb, fully, Single),
        row(("4-2", "sa4_b256"), own, Csb, four, Single),
    ];
    let reach: [(&str, RowShape); 4] = [
        ("fa_b256", (None, &[256])),
        ("fa_b512", (None, &[512])),
        ("sa4_b256", (FOUR_WAYS, &[256])),
        ("sa4_b512", (FOUR_WAYS, &[512])),
    ];
    for (name, shape) in reach {
        rows.push(row(("4-7", name), own, Csb, shape, SingleOfEqualReach));
    }
    rows.extend([
        row(("4-8", "fa_b64-256"), sizes, Csb, fully, Superpage),
        row(("4-8", "sa4_b256"), sizes, Csb, four, Superpage),
        row(("5-2", ""), (FULLY, FULLY), Psb, fully, Single),
        row(("5-2", ""), (FOUR, FOUR), Psb, four, Single),
    ]);
    for (name, shape) in reach {
        rows.push(row(("5-10", name), own, Psb, shape, SingleOfEqualReach));
    }
    rows.extend([
        row(("5-12", "fa"), sizes, Psb, fully, Superpage),
        row(("5-12", "sa4"), sizes, Psb, four, Superpage),
        row(("5-14", "fa"), own, Psb, fully, Complete),
        row(("5-14", "sa4"), own, Psb, four, Complete),
    ]);
    rows
}
