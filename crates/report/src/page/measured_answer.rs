//! The answer of `run --baseline`: the way to run a program that takes least processor time.

use broadleaf_metrics::{BaselineReport, PageAnswer, SuggestedCommand};

use crate::baseline::{FEW_ROUNDS, saved_processor_time};
use crate::number::counted;
use crate::{baseline_changes, baseline_command, change_sentence, command_line};

/// The least saved share of the processor time that matters.
const MATTERS: f64 = 0.03;
/// Ways whose saved shares differ by less are equally good.
const EQUAL: f64 = 0.01;

/// A way to run the program, with the saved share of the processor time over base pages: the tenth
/// percentile, the median and the ninetieth percentile.
#[derive(Clone, Copy)]
struct Way {
    of: WayKind,
    saved: [f64; 3],
}

/// The ways to run a program that can be chosen, the least effort first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WayKind {
    /// As the system is set.
    AsSet,
    /// Under the policy that was measured.
    Policy,
    /// With huge pages wherever they fit.
    AllHuge,
}

impl Way {
    fn matters(&self) -> bool {
        self.saved[0] > 0.0 && self.saved[1] >= MATTERS
    }

    fn costs(&self) -> bool {
        self.saved[2] < 0.0 && self.saved[1] <= -MATTERS
    }
}

/// The answer of `run --baseline`. `switches` holds the commands of the program's own switches for
/// huge pages.
pub fn baseline_answer(report: &BaselineReport, switches: &[SuggestedCommand]) -> PageAnswer {
    let answer = Answering {
        report,
        switches,
        command: report.command.iter().map(String::as_str).collect(),
    };
    let about = command_line(&answer.command);
    let (sentence, commands) = answer.decided();
    let mut answered = PageAnswer::new(about, answer.with_user_time(sentence));
    answered.commands = commands;
    let record = answer.line(&["broadleaf", "record", "-o", "my.bl", "--"]);
    answered.with("see where its TLB misses are", record)
}

/// The measurement that an answer is made from.
struct Answering<'a> {
    report: &'a BaselineReport,
    switches: &'a [SuggestedCommand],
    command: Vec<&'a str>,
}

impl Answering<'_> {
    /// Returns the sentence and the commands of the best way.
    fn decided(&self) -> (String, Vec<SuggestedCommand>) {
        let report = self.report;
        let rounds = report.base_pages.len();
        if rounds < FEW_ROUNDS {
            let decides = if rounds == 1 { "decides" } else { "decide" };
            let sentence = format!("{} {decides} nothing.", counted(rounds as u64, "round"));
            return (sentence, vec![self.again()]);
        }
        let ways = [
            (WayKind::AsSet, &report.without),
            (WayKind::Policy, &report.with),
            (WayKind::AllHuge, &report.huge_pages),
        ];
        let ways = ways.into_iter().filter_map(|(of, runs)| {
            let saved = saved_processor_time(&report.base_pages, runs)?;
            Some(Way { of, saved })
        });
        let ways: Vec<Way> = ways.collect();
        let mattering = ways.iter().filter(|way| way.matters());
        let most = mattering.clone().map(|way| way.saved[1]).reduce(f64::max);
        // Of equally good ways, that of the least effort.
        let best = most.and_then(|most| {
            let mut good = mattering.filter(|way| way.saved[1] > most - EQUAL);
            good.next()
        });
        match best {
            Some(way) => self.gain(way),
            None => self.no_gain(&ways),
        }
    }

    /// The answer if a way takes less time than base pages.
    fn gain(&self, way: &Way) -> (String, Vec<SuggestedCommand>) {
        let saved = format!(
            "processor time over 4 KiB pages: {}",
            change_sentence(way.saved)
        );
        let policy = &*self.report.policy;
        match way.of {
            WayKind::AsSet => (
                format!("Change nothing: the system is set well. It saves {saved}."),
                Vec::new(),
            ),
            WayKind::Policy => {
                let mut commands = vec![self.under(policy)];
                commands.extend_from_slice(self.switches);
                (
                    format!("Run it under {policy}: it saves {saved}."),
                    commands,
                )
            }
            WayKind::AllHuge => {
                let mut commands = vec![self.under("greedy"), always()];
                commands.extend_from_slice(self.switches);
                let sentence = format!("Use huge pages wherever they fit: they save {saved}.");
                (sentence, commands)
            }
        }
    }

    /// The answer if no way takes less time than base pages.
    fn no_gain(&self, ways: &[Way]) -> (String, Vec<SuggestedCommand>) {
        let set = ways.iter().find(|way| way.of == WayKind::AsSet);
        match set.filter(|way| way.costs()) {
            Some(way) => (
                format!(
                    "Use 4 KiB pages. As the system is set, processor time is {}.",
                    change_sentence(way.saved)
                ),
                vec![self.under("4k")],
            ),
            None => (
                "Change nothing: no way saves 3 percent of the processor time over 4 KiB pages, as \
                 far as these runs show."
                    .to_owned(),
                vec![self.again()],
            ),
        }
    }

    /// Adds the change of the user time under the policy.
    fn with_user_time(&self, mut sentence: String) -> String {
        let policy = &*self.report.policy;
        let mut changes = baseline_changes(self.report).into_iter();
        let user = changes.find(|change| change.kind == "user" && change.way == policy);
        if let Some(user) = user {
            sentence.push_str(&format!(" User time under {policy}: {}.", user.sentence));
        }
        sentence
    }

    /// The run under a policy.
    fn under(&self, policy: &str) -> SuggestedCommand {
        SuggestedCommand {
            purpose: match policy {
                "4k" => "run the program with 4 KiB pages".to_owned(),
                _ => "run the program under this policy".to_owned(),
            },
            command: self.line(&["broadleaf", "run", "--policy", policy, "--"]),
        }
    }

    /// The measurement with as many rounds as an answer needs.
    fn again(&self) -> SuggestedCommand {
        let words: Vec<_> = self.command.iter().map(Into::into).collect();
        SuggestedCommand {
            purpose: "measure again, with more rounds or a longer run".to_owned(),
            command: baseline_command(&self.report.policy, &words),
        }
    }

    fn line(&self, words: &[&str]) -> String {
        command_line(&[words, &self.command].concat())
    }
}

/// The kernel's switch for huge pages in all programs.
fn always() -> SuggestedCommand {
    SuggestedCommand {
        purpose: "or let the kernel do it, in all programs".to_owned(),
        command: "echo always | sudo tee /sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{Provenance, RunFigures};

    /// The answer of runs with these user times: base pages, as set, under pop-256, all huge.
    fn answer(seconds: [f64; 4], rounds: usize) -> PageAnswer {
        let runs = |seconds: f64| {
            let run = RunFigures {
                user_seconds: seconds,
                ..RunFigures::default()
            };
            vec![run; rounds]
        };
        let [base_pages, without, with, huge_pages] = seconds.map(runs);
        let report = BaselineReport {
            schema: String::new(),
            command: vec!["./a".to_owned()],
            policy: "pop-256".to_owned(),
            with,
            without,
            base_pages,
            huge_pages,
            provenance: Provenance::default(),
        };
        let switch = SuggestedCommand {
            purpose: "the switch".to_owned(),
            command: "env A=1 ./a".to_owned(),
        };
        baseline_answer(&report, &[switch])
    }

    #[test]
    fn the_way_with_least_time_and_least_effort_is_chosen() {
        for (seconds, starts, first) in [
            (
                [2.0, 1.5, 1.5, 1.5],
                "Change nothing: the system",
                "broadleaf record",
            ),
            (
                [2.0, 2.0, 1.5, 1.49],
                "Run it under pop-256: it saves processor time over 4 KiB pages: 25.0% less",
                "broadleaf run --policy pop-256 -- ./a",
            ),
            (
                [2.0, 2.0, 1.9, 1.5],
                "Use huge pages wherever",
                "broadleaf run --policy greedy -- ./a",
            ),
            (
                [2.0, 2.0, 1.98, 1.96],
                "Change nothing: no way",
                "broadleaf run --baseline 7 --policy pop-256 -- ./a",
            ),
            (
                [2.0, 2.2, 2.1, 2.2],
                "Use 4 KiB pages.",
                "broadleaf run --policy 4k -- ./a",
            ),
        ] {
            let found = answer(seconds, 3);
            assert!(found.sentence.starts_with(starts), "{found:?}");
            assert!(found.commands[0].command.starts_with(first), "{found:?}");
            let switches = found.commands.iter().any(|one| one.purpose == "the switch");
            let gains = starts.starts_with("Run") || starts.starts_with("Use huge");
            assert_eq!(switches, gains, "{found:?}");
        }
    }

    #[test]
    fn one_round_decides_nothing() {
        let found = answer([2.0, 1.0, 1.0, 1.0], 1);
        assert!(found.sentence.starts_with("1 round decides nothing."));
        assert!(found.commands[0].command.contains("--baseline 7"));
    }
}
