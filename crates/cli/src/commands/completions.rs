//! `completions`: scripts for shells.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::failure::Failure;
use crate::output::print;

pub(crate) fn run(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "broadleaf", &mut script);
    print(&String::from_utf8_lossy(&script))
}
