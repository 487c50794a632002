//! `sweep` and `results`: experiment files, and questions to their results.

use std::io::Write;

use broadleaf_report::View;
use broadleaf_study::failure::Failure;
use broadleaf_study::sweep::{
    Experiment, ResultQuestion, result_picture, result_sql, result_table, sweep,
};

use crate::args::{MeansFormat, ResultsArgs, SweepArgs};
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
    let mut out = options.result.create()?;
    let view = options.result.view(view);
    let question = ResultQuestion {
        filters: options.filter.clone(),
        by: options.by.clone(),
        means: options.mean.clone(),
    };
    let folder = &options.folder;
    let text = match (&options.sql, options.format) {
        (Some(sql), _) => result_sql(folder, sql)?,
        (None, MeansFormat::Table) => result_table(folder, &question, view)?,
        (None, MeansFormat::Svg) => result_picture(folder, &question)?,
    };
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
