//! `explain`: one entry of the catalogues, in full.

use broadleaf_report::View;
use broadleaf_study::catalogues;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::print;

use crate::args::Explain;

pub(crate) fn run(options: &Explain, view: View) -> Result<(), Failure> {
    print(&catalogues::explain(&options.name, view)?)
}
