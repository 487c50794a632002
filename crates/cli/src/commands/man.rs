//! `man`: manual pages from the same table as the help.

use std::io::Write;

use broadleaf_report::nearest;
use clap::CommandFactory;
use clap_mangen::Man as Page;

use crate::args::{Cli, Man};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(options: &Man) -> Result<(), Failure> {
    let mut whole = Cli::command();
    whole.build();
    if let Some(folder) = &options.output {
        let failed = |error| Failure::writing(&folder.display().to_string(), &error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        return clap_mangen::generate_to(whole, folder).map_err(failed);
    }
    let command = match &options.command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            let known = nearest(name, whole.get_subcommands().map(clap::Command::get_name));
            Failure::Wrong(format!(
                "no command is called {name:?}{}",
                did_you_mean(&known)
            ))
        })?,
    };
    let mut page = Vec::new();
    Page::new(command)
        .render(&mut page)
        .map_err(Failure::failed)?;
    let mut out = Output::create(None, false)?;
    out.write_all(&page)
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()
}

/// The end of a message about an unknown name.
pub(crate) fn did_you_mean(known: &[&str]) -> String {
    match known {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [others @ .., last] => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}
