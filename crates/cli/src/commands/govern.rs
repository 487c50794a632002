//! `run` and `attach`: a policy on live processes.

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use broadleaf_governor::Budgets;
use broadleaf_live::govern::{
    Attached, BaselineEnd, BaselineRequest, GovernRequest, JournalRequest, baseline, governed_text,
    live_policy, options_of,
};
use broadleaf_live::page::{answer_of_baseline, baseline_page, live_page};
use broadleaf_live::passed_on::PassedOn;
use broadleaf_live::same_end::as_program;
use broadleaf_metrics::LiveReport;
use broadleaf_report::{Answered, View, baseline_command, baseline_table, live_answer};

use crate::args::{Attach, Govern, Run, TableOrJson, write_page};
use crate::interrupt::EndSignal;
use crate::progress::Bars;
use crate::say;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, json};

/// Receives signals while a program runs.
pub(crate) static PROGRAM_SIGNALS: PassedOn = PassedOn;

pub(crate) fn run(options: &Run, view: View) -> Result<(), Failure> {
    let configuration = match options.baseline {
        Some(_) => format!("{options:?}"),
        None => format!("{:?}", options.govern),
    };
    let request = request(&options.govern, configuration)?;
    let (place, page) = (place(&options.govern)?, open_page(&options.govern)?);
    if let Some(rounds) = options.baseline {
        return run_baseline(options, &request, rounds, (place, page), view);
    }
    let end = broadleaf_live::govern::run(&request, &options.command, &PROGRAM_SIGNALS)?;
    let is_reported = end.was_governed || place.is_some() || page.is_some();
    if is_reported && let Err(failure) = tell(&options.govern, place, page, &end.report) {
        // The program has done its work, and its exit status must not change.
        say!("cannot report what was done: {failure}");
    }
    if is_reported && options.govern.format == TableOrJson::Table && !options.govern.dry_run {
        say_next(&options.govern, &options.command);
    }
    Err(as_program(end.status))
}

pub(crate) fn attach(options: &Attach) -> Result<(), Failure> {
    let request = request(&options.govern, format!("{:?}", options.govern))?;
    let (place, page) = (place(&options.govern)?, open_page(&options.govern)?);
    let attached = Attached::new(&request, &options.pids)?;
    let signal = EndSignal::new();
    let time = options.seconds.map(Duration::from_secs_f64);
    let report = attached.govern(time, &mut |time| {
        !matches!(signal.wait(time), Err(RecvTimeoutError::Timeout))
    });
    tell(&options.govern, place, page, &report)?;
    if options.govern.format == TableOrJson::Table {
        say_next(&options.govern, &[]);
    }
    Ok(())
}

/// Prints the command that measures the gain of the policy.
fn say_next(options: &Govern, program: &[OsString]) {
    let measure = baseline_command(&options.policy, &options_of(&budgets(options)), program);
    say!("next, what it gains: {measure}");
}

fn run_baseline(
    options: &Run,
    request: &GovernRequest,
    rounds: NonZero<u32>,
    (place, page): (Option<Output>, Option<Output>),
    view: View,
) -> Result<(), Failure> {
    let end = baseline(&BaselineRequest {
        govern: request,
        command: &options.command,
        rounds,
        signals: &PROGRAM_SIGNALS,
        watch: &Bars,
    })?;
    let (report, interrupted) = match end {
        BaselineEnd::Report(report) => (report, None),
        BaselineEnd::Interrupted(status, Some(report)) => (report, Some(status)),
        BaselineEnd::Interrupted(status, None) => return Err(as_program(status)),
    };
    // A file has no width.
    let view = match options.govern.output {
        Some(_) => View::default(),
        None => view,
    };
    let answer = answer_of_baseline(&report, &request.budgets);
    let text = match options.govern.format {
        TableOrJson::Table => baseline_table(&report, &answer, view),
        TableOrJson::Json => json(&Answered {
            record: &*report,
            answer: &answer,
        })?,
    };
    // The program's standard output is thrown away, so that of this process is free for the result.
    print(Some(place.unwrap_or_else(Output::stdout)), &text)?;
    write_page(page, || baseline_page(&report, &answer))?;
    interrupted.map_or(Ok(()), |status| Err(as_program(status)))
}

fn request(options: &Govern, configuration: String) -> Result<GovernRequest, Failure> {
    Ok(GovernRequest {
        policy: live_policy(&options.policy)?,
        budgets: budgets(options),
        dry_run: options.dry_run,
        journal: options.journal.as_ref().map(|path| JournalRequest {
            path: path.clone(),
            force: options.force,
            command_line: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
        }),
        with_processes: options.format == TableOrJson::Json || options.page.html.is_some(),
        configuration,
    })
}

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

/// Opens the report's output first, so that a file that exists is refused in time. `None` means
/// standard error.
fn place(options: &Govern) -> Result<Option<Output>, Failure> {
    let absolute = |path: &Option<PathBuf>| {
        path.as_ref()
            .and_then(|path| std::path::absolute(path).ok())
    };
    if options.journal.is_some() && absolute(&options.journal) == absolute(&options.output) {
        return Err(Failure::wrong(
            "the journal and the report cannot be the same file",
        ));
    }
    let wanted = options.output.is_some() || options.format == TableOrJson::Json;
    wanted
        .then(|| Output::create(options.output.as_deref(), options.force, Access::Everyone))
        .transpose()
}

/// Opens the page's file first, as the report's.
fn open_page(options: &Govern) -> Result<Option<Output>, Failure> {
    let journal = options.journal.as_deref();
    let journal: Vec<&Path> = journal.into_iter().collect();
    (options.page).open(&journal, options.output.as_deref(), options.force)
}

/// Prints the report in the format that is wanted, and writes the page.
fn tell(
    options: &Govern,
    place: Option<Output>,
    page: Option<Output>,
    report: &LiveReport,
) -> Result<(), Failure> {
    let limits = options_of(&budgets(options));
    let text = match options.format {
        TableOrJson::Table => governed_text(report, &options.max_added.to_string()),
        TableOrJson::Json => json(&Answered {
            record: report,
            answer: &live_answer(report, &limits),
        })?,
    };
    print(place, &text)?;
    write_page(page, || live_page(report, &limits))
}

fn print(place: Option<Output>, text: &str) -> Result<(), Failure> {
    let Some(mut out) = place else {
        say::text(text);
        return Ok(());
    };
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
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

        let book = include_str!("../../../../docs/book/src/govern.md");
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
