//! `advise`: the parts of a program's memory that are worth superpages, and the gain of each.

use std::io::Write;
use std::num::NonZero;
use std::path::Path;

use broadleaf_metrics::RangeAdvice;
use broadleaf_report::{
    NO_SITES, NOTHING_PAYS, View, cbmm, flame_graph, folded, madvise, next, range_table,
};
use broadleaf_study::advise::{AdviceRequest, advise, choosing_policy, mosalloc};
use broadleaf_study::failure::Failure;
use broadleaf_study::machines::machine;
use broadleaf_study::output::{argument, json};
use broadleaf_study::page::advice_page;

use crate::args::{Advise, AdviseFormat, write_page};
use crate::progress::Bars;

/// The default number of ranges in the table.
const ROWS: usize = 20;

pub(crate) fn run(options: &Advise, view: View) -> Result<(), Failure> {
    let read = [&*options.trace, Path::new(&options.machine)];
    options.result.refuse(read)?;
    let page = options.result.open_page(&options.page, &read)?;
    let machine = machine(&options.machine)?;
    let policy = choosing_policy(&options.policy)?;
    let cache = options.cache.cache()?;
    let mut out = options.result.create()?;
    let view = options.result.view(view);
    let (mut advice, places) = advise(AdviceRequest {
        trace: &options.trace,
        policy,
        machine,
        files: options.files.into(),
        costs: options.costs,
        by: options.by.into(),
        threads: options.threads,
        keep_going: options.keep_going,
        max_accesses: options.bound.max_accesses,
        cache: cache.as_ref(),
        maps: page.is_some(),
        watch: &Bars,
    })?;
    let most = options.top.map_or_else(
        || match options.format {
            AdviseFormat::Table => ROWS,
            _ => usize::MAX,
        },
        NonZero::get,
    );
    // A format that cannot express all ranges counts those that it can.
    let (text, notes) = match options.format {
        AdviseFormat::Table => {
            let text = range_table(&advice, most, view) + &next_after(options, &advice);
            (text, Vec::new())
        }
        AdviseFormat::Json => {
            advice.keep_best(most);
            (json(&advice)?, Vec::new())
        }
        AdviseFormat::Madvise => (madvise(&advice, most), Vec::new()),
        AdviseFormat::Cbmm => cbmm(&advice, most),
        AdviseFormat::Mosalloc => mosalloc::layout(&advice, &places, most),
        AdviseFormat::Folded | AdviseFormat::Flamegraph => {
            if !places.has_sites() {
                return Err(Failure::failed(NO_SITES));
            }
            advice.sites.truncate(most);
            let text = match options.format {
                AdviseFormat::Folded => folded(&advice),
                _ => flame_graph(&advice).map_err(Failure::failed)?,
            };
            (text, Vec::new())
        }
    };
    if advice.ranges.is_empty() && options.format != AdviseFormat::Table {
        say!("{NOTHING_PAYS}");
    }
    for note in notes {
        say!("{note}");
    }
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()?;
    write_page(page, || advice_page(&advice))
}

/// The next command: the same advice as C, or the comparison of policies.
fn next_after(options: &Advise, advice: &RangeAdvice) -> String {
    let trace = argument(&options.trace);
    next(&match advice.ranges.is_empty() {
        true => format!("broadleaf compare {trace}"),
        false => format!("broadleaf advise {trace} --format madvise"),
    })
}
