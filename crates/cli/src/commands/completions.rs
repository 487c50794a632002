//! `completions`: scripts for shells.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::print;

pub(crate) fn run(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "broadleaf", &mut script);
    print(&String::from_utf8_lossy(&script))
}
