//! A list of public traces: a text is refused at a place inside the text, or is a list of traces in
//! known formats.

use broadleaf_report::View;
use broadleaf_study::library::list_of;

use crate::failures::check_failure;

/// The name of the list, for messages.
const LIST: &str = "x.toml";

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match list_of(LIST, text, View::default()) {
        // Headings, the rule, and a trace.
        Ok(table) => assert!(table.lines().count() >= 3, "{table}"),
        Err(failure) => check_failure(LIST, text, &failure),
    }
}
