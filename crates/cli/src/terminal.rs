//! The colours and widths of the streams.

use std::io::{IsTerminal, stdout};
use std::os::fd::AsFd;

use broadleaf_report::{Glyphs, Paint, Shades, View};
use clap::ValueEnum;

/// The width of a terminal of unknown size.
const NARROW: usize = 80;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// The choice for clap's own messages.
    pub(crate) const fn for_help(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }

    fn paint(self) -> Paint {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb(),
        };
        if colours { Paint::Colour } else { Paint::Plain }
    }

    /// The view of standard output: as wide as COLUMNS or the terminal, or of any width.
    pub(crate) fn view(self) -> View {
        View {
            width: width_of(stdout()),
            paint: self.paint(),
        }
    }
}

/// The width of a stream, in characters: COLUMNS, or else the width of its terminal. `None` for
/// other streams. A terminal of unknown size counts as narrow.
pub(crate) fn width_of(stream: impl IsTerminal + AsFd) -> Option<usize> {
    let chosen = std::env::var("COLUMNS").map(|width| width.parse());
    if let Ok(Ok(width @ 1..)) = chosen {
        return Some(width);
    }
    stream.is_terminal().then(|| {
        terminal_size::terminal_size_of(stream).map_or(NARROW, |(width, _)| usize::from(width.0))
    })
}

/// The characters of plots on standard output: braille on a terminal whose characters are UTF-8.
pub(crate) fn glyphs() -> Glyphs {
    match is_unicode() {
        true => Glyphs::Braille,
        false => Glyphs::Ascii,
    }
}

/// The characters of shades on standard output.
pub(crate) fn shades() -> Shades {
    match is_unicode() {
        true => Shades::Blocks,
        false => Shades::Ascii,
    }
}

/// Returns true if standard output is a terminal whose characters are UTF-8.
fn is_unicode() -> bool {
    // The first of these that is not empty decides (POSIX, Base Definitions, chapter 8.2).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty());
    let locale = locale.unwrap_or_default().to_string_lossy().to_lowercase();
    stdout().is_terminal() && (locale.contains("utf-8") || locale.contains("utf8"))
}
