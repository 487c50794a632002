//! Text in aligned columns.

use crate::{Paint, Style, View};

/// On which side of its column a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell: its text and what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The text, one line.
    pub text: String,
    /// Its style.
    pub style: Style,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            style: Style::Plain,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Columns with a heading each, and rows of cells.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// Between two columns.
const GAP: &str = "  ";

impl Grid {
    /// No columns yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more column to the right.
    #[must_use]
    pub fn column(mut self, heading: &str, align: Align) -> Self {
        self.headings.push((heading.to_owned(), align));
        self
    }

    /// One more row below; cells that are missing at its end are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        let mut row: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        row.resize(self.headings.len(), Cell::default());
        self.rows.push(row);
    }

    /// How many columns of a terminal the widest line takes.
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }

    /// The lines, each ended by a newline. Where they are wider than the view, the last column is wrapped if it is one
    /// of words.
    pub fn render(&self, view: View) -> String {
        let mut widths = self.widths();
        if let (Some(limit), Some(last), Some((_, Align::Left))) =
            (view.width, widths.last().copied(), self.headings.last())
        {
            const NARROWEST: usize = 20;
            let before = self.width() - last;
            if self.width() > limit {
                *widths.last_mut().expect("there is a last one") =
                    last.min(limit.saturating_sub(before).max(NARROWEST));
            }
        }
        let mut out = String::new();
        let headings: Vec<Cell> = self
            .headings
            .iter()
            .map(|(heading, _)| Cell {
                text: heading.clone(),
                style: Style::Strong,
            })
            .collect();
        if headings.iter().any(|heading| !heading.text.is_empty()) {
            self.line(&headings, &widths, view.paint, &mut out);
            let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
            out.push_str(&view.paint.apply(Style::Faint, &rule.join(GAP)));
            out.push('\n');
        }
        for row in &self.rows {
            self.line(row, &widths, view.paint, &mut out);
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self
                .rows
                .iter()
                .map(|row| length(&row[column].text))
                .max()
                .unwrap_or(0);
            cells.max(length(&self.headings[column].0))
        };
        (0..self.headings.len()).map(widest).collect()
    }

    fn line(&self, row: &[Cell], widths: &[usize], paint: Paint, out: &mut String) {
        let last = widths.len() - 1;
        let wrapped = wrap(&row[last].text, widths[last]);
        for (number, end) in wrapped.iter().enumerate() {
            let mut line = String::new();
            // Blanks are not written before something follows them, so that no line ends in any.
            let mut owed = 0;
            for (column, cell) in row.iter().enumerate() {
                let text = match column {
                    _ if column == last => end.as_str(),
                    _ if number == 0 => cell.text.as_str(),
                    _ => "",
                };
                let fill = widths[column].saturating_sub(length(text));
                let (before, after) = match self.headings[column].1 {
                    Align::Left => (0, fill),
                    Align::Right => (fill, 0),
                };
                if text.is_empty() {
                    owed += fill + GAP.len();
                    continue;
                }
                line.push_str(&" ".repeat(owed + before));
                let inked = text.trim_end();
                line.push_str(&paint.apply(cell.style, inked));
                owed = length(text) - length(inked) + after + GAP.len();
            }
            out.push_str(&line);
            out.push('\n');
        }
    }
}

/// `text` cut at blanks into lines of at most `width` characters; a longer word stands alone.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one from the start");
        if line.is_empty() {
            line.push_str(word);
        } else if length(line) + 1 + length(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// `text` on one line: programs and files may be called anything, and a terminal would obey it.
pub fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}

/// `text` in lines that fit the terminal, each with its end.
pub(crate) fn paragraph(text: &str, style: Style, view: View) -> String {
    let lines = wrap(text, view.width.unwrap_or(usize::MAX));
    let painted = lines.iter().map(|line| view.paint.apply(style, line));
    painted.map(|line| format!("{line}\n")).collect()
}

/// Columns of a terminal that `text` takes, for the texts that stand in our tables.
fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Grid {
        let mut grid = Grid::new()
            .column("name", Align::Left)
            .column("count", Align::Right)
            .column("what", Align::Left);
        grid.row(["a", "1", "one short"]);
        grid.row(["bcd", "12345678", ""]);
        grid
    }

    #[test]
    fn columns_are_aligned_and_no_line_ends_in_blanks() {
        assert_eq!(
            sample().render(View::default()),
            "name     count  what\n----  --------  ---------\na            1  one short\nbcd   12345678\n"
        );
        assert_eq!(sample().width(), 25);
    }

    #[test]
    fn the_last_column_is_wrapped_where_the_view_is_narrow() {
        let mut grid = sample();
        grid.row([
            "e",
            "2",
            "a long sentence that does not fit a narrow view at all",
        ]);
        let text = grid.render(View {
            width: Some(40),
            ..View::default()
        });
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert!(
            text.contains("\n                does not fit a narrow\n"),
            "{text}"
        );
    }

    #[test]
    fn colour_does_not_move_columns() {
        let mut grid = Grid::new().column("", Align::Right).column("", Align::Left);
        grid.row([
            Cell {
                text: "1".to_owned(),
                style: Style::Best,
            },
            "x".into(),
        ]);
        grid.row([Cell::from("10"), "y".into()]);
        let text = grid.render(View {
            width: None,
            paint: Paint::Colour,
        });
        assert_eq!(text, " \x1b[32m1\x1b[0m  x\n10  y\n");
    }

    #[test]
    fn words_are_wrapped_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
        assert_eq!(wrap("", 3), [""]);
    }
}
