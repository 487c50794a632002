//! Colour and its uses. Colour alone carries no information.

use crate::printable;

/// The role of a text, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Ordinary text.
    #[default]
    Plain,
    /// A heading, or another text that must be easy to find.
    Strong,
    /// Text that readers may skip.
    Faint,
    /// The best of its column.
    Best,
    /// The worst of its column.
    Worst,
    /// One line of a plot, by its number. Colours repeat after a few.
    Line(usize),
}

/// The colours of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// No colours.
    #[default]
    Plain,
    /// ANSI colours.
    Colour,
}

/// The colours of lines.
const LINES: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

impl Paint {
    /// Returns `text` in this style, on one line and without control characters of its own. All
    /// titles, cells and sentences pass through this function.
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

/// The width and the colours of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The columns of the terminal. `None` if the output is no terminal and lines may have any
    /// length.
    pub width: Option<usize>,
    /// The colours.
    pub paint: Paint,
}
