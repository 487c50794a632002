//! Colour, and what it is used for. Nothing is said by colour alone.

use crate::printable;

/// What a piece of text is, which decides its colour where there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Text like any other.
    #[default]
    Plain,
    /// A heading, or a name that the eye should find.
    Strong,
    /// What may be skipped.
    Faint,
    /// The best of its column.
    Best,
    /// The worst of its column.
    Worst,
    /// One line of a plot, by its number. Colours repeat after a few.
    Line(usize),
}

/// Whether output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// Text alone.
    #[default]
    Plain,
    /// ANSI colours.
    Colour,
}

/// The colours of lines.
const LINES: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

impl Paint {
    /// `text` in this style, on one line and without control characters of its own: all titles,
    /// cells and sentences come by here.
    pub fn apply(self, style: Style, text: &str) -> String {
        let text = printable(text);
        let code = match (self, style) {
            (Self::Plain, _) | (_, Style::Plain) => return text,
            (_, Style::Strong) => "1",
            (_, Style::Faint) => "2",
            (_, Style::Best) => "32",
            (_, Style::Worst) => "31",
            (_, Style::Line(number)) => LINES[number % LINES.len()],
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// How wide the output may be and whether it has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Columns of the terminal; `None` where output is no terminal and lines may be of any length.
    pub width: Option<usize>,
    /// Colours.
    pub paint: Paint,
}
