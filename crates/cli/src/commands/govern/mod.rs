//! `run` and `attach`: a policy on live processes.

mod attach;
mod baseline;
mod child;
mod journal;
mod limits;
mod outcome;
mod run;

use std::time::Duration;

use broadleaf_governor::{
    Abilities, Budgets, Governor, Kernel, Linux, Obstacle, Ticked, Ward, can_decide,
};
use broadleaf_policy::Policy;

use crate::args::Govern;
use crate::say::say;
use broadleaf_study::failure::Failure;
use broadleaf_study::names;

pub(crate) use attach::run as attach;
pub(crate) use run::run;

/// The policy that was asked for, if what can be seen of live processes is enough for it.
fn policy(options: &Govern) -> Result<Box<dyn Policy>, Failure> {
    let policy = names::policy(&options.policy)?;
    can_decide(policy.as_ref()).map_err(|no| {
        Failure::Wrong(format!(
            "{no}; pop-N, dirty-N, greedy, freebsd, 4k and expressions over what is populated can be run"
        ))
    })?;
    Ok(policy)
}

/// What was allowed.
fn budgets(options: &Govern) -> Budgets {
    Budgets {
        added: options.max_added,
        keep_available: options.keep_free,
        pressure: options.max_pressure,
        cpu: options.max_cpu,
        stall: options.max_stall.share,
        longest_stall: options.max_stall.longest,
        interval: Duration::from_millis(options.interval),
    }
}

fn ward(options: &Govern) -> Result<Ward, Failure> {
    Ok(Ward::new(policy(options)?, budgets(options)))
}

/// What stands in the way here, said. Whoever only wants to know what would be done only looks, which takes no rights and
/// no recent kernel.
pub(super) fn obstacles(attaching: bool, dry: bool) -> Vec<Obstacle> {
    let mut found = Abilities::here().obstacles(attaching);
    if dry {
        found.retain(|obstacle| {
            !matches!(
                obstacle,
                Obstacle::NoRight | Obstacle::TooOld(_) | Obstacle::Blind
            )
        });
    }
    found
}

/// Goes round until no process is left, or `wait`, which is told how long to wait, says that it is enough.
fn govern(
    governor: &mut Governor<Linux>,
    mut note: impl FnMut(&Ticked),
    mut wait: impl FnMut(Duration) -> bool,
) {
    loop {
        let ticked = governor.tick();
        let before = governor.kernel().own_cpu();
        note(&ticked);
        let after = governor.kernel().own_cpu();
        governor.also_spent(after.saturating_sub(before));
        if !ticked.alive || wait(ticked.wait) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};

    #[test]
    fn what_is_not_said_is_the_default_and_stands_in_the_book() {
        let cli = Cli::try_parse_from(["broadleaf", "run", "--", "true"]).unwrap();
        let Command::Run(run) = cli.command else {
            unreachable!("{:?}", cli.command)
        };
        assert_eq!(budgets(&run.govern), Budgets::DEFAULT);

        let book = include_str!("../../../../../docs/book/src/govern.md");
        let mut command = Cli::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        let mut told = 0;
        for line in book.lines().filter(|line| line.starts_with("| `--")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let flag = cells[1].trim_matches('`').trim_start_matches("--");
            let taken = run
                .get_arguments()
                .find(|arg| arg.get_long() == Some(flag))
                .unwrap_or_else(|| panic!("run has no --{flag}"));
            assert_eq!(taken.get_default_values(), [cells[2]], "--{flag}");
            told += 1;
        }
        assert_eq!(told, 6);
    }
}
