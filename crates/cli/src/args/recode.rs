//! The arguments of `recode`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::Args;

use super::Bound;
use super::number::count;

/// Convert a recording to version 2 of the format, which is read several times as fast
///
/// `record` and `import` write version 1, which can be written while a program runs. Version 2 is
/// made from it afterwards. It holds the same visits, events and description of the recording, so
/// every command prints the same, except for the hash of the file. Long recordings become larger,
/// often by half. Version 2 pays for recordings that are compared often, above all on several
/// machines. With --curve, with --memory and for `advise`, most of the time goes elsewhere. If all
/// machines have the same first level, `broadleaf reduce` is quicker still; a recoded trace can be
/// reduced as well. The recording itself is not changed.
///
/// Some recordings hardly repeat visits, such as those of programs that access memory at random.
/// They would be read more slowly in version 2, so they are refused.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf recode gzip.bl                        writes gzip.2.bl
  broadleaf compare gzip.2.bl --machine skylake --machine skylake-unified-96
  broadleaf recode gzip.bl -o /archive/gzip.bl    writes to another folder")]
pub(crate) struct Recode {
    /// The recording, a file, or - for standard input
    pub(crate) trace: PathBuf,

    /// Write version 2 to FILE, - for standard output [default: beside TRACE, with .2 before the
    /// ending: gzip.bl becomes gzip.2.bl]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Write version 2 even if it is read more slowly than the recording
    #[arg(long)]
    pub(crate) even_if_slower: bool,

    /// Work on N threads [default: as many as the process may use]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) threads: Option<NonZero<usize>>,

    #[command(flatten)]
    pub(crate) bound: Bound,
}
