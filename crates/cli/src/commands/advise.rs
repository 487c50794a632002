//! `advise`: the parts of a program's memory that are worth superpages, and the gain of each.

use std::io::Write;
use std::path::Path;

use broadleaf_report::{NOTHING_PAYS, View};
use broadleaf_study::advise::formats::{AdviceFormat, advice_text};
use broadleaf_study::advise::{AdviceRequest, advise, choosing_policy};
use broadleaf_study::failure::Failure;
use broadleaf_study::machines::machine;
use broadleaf_study::output::{Access, Output, refuse_input};
use broadleaf_study::page::advice_page;

use crate::args::{Advise, AdviseFormat, write_page};
use crate::progress::Bars;

pub(crate) fn run(options: &Advise, view: View) -> Result<(), Failure> {
    let read = [&*options.trace, Path::new(&options.machine)];
    options.result.refuse(read)?;
    let page = options.result.open_page(&options.page, &read)?;
    let machine = machine(&options.machine)?;
    let policy = choosing_policy(&options.policy)?;
    let cache = options.cache.cache()?;
    let mut out = options.result.create()?;
    let also = options.also.iter().map(|(format, path)| {
        refuse_input(path, read)?;
        let out = Output::create(Some(path), options.result.force, Access::Everyone)?;
        Ok((out, (*format).into()))
    });
    let also: Vec<(Output, AdviceFormat)> = also.collect::<Result<_, Failure>>()?;
    let view = options.result.view(view);
    let (advice, places) = advise(AdviceRequest {
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
    let (text, notes) = advice_text(&advice, &places, options.format.into(), options.top, view)?;
    if advice.ranges.is_empty() && options.format != AdviseFormat::Table {
        say!("{NOTHING_PAYS}");
    }
    for note in notes {
        say!("{note}");
    }
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::writing(out.name(), &error))?;
    out.finish()?;
    for (mut out, format) in also {
        let (text, _) = advice_text(&advice, &places, format, options.top, View::default())?;
        out.write_all(text.as_bytes())
            .map_err(|error| Failure::writing(out.name(), &error))?;
        out.finish()?;
    }
    write_page(page, || advice_page(&advice))
}
