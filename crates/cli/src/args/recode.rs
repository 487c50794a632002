//! The arguments of `recode`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::Args;

use super::Bound;

/// Write a recording anew in version 2 of the format, which is read several times as fast
///
/// `record` and `import` write version 1, which can be written while a program runs. Version 2 is made of it afterwards, and holds the same: every visit, every event
/// and what the recording says about itself, so that every command answers the same, but for the hash of the file. Long recordings become larger, often by half. It pays for those
/// that are compared often, above all on several machines. With --curve, with --memory and for `advise`, most of the time goes elsewhere. Where machines with the same
/// first level are all that is asked for, `broadleaf reduce` is quicker still; a recoded trace can be reduced as well. The recording itself is left as it is.
///
/// A recording whose visits hardly repeat, as of a program that accesses memory at random, would be
/// read more slowly in version 2. It is refused.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf recode gzip.bl                        writes gzip.2.bl
  broadleaf compare gzip.2.bl --machine skylake --machine skylake-unified-96
  broadleaf recode gzip.bl -o /archive/gzip.bl    writes it there")]
pub(crate) struct Recode {
    /// The recording, a file, or - for standard input
    pub(crate) trace: PathBuf,

    /// Where to write it, - for standard output [default: beside TRACE, with .2 before the ending: gzip.bl becomes gzip.2.bl]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE where it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Write version 2 even where it is read more slowly than the recording
    #[arg(long)]
    pub(crate) even_if_slower: bool,

    /// Work on N threads [default: as many as the process may use]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZero<usize>>,

    #[command(flatten)]
    pub(crate) bound: Bound,
}
