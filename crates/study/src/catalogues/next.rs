//! The command that an explained entry is of use in.

use broadleaf_import::importable;
use broadleaf_report::command_line;

/// The label of the next command.
pub(super) const NEXT: &str = "next";

/// Returns the command in which an entry of this kind is of use. `name` was asked for.
pub(super) fn next_command(kind: &str, name: &str, heading: &str) -> String {
    let compare =
        |option: &str, value: &str| command_line(&["broadleaf", "compare", "TRACE", option, value]);
    match kind {
        "policy" => compare("--policy", &format!("4k,{heading}")),
        "machine" | "machines" => compare("--machine", name),
        "metric" => compare("--format", "csv"),
        "refusal" => compare("--format", "json"),
        "allocator" => compare("--memory", "1G") + " --allocator " + heading,
        "column" => "broadleaf compare TRACE".to_owned(),
        "page table" | "synonym table" => "broadleaf tables PID".to_owned(),
        "trace format" if importable().any(|(format, _)| format.described.name == heading) => {
            format!("broadleaf import {heading} FILE")
        }
        "trace format" => "broadleaf compare TRACE".to_owned(),
        "format of advice" => format!("broadleaf advise TRACE --format {heading}"),
        "word" => "broadleaf list".to_owned(),
        _ => "broadleaf list machines".to_owned(),
    }
}
