//! What a governor did, in a few lines.

use crate::number::{grouped, percent, size};
use broadleaf_metrics::Governed;
use std::fmt::Write;

/// What a governor did, in a few lines, for people. `budget` is what it was allowed to add, as it was written.
pub fn governed_summary(governed: &Governed, budget: &str) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<15} {what}");
    };
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    if governed.dry_run {
        line(
            "would have made",
            format!(
                "{} superpages, which would have added {}",
                grouped(governed.promotions),
                size(governed.added_bytes_peak)
            ),
        );
    } else {
        line(
            "superpages",
            format!(
                "{} made, {} broken for memory, {} broken by the program",
                grouped(governed.promotions),
                grouped(governed.demotions),
                grouped(governed.broken_by_programs)
            ),
        );
    }
    line(
        "at most",
        format!("{} in superpages", size(governed.huge_bytes_peak)),
    );
    line(
        "memory added",
        format!(
            "{} at most (allowed: {budget}), {} given back",
            size(governed.added_bytes_peak),
            size(governed.returned_bytes)
        ),
    );
    if !governed.refusals.is_empty() {
        let reasons = governed
            .refusals
            .iter()
            .map(|(reason, blocks)| format!("{reason} {}", grouped(*blocks)));
        line("blocks refused", reasons.collect::<Vec<_>>().join(", "));
    }
    let looking = governed.governor_cpu_seconds - governed.acting_cpu_seconds;
    line(
        "governor",
        format!(
            "{:.2} s of a processor: {:.2} s making superpages, {:.3} s looking ({} of the time)",
            governed.governor_cpu_seconds,
            governed.acting_cpu_seconds,
            looking,
            percent(share(looking, governed.elapsed_seconds))
        ),
    );
    let cpu = governed.program_cpu_seconds.map_or(String::new(), |cpu| {
        format!(
            "{cpu:.2} s of a processor in {:.2} s, ",
            governed.elapsed_seconds
        )
    });
    let end = governed
        .exit_status
        .map_or(String::new(), |status| format!(", exit status {status}"));
    line(
        "program",
        format!("{cpu}{} page faults{end}", grouped(governed.page_faults)),
    );
    format!("broadleaf: under {}:\n{text}", governed.policy)
}
