//! What a user can type after a comparison: the commands of each recommendation.

pub mod kernel;
mod program;
pub mod switches;

use std::path::Path;

use broadleaf_governor::can_decide;
use broadleaf_metrics::{CellResult, Comparison, RangeAdvice, SuggestedCommand};
use broadleaf_policy::parse;
use broadleaf_report::{BASELINE, Judging};

use crate::output::argument;

pub use program::AnsweredProgram;

/// The number of rounds of the suggested measurement.
const ROUNDS: &str = "7";

/// The purpose of the measurement if base pages were chosen.
const NOTHING_TO_DO: &str =
    "nothing needs to be done; to be sure, measure with 4 KiB pages and with huge pages, in turns";

/// Adds commands to the recommendations of a comparison.
///
/// `references` holds the baseline on each machine. Machines of `by_walks` are judged by walk
/// cycles alone. `path` is the trace's file, and `keep_going` the option that it was read with.
pub(crate) fn add_commands(
    comparison: &mut Comparison,
    (references, by_walks): (&[CellResult], &[String]),
    program: &AnsweredProgram,
    (path, keep_going): (&Path, bool),
) {
    let how = if keep_going { " --keep-going" } else { "" };
    let trace = &*format!("{}{how}", argument(path));
    for advice in &mut comparison.advice {
        let on = |result: &&CellResult| result.machine == advice.machine;
        let is_by_walks = by_walks.contains(&advice.machine);
        let judged = |result: &CellResult| CellResult {
            memory: result.memory.clone().filter(|_| !is_by_walks),
            curve: None,
            ..result.clone()
        };
        let results: Vec<CellResult> = comparison.results.iter().filter(on).map(judged).collect();
        let results: Vec<&CellResult> = results.iter().collect();
        let mut baselines = references.iter().filter(on);
        let baseline = baselines
            .find(|result| result.policy == BASELINE)
            .map(judged);
        let judging =
            (baseline.as_ref()).map(|baseline| Judging::new(&results, baseline, &can_be_run));
        let chosen = results.iter().find(|result| result.policy == advice.policy);
        let dear = judging.and_then(|judging| dear_gain(&results, &judging));
        advice.commands = match (chosen, judging, dear) {
            (Some(chosen), Some(judging), _) if chosen.policy != BASELINE => {
                for_policy(&results, chosen, &judging, program, trace)
            }
            (_, Some(judging), Some(dear)) => for_memory(dear, &judging, program, trace),
            _ if program.is_measured => vec![where_it_pays(trace)],
            _ => vec![SuggestedCommand {
                purpose: NOTHING_TO_DO.to_owned(),
                ..measurement(program, &[])
            }],
        };
    }
}

/// The commands for a chosen policy that makes huge pages.
fn for_policy(
    results: &[&CellResult],
    chosen: &CellResult,
    judging: &Judging<'_>,
    program: &AnsweredProgram,
    trace: &str,
) -> Vec<SuggestedCommand> {
    let can_run = can_be_governed(&chosen.policy);
    let governed = can_run.then_some(chosen.policy.as_str());
    let options = governed.map_or(Vec::new(), |policy| vec!["--policy", policy]);
    let mut commands = Vec::new();
    if !program.is_measured {
        commands.push(measurement(program, &options));
    }
    if let Some(policy) = governed {
        let run = ["broadleaf", "run", "--policy", policy, "--"];
        commands.push(suggested(
            "run the program under this policy, with Broadleaf's governor, which takes some \
             processor time too",
            program.after(&run),
        ));
        if program.is_measured {
            let SuggestedCommand { command, .. } = measurement(program, &options);
            commands.push(suggested(
                "check its run time, in turns with 4 KiB pages",
                command,
            ));
        }
    }
    // Linux's own policies that do equally well, within the memory that the rule allows.
    let equal = |result: &&&CellResult| {
        !judging.saves_enough(chosen, result) && judging.keeps_memory(result)
    };
    for result in results.iter().filter(equal) {
        let suggested = kernel::commands_of(&result.policy);
        let is_new = |one: &SuggestedCommand| !commands.contains(one);
        if let Some(suggested) = suggested.filter(is_new) {
            commands.push(suggested);
        }
    }
    let switches = switches::of_program(program);
    let check = switches.iter().find(|switch| !switch.command.is_empty());
    let check = check.filter(|_| program.is_measured).map(|switch| {
        suggested(
            "check the run time of a switch, in turns with 4 KiB pages: the row *as the system is \
             set*",
            format!("broadleaf run --baseline {ROUNDS} -- {}", switch.command),
        )
    });
    commands.extend(switches);
    commands.extend(check);
    commands.push(match program.has_managed_heap() {
        true => where_it_pays(trace),
        false => in_the_source(trace),
    });
    commands
}

/// Returns the policy that gains and adds more memory than the rule allows. Of several, it is the
/// one that adds least.
fn dear_gain<'r>(results: &[&'r CellResult], judging: &Judging<'_>) -> Option<&'r CellResult> {
    let gains = results.iter().copied().filter(|result| {
        can_be_governed(&result.policy) && judging.gains(result) && !judging.keeps_memory(result)
    });
    gains.min_by_key(|result| result.peak_resident_pages)
}

/// The commands if base pages were chosen because `dear` adds too much memory.
fn for_memory(
    dear: &CellResult,
    judging: &Judging<'_>,
    program: &AnsweredProgram,
    trace: &str,
) -> Vec<SuggestedCommand> {
    let purpose = format!(
        "{} may gain, for {:.0} percent more memory. If you have the memory, measure it",
        dear.policy,
        100.0 * judging.added_share(dear)
    );
    // With the usual limit of added memory, the governor would make few of these huge pages.
    let unlimited = ["--policy", &dear.policy, "--max-added", "unlimited"];
    let measurement = measurement(program, &unlimited);
    vec![
        suggested(&purpose, measurement.command),
        where_it_pays(trace),
    ]
}

/// The commands after advice on the ranges of a program's memory.
pub(crate) fn after_advice(
    advice: &RangeAdvice,
    program: &AnsweredProgram,
    trace: &str,
    has_sites: bool,
) -> Vec<SuggestedCommand> {
    let mut commands = Vec::new();
    if !advice.ranges.is_empty() {
        if !program.is_measured {
            commands.push(measurement(program, &[]));
        }
        commands.extend(switches::of_program(program));
        if !program.has_managed_heap() {
            commands.push(in_the_source(trace));
        }
        if !has_sites {
            commands.push(suggested(
                "see the lines of the source whose memory gains",
                program.after(&["broadleaf", "record", "--sites", "-o", "sites.bl", "--"]),
            ));
        }
    }
    commands.push(suggested(
        "compare policies, which need no change of the source",
        format!("broadleaf compare {trace}"),
    ));
    commands
}

/// The change of the source.
fn in_the_source(trace: &str) -> SuggestedCommand {
    suggested(
        "change the source: C code with madvise calls for the ranges that pay",
        format!("broadleaf advise {trace} --format madvise"),
    )
}

/// The measurement of the run time, with these options of `run`.
fn measurement(program: &AnsweredProgram, options: &[&str]) -> SuggestedCommand {
    let run = ["broadleaf", "run", "--baseline", ROUNDS];
    suggested(
        "measure the run time with 4 KiB pages and with huge pages, in turns",
        program.after(&[&run, options, &["--"]].concat()),
    )
}

/// The search for memory that gains.
fn where_it_pays(trace: &str) -> SuggestedCommand {
    suggested(
        "see which parts of the memory would gain from huge pages",
        format!("broadleaf advise {trace}"),
    )
}

/// Returns true if the governor can run the policy, or if settings of the kernel make it.
pub(crate) fn can_be_run(policy: &str) -> bool {
    can_be_governed(policy) || kernel::files_of(policy).is_some()
}

/// Returns true if the governor can run the policy.
fn can_be_governed(policy: &str) -> bool {
    parse(policy).is_ok_and(|policy| can_decide(policy.as_ref()).is_ok())
}

fn suggested(purpose: &str, command: String) -> SuggestedCommand {
    SuggestedCommand {
        purpose: purpose.to_owned(),
        command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(policy: &str, walk_cycles: u64, peak_resident_pages: u64) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            accesses: 10_000,
            walk_cycles,
            peak_resident_pages,
            ..CellResult::default()
        }
    }

    #[test]
    fn switches_of_the_kernel_keep_to_the_memory_of_the_rule() {
        let (base, chosen) = (result("4k", 1_000_000, 1_000), result("pop-256", 9, 1_000));
        for (pages, is_there) in [(1_050, true), (1_500, false)] {
            let always = result("thp-always", 9, pages);
            let program = AnsweredProgram::of(None);
            let judging = Judging::new(&[], &base, &can_be_run);
            let commands = for_policy(&[&chosen, &always], &chosen, &judging, &program, "t.bl");
            let mut commands = commands.iter().map(|suggested| &suggested.command);
            let is_shown = commands.any(|command| command.contains("transparent_hugepage"));
            assert_eq!(is_shown, is_there, "{pages} pages");
        }
    }

    #[test]
    fn a_gain_that_takes_much_memory_can_be_measured() {
        let base = result("4k", 1_000_000, 1_000);
        let greedy = result("greedy", 9, 1_500);
        let pop = result("pop-64", 90, 1_300);
        let offline = result("offline", 1, 1_200);
        let judging = Judging::new(&[], &base, &can_be_run);
        let found = dear_gain(&[&base, &greedy, &pop, &offline], &judging).expect("a policy");
        assert_eq!(found.policy, "pop-64");
        let program = AnsweredProgram::of(None);
        let commands = for_memory(found, &judging, &program, "t.bl");
        assert!(commands[0].purpose.contains("for 30 percent more memory"));
        let command = &commands[0].command;
        assert!(command.contains("--policy pop-64 --max-added unlimited -- "));
        let cheap = result("pop-64", 90, 1_050);
        assert!(dear_gain(&[&base, &cheap], &judging).is_none());
        let idle = result("greedy", 1_000_000, 1_500);
        assert!(dear_gain(&[&base, &idle], &judging).is_none());
    }
}
