//! A table of an experiment: figures as text and CSV, with claims.

use std::fmt::Write as _;

use broadleaf_metrics::PaperTable;

use super::claim::PaperClaim;

/// A table with the paper's claims.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The title.
    pub title: String,
    /// A description of the experiment.
    pub text: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The rows, with one cell for each column.
    pub rows: Vec<Vec<String>>,
    /// True if the rows are too many for people: only files have them.
    pub only_in_files: bool,
    /// The bar after each row in output for people, if there is one.
    bars: Vec<String>,
    /// The paper's claims, and whether the figures agree with each.
    pub claims: Vec<PaperClaim>,
}

impl Table {
    /// A table without rows: its title, the text below the title, and its columns' names.
    pub fn new(title: &str, text: impl Into<String>, columns: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            text: text.into(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.row_with_bar(cells, String::new());
    }

    /// Adds a row with a bar after it; the bar is not a column.
    pub fn row_with_bar(&mut self, cells: impl IntoIterator<Item = String>, bar: String) {
        self.rows.push(cells.into_iter().collect());
        self.bars.push(bar);
    }

    /// Adds a claim of the paper with our verdict. Returns the claim, which takes magnitudes and a
    /// reason.
    pub fn direction(&mut self, agrees: bool, text: impl Into<String>) -> &mut PaperClaim {
        self.claims.push_mut(PaperClaim::new(agrees, text))
    }

    /// Formats the table for people: the first column to the left, the others to the right.
    /// `source` names the source of the claims.
    pub fn text(&self, source: &str) -> String {
        let mut out = format!("{}\n{}\n", self.title, "-".repeat(self.title.len()));
        for line in wrapped(&self.text, 100) {
            let _ = writeln!(out, "{line}");
        }
        if self.only_in_files {
            let _ = writeln!(out, "{} rows, which -o FOLDER writes.", self.rows.len());
            return out;
        }
        out.push('\n');
        let lines = std::iter::once(&self.columns).chain(&self.rows);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = lines.clone().filter_map(|line| line.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let bars = std::iter::once("").chain(self.bars.iter().map(String::as_str));
        for (line, bar) in lines.zip(bars) {
            let mut text = String::new();
            for (number, (cell, width)) in line.iter().zip(&widths).enumerate() {
                if number == 0 {
                    let _ = write!(text, "  {cell:<width$}");
                } else {
                    let _ = write!(text, "  {cell:>width$}");
                }
            }
            let _ = writeln!(out, "{}", format!("{text}  {bar}").trim_end());
        }
        out.push('\n');
        for claim in &self.claims {
            claim.write(source, &mut out);
        }
        out
    }

    /// The table as a record. Only files have tables that are too long for people.
    pub fn record(&self, name: &str) -> PaperTable {
        let (rows, rows_left_out) = match self.only_in_files {
            true => (Vec::new(), self.rows.len() as u64),
            false => (self.rows.clone(), 0),
        };
        PaperTable {
            name: name.to_owned(),
            title: self.title.clone(),
            text: self.text.clone(),
            columns: self.columns.clone(),
            rows,
            rows_left_out,
            claims: self.claims.iter().map(PaperClaim::record).collect(),
        }
    }

    /// Formats the table for programs: a row of heads, then the figures.
    pub fn csv(&self) -> String {
        csv(std::iter::once(&self.columns).chain(&self.rows))
    }
}

/// Lines of cells as CSV.
pub fn csv<'a>(lines: impl Iterator<Item = &'a Vec<String>>) -> String {
    let mut out = String::new();
    for line in lines {
        let cells: Vec<String> = line.iter().map(|cell| quoted(cell)).collect();
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Wraps a text into lines of at most `width` letters.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_their_heads_and_csv_is_quoted() {
        let mut table = Table::new("A title", "Two words.", &["name", "here"]);
        table.row_with_bar(["a, b".to_owned(), "12".to_owned()], "mm".to_owned());
        table.direction(true, "up");
        table.direction(false, "down");
        assert_eq!(
            table.text("paper"),
            "A title\n-------\nTwo words.\n\n  name  here\n  a, b    12  mm\n\n  agrees: up\n  \
             does not agree: down\n    reason: the reason is not known\n"
        );
        assert_eq!(table.csv(), "name,here\n\"a, b\",12\n");
    }

    #[test]
    fn lines_are_no_longer_than_they_may_be() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
    }
}
