//! A summary of a governor's run in a few lines.

use crate::message::LABELLED;
use crate::number::{grouped, percent, size};
use broadleaf_metrics::{Governed, Stalls};
use std::fmt::Write;

/// The shortest time that three decimals of a second show, in seconds.
const LEAST_LOOKING: f64 = 0.0005;

/// Summarizes a governor's run for people. `budget` is the memory budget as the user wrote it.
pub fn governed_summary(governed: &Governed, budget: &str) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<label$}{what}", label = LABELLED - 2);
    };
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
                "{} promoted, {} demoted, {} demoted by the program",
                grouped(governed.promotions),
                grouped(governed.demotions),
                grouped(governed.broken_by_programs)
            ),
        );
    }
    if !governed.dry_run {
        line(
            "at most",
            format!("{} in superpages", size(governed.huge_bytes_peak)),
        );
    }
    line(
        "memory added",
        format!(
            "{} at most (allowed: {budget}), {} given back",
            size(governed.added_bytes_peak),
            size(governed.returned_bytes)
        ),
    );
    if governed.charged_bytes != governed.added_bytes {
        line(
            "charged",
            format!(
                "{} to the budget at the end, with superpages that were found",
                size(governed.charged_bytes)
            ),
        );
    }
    if !governed.refusals.is_empty() {
        let reasons = governed
            .refusals
            .iter()
            .map(|(reason, blocks)| format!("{reason} {}", grouped(*blocks)));
        line("blocks refused", reasons.collect::<Vec<_>>().join(", "));
    }
    let looking = governed.governor_cpu_seconds - governed.acting_cpu_seconds;
    // A share of a time that is shown as zero would be confusing.
    let share = if looking < LEAST_LOOKING || governed.elapsed_seconds <= 0.0 {
        String::new()
    } else {
        let share = percent(looking / governed.elapsed_seconds);
        format!(" ({share} of the elapsed time)")
    };
    line(
        "governor",
        format!(
            "{:.2} s of a processor: {:.2} s making superpages, {looking:.3} s looking{share}",
            governed.governor_cpu_seconds, governed.acting_cpu_seconds,
        ),
    );
    let stalls = &governed.stalls;
    if stalls.count > 0 {
        line("stalls", stalls_text(stalls));
    }
    let cpu = governed.program_cpu_seconds.map_or(String::new(), |cpu| {
        let user = governed.program_user_seconds.unwrap_or(cpu);
        format!(
            "{user:.2} s of user time and {:.2} s of system time in {:.2} s, ",
            cpu - user,
            governed.elapsed_seconds
        )
    });
    let end = match (governed.ended_by_signal, governed.exit_status) {
        (Some(signal), _) => format!(", ended by {}", crate::signal(signal)),
        (None, Some(status)) => format!(", ended with exit status {status}"),
        (None, None) => String::new(),
    };
    line(
        "program",
        format!("{cpu}{} page faults{end}", grouped(governed.page_faults)),
    );
    format!("broadleaf: under {}:\n{text}", governed.policy)
}

/// Returns the time that the program may have waited, in words.
fn stalls_text(stalls: &Stalls) -> String {
    let ms = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
    let mut text = format!(
        "{} of at most {} (99 of 100 under {}), {:.2} s in all",
        grouped(stalls.count),
        ms(stalls.max_seconds),
        ms(stalls.p99_seconds),
        stalls.total_seconds
    );
    if let Some(allowed) = stalls.allowed_seconds {
        let _ = write!(
            text,
            "; {} longer than the {} allowed",
            grouped(stalls.too_long),
            ms(allowed)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charged_memory_is_shown_if_it_differs_from_added_memory() {
        let mut governed = Governed {
            added_bytes: 8 << 20,
            charged_bytes: 8 << 20,
            ..Governed::default()
        };
        assert!(!governed_summary(&governed, "10%").contains("charged"));
        governed.charged_bytes = 40 << 20;
        let summary = governed_summary(&governed, "10%");
        let line = "  charged         40.0 MiB to the budget at the end, \
                    with superpages that were found\n";
        assert!(summary.contains(line), "{summary}");
    }

    #[test]
    fn a_dry_run_claims_no_superpages() {
        let mut governed = Governed {
            promotions: 14,
            dry_run: true,
            ..Governed::default()
        };
        let dry = governed_summary(&governed, "10%");
        assert!(
            dry.contains("14 superpages") && !dry.contains("in superpages"),
            "{dry}"
        );
        governed.dry_run = false;
        assert!(governed_summary(&governed, "10%").contains("0 B in superpages"));
    }

    #[test]
    fn a_share_of_no_time_is_left_out() {
        let summary = |looking| {
            let governed = Governed {
                governor_cpu_seconds: 1.0 + looking,
                acting_cpu_seconds: 1.0,
                elapsed_seconds: 0.01,
                ..Governed::default()
            };
            governed_summary(&governed, "10%")
        };
        let none = summary(0.0004);
        assert!(none.contains("0.000 s looking\n"), "{none}");
        let some = summary(0.0006);
        assert!(
            some.contains("0.001 s looking (6.0% of the elapsed time)\n"),
            "{some}"
        );
    }

    #[test]
    fn a_signal_that_ended_the_program_is_named() {
        let summary = |ended_by_signal| {
            let governed = Governed {
                exit_status: Some(143),
                ended_by_signal,
                ..Governed::default()
            };
            governed_summary(&governed, "10%")
        };
        assert!(summary(Some(15)).ends_with(" page faults, ended by signal 15 (SIGTERM)\n"));
        assert!(summary(None).ends_with(" page faults, ended with exit status 143\n"));
    }

    #[test]
    fn stalls_are_shown_with_their_limit() {
        let mut governed = Governed {
            policy: "pop-256".to_owned(),
            ..Governed::default()
        };
        assert!(!governed_summary(&governed, "10%").contains("stalls"));
        governed.stalls = Stalls {
            count: 1200,
            p99_seconds: 0.0031,
            max_seconds: 0.0072,
            total_seconds: 1.5,
            allowed_seconds: None,
            too_long: 0,
        };
        let summary = governed_summary(&governed, "10%");
        let line =
            "  stalls          1,200 of at most 7.2 ms (99 of 100 under 3.1 ms), 1.50 s in all\n";
        assert!(summary.contains(line), "{summary}");
        governed.stalls.allowed_seconds = Some(0.005);
        governed.stalls.too_long = 3;
        let summary = governed_summary(&governed, "10%");
        assert!(
            summary.contains("1.50 s in all; 3 longer than the 5.0 ms allowed\n"),
            "{summary}"
        );
    }
}
