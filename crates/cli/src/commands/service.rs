//! `service`: processes that rules pick, each under its policy.

use broadleaf_live::service::{LiveService, Purpose};
use broadleaf_report::View;

use crate::args::Service;
use crate::interrupt::ServiceSignals;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::print;

pub(crate) fn run(options: &Service, view: View) -> Result<(), Failure> {
    let purpose = match (options.once, options.dry_run) {
        (true, _) => Purpose::List,
        (_, true) => Purpose::DryRun,
        _ => Purpose::Govern,
    };
    let service = LiveService::open(&options.file, purpose)?;
    if options.once {
        return print(&service.list(view)?);
    }
    let signals = ServiceSignals::new();
    let done = service.run(options.metrics, &mut |time| signals.wait(time))?;
    crate::say::text(&done.table(view));
    Ok(())
}
