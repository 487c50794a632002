//! `man`: manual pages from the same table as the help.

use std::io::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;

use super::names::unknown;
use crate::args::{Cli, Man};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(options: &Man) -> Result<(), Failure> {
    let mut whole = Cli::command();
    if let Some(folder) = &options.output {
        return write_all(whole.disable_help_subcommand(true), folder, options.force);
    }
    whole.build();
    let command = match &options.command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            let known = whole.get_subcommands().map(Command::get_name);
            unknown("no command", name, known, "broadleaf help")
        })?,
    };
    write(&Page::new(command), Output::create(None, false)?)
}

/// Writes the pages of all commands to a folder, or none where one of them stands there already.
fn write_all(mut whole: Command, folder: &Path, force: bool) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::writing(&folder.display().to_string(), &error))?;
    whole.build();
    let mut pages = Vec::new();
    for command in whole.get_subcommands().chain([&whole]) {
        let page = Page::new(command.clone());
        let out = Output::create(Some(&folder.join(page.get_filename())), force)?;
        pages.push((page, out));
    }
    pages
        .into_iter()
        .try_for_each(|(page, out)| write(&page, out))
}

fn write(page: &Page, mut out: Output) -> Result<(), Failure> {
    let mut text = Vec::new();
    page.render(&mut text).map_err(Failure::failed)?;
    out.write_all(&text)
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}
