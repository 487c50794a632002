//! `sweep` and `results`: experiment files, and questions to their results.

use broadleaf_report::View;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::print;
use broadleaf_study::sweep::{Experiment, ResultQuestion, result_sql, result_table, sweep};

use crate::args::{ResultsArgs, SweepArgs};
use crate::progress::Bars;

pub(crate) fn run(options: &SweepArgs) -> Result<(), Failure> {
    let experiment = Experiment::read(&options.experiment)?;
    let cache = options.cache.cache()?;
    let (folder, threads) = (&options.output, options.threads);
    let outcome = sweep(&experiment, folder, threads, cache.as_ref(), &Bars)?;
    say!("{}", outcome.sentence(folder));
    outcome.complete()
}

pub(crate) fn results(options: &ResultsArgs, view: View) -> Result<(), Failure> {
    let question = || ResultQuestion {
        filters: options.filter.clone(),
        by: options.by.clone(),
        means: options.mean.clone(),
    };
    print(&match &options.sql {
        Some(sql) => result_sql(&options.folder, sql)?,
        None => result_table(&options.folder, &question(), view)?,
    })
}
