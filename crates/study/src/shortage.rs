//! Notes on a replay in limited memory: the memory that would have sufficed, and the meaning of the
//! figures.

use std::collections::BTreeMap;
use std::path::Path;

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, MemoryAsked};
use broadleaf_model::{MemoryLimits, Plan};
use broadleaf_policy::{GivenPolicy, ParameterKind, Policy};
use broadleaf_report::number::{grouped, size};
use broadleaf_report::{BASELINE, is_mostly_disk};
use broadleaf_units::{PageSize, SizeSet};

use crate::cache::TraceCache;
use crate::failure::Failure;
use crate::memory::footprint;
use crate::names;
use crate::source::origin::PassCount;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;

/// A finished replay, with the data that repeating a part of it needs.
pub(crate) struct FinishedReplay<'a> {
    /// Receives the progress of further replays.
    pub(crate) watch: &'a dyn Watch,
    pub(crate) trace: &'a Path,
    pub(crate) reading: TraceReading,
    pub(crate) threads: usize,
    /// The policies that were given as values.
    pub(crate) given: &'a [GivenPolicy],
    /// Holds the reduced form of the trace, or keeps the form, when the footprint is measured.
    pub(crate) cache: Option<&'a TraceCache>,
    pub(crate) asked: MemoryAsked,
    /// True if other traces were replayed before in the same memory. Their remaining pages take
    /// room too.
    pub(crate) after_others: bool,
    pub(crate) limits: MemoryLimits,
    pub(crate) machines: Vec<Machine>,
    /// True if the trace can be read again, and may be.
    pub(crate) may_read_again: bool,
    /// Notes on page sizes that policies name and machines lack.
    pub(crate) left_out: Vec<String>,
}

/// The peak memory of policies on machines, in bytes, by their names.
type PeakMemory = BTreeMap<(String, String), u64>;

impl FinishedReplay<'_> {
    /// Returns the memory of the comparison. Warns if memory was used up, and adds notes for
    /// readers.
    pub(crate) fn finish(
        mut self,
        results: &[CellResult],
        references: &[CellResult],
        accesses: u64,
        notes: &mut Vec<String>,
    ) -> Result<MemoryAsked, Failure> {
        for warning in self.warnings(results, accesses)? {
            log::warn!("{warning}");
        }
        self.look_at_footprint(references)?;
        notes.append(&mut self.left_out);
        notes.extend(shared(&self.asked, results));
        Ok(self.asked)
    }

    /// Returns a warning for each result at which memory was used up: the progress until then, and
    /// the memory that would have sufficed.
    fn warnings(&self, results: &[CellResult], accesses: u64) -> Result<Vec<String>, Failure> {
        let ended = |result: &CellResult| result.memory.as_ref()?.out_of_memory_after;
        if results.iter().all(|result| ended(result).is_none()) {
            return Ok(Vec::new());
        }
        let names = results.iter().filter(|result| ended(result).is_some());
        let peaks = self.peak_memory(names)?;
        let warnings = results.iter().filter_map(|result| {
            let after = ended(result)?;
            let of = (result.policy.clone(), result.machine.clone());
            Some(format!(
                "{} on {}: memory was used up after {} of {} accesses, and its figures are of \
                 these alone; {}",
                of.0,
                of.1,
                grouped(after),
                grouped(accesses),
                self.advised(peaks.get(&of).copied())
            ))
        });
        Ok(warnings.collect())
    }

    /// Suggests options for a policy with this peak memory in bytes, if known.
    fn advised(&self, peak: Option<u64>) -> String {
        let swap = if self.limits.swap < MemoryLimits::none().swap {
            ", or more swap"
        } else {
            ""
        };
        let Some(peak) = peak else {
            return format!("give it more memory, with --memory{swap}");
        };
        let needed = format!("it holds {} at its peak", size(peak));
        let free = self.limits.start.free_share().unwrap_or(0.0);
        if free <= 0.0 {
            return format!("{needed}, of memory that is not occupied{swap}");
        }
        // The samples are within a sixty-fourth of the peak.
        let enough = (peak + peak / 64) as f64 / free;
        format!("{needed}: --memory {} would do{swap}", argument(enough))
    }

    /// Returns the peak memory of these results' policies in unlimited memory, page tables
    /// included. Returns nothing if the trace cannot be read again, or if other traces were
    /// replayed before it.
    fn peak_memory<'a>(
        &self,
        results: impl Iterator<Item = &'a CellResult>,
    ) -> Result<PeakMemory, Failure> {
        let mut policies: Vec<Box<dyn Policy>> = Vec::new();
        for result in results {
            if policies.iter().all(|policy| policy.name() != result.policy) {
                policies.push(names::again(&result.policy, self.given).map_err(Failure::failed)?);
            }
        }
        if !self.may_read_again || self.after_others {
            return Ok(PeakMemory::new());
        }
        let limits = MemoryLimits {
            files: self.limits.files,
            code: self.limits.code,
            ..MemoryLimits::none()
        };
        let plan =
            Plan::within(policies, self.machines.clone(), limits).map_err(Failure::failed)?;
        let reading = TraceReading {
            passes: PassCount::Several,
            ..self.reading
        };
        let mut trace = Trace::open(self.trace, reading, Whole::Memory)?;
        let plan = plan.on_threads(self.threads);
        let outcome = crate::compare::replay(&mut [], &mut trace, &plan, self.watch)?;
        let peaks = outcome.results.into_iter().filter_map(|result| {
            let memory = result.memory?;
            let samples = memory.over_time.iter().chain([&memory.at_peak]);
            let tables = samples.map(|sample| sample.wired_frames).max().unwrap_or(0);
            let pages = result.peak_resident_pages + tables;
            Some((
                (result.policy, result.machine),
                pages * memory.base_page_bytes,
            ))
        });
        Ok(peaks.collect())
    }

    /// Measures the program's peak memory if nearly all its waiting under `4k` is for the disk. A
    /// lack of memory may be the cause.
    fn look_at_footprint(&mut self, references: &[CellResult]) -> Result<(), Failure> {
        let mut of_4k = references.iter().filter(|result| result.policy == BASELINE);
        let is_unknown = self.asked.bytes.is_some() && self.asked.footprint_bytes.is_none();
        if is_unknown
            && self.may_read_again
            && of_4k.any(|result| is_mostly_disk(result, &self.asked))
        {
            let footprint = footprint(
                self.trace,
                &self.reading,
                self.threads,
                self.cache,
                self.watch,
                None,
            );
            self.asked.footprint_bytes = Some(footprint?);
        }
        Ok(())
    }
}

/// A number of bytes in the notation of `--memory`, rounded up.
fn argument(bytes: f64) -> String {
    let kib = (bytes / 1024.0).ceil() as u64;
    if kib < 64 << 10 {
        format!("{}K", kib.next_multiple_of(4))
    } else {
        format!("{}M", kib.div_ceil(1 << 10))
    }
}

/// A note for readers if pages that processes share are counted more than once.
fn shared(asked: &MemoryAsked, results: &[CellResult]) -> Option<String> {
    let memory = asked.bytes?;
    let more = results.iter().filter_map(|result| {
        let peak = result.peak_resident_pages * result.memory.as_ref()?.base_page_bytes;
        (peak > memory).then_some((peak, result))
    });
    let (peak, result) = more.max_by_key(|(peak, _)| *peak)?;
    Some(format!(
        "a page that several processes map is resident in each: so the peak is more than memory, \
         {} under {}",
        size(peak),
        result.policy
    ))
}

/// Returns a note for each page size that policies name and a machine lacks.
pub fn left_out(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Vec<String> {
    let mut notes = Vec::new();
    for machine in machines {
        let mut lacking: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for policy in policies {
            if !policy.promotes() {
                continue;
            }
            let sizes = lacks(policy.needs().sizes, &machine.page_sizes());
            if policy.needs().allocates_sizes && !sizes.is_empty() {
                notes.push(format!(
                    "{} has no translations for {}: {} allocates such extents all the same, and \
                     the TLB holds smaller pages of them",
                    machine.name,
                    sizes.join(", "),
                    policy.name()
                ));
                continue;
            }
            for size in sizes {
                lacking.entry(size).or_default().push(policy.name());
            }
        }
        let missing = lacking.iter().map(|(size, policies)| {
            let (policies, name) = (policies.join(", "), &machine.name);
            format!("{name} has no pages of {size}: {policies} cannot map any there")
        });
        notes.extend(missing);
    }
    notes
}

/// Refuses a policy with explicit page sizes that no machine has: it would make no superpages.
/// Warns of a policy whose default sizes no machine has.
///
/// # Errors
/// [`Failure::Wrong`] for the first such policy.
pub fn refuse_lacking(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Result<(), Failure> {
    let has_some = |named: SizeSet, machine: &Machine| {
        let sizes = machine.page_sizes();
        sizes.iter().any(|size| named.holds(size.shift()))
    };
    for policy in policies {
        let named = policy.needs().sizes;
        let is_named = matches!(named, SizeSet::These(sizes) if sizes != 0);
        // A kernel that allocates sizes does so even if the TLB lacks them.
        if !is_named
            || policy.needs().allocates_sizes
            || machines.iter().any(|machine| has_some(named, machine))
        {
            continue;
        }
        let has = machines.iter().map(|machine| {
            let sizes = machine.page_sizes().into_iter();
            let sizes: Vec<String> = sizes.map(|size| size.short_name().to_string()).collect();
            format!("{} has {}", machine.name, sizes.join(", "))
        });
        let has: Vec<String> = has.collect();
        let name = policy.name();
        let sizes = lacks(named, &[]).join(", ");
        let has = has.join("; ");
        let lacking = format!("{name} makes pages of {sizes}, which the machine lacks: {has}");
        if names_sizes(&name) {
            return Err(Failure::Wrong(lacking));
        }
        log::warn!("{lacking}; it makes no superpages there");
    }
    Ok(())
}

/// Returns true if the policy's name gives page sizes: in brackets, or after a dash if sizes are
/// the only parameter.
fn names_sizes(name: &str) -> bool {
    let entry = |end: char| broadleaf_policy::entry(name.split(end).next().unwrap_or(name));
    let bracketed = name.contains('(');
    let entry = if bracketed { entry('(') } else { entry('-') };
    let mut parameters = entry.into_iter().flat_map(|entry| entry.parameters);
    parameters.any(|parameter| {
        parameter.kind == ParameterKind::Sizes
            && (name.contains(&format!("{}=", parameter.name)) || !bracketed && name.contains('-'))
    })
}

/// Returns the page sizes of a policy that a machine with these sizes lacks.
fn lacks(named_sizes: SizeSet, there: &[PageSize]) -> Vec<String> {
    let named = match named_sizes {
        SizeSet::All => return Vec::new(),
        SizeSet::Block if there.last().is_some_and(|size| *size >= PageSize::SIZE_2M) => {
            return Vec::new();
        }
        SizeSet::Block => return vec!["2m or more".to_owned()],
        SizeSet::These(_) => (0..64).filter(|shift| named_sizes.holds(*shift)),
    };
    named
        .filter(|shift| there.iter().all(|size| size.shift() != *shift))
        .filter_map(PageSize::from_shift)
        .map(|size| size.short_name().to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_sizes() {
        for name in [
            "fixed-16k",
            "asap-4-64",
            "fixed(size=16k+2m)",
            "approx-online(sizes=16k)",
            "offline(cycles=all,sizes=2m)",
        ] {
            assert!(names_sizes(name), "{name}");
        }
        for name in [
            "freebsd14",
            "linux(enabled=never)",
            "pop-64",
            "4k",
            "approx-online",
        ] {
            assert!(!names_sizes(name), "{name}");
        }
    }

    #[test]
    fn what_a_machine_lacks() {
        let sizes = |text: &[&str]| -> Vec<PageSize> {
            let read = text.iter().map(|name| PageSize::from_short_name(name));
            read.map(Option::unwrap).collect()
        };
        let skylake = sizes(&["4k", "2m"]);
        let both = SizeSet::These(1 << 16 | 1 << 21);
        assert_eq!(lacks(both, &skylake), ["64k"]);
        assert_eq!(lacks(both, &sizes(&["8k", "32k"])), ["64k", "2m"]);
        assert_eq!(lacks(both, &sizes(&["4k", "64k", "2m"])), [""; 0]);
        assert_eq!(lacks(SizeSet::All, &skylake), [""; 0]);
        assert_eq!(lacks(SizeSet::Block, &sizes(&["8k", "4m"])), [""; 0]);
        assert_eq!(
            lacks(SizeSet::Block, &sizes(&["8k", "64k"])),
            ["2m or more"]
        );
    }

    #[test]
    fn a_suggested_size_is_never_less() {
        assert_eq!(argument(1.0), "4K");
        assert_eq!(argument(4097.0), "8K");
        assert_eq!(argument(67_108_864.0), "64M");
        assert_eq!(argument(67_108_865.0), "65M");
    }
}
