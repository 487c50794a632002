//! `service`: processes that rules pick, each under its policy.

mod account;
mod finding;
mod metrics;
mod once;
mod rules;
mod summary;
mod together;
mod turn;
mod wards;

use broadleaf_report::View;

use super::govern::obstacles;
use crate::args::Service;
use crate::interrupt::Wishes;
use broadleaf_study::failure::Failure;
use metrics::Metrics;
use turn::Turn;

pub(crate) fn run(options: &Service, view: View) -> Result<(), Failure> {
    let rules = rules::read(&options.file)?;
    let looks_only = options.once || options.dry_run;
    for obstacle in obstacles(true, looks_only) {
        // What a file picks can be said anywhere.
        if obstacle.is_fatal() && !options.once {
            return Err(Failure::failed(obstacle));
        }
        say!("{obstacle}");
    }
    if options.once {
        return once::run(&rules, view);
    }
    let wishes = Wishes::new();
    let metrics = options.metrics.map(Metrics::at).transpose()?;
    let mut turn = Turn::new(rules, options.dry_run, metrics);
    turn.go_on(&wishes, || rules::read_again(&options.file))?;
    turn.tell(view);
    Ok(())
}
