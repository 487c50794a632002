//! `info`: the contents of a trace.

use broadleaf_report::{View, next};
use broadleaf_study::failure::Failure;
use broadleaf_study::info::{InfoRequest, info};
use broadleaf_study::output::{argument, json, print};

use crate::args::{InfoArgs, TableOrJson};
use crate::progress::Bars;

pub(crate) fn run(options: &InfoArgs, view: View) -> Result<(), Failure> {
    let info = info(&InfoRequest {
        trace: &options.trace,
        keep_going: options.keep_going,
        max_accesses: options.bound.max_accesses,
        watch: &Bars,
    })?;
    match options.format {
        TableOrJson::Table => {
            let how = if options.keep_going {
                " --keep-going"
            } else {
                ""
            };
            let compare = format!("broadleaf compare {}{how}", argument(&options.trace));
            print(&(info.table(view) + &next(&compare)))
        }
        TableOrJson::Json => print(&json(&info.to_json())?),
    }
}
