//! `fetch-traces`: public traces of a catalogue.

use broadleaf_report::View;
use broadleaf_study::failure::Failure;
use broadleaf_study::library::{FetchRequest, Fetched, fetch_traces};
use broadleaf_study::output::print;

use crate::args::FetchTraces;
use crate::progress::Bars;

pub(crate) fn run(options: &FetchTraces, view: View) -> Result<(), Failure> {
    let request = FetchRequest {
        catalogue: &options.catalogue,
        names: &options.names,
        all: options.all,
        folder: &options.into,
        view,
        watch: &Bars,
    };
    match fetch_traces(&request)? {
        Fetched::List(list) => print(&list),
        Fetched::Paths(_) => Ok(()),
    }
}
