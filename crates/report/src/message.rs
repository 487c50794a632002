//! Messages of the command on a terminal.

use crate::{View, wrap};

/// The start of every message: the name of the command.
pub const MESSAGE_START: &str = "broadleaf: ";

/// The view of lines after the name of the command, on a terminal of this width.
pub fn beside_name(width: Option<usize>) -> View {
    View {
        width: width.map(|width| width.saturating_sub(MESSAGE_START.len())),
        ..View::default()
    }
}

/// A message in lines of at most `width` characters. Other lines are parts of tables, and stay.
pub fn fold_message(line: &str, width: Option<usize>) -> String {
    match width {
        Some(width @ 1..) if line.starts_with(MESSAGE_START) => wrap(line, width).join("\n"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Align, Grid};

    #[test]
    fn messages_are_folded_on_terminals_only() {
        let message = "broadleaf: one two three four";
        assert_eq!(fold_message(message, None), message);
        assert_eq!(
            fold_message(message, Some(16)),
            "broadleaf: one\ntwo three four"
        );
        let row = "  superpages      0 made, 0 broken";
        assert_eq!(fold_message(row, Some(16)), row);
    }

    /// The lines of such a table fit the terminal, so folding leaves its columns.
    #[test]
    fn tables_after_the_name_keep_their_columns() {
        let mut grid = Grid::new()
            .column("accelerator", Align::Left)
            .column("used", Align::Left)
            .column("what it does", Align::Left);
        let sentence = "keeps blocks of 2 MiB without frames; relies on memory without limits";
        grid.row(["blocks", "yes", sentence]);
        let table = grid.render(beside_name(Some(60)));
        assert!(table.lines().count() > 3, "{table}");
        for line in table.lines() {
            let message = format!("{MESSAGE_START}{line}");
            assert_eq!(fold_message(&message, Some(60)), message);
        }
    }
}
