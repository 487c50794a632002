//! Messages of the command on a terminal.

use std::time::Duration;

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

/// The columns of a line with a label: two blanks and the label, before the text.
pub(crate) const LABELLED: usize = 18;

/// A message in lines of at most `width` characters. The text beside a label stays beside it. Other
/// lines are parts of tables, and stay.
pub fn fold_message(line: &str, width: Option<usize>) -> String {
    let Some(width @ 1..) = width else {
        return line.to_owned();
    };
    if line.starts_with(MESSAGE_START) {
        return wrap(line, width).join("\n");
    }
    match line.split_at_checked(LABELLED) {
        Some((label, text)) if width > 2 * LABELLED && is_label(label) => {
            let indent = format!("\n{}", " ".repeat(LABELLED));
            format!("{label}{}", wrap(text, width - LABELLED).join(&indent))
        }
        _ => line.to_owned(),
    }
}

/// Returns true if these are the columns of a label: `  governor        `.
fn is_label(columns: &str) -> bool {
    columns.starts_with("  ") && !columns.starts_with("   ") && columns.ends_with(' ')
}

/// The time that a task must have left to be announced.
const ANNOUNCED: Duration = Duration::from_secs(20);

/// Returns the announcement of a task that has so much time left, if the task is long.
pub(crate) fn announcement(doing: &str, left: Duration) -> Option<String> {
    let about = humantime::format_duration(Duration::from_secs(left.as_secs()));
    (left >= ANNOUNCED).then(|| format!("{doing} takes about {about} more"))
}

/// Returns a line on a task that goes on. The line has the share of the work that is done, `done`,
/// which describes this work, and the time left. Parts that are not known are left out.
pub(crate) fn still(doing: &str, share: Option<f64>, done: &str, left: Option<Duration>) -> String {
    let mut parts = vec![format!("{doing}:")];
    parts.extend(share.map(|share| format!("{:.0} %,", 100.0 * share)));
    parts.push(done.to_owned());
    if let Some(left) = left {
        let about = humantime::format_duration(Duration::from_secs(left.as_secs()));
        parts.push(format!("so far, about {about} more"));
    }
    parts.join(" ")
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
        let row = format!(
            "  {:<15} 0 promoted, 0 demoted by the program",
            "superpages"
        );
        assert_eq!(
            fold_message(&row, Some(40)),
            "  superpages      0 promoted, 0 demoted\n                  by the program"
        );
    }

    #[test]
    fn long_work_is_announced() {
        let of = |millis| announcement("comparing", Duration::from_millis(millis));
        assert_eq!(of(19_999), None);
        let text = of(150_700).expect("it is long");
        assert_eq!(text, "comparing takes about 2m 30s more");
        let left = Some(Duration::from_millis(61_900));
        assert_eq!(
            still("comparing", Some(0.426), "1.23M accesses", left),
            "comparing: 43 %, 1.23M accesses so far, about 1m 1s more"
        );
        assert_eq!(
            still("reading", None, "999 accesses", None),
            "reading: 999 accesses"
        );
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
