//! The `broadleaf` command: flags, progress, notes and exit status. The other crates do the work.
#![forbid(unsafe_code)]

#[macro_use]
mod say;

mod args;
mod commands;
mod interrupt;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches};

use args::{Cli, Command};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::reached;

fn main() -> ExitCode {
    say::listen_to_libraries();
    interrupt::handle();
    let parsed = Cli::command()
        .color(color_of_help())
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let printed = error.print();
            // Help and versions are results: they go to standard output.
            return if error.use_stderr() {
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            } else {
                end(reached(printed))
            };
        }
    };
    end(run(cli))
}

/// Ends measurements that still run, prints why a command failed, and returns its exit status.
fn end(result: Result<(), Failure>) -> ExitCode {
    broadleaf_governor::HeatMeter::end_all();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.has_words() {
                say::failure(&failure);
            }
            exit_code(&failure)
        }
    }
}

/// The exit status that reports a failure, as the manual page documents it.
fn exit_code(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Wrong(_) => ExitCode::from(2),
        Failure::Failed(_) => ExitCode::FAILURE,
        Failure::Status(status, _) => ExitCode::from(*status),
        Failure::NoReader => ExitCode::SUCCESS,
    }
}

/// Removes files that killed commands left. A trace's own folder is swept when the trace is opened.
fn sweep() {
    broadleaf_record::scratch::sweep();
    broadleaf_study::output::sweep(std::path::Path::new("."));
}

fn run(cli: Cli) -> Result<(), Failure> {
    sweep();
    let view = cli.color.view();
    match cli.command {
        Command::Record(options) => commands::record::run(&options),
        Command::Import(options) => commands::import::run(&options),
        Command::Export(options) => commands::export::run(&options),
        Command::FetchTraces(options) => commands::fetch_traces::run(&options, view),
        Command::Info(options) => commands::info::run(&options, view),
        Command::Compare(options) => commands::compare::run(&options, view),
        Command::Advise(options) => commands::advise::run(&options, view),
        Command::Run(options) => commands::govern::run(&options, view),
        Command::Attach(options) => commands::govern::attach(&options),
        Command::Service(options) => commands::service::run(&options, view),
        Command::Replay(options) => commands::replay::run(&options, view),
        Command::Reduce(options) => commands::reduce::run(&options),
        Command::Recode(options) => commands::recode::run(&options),
        Command::Cache(options) => commands::cache::run(&options, view),
        Command::Report(options) => commands::report::run(&options, view),
        Command::Top(options) => commands::top::run(&options, view),
        Command::Tables(options) => commands::tables::run(&options, view),
        Command::Probe(options) => commands::probe::run(&options, view),
        Command::Validate(options) => commands::validate::run(&options, view),
        Command::Sweep(options) => commands::sweep::run(&options),
        Command::Results(options) => commands::sweep::results(&options, view),
        Command::List(options) => commands::list::run(&options, view),
        Command::Explain(options) => commands::explain::run(&options, view),
        Command::Paper(options) => commands::paper::run(&options),
        Command::Demo(options) => commands::demo::run(&options, view),
        Command::Completions(options) => commands::completions::run(&options),
        Command::Man(options) => commands::man::run(&options),
    }
}

/// The value of `--color`, for messages that are printed before the arguments are parsed.
fn color_of_help() -> ColorChoice {
    let mut arguments = std::env::args_os()
        .skip(1)
        .take_while(|argument| argument != "--");
    while let Some(argument) = arguments.next() {
        let argument = argument.to_string_lossy();
        let value = match argument.strip_prefix("--color") {
            Some("") => arguments
                .next()
                .map(|value| value.to_string_lossy().into_owned()),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(value) = value
            && let Ok(color) = <terminal::Color as clap::ValueEnum>::from_str(&value, false)
        {
            return color.for_help();
        }
    }
    ColorChoice::Auto
}
