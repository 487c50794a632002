//! The figures of the thesis: its tables as CSV.

use crate::failure::Failure;

/// A table of the thesis: numbers with names of rows and columns.
pub(super) struct ThesisNumbers {
    name: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<(&'static str, Vec<f64>)>,
}

impl ThesisNumbers {
    fn read(name: &'static str, text: &'static str) -> Result<Self, Failure> {
        let wrong = |line: &str| Failure::failed(format!("table {name}: no numbers in {line:?}"));
        let mut lines = text.lines();
        let heads = lines.next().unwrap_or_default();
        let rows: Result<Vec<_>, Failure> = lines
            .map(|line| {
                let mut cells = line.split(',');
                let row = cells.next().unwrap_or_default();
                let numbers = cells.map(|cell| cell.parse().map_err(|_| wrong(line)));
                Ok((row, numbers.collect::<Result<Vec<f64>, Failure>>()?))
            })
            .collect();
        Ok(Self {
            name,
            columns: heads.split(',').skip(1).collect(),
            rows: rows?,
        })
    }

    /// A number, if the table has it.
    pub(super) fn find(&self, row: &str, column: &str) -> Option<f64> {
        let column = self.columns.iter().position(|name| *name == column)?;
        let (_, numbers) = self.rows.iter().find(|(name, _)| *name == row)?;
        numbers.get(column).copied()
    }

    /// A number that the table must have.
    pub(super) fn number(&self, row: &str, column: &str) -> Result<f64, Failure> {
        let missing = || Failure::failed(format!("table {}: no {column} of {row}", self.name));
        self.find(row, column).ok_or_else(missing)
    }
}

/// Table 3.2: the touched reservations, and the accesses in units of 10^11.
pub(super) fn table_3_2() -> Result<ThesisNumbers, Failure> {
    ThesisNumbers::read("3.2", include_str!("table3.2.csv"))
}

/// Table 6.2: pages for each reservation of a file. The heads of its columns of dirty-x are
/// ambiguous: only two thresholds can have these numbers, dirty-64 and dirty-128.
pub(super) fn table_6_2() -> Result<ThesisNumbers, Failure> {
    ThesisNumbers::read("6.2", include_str!("table6.2.csv"))
}

/// Table 6.3: the reservations of files.
pub(super) fn table_6_3() -> Result<ThesisNumbers, Failure> {
    ThesisNumbers::read("6.3", include_str!("table6.3.csv"))
}

/// Table 6.4: DTLB misses of 605.mcf, relative to FreeBSD on the split DTLB.
pub(super) fn table_6_4() -> Result<ThesisNumbers, Failure> {
    ThesisNumbers::read("6.4", include_str!("table6.4.csv"))
}

/// Table 6.5: means over the programs. It has no rows of dirty-x.
pub(super) fn table_6_5() -> Result<ThesisNumbers, Failure> {
    ThesisNumbers::read("6.5", include_str!("table6.5.csv"))
}

/// The share of reservations whose superpage was broken while part-filled, in percent (3.3).
pub(super) const BROKEN_SHARE: f64 = 8.8;
/// The precision of the threshold of 64 populated pages, in percent (5.2).
pub(super) const PRECISION: f64 = 82.8;
/// The accesses of a frequently accessed reservation: the text of section 5.2, and the caption of
/// figure 5.1.
pub(super) const FREQUENT: [u64; 2] = [50_000, 500_000];
/// The extra pages read from disk for each reservation of derby under the combination (6.3.1).
pub(super) const COMBINED_DISK_READ: f64 = 13.2;
/// The misses of the DTLB and of the STLB under FreeBSD, for each access (6.4).
pub(super) const MISS_RATES: [f64; 2] = [8.5e-3, 3.6e-4];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::zhu2018::policies::POLICIES;
    use crate::papers::zhu2018::programs::PROGRAMS;

    #[test]
    fn tables_name_our_policies_and_the_programs_that_are_represented() {
        let programs = table_3_2().unwrap();
        assert_eq!(programs.rows.len(), PROGRAMS.len());
        for program in PROGRAMS {
            programs
                .number(program.represents, "touched_reservations")
                .unwrap();
        }
        let means = table_6_5().unwrap();
        for (row, numbers) in &means.rows {
            assert!(POLICIES.iter().any(|one| one.name == *row), "{row}");
            assert_eq!(numbers.len(), 5, "{row}");
        }
        assert_eq!(means.rows.len() + 5, POLICIES.len());
        let files = table_6_3().unwrap();
        let overheads = table_6_2().unwrap();
        assert_eq!(overheads.rows.len(), 2 * files.rows.len());
        for (row, _) in &files.rows {
            overheads
                .number(&format!("disk_read:{row}"), "pop_64")
                .unwrap();
        }
        assert!(table_6_4().unwrap().find("64", "pop-64").is_none());
    }
}
