//! `service`: processes that rules pick, each under its policy.

use broadleaf_live::service::{LiveService, ServicePurpose, listing_table};
use broadleaf_report::View;

use crate::args::{ServiceArgs, TableOrJson};
use crate::interrupt::ServiceSignals;
use crate::say::LogFormat;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print};

pub(crate) fn run(options: &ServiceArgs, view: View) -> Result<(), Failure> {
    options.log_format.set();
    let purpose = match (options.once, options.dry_run) {
        (true, _) => ServicePurpose::List,
        (_, true) => ServicePurpose::DryRun,
        _ => ServicePurpose::Govern,
    };
    let service = LiveService::open(&options.file, purpose)?;
    if options.once {
        let listing = service.list()?;
        return print(&match options.format {
            TableOrJson::Table => listing_table(&listing, view),
            TableOrJson::Json => json(&listing)?,
        });
    }
    let signals = ServiceSignals::new();
    let done = service.run(options.metrics, &mut |time| signals.wait(time))?;
    match options.log_format {
        LogFormat::Text => crate::say::text(&done.table(view)),
        LogFormat::Json => done.log(),
    }
    Ok(())
}
