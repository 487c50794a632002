//! The answer of `run --baseline`: the way to run a program that takes least processor time.

use broadleaf_metrics::{BaselineReport, PageAnswer, RunFigures, SuggestedCommand};

use crate::baseline::{FEW_ROUNDS, is_short, median_of, saved_processor_time};
use crate::number::{counted, percent};
use crate::{baseline_command, change_sentence, command_line};

/// The least saved share of the processor time that matters.
const MATTERS: f64 = 0.03;
/// Ways whose saved shares differ by less are equally good. Page faults that differ by less are
/// equal.
const EQUAL: f64 = 0.01;
/// The most memory of a way, as a multiple of that with base pages: the rule of `compare`.
const MOST_MEMORY: f64 = 1.1;

/// The option that limits the memory that huge pages add.
const MAX_ADDED: &str = "--max-added";

/// A way to run the program, with the saved share of the processor time over base pages: the tenth
/// percentile, the median and the ninetieth percentile.
#[derive(Clone, Copy)]
struct TimedWay {
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

impl TimedWay {
    fn matters(&self) -> bool {
        self.saved[0] > 0.0 && self.saved[1] >= MATTERS
    }

    fn costs(&self) -> bool {
        self.saved[2] < 0.0 && self.saved[1] <= -MATTERS
    }
}

/// The answer of `run --baseline`. `switches` holds the commands of the program's own switches for
/// huge pages. `limits` holds the governor's options that were set.
pub fn baseline_answer(
    report: &BaselineReport,
    switches: &[SuggestedCommand],
    limits: &[String],
) -> PageAnswer {
    let answer = Answering {
        report,
        switches,
        limits,
        command: report.command.iter().map(String::as_str).collect(),
    };
    let about = command_line(&answer.command);
    let (sentence, commands) = answer.decided();
    let mut answered = PageAnswer::new(about, sentence);
    answered.commands = commands;
    let record = answer.line(&["broadleaf", "record", "-o", "my.bl", "--"]);
    answered.with("see where its TLB misses are", record)
}

/// The measurement that an answer is made from.
struct Answering<'a> {
    report: &'a BaselineReport,
    switches: &'a [SuggestedCommand],
    limits: &'a [String],
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
        if is_short(report) {
            let sentence = "Runs that are so short decide nothing.".to_owned();
            return (sentence, vec![self.again()]);
        }
        let ways = [
            (WayKind::AsSet, &report.without),
            (WayKind::Policy, &report.with),
            (WayKind::AllHuge, &report.huge_pages),
        ];
        let ways = ways.into_iter().filter_map(|(of, runs)| {
            let saved = saved_processor_time(&report.base_pages, runs)?;
            let way = TimedWay { of, saved };
            (of != WayKind::AsSet || self.differs(runs)).then_some((way, runs))
        });
        let (cheap, dear): (Vec<_>, Vec<_>) = ways.partition(|(_, runs)| self.keeps_memory(runs));
        let [cheap, dear] = [cheap, dear].map(|ways| {
            let ways = ways.into_iter().map(|(way, _)| way);
            ways.collect::<Vec<TimedWay>>()
        });
        match best(&cheap) {
            Some(way) => self.gain(way),
            None => match best(&dear) {
                Some(way) => self.for_memory(way),
                None => self.no_gain(&cheap),
            },
        }
    }

    /// Returns true if the page faults of these runs are not those of base pages: the system made
    /// huge pages.
    fn differs(&self, runs: &[RunFigures]) -> bool {
        let faults = |runs: &[RunFigures]| median_of(runs, |run| run.page_faults as f64);
        let (base, own) = (faults(&self.report.base_pages), faults(runs));
        (base - own).abs() > EQUAL * base
    }

    /// Returns true if these runs take at most a tenth more memory than those with base pages.
    fn keeps_memory(&self, runs: &[RunFigures]) -> bool {
        let most = |runs: &[RunFigures]| median_of(runs, |run| run.rss_bytes_peak as f64);
        most(runs) <= MOST_MEMORY * most(&self.report.base_pages)
    }

    /// The answer if a way takes less time than base pages.
    fn gain(&self, way: &TimedWay) -> (String, Vec<SuggestedCommand>) {
        let saved = less_time(way);
        let policy = &*self.report.policy;
        match way.of {
            WayKind::AsSet => (
                format!(
                    "Keep the command and the system's settings as they are: the program {saved}."
                ),
                Vec::new(),
            ),
            WayKind::Policy => {
                let mut commands = vec![self.under(policy, self.limits)];
                commands.extend_from_slice(self.switches);
                (
                    format!("Run it under {policy}: the program {saved}."),
                    commands,
                )
            }
            WayKind::AllHuge => {
                let mut commands = vec![self.all_huge(), always()];
                commands.extend_from_slice(self.switches);
                let sentence = format!("Use huge pages wherever they fit: the program {saved}.");
                (sentence, commands)
            }
        }
    }

    /// The answer if only ways that take much more memory take less time.
    fn for_memory(&self, way: &TimedWay) -> (String, Vec<SuggestedCommand>) {
        let commands = match way.of {
            WayKind::AllHuge => vec![self.all_huge()],
            WayKind::Policy => vec![self.under(&self.report.policy, self.limits)],
            WayKind::AsSet => Vec::new(),
        };
        let sentence = format!(
            "The program {} with huge pages, and takes over 10 percent more memory. Run it so if \
             you have the memory.",
            less_time(way)
        );
        (sentence, commands)
    }

    /// The answer if no way takes less time than base pages.
    fn no_gain(&self, ways: &[TimedWay]) -> (String, Vec<SuggestedCommand>) {
        let set = ways.iter().find(|way| way.of == WayKind::AsSet);
        match set.filter(|way| way.costs()) {
            Some(way) => (
                format!(
                    "Use 4 KiB pages. As the system is set, processor time is {}.",
                    change_sentence(way.saved)
                ),
                vec![self.under("4k", &[])],
            ),
            None => (
                "Change nothing: no way saves 3 percent of the processor time over 4 KiB pages, as \
                 far as these runs show."
                    .to_owned(),
                vec![self.again()],
            ),
        }
    }

    /// The run under a policy, with these options of the governor.
    fn under(&self, policy: &str, limits: &[String]) -> SuggestedCommand {
        let mut run = vec!["broadleaf", "run", "--policy", policy];
        run.extend(limits.iter().map(String::as_str));
        run.push("--");
        SuggestedCommand {
            purpose: match policy {
                "4k" => "run the program with 4 KiB pages".to_owned(),
                _ => "run the program under this policy".to_owned(),
            },
            command: self.line(&run),
        }
    }

    /// The run with huge pages wherever they fit. Other limits stay as they were set.
    fn all_huge(&self) -> SuggestedCommand {
        // Each option comes with its value.
        let pairs = self.limits.chunks_exact(2);
        let others = pairs.filter(|pair| pair[0] != MAX_ADDED);
        let mut limits: Vec<String> = others.flatten().cloned().collect();
        limits.extend([MAX_ADDED.to_owned(), "unlimited".to_owned()]);
        self.under("greedy", &limits)
    }

    /// The measurement with as many rounds as an answer needs.
    fn again(&self) -> SuggestedCommand {
        let words: Vec<_> = self.command.iter().map(Into::into).collect();
        SuggestedCommand {
            purpose: "measure again, with more rounds or a longer run".to_owned(),
            command: baseline_command(&self.report.policy, self.limits, &words),
        }
    }

    fn line(&self, words: &[&str]) -> String {
        command_line(&[words, &self.command].concat())
    }
}

/// Returns the way that saves most. Of equally good ways, it is that of the least effort.
fn best(ways: &[TimedWay]) -> Option<&TimedWay> {
    let mattering = || ways.iter().filter(|way| way.matters());
    let most = mattering().map(|way| way.saved[1]).reduce(f64::max)?;
    mattering().find(|way| way.saved[1] > most - EQUAL)
}

/// Returns the end of a sentence on the saved processor time, with its range.
fn less_time(way: &TimedWay) -> String {
    let [low, middle, high] = way.saved.map(percent);
    format!("takes {middle} less processor time than with 4 KiB pages ({low} to {high})")
}

/// The kernel's switch for huge pages in all programs.
fn always() -> SuggestedCommand {
    SuggestedCommand {
        purpose:
            "or let the kernel make them at page faults, in all programs; this was not measured"
                .to_owned(),
        command: "echo always | sudo tee /sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::Provenance;

    /// The answer of runs with these user times, in seconds, and this memory in MiB: base pages, as
    /// set, under pop-256, all huge.
    fn answer_with(seconds: [f64; 4], memory: [u64; 4], rounds: usize) -> PageAnswer {
        let mut ways = (0_u64..).zip(seconds).zip(memory);
        let mut runs = || {
            let ((place, user_seconds), memory) = ways.next().expect("four ways");
            let run = RunFigures {
                user_seconds,
                rss_bytes_peak: memory << 20,
                // As the system is set, it makes some huge pages.
                page_faults: 10_000 - 1_000 * place,
                ..RunFigures::default()
            };
            vec![run; rounds]
        };
        let (base_pages, without, with, huge_pages) = (runs(), runs(), runs(), runs());
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
        baseline_answer(
            &report,
            &[switch],
            &["--max-added", "5%", "--interval", "10"].map(str::to_owned),
        )
    }

    fn answer(seconds: [f64; 4], rounds: usize) -> PageAnswer {
        answer_with(seconds, [100; 4], rounds)
    }

    #[test]
    fn the_way_with_least_time_and_least_effort_is_chosen() {
        for (seconds, starts, first) in [
            (
                [2.0, 1.5, 1.5, 1.5],
                "Keep the command and the system",
                "broadleaf record",
            ),
            (
                [2.0, 2.0, 1.5, 1.49],
                "Run it under pop-256: the program takes 25.0% less processor time",
                "broadleaf run --policy pop-256 --max-added 5% --interval 10 -- ./a",
            ),
            (
                [2.0, 2.0, 1.9, 1.5],
                "Use huge pages wherever",
                "broadleaf run --policy greedy --interval 10 --max-added unlimited -- ./a",
            ),
            (
                [2.0, 2.0, 1.98, 1.96],
                "Change nothing: no way",
                "broadleaf run --baseline 7 --policy pop-256 --max-added 5% --interval 10 -- ./a",
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
    fn few_rounds_and_short_runs_decide_nothing() {
        let found = answer([2.0, 1.0, 1.0, 1.0], 1);
        assert_eq!(found.sentence, "1 round decides nothing.");
        assert!(found.commands[0].command.contains("--baseline 7"));
        let short = answer([0.05, 0.04, 0.04, 0.04], 5);
        assert_eq!(short.sentence, "Runs that are so short decide nothing.");
    }

    #[test]
    fn a_way_that_takes_much_memory_is_named_as_such() {
        let found = answer_with([2.0, 2.0, 1.9, 1.0], [100, 100, 105, 130], 3);
        assert!(
            found.sentence.starts_with("Run it under pop-256"),
            "{found:?}"
        );
        let found = answer_with([2.0, 2.0, 2.0, 1.0], [100, 100, 105, 130], 3);
        let said = "The program takes 50.0% less processor time";
        assert!(found.sentence.starts_with(said), "{found:?}");
        assert!(found.sentence.contains("over 10 percent more memory"));
        // The usual limit of added memory would forbid these huge pages.
        let run = "broadleaf run --policy greedy --interval 10 --max-added unlimited -- ./a";
        assert_eq!(found.commands[0].command, run);
    }

    #[test]
    fn settings_that_make_no_huge_page_are_no_way() {
        let run = |user_seconds, page_faults| RunFigures {
            user_seconds,
            page_faults,
            ..RunFigures::default()
        };
        let mut report = BaselineReport {
            schema: String::new(),
            command: vec!["./a".to_owned()],
            policy: "pop-256".to_owned(),
            with: vec![run(2.0, 900); 3],
            without: vec![run(1.5, 999); 3],
            base_pages: vec![run(2.0, 1000); 3],
            huge_pages: vec![run(2.0, 800); 3],
            provenance: Provenance::default(),
        };
        let sentence = |report: &BaselineReport| baseline_answer(report, &[], &[]).sentence;
        assert!(sentence(&report).starts_with("Change nothing: no way"));
        report.without = vec![run(1.5, 900); 3];
        assert!(sentence(&report).starts_with("Keep the command"));
    }
}
