//! The options of a governor's limits, for suggested commands.

use broadleaf_governor::{Allowance, Budgets, StallLimit};

/// Returns the options of `run` for limits that differ from the usual ones.
pub fn options_of(budgets: &Budgets) -> Vec<String> {
    let usual = Budgets::DEFAULT;
    let percent = |hundredths: u32| format!("{}%", f64::from(hundredths) / 100.0);
    let stall = |of: &Budgets| {
        let (share, longest) = (of.stall, of.longest_stall);
        StallLimit { share, longest }.to_string()
    };
    let interval = |of: &Budgets| of.interval.as_millis().to_string();
    let keep_free = |of: &Budgets| Allowance::Bytes(of.keep_available).to_string();
    let all = [
        (
            "--max-added",
            [budgets, &usual].map(|of| of.added.to_string()),
        ),
        ("--keep-free", [budgets, &usual].map(keep_free)),
        (
            "--max-pressure",
            [budgets, &usual].map(|of| percent(of.pressure)),
        ),
        ("--max-cpu", [budgets, &usual].map(|of| percent(of.cpu))),
        ("--max-stall", [budgets, &usual].map(stall)),
        ("--interval", [budgets, &usual].map(interval)),
    ];
    let differing = all.into_iter().filter(|(_, [set, usual])| set != usual);
    differing
        .flat_map(|(option, [set, _])| [option.to_owned(), set])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_limits_that_differ_are_named() {
        assert!(options_of(&Budgets::DEFAULT).is_empty());
        let budgets = Budgets {
            added: Allowance::Unlimited,
            keep_available: 1 << 20,
            pressure: 10_000,
            cpu: 25,
            stall: 5_000,
            longest_stall: Some(Duration::from_millis(5)),
            interval: Duration::from_millis(10),
        };
        assert_eq!(
            options_of(&budgets).join(" "),
            "--max-added unlimited --keep-free 1M --max-pressure 100% --max-cpu 0.25% --max-stall \
             50%,5000us --interval 10"
        );
    }
}
