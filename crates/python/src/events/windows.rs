//! Borders of windows as rows, and back.

use broadleaf_trace::{Border, WindowBorder};

use super::EventRow;
use super::fields::need;

/// Fills the columns of a border.
pub(super) fn fill(row: &mut EventRow, at: &WindowBorder) {
    let border = match at.border {
        Border::Start(number) => {
            row.window = Some(number);
            "start"
        }
        Border::End => "end",
        Border::Total => "total",
    };
    row.border = Some(border.to_owned());
    (row.accesses, row.instructions) = (Some(at.accesses), Some(at.instructions));
}

/// The border of a row.
///
/// # Errors
/// A column is empty, or no border has the name.
pub(super) fn border_of(row: &EventRow, kind: &str) -> Result<WindowBorder, String> {
    Ok(WindowBorder {
        border: match need(&row.border, "border", kind)?.as_str() {
            "start" => Border::Start(*need(&row.window, "window", kind)?),
            "end" => Border::End,
            "total" => Border::Total,
            other => return Err(format!("no border is called {other:?}")),
        },
        accesses: *need(&row.accesses, "accesses", kind)?,
        instructions: *need(&row.instructions, "instructions", kind)?,
    })
}
