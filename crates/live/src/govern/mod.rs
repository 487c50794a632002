//! `run` and `attach`: a policy on live processes.

mod attach;
mod baseline;
mod child;
mod ends;
mod host_memory;
mod journal;
mod kernel_setting;
mod limits;
mod options;
mod outcome;
mod run;
mod run_input;
mod settings;

use std::path::PathBuf;
use std::time::Duration;

use broadleaf_governor::{Budgets, Governor, Kernel, Linux, Ticked, Ward, can_decide};
use broadleaf_policy::{Policy, parse};

use crate::use_of_blocks;
use broadleaf_study::failure::Failure;
use broadleaf_study::names;

pub use attach::Attached;
pub use baseline::{BaselineEnd, BaselineRequest, EndsEnd, EndsRequest, baseline, measure_ends};
pub use child::{HandedOver, ProgramSignals};
pub use kernel_setting::KernelSetting;
pub use options::options_of;
pub use outcome::governed_text;
pub use run::{RunEnd, run};
pub use settings::{LiveSetting, MeasuredSettings, SettingsEnd, SettingsRequest, measure_settings};

/// A policy on live processes, and its limits.
pub struct GovernRequest {
    /// The policy, as [`live_policy`] returns it.
    pub policy: Box<dyn Policy>,
    /// The limits.
    pub budgets: Budgets,
    /// Look at processes, and change nothing.
    pub dry_run: bool,
    /// A journal of all that is seen and done.
    pub journal: Option<JournalRequest>,
    /// The report has a record of each process.
    pub with_processes: bool,
    /// The configuration's text, whose hash is in the report.
    pub configuration: String,
}

/// A journal to write.
#[derive(Clone, Debug)]
pub struct JournalRequest {
    /// The file.
    pub path: PathBuf,
    /// Overwrite the file if it exists.
    pub force: bool,
    /// The command line that the journal names.
    pub command_line: Vec<String>,
}

impl GovernRequest {
    fn ward(&self) -> Result<Ward, Failure> {
        // A policy has no copy, but its name makes it again.
        let policy = parse(&self.policy.name()).map_err(Failure::failed)?;
        Ok(Ward::new(policy, self.budgets))
    }
}

/// The policy of a name, if the policy can decide on live processes.
///
/// # Errors
/// [`Failure::Wrong`] if no policy has the name, or the policy needs values that cannot be seen of
/// live processes. [`Failure::Failed`] if the policy depends on the use of pages, and this user
/// cannot see it.
pub fn live_policy(name: &str) -> Result<Box<dyn Policy>, Failure> {
    let policy = names::policy(name)?;
    if let Err(no) = can_decide(policy.as_ref()) {
        use_of_blocks::can_weigh(policy.as_ref(), &no)?;
    }
    Ok(policy)
}

/// Looks and acts until no process is left or `wait` returns true. `wait` gets the time until the
/// next look.
fn govern(
    governor: &mut Governor<Linux>,
    mut note: impl FnMut(&Ticked),
    mut wait: impl FnMut(Duration) -> bool,
) {
    loop {
        let ticked = governor.tick();
        let before = governor.kernel().own_cpu();
        note(&ticked);
        let after = governor.kernel().own_cpu();
        governor.also_spent(after.saturating_sub(before));
        if !ticked.alive || wait(ticked.wait) {
            return;
        }
    }
}
