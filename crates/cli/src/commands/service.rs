//! `service`: processes that rules pick, each under its policy.

use broadleaf_live::service::{LiveService, ServicePurpose};
use broadleaf_report::View;

use crate::args::ServiceArgs;
use crate::interrupt::ServiceSignals;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::print;

pub(crate) fn run(options: &ServiceArgs, view: View) -> Result<(), Failure> {
    let purpose = match (options.once, options.dry_run) {
        (true, _) => ServicePurpose::List,
        (_, true) => ServicePurpose::DryRun,
        _ => ServicePurpose::Govern,
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
