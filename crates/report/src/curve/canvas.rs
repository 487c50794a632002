//! A canvas of characters.

use super::Glyphs;
use crate::{Paint, Style};

/// The contents of one character cell.
#[derive(Clone, Debug, Default)]
struct CanvasCell {
    /// Braille dots, or a flag for a point.
    dots: u8,
    /// The lines through this cell, in drawing order.
    lines: Vec<usize>,
    /// The lines with a value in this cell, each with its letter.
    values: Vec<(usize, char)>,
}

/// A canvas of character cells, each with several dots if the glyphs have them.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    glyphs: Glyphs,
    columns: usize,
    places: Vec<CanvasCell>,
}

impl Canvas {
    pub(crate) fn new(glyphs: Glyphs, columns: usize, rows: usize) -> Self {
        Self {
            glyphs,
            columns,
            places: vec![CanvasCell::default(); columns * rows],
        }
    }

    /// Returns the width and height of a character in dots.
    pub(crate) const fn dots(&self) -> (usize, usize) {
        match self.glyphs {
            Glyphs::Ascii => (1, 1),
            Glyphs::Braille => (2, 4),
        }
    }

    fn place(&mut self, x: usize, y: usize) -> &mut CanvasCell {
        let (wide, high) = self.dots();
        &mut self.places[y / high * self.columns + x / wide]
    }

    /// Draws a dot of a line.
    pub(crate) fn dot(&mut self, line: usize, x: usize, y: usize) {
        // The bits of a braille character (Unicode, chapter 21.1), by row and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (wide, high) = self.dots();
        let place = self.place(x, y);
        place.dots |= BITS[y % high][x % wide];
        if !place.lines.contains(&line) {
            place.lines.push(line);
        }
    }

    /// Draws a value of a line at a dot.
    pub(crate) fn value(&mut self, line: usize, letter: char, x: usize, y: usize) {
        self.place(x, y).values.push((line, letter));
    }

    /// Returns the characters of a row, without blanks at its end. If values of several lines meet
    /// in one cell, the `step` cells of the value show them in turn, so that each line is visible.
    pub(crate) fn row(&self, row: usize, step: usize, paint: Paint) -> String {
        let places = &self.places[row * self.columns..(row + 1) * self.columns];
        let mut out = String::new();
        // Neighbouring cells of one line are painted together.
        let mut run = (0, String::new());
        let mut blanks = 0;
        for (column, place) in places.iter().enumerate() {
            let (line, character) = if !place.values.is_empty() {
                place.values[column / step % place.values.len()]
            } else if let Some(line) = place.lines.first() {
                (*line, self.between(place.dots))
            } else {
                blanks += 1;
                continue;
            };
            if (line != run.0 || blanks > 0) && !run.1.is_empty() {
                out.push_str(&paint.apply(Style::Line(run.0), &run.1));
                run.1.clear();
            }
            out.push_str(&" ".repeat(blanks));
            blanks = 0;
            run.0 = line;
            run.1.push(character);
        }
        if !run.1.is_empty() {
            out.push_str(&paint.apply(Style::Line(run.0), &run.1));
        }
        out
    }

    fn between(&self, dots: u8) -> char {
        match self.glyphs {
            Glyphs::Ascii => '.',
            Glyphs::Braille => char::from_u32(0x2800 + u32::from(dots)).unwrap_or('.'),
        }
    }
}
