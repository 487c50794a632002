//! The answers at the heads of report pages: sentences and commands, from result records.

use broadleaf_metrics::{
    LiveReport, PageAnswer, PaperRecord, PolicyForecast, ProcessReport, RangeAdvice, Replayed,
    ReplayedPolicy,
};
use std::cmp::Reverse;

use crate::number::{counted, grouped, size};
use crate::{baseline_command, command_line, order_of, printable, replay_verdict};

/// A policy may add this part of the memory: a tenth, as in the answers of `compare`.
const MOST_ADDED: u64 = 10;

/// The answer of `advise`.
pub fn advice_answer(advice: &RangeAdvice) -> PageAnswer {
    let path = &advice.trace.path;
    let about = format!("{path} on {}", advice.machine);
    let answer = PageAnswer::new(about, &*advice.advice.sentence);
    PageAnswer {
        commands: advice.advice.commands.clone(),
        ..answer
    }
}

/// The answer of `replay`. All policies keep to a limit of added memory, as governors do.
pub fn replay_answer(replayed: &Replayed) -> PageAnswer {
    let program: Vec<String> = replayed
        .command
        .iter()
        .map(|word| printable(word))
        .collect();
    let verdict = replay_verdict(replayed);
    let sentence = match replay_choice(replayed) {
        Some(choice) => format!("{verdict} {choice}"),
        None => verdict,
    };
    let answer = PageAnswer::new(program.join(" "), sentence);
    let Some(best) = best_policy(replayed).filter(|row| row.huge_bytes_peak > 0) else {
        return answer;
    };
    let mut words = vec!["broadleaf", "run", "--policy", &*best.policy];
    if best.max_added != USUAL_ADDED {
        words.extend(["--max-added", &*best.max_added]);
    }
    words.push("--");
    match replayed.command.is_empty() {
        true => words.push("COMMAND"),
        false => words.extend(replayed.command.iter().map(String::as_str)),
    }
    answer.with("run the program under this policy", command_line(&words))
}

/// The limit of added memory that `run` has if none is given.
const USUAL_ADDED: &str = "10%";

/// Says which policy would have had most memory in huge pages. Returns `None` if there is no
/// policy.
pub(crate) fn replay_choice(replayed: &Replayed) -> Option<String> {
    let best = best_policy(replayed)?;
    let figures = format!(
        "{} in huge pages at most, for {} more memory",
        size(best.huge_bytes_peak),
        size(best.added_bytes_peak)
    );
    Some(match (best.huge_bytes_peak, best.estimated) {
        (0, _) => "No policy would have had a huge page.".to_owned(),
        (_, true) => format!("{} would have had most: {figures}.", best.policy),
        (_, false) => format!("{}, which ran, has most: {figures}.", best.policy),
    })
}

/// The policy with most memory in huge pages. Others than the recorded one need 1 percent more than
/// it has. Of equal ones, it is the policy that adds least.
fn best_policy(replayed: &Replayed) -> Option<&ReplayedPolicy> {
    let recorded = replayed.policies.iter().find(|row| !row.estimated);
    let enough = recorded.map_or(0, |row| row.huge_bytes_peak + row.huge_bytes_peak / 100);
    let others = replayed.policies.iter();
    let others = others.filter(|row| row.estimated && row.huge_bytes_peak > enough);
    others
        .max_by_key(|row| (row.huge_bytes_peak, Reverse(row.added_bytes_peak)))
        .or(recorded)
        .or(replayed.policies.first())
}

/// The answer of `report`, `run` and `attach`. `limits` holds the governor's options that were set.
pub fn live_answer(report: &LiveReport, limits: &[String]) -> PageAnswer {
    if let Some(governed) = &report.governed {
        let blocks = counted(governed.promotions, "block");
        let sentence = match governed.dry_run {
            true => format!(
                "{} would have made huge pages of {blocks}, for {} more memory.",
                governed.policy,
                size(governed.added_bytes_peak)
            ),
            false => format!(
                "{} made huge pages of {blocks}: {} at most, for {} more memory.",
                governed.policy,
                size(governed.huge_bytes_peak),
                size(governed.added_bytes_peak)
            ),
        };
        let measure = baseline_command(&governed.policy, limits, &[]);
        return PageAnswer::new("a program under a policy", sentence)
            .with("measure what the policy gains", measure);
    }
    let about = match report.processes.as_slice() {
        [one] => format!("process {} ({})", one.pid, printable(&one.command)),
        several => format!("{} processes", grouped(several.len() as u64)),
    };
    let Some((process, forecast)) = most_gain(report) else {
        return PageAnswer::new(
            about,
            "No policy would make a huge page now, for at most 10 percent more memory.",
        );
    };
    let sentence = format!(
        "{} would have {} in huge pages instead of {}: {} makes them of {}, for {} more memory.",
        printable(&process.command),
        size(forecast.covered_bytes),
        size(process.huge_bytes),
        forecast.policy,
        counted(forecast.would_promote, "block"),
        size(forecast.added_bytes),
    );
    let pid = process.pid.to_string();
    let policy = &forecast.policy;
    PageAnswer::new(about, sentence)
        .with(
            "do it: govern the process",
            command_line(&["broadleaf", "attach", &pid, "--policy", policy]),
        )
        .with(
            "watch all processes",
            command_line(&["broadleaf", "top", "--policy", policy]),
        )
}

/// The process and the policy that would bring most memory into huge pages, of those that add at
/// most a tenth of the process's memory. Of equal ones, the policy that adds less memory.
fn most_gain(report: &LiveReport) -> Option<(&ProcessReport, &PolicyForecast)> {
    // The table of several processes shows one policy.
    let shown = match report.processes.len() {
        0 | 1 => None,
        _ => order_of(report),
    };
    let all = report.processes.iter().flat_map(|process| {
        let forecasts = process.policies.iter();
        let shown = forecasts.filter(|one| shown.is_none_or(|policy| one.policy == policy));
        shown.map(move |forecast| (process, forecast))
    });
    let gaining = all.filter(|(process, forecast)| {
        forecast.would_promote > 0 && forecast.added_bytes <= process.rss_bytes / MOST_ADDED
    });
    gaining.max_by_key(|(process, forecast)| {
        let gain = forecast.covered_bytes.saturating_sub(process.huge_bytes);
        (gain, Reverse(forecast.added_bytes))
    })
}

/// The answer of `paper`.
pub fn paper_answer(paper: &PaperRecord) -> PageAnswer {
    let hidden = match paper.not_shown {
        0 => String::new(),
        1 => " 1 claim is not shown.".to_owned(),
        claims => format!(" {} claims are not shown.", grouped(claims)),
    };
    let sentence = format!(
        "{} of {} claims agree with the {}.{hidden}",
        grouped(paper.agreeing),
        grouped(paper.claims),
        paper.source
    );
    let answer = PageAnswer::new(&*paper.title, sentence);
    match paper.scale.as_str() {
        "full" => answer.with(
            "record your own program, and compare the policies on it",
            "broadleaf record -- COMMAND",
        ),
        _ => answer.with(
            "repeat the experiments with the paper's sizes",
            command_line(&[
                "broadleaf",
                "paper",
                &paper.paper,
                "--full",
                "-o",
                &paper.paper,
            ]),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{Governed, PAPER_SCHEMA, Provenance, REPORT_SCHEMA};

    fn live(processes: Vec<ProcessReport>, governed: Option<Governed>) -> LiveReport {
        LiveReport {
            schema: REPORT_SCHEMA.to_owned(),
            processes,
            unseen: Vec::new(),
            notes: Vec::new(),
            governed,
            provenance: Provenance::default(),
        }
    }

    #[test]
    fn a_live_answer_names_the_policy_with_most_gain_and_least_memory() {
        let forecast = |policy: &str, covered: u64, added: u64| PolicyForecast {
            policy: policy.to_owned(),
            would_promote: 3,
            added_bytes: added << 20,
            covered_bytes: covered << 20,
            refusals: Default::default(),
        };
        let process = ProcessReport {
            pid: 7,
            command: "redis".to_owned(),
            rss_bytes: 64 << 20,
            huge_bytes: 2 << 20,
            blocks: Default::default(),
            population_histogram: Vec::new(),
            policies: vec![
                forecast("4k", 2, 0),
                forecast("greedy", 8, 2),
                forecast("pop-64", 8, 1),
            ],
            heat: None,
        };
        let answer = live_answer(&live(vec![process.clone()], None), &[]);
        assert_eq!(answer.about, "process 7 (redis)");
        assert_eq!(
            answer.sentence,
            "redis would have 8.00 MiB in huge pages instead of 2.00 MiB: pop-64 makes them of 3 \
             blocks, for 1.00 MiB more memory."
        );
        let greedy_alone = vec![forecast("greedy", 64, 7)];
        let dear = ProcessReport {
            policies: greedy_alone,
            ..process.clone()
        };
        let none = live_answer(&live(vec![dear], None), &[]);
        assert!(none.commands.is_empty(), "{none:?}");
        assert_eq!(
            answer.commands[0].command,
            "broadleaf attach 7 --policy pop-64"
        );
        let none = live_answer(&live(Vec::new(), None), &[]);
        let sentence = "No policy would make a huge page now, for at most 10 percent more memory.";
        assert_eq!(none.sentence, sentence);
    }

    /// The answer of a journal whose rows have these huge and added bytes; the first ran.
    fn replayed(rows: &[(&str, u64, u64, &str)]) -> PageAnswer {
        let rows = rows.iter().enumerate();
        let policies = rows.map(|(at, (policy, huge, added, max_added))| ReplayedPolicy {
            policy: (*policy).to_owned(),
            estimated: at > 0,
            huge_bytes_peak: huge << 20,
            added_bytes_peak: added << 20,
            max_added: (*max_added).to_owned(),
            ..ReplayedPolicy::default()
        });
        replay_answer(&Replayed {
            schema: String::new(),
            journal: "j".to_owned(),
            version: String::new(),
            command: vec!["./a".to_owned(), "b c".to_owned()],
            started: 0,
            dry_run: false,
            ticks: 3,
            elapsed_seconds: 1.0,
            torn_bytes: 0,
            reproduced: true,
            difference: None,
            policies: policies.collect(),
            provenance: Provenance::default(),
        })
    }

    #[test]
    fn a_replay_names_the_policy_with_most_memory_in_huge_pages() {
        let found = replayed(&[
            ("4k", 0, 0, "10%"),
            ("greedy", 8, 2, "10%"),
            ("pop-64", 8, 1, "10%"),
        ]);
        let most = "pop-64 would have had most: 8.00 MiB in huge pages at most, for 1.00 MiB more";
        assert!(found.sentence.contains(most), "{found:?}");
        let command = &found.commands[0].command;
        assert_eq!(command, "broadleaf run --policy pop-64 -- ./a 'b c'");
        // 1 percent more is no more.
        let recorded = replayed(&[("pop-64", 800, 1, "unlimited"), ("greedy", 804, 1, "10%")]);
        assert!(recorded.sentence.contains("pop-64, which ran, has most"));
        let command = &recorded.commands[0].command;
        assert!(command.contains("--policy pop-64 --max-added unlimited --"));
        let none = replayed(&[("4k", 0, 0, "10%")]);
        assert!(none.commands.is_empty() && none.sentence.contains("No policy would"));
    }

    #[test]
    fn a_governed_answer_says_what_was_made() {
        let governed = Governed {
            policy: "pop-256".to_owned(),
            promotions: 1,
            huge_bytes_peak: 2 << 20,
            ..Governed::default()
        };
        let answer = live_answer(&live(Vec::new(), Some(governed)), &[]);
        let sentence = "pop-256 made huge pages of 1 block: 2.00 MiB at most, for 0 B more memory.";
        assert_eq!(answer.sentence, sentence);
    }

    #[test]
    fn a_paper_counts_its_claims() {
        let paper = PaperRecord {
            schema: PAPER_SCHEMA.to_owned(),
            paper: "navarro2002".to_owned(),
            title: "Navarro 2002".to_owned(),
            source: "paper".to_owned(),
            remarks: String::new(),
            scale: "quick".to_owned(),
            tables: Vec::new(),
            claims: 9,
            agreeing: 7,
            not_shown: 1,
            provenance: Provenance::default(),
        };
        let answer = paper_answer(&paper);
        let sentence = "7 of 9 claims agree with the paper. 1 claim is not shown.";
        assert_eq!(answer.sentence, sentence);
        assert!(answer.commands[0].command.contains("--full"));
    }
}
