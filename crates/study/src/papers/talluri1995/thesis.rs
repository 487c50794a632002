//! The tables of the thesis, as printed.
//!
//! A cell without a value is one that the printed layout lost. Names of TLBs are read by
//! [`super::names`].

use crate::failure::Failure;

/// The tables, several in each file. A table begins with its name and its subject.
const FILES: [&str; 7] = [
    include_str!("thesis/chapters.csv"),
    include_str!("thesis/speedups.csv"),
    include_str!("thesis/page-tables.csv"),
    include_str!("thesis/appendices-b-c-h.csv"),
    include_str!("thesis/appendix-i2-i4.csv"),
    include_str!("thesis/appendix-i5.csv"),
    include_str!("thesis/appendix-j.csv"),
];

/// A table of the thesis.
#[derive(Clone, Debug)]
pub(super) struct ThesisTable {
    /// Its name, such as `I4-5a`.
    pub(super) name: &'static str,
    /// Its subject.
    pub(super) subject: &'static str,
    /// The names of the columns.
    pub(super) columns: Vec<&'static str>,
    /// The name and the cells of each row.
    pub(super) rows: Vec<(&'static str, Vec<&'static str>)>,
}

impl ThesisTable {
    /// The table of that name.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        let found = tables().find(|table| table.name == name);
        found.ok_or_else(|| Failure::failed(format!("the thesis has no table {name}")))
    }

    /// The cell as printed.
    pub(super) fn printed(&self, row: &str, column: &str) -> Result<&'static str, Failure> {
        let at = self.columns.iter().position(|known| *known == column);
        let cells = self.rows.iter().find(|(known, _)| *known == row);
        let cell = cells.zip(at).and_then(|((_, cells), at)| cells.get(at));
        let name = self.name;
        cell.copied()
            .ok_or_else(|| Failure::failed(format!("table {name} has no cell {row}, {column}")))
    }

    /// The cell as a number.
    pub(super) fn number(&self, row: &str, column: &str) -> Result<f64, Failure> {
        let text = self.printed(row, column)?;
        text.parse().map_err(|_| {
            let name = self.name;
            Failure::failed(format!(
                "table {name}: {row}, {column} is {text:?}, no number"
            ))
        })
    }
}

/// All tables, in the order of the files.
pub(super) fn tables() -> impl Iterator<Item = ThesisTable> {
    FILES.iter().flat_map(|file| {
        let mut sections = file.split("# ");
        sections.next();
        sections.filter_map(table)
    })
}

fn table(section: &'static str) -> Option<ThesisTable> {
    let mut lines = section.lines();
    let (name, subject) = lines.next()?.split_once(": ")?;
    let columns = lines.next()?.split(',').skip(1).collect();
    let rows = lines.filter_map(|line| {
        let (name, cells) = line.split_once(',')?;
        Some((name, cells.split(',').collect()))
    });
    Some(ThesisTable {
        name,
        subject,
        columns,
        rows: rows.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each section is a table, each row has a cell for each column, and names are unique.
    #[test]
    fn every_table_is_read_whole() {
        let sections: usize = FILES.iter().map(|file| file.matches("# ").count()).sum();
        let all: Vec<ThesisTable> = tables().collect();
        assert_eq!(all.len(), sections);
        for (number, table) in all.iter().enumerate() {
            assert!(all[..number].iter().all(|other| other.name != table.name));
            assert!(!table.rows.is_empty(), "{}", table.name);
            for (row, cells) in &table.rows {
                assert_eq!(cells.len(), table.columns.len(), "{}: {row}", table.name);
            }
        }
        let of = |appendix| {
            all.iter()
                .filter(move |table| table.name.starts_with(appendix))
        };
        assert_eq!((of('I').count(), of('J').count()), (60, 40));
    }

    #[test]
    fn cells_that_are_not_there_are_named() {
        let table = ThesisTable::named("J-1").expect("a table");
        assert_eq!(
            table.number("coral", "sp_fa_b64").expect("a cell"),
            85_975.0
        );
        let missing = table.number("coral", "sp_fa_b63").expect_err("no column");
        assert!(missing.to_string().contains("J-1"), "{missing}");
        assert!(ThesisTable::named("J-41").is_err());
    }
}
