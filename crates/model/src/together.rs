//! Mixes: several traces at the same time, each on a core of one machine.
//!
//! The programs share memory, the last level of the caches and main memory. Their clocks decide
//! whose turn it is: the core whose clock is least runs its next instructions, as many as its
//! window holds. So no core is ahead of another one by much more than a window.
//!
//! Each program has *work*: as many instructions as the caller says, or its whole trace. Its counts
//! are those of its work. Before it, a program can be moved forward, and its caches can be warmed
//! ([`MixWork`]). A program that has done its work goes on, so that the
//! others have its load all the time; at the end of its trace it begins again as a new process. The
//! mix ends when all programs have done their work.

use crate::beginning::Beginning;
use crate::pool::Pool;
use crate::replay::mix::{AnotherMix, Mix};
use crate::stream::Stream;
use crate::world::World;
use crate::worlds::Worlds;
use crate::{Error, MOST_EARLIER, MemoryLimits, Plan, ReplayProgress, Source};
use broadleaf_machine::{Machine, MachineCaches};
use broadleaf_metrics::{CellResult, CoreResult};
use broadleaf_policy::{Foresight, Policy};
use broadleaf_tlb::RuleNeed;
use broadleaf_units::SpaceId;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A program of a mix.
pub struct MixProgram<'s, S> {
    /// Its trace.
    pub source: &'s mut S,
    /// Its work.
    pub work: MixWork,
    /// The steps of the program in the skipped instructions, if an earlier pass found them. They
    /// save most of the time of skipping, and change no count.
    pub beginning: Option<&'s Beginning>,
}

impl<'s, S> MixProgram<'s, S> {
    /// A program with this work.
    pub const fn new(source: &'s mut S, work: MixWork) -> Self {
        Self {
            source,
            work,
            beginning: None,
        }
    }
}

/// The part of a trace that a mix counts, in instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MixWork {
    /// The instructions before the mix begins. Memory sees their references, and neither TLBs nor
    /// caches do.
    pub skipped: u64,
    /// The instructions after these that run and are not counted: they fill TLBs and caches.
    pub warming: u64,
    /// The instructions after these that are counted. `None`: the rest of the trace.
    pub counted: Option<u64>,
}

/// The outcome of a mix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MixOutcome {
    /// The counts of the whole machine until all programs had done their work. Faults that a policy
    /// saves are not among them.
    pub whole: CellResult,
    /// The counts of each program when it had done its work: those of its core.
    pub programs: Vec<CoreResult>,
    /// How often each program began again.
    pub again: Vec<u64>,
}

/// The reason why a policy and a machine cannot run mixes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    /// The machine has no caches, and so no clock.
    #[error(
        "{machine} has no caches, whose cycles would decide which program runs when: choose a \
         machine with caches and cores, such as chen2014-4core"
    )]
    NoCaches {
        /// The machine's name.
        machine: String,
    },
    /// The programs are more than the cores.
    #[error(
        "{programs} programs need a core each, and {machine} has cores for {cores} at most: give \
         fewer traces, or write a larger count in the table [core] of its description"
    )]
    TooFewCores {
        /// The machine's name.
        machine: String,
        /// Its cores.
        cores: usize,
        /// The programs.
        programs: usize,
    },
    /// The policy decides at TLB misses, or foresees the future of one trace.
    #[error(
        "policy {policy} {reason}, and in a mix the cores have a TLB each: leave the policy out"
    )]
    Policy {
        /// The policy's name.
        policy: String,
        /// The reason.
        reason: &'static str,
    },
    /// A replacement rule of the machine knows the future.
    #[error(
        "a replacement rule of {machine} knows the next use of each translation, and the programs \
         of a mix decide together what comes next: choose another rule"
    )]
    Future {
        /// The machine's name.
        machine: String,
    },
}

/// Returns an error if a policy on a machine cannot run a mix of `programs` programs.
///
/// # Errors
/// Returns the reason.
pub fn check_mix(policy: &dyn Policy, machine: &Machine, programs: usize) -> Result<(), MixError> {
    let needs = policy.needs();
    let reason = match needs.foresight {
        _ if needs.charges.any() => Some("is notified of TLB misses"),
        Foresight::None => None,
        Foresight::Of(_) | Foresight::Cheapest(_) => Some("foresees what one trace does"),
    };
    if let Some(reason) = reason {
        return Err(MixError::Policy {
            policy: policy.name(),
            reason,
        });
    }
    let name = || machine.name.clone();
    let Some(MachineCaches { hierarchy, .. }) = &machine.caches else {
        return Err(MixError::NoCaches { machine: name() });
    };
    if machine.design.needs(RuleNeed::Future) {
        return Err(MixError::Future { machine: name() });
    }
    let cores = hierarchy.cores();
    if programs > cores {
        return Err(MixError::TooFewCores {
            machine: name(),
            cores,
            programs,
        });
    }
    Ok(())
}

/// Runs programs at the same time, under the first policy of a plan on its first machine. The
/// result does not depend on the number of threads.
///
/// # Errors
/// Returns an error if a source fails or names pages instead of lines, a trace counts no
/// instructions, the policy or the machine cannot run the mix ([`check_mix`]), or `progress` stops.
pub fn run_mix<S: Source>(
    programs: &mut [MixProgram<'_, S>],
    plan: &Plan,
    progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
) -> Result<MixOutcome, Error<S::Error>> {
    let Some((policy, machine)) = plan.pairs().next() else {
        return Ok(MixOutcome::default());
    };
    let refused = |why: MixError| Error::Memory(why.to_string());
    check_mix(policy, machine, programs.len()).map_err(refused)?;
    if programs.len() > MOST_EARLIER {
        let why = format!("a mix has at most {MOST_EARLIER} programs");
        return Err(Error::Memory(why));
    }
    let unlimited = MemoryLimits {
        code: true,
        ..MemoryLimits::none()
    };
    let limits = plan.limits().unwrap_or(&unlimited);
    let pool = Pool::new(1).map_err(Error::Memory)?;
    let mut told: BTreeSet<SpaceId> = BTreeSet::new();
    let mut state = ReplayProgress {
        passes: 1,
        ..ReplayProgress::default()
    };
    loop {
        let spec = limits.spec_on(machine, policy, plan);
        let world = World::new(policy, machine, &spec.map_err(Error::Memory)?, None);
        let mut world = world.walking_tables(false);
        if let Some(request) = plan.listening() {
            world.listen(0, request);
        }
        let worlds = Worlds::of(vec![world]);
        state.pass += 1;
        state.passes = state.passes.max(state.pass);
        let mix = Mix::new(
            programs,
            worlds,
            Stream::new(told.clone()),
            plan,
            limits,
            &pool,
        );
        match mix.run(&mut state, progress)? {
            Ok(outcome) => return Ok(outcome),
            // Mappings that a trace lists late are known from its beginning next time.
            Err(AnotherMix::Told(more)) => told.extend(more),
            Err(AnotherMix::Whole) => programs.iter_mut().for_each(|one| one.beginning = None),
        }
        for program in &mut *programs {
            program.source.rewind().map_err(Error::Source)?;
        }
    }
}
