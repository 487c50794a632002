//! The lines of a grid, which the crate `comfy-table` wraps, aligns and pads.

use comfy_table::{
    Cell as TableCell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets,
};
use unicode_width::UnicodeWidthChar;

use super::{Align, Cell, GAP, Grid, Narrowing, length, longest_word};
use crate::{Paint, View};

/// The lines of one block, on their way to the output.
pub(super) struct GridLines<'g> {
    grid: &'g Grid,
    layout: &'g [(usize, usize)],
    view: View,
    /// Rows that are not in `out` yet.
    rows: Vec<Vec<Cell>>,
    out: String,
}

impl<'g> GridLines<'g> {
    pub(super) fn new(grid: &'g Grid, layout: &'g [(usize, usize)], view: View) -> Self {
        Self {
            grid,
            layout,
            view,
            rows: Vec::new(),
            out: String::new(),
        }
    }

    /// Adds a row. A word that is wider than the last column starts further left, on a line of its
    /// own if need be: `comfy-table` would break the word.
    pub(super) fn row(&mut self, row: &[Cell]) {
        let Some(&(last, width)) = self.layout.last() else {
            return;
        };
        let mut row = row.to_vec();
        let text = std::mem::take(&mut row[last].text);
        if length(&text) <= width || longest_word(&text) <= width {
            row[last].text = text;
            self.rows.push(row);
            return;
        }
        for word in text.split_whitespace() {
            if length(word) > width {
                self.long_word(row.clone(), word, last);
                row.iter_mut().for_each(|cell| cell.text.clear());
                continue;
            }
            let text = &mut row[last].text;
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        if !row[last].text.is_empty() {
            self.rows.push(row);
        }
    }

    /// Writes a row, and a word of the last column that ends at the right edge of the view.
    fn long_word(&mut self, row: Vec<Cell>, word: &str, last: usize) {
        self.flush();
        let style = row[last].style;
        let rows = [row];
        let plain = self.table(&rows, Paint::Plain);
        let written = length(plain.lines().last().unwrap_or_default());
        let start = self.view.width.unwrap_or(0).saturating_sub(length(word));
        self.out.push_str(&self.table(&rows, self.view.paint));
        let blanks = if written == 0 || start > written {
            start - written
        } else {
            self.out.push('\n');
            start
        };
        self.out.push_str(&" ".repeat(blanks));
        self.out.push_str(&self.view.paint.apply(style, word));
        self.out.push('\n');
    }

    /// Writes the rows that are not written yet.
    fn flush(&mut self) {
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.out.push_str(&self.table(&rows, self.view.paint));
            self.out.push('\n');
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.flush();
        self.out
    }

    /// Returns rows as lines, without a newline at the end.
    fn table(&self, rows: &[Vec<Cell>], paint: Paint) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).force_no_tty();
        table.set_content_arrangement(ContentArrangement::Disabled);
        for row in rows {
            let cells = self.layout.iter();
            table.add_row(cells.map(|&(column, width)| self.cell(column, width, row, paint)));
        }
        for (at, &(column, width)) in self.layout.iter().enumerate() {
            let gap = if at + 1 == self.layout.len() { 0 } else { GAP };
            let fixed = |width| u16::try_from(width).unwrap_or(u16::MAX);
            // A column of the library is at least one wide: an empty one takes it from its gap.
            let padding = (width + gap).saturating_sub(width.max(1));
            let column_of_table = table.column_mut(at).expect("each row has all columns");
            column_of_table.set_padding((0, fixed(padding)));
            column_of_table
                .set_constraint(ColumnConstraint::Absolute(Width::Fixed(fixed(width + gap))));
            column_of_table.set_cell_alignment(match self.grid.columns[column].align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        table.trim_fmt()
    }

    /// Returns a cell of a row in its colour. Blanks at its end keep the place of a mark. They have
    /// no colour.
    fn cell(&self, column: usize, width: usize, row: &[Cell], paint: Paint) -> TableCell {
        let Cell { text, style } = &row[column];
        let text = match self.grid.columns[column].narrowing {
            Narrowing::Cut(_) => cut(text, width),
            Narrowing::None | Narrowing::Wrap(_) if length(text) <= width => text.clone(),
            Narrowing::None | Narrowing::Wrap(_) => {
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        };
        match text.trim_end() {
            "" => TableCell::new(""),
            shown => {
                let blanks = &text[shown.len()..];
                TableCell::new(paint.apply(*style, shown) + blanks)
            }
        }
    }
}

/// Returns `text` cut to `width` columns of a terminal. Dots replace the missing part.
fn cut(text: &str, width: usize) -> String {
    const DOTS: &str = "...";
    if length(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for letter in text.chars() {
        let wide = UnicodeWidthChar::width(letter).unwrap_or(0);
        if length(&out) + wide + DOTS.len() > width {
            break;
        }
        out.push(letter);
    }
    out + DOTS
}
