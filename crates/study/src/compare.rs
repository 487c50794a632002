//! Comparison of policies on machines over a trace: from a request to an answer.

mod asked;
mod failures;
mod kernel;
mod misses;
mod notes;
mod outcome;
mod references;
mod rendered;
mod replay;
mod request;
mod side_by_side;
mod usual;
mod windowed;

use std::num::NonZero;

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, Comparison};
use broadleaf_model::{Plan, StepsWanted};
use broadleaf_policy::{Foresight, Policy};
use broadleaf_report::{Context, recommendations};

use crate::answer::{AnsweredProgram, add_commands, can_be_run};
use crate::explained::{PlannedReplay, explained, heading_beside};
use crate::failure::Failure;
use crate::foreign::holds_samples;
use crate::listening::Listening;
use crate::memory::MemoryRequest;
use crate::provenance::provenance;
use crate::run_time::{ALL_HUGE, Weighing, base_at_faults};
use crate::shortage::{FinishedReplay, left_out};
use crate::source::origin::{PassCount, can_be_opened_again};
use crate::source::{Trace, TraceReading, Whole, header_of};

use kernel::kernel_results;
use misses::add_misses;
use outcome::{HashedOutcome, Replayable};

pub use asked::{AskedPolicies, PolicyChoice, chosen_policies, policies};
pub use failures::{failure, not_canonical, refuse_empty};
pub use rendered::{ComparisonFormat, Rendering};
pub use replay::{available_threads, replay};
pub(crate) use replay::{going_on, within_machine};
pub use request::{Request, WARM_UP, warm_up_share};
pub(crate) use side_by_side::{SideBySide, needs_fetches, visit_ends};
pub use usual::{policies_of_each, reference_policies, refuse_formats, usual_policies};

/// The result of a comparison, with the results of reference policies that the user did not
/// request.
pub struct ComparisonAnswer {
    /// The requested results.
    pub comparison: Comparison,
    /// The results of the reference policies.
    pub references: Vec<CellResult>,
    /// Policies that the governor or the kernel can run.
    can_be_run: Vec<String>,
    /// Machines whose memory is modelled down to the frame only because of another machine.
    by_walks: Vec<String>,
}

impl ComparisonAnswer {
    /// Returns the comparison with the results of the reference policies.
    pub fn with_references(&self) -> (&Comparison, &[CellResult]) {
        (&self.comparison, &self.references)
    }

    /// Passes the comparison and its context to `of`, which makes a report.
    pub fn with_context<T>(&self, of: impl FnOnce(&Comparison, &Context<'_>) -> T) -> T {
        let can_be_run = |policy: &str| self.can_be_run.iter().any(|name| name == policy);
        let context = Context {
            references: &self.references,
            can_be_run: &can_be_run,
            by_walks: &self.by_walks,
        };
        of(&self.comparison, &context)
    }
}

/// Replays the trace under every policy asked for, and under those of `extra` (names of the
/// catalogue) as well.
///
/// # Errors
/// If the trace cannot be read, is damaged or empty, or holds more accesses than allowed; if the
/// memory or a policy does not fit it.
pub fn compare(request: Request<'_>, extra: &[&str]) -> Result<ComparisonAnswer, Failure> {
    compare_beside(request, extra, SideBySide::default())
}

/// Compares beside other comparisons of the same trace.
///
/// # Errors
/// Those of [`compare`].
pub(crate) fn compare_beside(
    request: Request<'_>,
    extra: &[&str],
    mut shared: SideBySide,
) -> Result<ComparisonAnswer, Failure> {
    let head = header_of(request.trace);
    let request = Request {
        policies: request.policies.for_trace(head.as_ref())?,
        ..request
    };
    let Request {
        trace,
        keep_going,
        max_accesses,
        policies:
            AskedPolicies {
                mut policies,
                mut spellings,
                kernel,
                given,
                ..
            },
        machines,
        threads,
        curves,
        misses_over_time,
        warm_up,
        restarts,
        memory,
        cache,
        explain_plan,
        watch,
    } = request;
    if curves && restarts {
        return Err(Failure::wrong(
            "--curve does not count the lookups that --restart makes again: leave one of them out",
        ));
    }
    let path = trace;
    let mut asked: Vec<String> = policies.iter().map(|policy| policy.name()).collect();
    // The settings of this machine are no part of the request.
    let mut configuration = format!("{asked:?}\n{machines:?}");
    let asks_for_memory =
        memory.is_some_and(|memory| memory.memory.is_some() || memory.pagetypeinfo.is_some());
    let has_superpages = |machine: &Machine| machine.page_sizes().len() > 1;
    let all_have = machines.iter().all(has_superpages);
    let mut kernel = kernel.filter(|_| !restarts && all_have);
    if asks_for_memory && let Some(name) = kernel.take() {
        policies.push(crate::names::policy(&name)?);
        asked.push(name.clone());
        spellings.push(name);
    }
    let is_measured = head.as_ref().is_some_and(|head| head.measured.is_some());
    let huge_end = (is_measured && all_have && !extra.is_empty()).then_some(ALL_HUGE);
    references::add(&mut policies, extra.iter().copied().chain(huge_end))?;
    let foresees = |policy: &dyn Policy| policy.needs().foresight != Foresight::None;
    let passes = if policies.iter().any(|policy| foresees(policy.as_ref())) {
        PassCount::Several
    } else {
        PassCount::AsGiven
    };
    let threads = threads.map_or_else(available_threads, NonZero::get);
    let reading = TraceReading {
        passes,
        keep_going,
        fetches: needs_fetches(memory, &machines),
        ends: visit_ends(restarts, &machines),
        max_accesses,
    };
    // Lookups that are made again are in no reduced form.
    let cache = cache.filter(|_| !restarts);
    let covered = asked::covered(restarts, head.as_ref(), &policies, &machines);
    let needs_frames = covered.err().filter(|_| !asks_for_memory);
    // Where all policies have frames, the kernel's policy has them too, so that costs compare.
    if needs_frames.is_some()
        && let Some(name) = kernel.take()
    {
        policies.insert(asked.len(), crate::names::policy(&name)?);
        asked.push(name.clone());
        spellings.push(name);
    }
    if huge_end.is_some() && !asks_for_memory {
        let base = base_at_faults(&policies, &machines);
        references::add(&mut policies, base)?;
    }
    let by_walks = match &needs_frames {
        Some(_) => crate::machines::without_frames(&policies, &machines),
        None => Vec::new(),
    };
    let unlimited = MemoryRequest::unlimited();
    let memory = match &needs_frames {
        Some(_) => Some(&unlimited),
        None => memory,
    };
    let limits = match memory {
        Some(memory) => crate::memory::limits(memory, trace, || match shared.footprint {
            Some(bytes) => Ok(bytes),
            None => crate::memory::footprint(trace, &reading, threads, cache, watch, None),
        })?,
        None => None,
    };
    let mut done = None;
    let mut size_note = None;
    let plan = if let (Some((limits, footprint)), Some(memory)) = (limits, memory) {
        // The initial state of memory is a part of the request.
        configuration.push_str(&format!("\n{limits:?}\n{:?}", memory.after));
        size_note = crate::memory::size_note(memory, &limits);
        done = Some(FinishedReplay {
            watch,
            trace,
            reading,
            threads,
            given: &given,
            cache,
            asked: crate::memory::asked(memory, &limits, footprint),
            after_others: !memory.after.is_empty(),
            left_out: left_out(&policies[..asked.len()], &machines),
            may_read_again: shared.reader.is_none() && can_be_opened_again(trace),
            limits: limits.clone(),
            machines: machines.clone(),
        });
        match crate::machines::is_design_space(&machines) {
            true => Plan::within_one_memory(policies, machines, limits),
            false => Plan::within(policies, machines, limits),
        }
    } else {
        Plan::new(policies, machines)
    };
    let limited = done.is_some();
    let plan = plan.and_then(|plan| match restarts {
        true => plan.restarting_instructions(),
        false => Ok(plan),
    });
    let plan = plan.map_err(Failure::wrong)?.on_threads(threads);
    let plan = shared.within_machine(plan.around_workers(watch.around_workers()));
    let plan = match (curves, cache) {
        (true, _) => plan.with_curves(),
        (false, Some(_)) => plan.keeping_reduced(),
        (false, None) => plan,
    };
    // Curves need the visits that no machine of the plan filters out, and so does modelled memory.
    let mut trace = if limited {
        Trace::open(trace, reading, Whole::Memory)?
    } else if curves {
        Trace::open(trace, reading, Whole::Curve)?
    } else {
        Trace::open_for(trace, reading, plan.machines(), cache)?
    };
    trace.share(shared.reader.take());
    let mut earlier = Vec::new();
    for path in memory.iter().flat_map(|memory| &memory.after) {
        earlier.push(Trace::open(path, reading, Whole::Memory)?);
    }
    let plan = plan.expecting(trace.take_foreseen());
    let plan = match earlier.iter().chain([&trace]).any(Trace::may_hold_fetches) {
        true => plan,
        false => plan.without_fetches(),
    };
    // The kernel's policy has a replay of its own, which reads the trace again.
    let is_whole = can_be_opened_again(path) && !trace.is_given_reduced();
    if let Some(show) = explain_plan {
        show(&PlannedReplay {
            heading: kernel.as_deref().filter(|_| is_whole).map(heading_beside),
            accelerators: explained(&plan, &trace),
        });
    }
    let kept_reading = reading.of_recording(trace.header().or(head.as_ref()));
    let replayable = Replayable {
        path,
        trace: &mut trace,
        earlier: &mut earlier,
        reading: &kept_reading,
        plan: &plan,
        cache,
        // A plan that is shown is carried out.
        anew: explain_plan.is_some(),
        watch,
    };
    let HashedOutcome {
        outcome,
        hash,
        content,
        after,
    } = replayable.outcome()?;
    // What follows reads the trace by itself, and others must not wait for it.
    trace.share(None);
    if let Some(done) = &mut done {
        done.asked.after.extend(after);
    }
    let mut summary = outcome.trace;
    summary.path = trace.name().to_owned();
    summary.hash = hash;
    summary.samples = (trace.header().or(head.as_ref())).is_some_and(holds_samples);
    let notes = outcome.notes.into_iter().map(|note| note.text);
    let mut notes: Vec<String> = notes.collect();
    notes.extend(size_note);
    notes.extend(notes::of_plan(
        &plan,
        needs_frames.as_ref(),
        &outcome.results,
        &trace,
        path,
    ));
    notes.extend(outcome.choices.first().map(notes::of_choice));
    for trace in earlier.iter().chain([&trace]) {
        notes.extend(notes::of_trace(trace, trace.name() != summary.path));
    }
    let mut references = references::of(&outcome.results);
    let mut results = outcome.results;
    notes.extend(
        kernel
            .as_deref()
            .filter(|_| !is_whole)
            .map(notes::of_kernel),
    );
    let again = kernel.filter(|_| is_whole).map(|policy| {
        let request = Request {
            trace: path,
            keep_going,
            max_accesses,
            policies: AskedPolicies::default(),
            machines: plan.machines().to_vec(),
            threads: NonZero::new(threads),
            curves,
            misses_over_time: false,
            warm_up,
            restarts: false,
            memory,
            cache,
            explain_plan,
            watch,
        };
        kernel_results(policy, request)
    });
    if let Some(kernel) = again.transpose()? {
        notes.extend(kernel.notes);
        asked.push(kernel.policy.clone());
        spellings.push(kernel.policy);
        results.extend(kernel.results);
    }
    let can_be_run = asked.iter().filter(|name| can_be_run(name)).cloned();
    let can_be_run = can_be_run.collect();
    results.retain(|result| asked.contains(&result.policy));
    crate::machines::add_areas(&mut results, plan.machines());
    for result in &mut results {
        let place = asked.iter().position(|name| *name == result.policy);
        result.asked = place.map_or_else(String::new, |place| spellings[place].clone());
    }
    if !asks_for_memory {
        let measured = head.as_ref().and_then(|head| head.measured.as_ref());
        let weighing = Weighing {
            trace: &summary,
            kept: cache.zip(content.as_ref()),
            listening: Listening {
                path,
                reading,
                machines: plan.machines(),
                given: &given,
                threads,
                watch,
                steps: StepsWanted::EachChange,
            },
        };
        notes.extend(windowed::add_estimates(
            &mut results,
            head.as_ref(),
            warm_up,
            &weighing.listening,
        )?);
        if misses_over_time {
            add_misses(&mut results, &summary, &weighing.listening)?;
        }
        references::add_run_times(&mut results, &mut references, measured, &weighing)?;
        notes.extend(notes::of_seconds(&results, head.as_ref()));
    } else {
        notes.extend(windowed::no_estimates(head.as_ref()));
    }
    let asked_memory = match done {
        Some(done) => Some(done.finish(&results, &references, summary.accesses, &mut notes)?),
        None => None,
    };
    let mut answer = ComparisonAnswer {
        comparison: Comparison::new(summary, results, notes, provenance(&configuration)),
        references,
        can_be_run,
        by_walks,
    };
    answer.comparison.memory = asked_memory;
    if curves {
        answer.comparison.machines = crate::page::machine_summaries(plan.machines());
    }
    answer.comparison.advice = answer.with_context(recommendations);
    let program = AnsweredProgram::of(head.as_ref());
    let judged = (&*answer.references, &*answer.by_walks);
    let given = (path, reading.keep_going);
    add_commands(&mut answer.comparison, judged, &program, given);
    answer.comparison.damage = trace.damage();
    Ok(answer)
}

#[cfg(test)]
mod given_tests;
#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod tests;
