//! Text in aligned columns.
//!
//! A [`Grid`] chooses the widths of its columns, so that no word is broken. The crate `comfy-table`
//! wraps, aligns and pads the cells.

mod lines;

use unicode_width::UnicodeWidthStr;

use self::lines::GridLines;
use crate::{Style, View, printable};

/// The alignment of a column's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A cell: a text with a style.
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

/// A column: its heading and its layout.
#[derive(Clone, Debug)]
struct GridColumn {
    heading: String,
    align: Align,
    narrowing: Narrowing,
}

/// The form of a column in a narrow view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Narrowing {
    /// The column is as wide as its widest cell, if other columns follow.
    None,
    /// Cells are cut, down to this width.
    Cut(usize),
    /// The words of cells are wrapped, in a column of at least this width.
    Wrap(usize),
}

/// A grid of columns with headings, and rows of cells.
///
/// A grid that is wider than the view first wraps its headings, then the words of its wrapped
/// columns and of its last column. Then it cuts the columns that may be cut. If the grid is still
/// too wide, it is split into blocks of columns. Each block repeats the first columns
/// ([`Grid::keys`]).
#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<GridColumn>,
    rows: Vec<Vec<Cell>>,
    keys: usize,
}

/// The gap between two columns, in columns of a terminal.
const GAP: usize = 2;
/// The minimum width of a column with wrapped words.
const NARROWEST: usize = 20;

/// The columns of one block, each with its width.
type ColumnRanges = Vec<(usize, usize)>;

impl Default for Grid {
    fn default() -> Self {
        Self::new()
    }
}

impl Grid {
    /// Creates a grid without columns.
    pub fn new() -> Self {
        Self {
            columns: Vec::new(),
            rows: Vec::new(),
            keys: 1,
        }
    }

    /// Adds a column at the right.
    #[must_use]
    pub fn column(self, heading: &str, align: Align) -> Self {
        self.narrowing_column(heading, align, Narrowing::None)
    }

    /// Adds a column of words at the right. A narrow view cuts its cells to `shortest` characters.
    #[must_use]
    pub fn cut_column(self, heading: &str, shortest: usize) -> Self {
        self.narrowing_column(heading, Align::Left, Narrowing::Cut(shortest))
    }

    /// Adds a column of words at the right. A narrow view wraps the words of its cells, in a column
    /// of at least `shortest` characters.
    #[must_use]
    pub fn wrapped_column(self, heading: &str, shortest: usize) -> Self {
        self.narrowing_column(heading, Align::Left, Narrowing::Wrap(shortest))
    }

    fn narrowing_column(mut self, heading: &str, align: Align, narrowing: Narrowing) -> Self {
        self.columns.push(GridColumn {
            heading: heading.to_owned(),
            align,
            narrowing,
        });
        self
    }

    /// Sets the number of leading columns that every block repeats; the default is 1.
    #[must_use]
    pub fn keys(mut self, keys: usize) -> Self {
        self.keys = keys;
        self
    }

    /// Adds a row at the bottom. Missing cells at its end are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        let printed = |cell: Cell| Cell {
            text: printable(&cell.text),
            ..cell
        };
        let cells = cells.into_iter().map(Into::into);
        let mut row: Vec<Cell> = cells.map(printed).collect();
        row.resize(self.columns.len(), Cell::default());
        self.rows.push(row);
    }

    /// Returns the width of the widest line without wrapping, in columns of a terminal.
    pub fn width(&self) -> usize {
        total(&self.natural())
    }

    /// Renders the lines. Each line ends with a newline.
    pub fn render(&self, view: View) -> String {
        let blocks: Vec<String> = self
            .layouts(view.width)
            .iter()
            .map(|layout| self.block(layout, view))
            .collect();
        blocks.join("\n")
    }

    /// Returns the blocks of columns that fit a view.
    fn layouts(&self, limit: Option<usize>) -> Vec<ColumnRanges> {
        let mut layout = self.natural();
        let Some(limit) = limit.filter(|&limit| total(&layout) > limit) else {
            return vec![layout];
        };
        for (column, width) in &mut layout {
            *width = self.least(*column);
        }
        for at in 0..layout.len() {
            if let Narrowing::Wrap(shortest) = self.columns[at].narrowing {
                narrow(&mut layout, at, self.shortest(at, shortest), limit);
            }
        }
        if let Some(last) = layout.len().checked_sub(1)
            && self.columns[last].align == Align::Left
        {
            narrow(&mut layout, last, self.shortest(last, NARROWEST), limit);
        }
        for at in 0..layout.len() {
            if let Narrowing::Cut(shortest) = self.columns[at].narrowing {
                narrow(&mut layout, at, shortest, limit);
            }
        }
        if total(&layout) <= limit {
            return vec![layout];
        }
        self.split(&layout, limit)
    }

    /// Splits a layout into blocks of at most `limit` characters, as far as single columns allow
    /// it.
    fn split(&self, layout: &ColumnRanges, limit: usize) -> Vec<ColumnRanges> {
        let (keys, rest) = layout.split_at(self.keys.min(layout.len()));
        let mut blocks: Vec<ColumnRanges> = vec![keys.to_vec()];
        for &column in rest {
            let block = blocks.last_mut().expect("there is one from the start");
            let mut wider = block.clone();
            wider.push(column);
            if block.len() == keys.len() || total(&wider) <= limit {
                *block = wider;
            } else {
                blocks.push([keys, &[column]].concat());
            }
        }
        blocks
    }

    fn block(&self, layout: &ColumnRanges, view: View) -> String {
        let mut lines = GridLines::new(self, layout, view);
        let headings = self.columns.iter().map(|column| column.heading.as_str());
        if headings.clone().any(|heading| !heading.is_empty()) {
            lines.row(&styled(headings.map(str::to_owned), Style::Strong));
            let mut rule = vec![String::new(); self.columns.len()];
            for &(column, width) in layout {
                rule[column] = "-".repeat(width);
            }
            lines.row(&styled(rule, Style::Faint));
        }
        for row in &self.rows {
            lines.row(row);
        }
        lines.finish()
    }

    /// Returns the layout in which every column is as wide as its widest text.
    fn natural(&self) -> ColumnRanges {
        let widest = |column| {
            self.widest_cell(column)
                .max(length(&self.columns[column].heading))
        };
        (0..self.columns.len())
            .map(|column| (column, widest(column)))
            .collect()
    }

    /// Returns the width of a column with a wrapped heading.
    fn least(&self, column: usize) -> usize {
        self.widest_cell(column)
            .max(longest_word(&self.columns[column].heading))
    }

    /// Returns the width of a column with wrapped cells: at least `shortest`, and wide enough for
    /// each word. Only words in cells of the last column may be wider ([`GridLines::row`]).
    fn shortest(&self, column: usize, shortest: usize) -> usize {
        let cells = self.rows.iter().map(|row| longest_word(&row[column].text));
        let in_cells = match column + 1 < self.columns.len() {
            true => cells.max().unwrap_or(0),
            false => 0,
        };
        shortest
            .max(in_cells)
            .max(longest_word(&self.columns[column].heading))
    }

    fn widest_cell(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| length(&row[column].text));
        cells.max().unwrap_or(0)
    }
}

/// Narrows a column, down to `shortest`, until the layout has at most `limit` characters.
fn narrow(layout: &mut ColumnRanges, at: usize, shortest: usize, limit: usize) {
    let excess = total(layout).saturating_sub(limit);
    let width = &mut layout[at].1;
    *width = width.saturating_sub(excess).max(shortest.min(*width));
}

/// Returns the width of a layout in characters.
fn total(layout: &ColumnRanges) -> usize {
    let widths = layout.iter().map(|(_, width)| width).sum::<usize>();
    widths + GAP * layout.len().saturating_sub(1)
}

/// Returns cells of one style.
fn styled(texts: impl IntoIterator<Item = String>, style: Style) -> Vec<Cell> {
    let texts = texts.into_iter();
    texts.map(|text| Cell { text, style }).collect()
}

/// Breaks `text` at blanks into lines of at most `width` characters. A longer word has a line of
/// its own.
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

/// Breaks `text` into lines that fit the view. Each line ends with a newline.
pub fn paragraph(text: &str, style: Style, view: View) -> String {
    indented(0, text, style, view)
}

/// Breaks `text` as [`paragraph`] does, with `indent` blanks before each line.
pub(crate) fn indented(indent: usize, text: &str, style: Style, view: View) -> String {
    let lines = wrap(
        text,
        view.width
            .map_or(usize::MAX, |width| width - indent.min(width)),
    );
    let painted = lines.iter().map(|line| view.paint.apply(style, line));
    let margin = " ".repeat(indent);
    painted.map(|line| format!("{margin}{line}\n")).collect()
}

/// Returns the width of the longest word of `text`, in columns of a terminal.
fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(length).max().unwrap_or(0)
}

/// Returns the width of `text` in columns of a terminal.
fn length(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests;
