//! `man`: manual pages, from the same table as the help.

use std::io::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;

use super::manual::page;
use crate::args::{Cli, Man};
use broadleaf_study::failure::Failure;
use broadleaf_study::names::unknown;
use broadleaf_study::output::{Access, Output, shown};

pub(crate) fn run(options: &Man) -> Result<(), Failure> {
    // Each command has a page, except `help`.
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    if let Some(folder) = &options.output {
        return write_all(&whole, folder, options.force);
    }
    let command = match &options.command {
        None => &whole,
        Some(name) => whole.find_subcommand(name).ok_or_else(|| {
            let known = whole.get_subcommands().map(Command::get_name);
            unknown("no command", name, known, "broadleaf help")
        })?,
    };
    write(command, &whole, Output::stdout())
}

/// Writes the pages of all commands to a folder, or none if one of them exists already.
fn write_all(whole: &Command, folder: &Path, force: bool) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::writing(&shown(folder), &error))?;
    let mut pages = Vec::new();
    for command in whole.get_subcommands().chain([whole]) {
        let name = Page::new(command.clone()).get_filename();
        pages.push((
            command,
            Output::create(Some(&folder.join(name)), force, Access::Everyone)?,
        ));
    }
    pages
        .into_iter()
        .try_for_each(|(command, out)| write(command, whole, out))
}

fn write(command: &Command, whole: &Command, mut out: Output) -> Result<(), Failure> {
    let text = page(command, whole).map_err(Failure::failed)?;
    out.write_all(&text)
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
