//! Kernels that report the use of blocks, for policies that weigh it.

use std::sync::Arc;
use std::time::Duration;

use broadleaf_governor::{
    BLOCK_BYTES, HeatChange, HeatMeter, HeatSampler, HeatSource, Kernel, Linux, OutOfReach,
    ProcessId, can_decide_by_use, weighs_use,
};
use broadleaf_policy::Policy;
use broadleaf_study::failure::Failure;

use crate::survey::reasons;

/// The time for which this process itself is watched, to find a source that works.
const TRIAL: Duration = Duration::from_millis(10);

/// Checks that a policy can decide if use is measured, and that it can be measured here.
pub(crate) fn can_weigh(policy: &dyn Policy, no: &OutOfReach) -> Result<(), Failure> {
    if !weighs_use(policy) {
        return Err(refused(no));
    }
    can_decide_by_use(policy).map_err(|no| refused(&no))?;
    can_measure(&policy.name()).map_err(Failure::Failed)
}

/// Checks that the use of blocks can be measured here, as the policy of this name needs it. Returns
/// the reasons of each source as one message if no source works.
pub(crate) fn can_measure(policy: &str) -> Result<(), String> {
    sources().map(|_| ()).map_err(|reasons| {
        format!(
            "the policy {policy} depends on which pages are used, and this user cannot see that \
            here: {}",
            reasons.join("; ")
        )
    })
}

fn refused(no: &OutOfReach) -> Failure {
    Failure::Wrong(format!(
        "{no}; pop-N, dirty-N, greedy, freebsd, 4k and expressions over what is populated can be \
        run"
    ))
}

/// The kernel of this machine; with a thread that measures use, if the policy weighs it.
pub(crate) fn kernel(policy: &dyn Policy) -> Linux {
    let mut linux = Linux::new();
    if weighs_use(policy) {
        let warn = |why: &String| log::warn!("use of blocks cannot be seen: {why}");
        linux.set_heat(sampler().inspect_err(warn).ok());
    }
    linux
}

/// Starts a thread that measures use. Returns the reason of each source if no source works for this
/// user.
pub(crate) fn sampler() -> Result<Arc<HeatSampler>, String> {
    let sources = sources().map_err(|reasons| reasons.join("; "))?;
    log::info!("use of blocks: {}", sources[0].sentence());
    let sampler = HeatSampler::new(HeatMeter::default(), sources, note);
    Ok(Arc::new(sampler))
}

/// Notes how a process is measured now.
fn note(process: ProcessId, change: HeatChange<'_>) {
    let reason = change.reason;
    match change.source {
        None => log::warn!(
            "which memory of process {process} is used cannot be seen now: {reason}. What was seen \
            before counts for a few seconds. Then the policy changes nothing there until it sees \
            more"
        ),
        Some(source) if reason.is_empty() => log::info!(
            "the use of process {process} is measured by {} again",
            source.name()
        ),
        Some(source) => log::info!(
            "the use of process {process} is measured by {} now, since other sources fail: \
            {reason}. {}",
            source.name(),
            source.sentence()
        ),
    }
}

/// The most exact source of the use of blocks that works for this user, and all coarser ones. Some
/// of these may not work. Returns the reasons of all sources if none works.
fn sources() -> Result<Vec<HeatSource>, Vec<String>> {
    // Without it, this process may hold no whole block that could be watched.
    let memory = std::hint::black_box(vec![1_u8; 3 * BLOCK_BYTES as usize]);
    let mut linux = Linux::new();
    let meter = HeatMeter::default();
    let own = linux.process(std::process::id());
    let Some((own, pages)) = own.and_then(|own| Some((own, linux.pages(own).ok()?))) else {
        return Err(vec!["/proc cannot be read".to_owned()]);
    };
    let mut refused = Vec::new();
    for (number, source) in HeatSource::OF_BLOCKS.iter().enumerate() {
        let only = std::slice::from_ref(source);
        match meter.measure(&mut linux, own, &pages, TRIAL, only) {
            Ok(_) => return Ok(HeatSource::OF_BLOCKS[number..].to_vec()),
            Err(no) => refused.extend(reasons(&no)),
        }
    }
    drop(memory);
    Err(refused)
}
