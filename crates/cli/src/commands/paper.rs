//! `paper`: repeats the experiments of a paper, with its figures beside ours.

use broadleaf_study::failure::Failure;
use broadleaf_study::output::print;
use broadleaf_study::page::paper_page;
use broadleaf_study::papers::{PaperRequest, Scale, repeat};

use crate::args::{PaperArgs, write_page};
use crate::commands::record::{ends_of, record};
use crate::progress::Bars;

pub(crate) fn run(options: &PaperArgs) -> Result<(), Failure> {
    let page = options.page.open(&[], None, options.force)?;
    let request = PaperRequest {
        name: &options.name,
        scale: match (options.tiny, options.full) {
            (true, _) => Scale::Tiny,
            (_, true) => Scale::Full,
            _ => Scale::Quick,
        },
        cycles_per_access: options.cycles_per_access,
        without: options.without.as_deref(),
        folder: options.output.as_deref(),
        guest: options.guest.as_deref(),
        force: options.force,
        watch: &Bars,
        record: |options, path| record(options, path, false, true),
        measure: ends_of,
    };
    let claims = repeat(&request, &mut |text| print(text))?;
    write_page(page, || paper_page(&claims.record))?;
    let strict = options.strict.then(|| claims.all_agree());
    strict.unwrap_or(Ok(()))
}
