//! What is said of a replay in limited memory beside its figures: what would have sufficed, and what to take the figures for.

use std::collections::BTreeMap;
use std::path::Path;

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, MemoryAsked};
use broadleaf_model::{MemoryLimits, Plan};
use broadleaf_policy::{Kind, Policy, Sizes};
use broadleaf_report::number::{grouped, size};
use broadleaf_report::{BASELINE, is_mostly_disk};
use broadleaf_units::PageSize;

use crate::failure::Failure;
use crate::memory::footprint;
use crate::source::origin::Passes;
use crate::source::{Reading, Trace, Whole};
use crate::watch::Watch;

/// A replay that was done, as far as it takes to do parts of it again.
pub(crate) struct Done<'a> {
    /// Receives the progress of further replays.
    pub(crate) watch: &'a dyn Watch,
    pub(crate) trace: &'a Path,
    pub(crate) reading: Reading,
    pub(crate) threads: usize,
    pub(crate) asked: MemoryAsked,
    /// Whether other traces were replayed before in the same memory: what of theirs lives on takes room too.
    pub(crate) after_others: bool,
    pub(crate) limits: MemoryLimits,
    pub(crate) machines: Vec<Machine>,
    /// What policies name and machines lack.
    pub(crate) left_out: Vec<String>,
}

/// The bytes that a policy on a machine wants at its peak, by their names.
type Wanted = BTreeMap<(String, String), u64>;

impl Done<'_> {
    /// What there was of memory, now that these are the results: warns where it was used up, and notes what a reader has to know.
    pub(crate) fn told(
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

    /// Whether the trace can be read again.
    fn is_file(&self) -> bool {
        self.trace.metadata().is_ok_and(|about| about.is_file())
    }

    /// A warning for each of these results at which memory was used up: how far it got, and what would have sufficed.
    fn warnings(&self, results: &[CellResult], accesses: u64) -> Result<Vec<String>, Failure> {
        let ended = |result: &CellResult| result.memory.as_ref()?.out_of_memory_after;
        if results.iter().all(|result| ended(result).is_none()) {
            return Ok(Vec::new());
        }
        let names = results.iter().filter(|result| ended(result).is_some());
        let wanted = self.wanted(names)?;
        let warnings = results.iter().filter_map(|result| {
            let after = ended(result)?;
            let of = (result.policy.clone(), result.machine.clone());
            Some(format!(
                "{} on {}: memory was used up after {} of {} accesses, and its figures are of these alone; {}",
                of.0,
                of.1,
                grouped(after),
                grouped(accesses),
                self.advised(wanted.get(&of).copied())
            ))
        });
        Ok(warnings.collect())
    }

    /// What to do for a policy that wants that many bytes at its peak, where that is known.
    fn advised(&self, wanted: Option<u64>) -> String {
        let swap = if self.limits.swap < MemoryLimits::none().swap {
            ", or more swap"
        } else {
            ""
        };
        let Some(wanted) = wanted else {
            return format!("give it more memory, with --memory{swap}");
        };
        let told = format!("it wants {} at its peak", size(wanted));
        let free = self.limits.start.free_share().unwrap_or(0.0);
        if free <= 0.0 {
            return format!("{told}, of memory that is not occupied{swap}");
        }
        // The samples stand within a sixty-fourth of the peak.
        let enough = (wanted + wanted / 64) as f64 / free;
        format!("{told}: --memory {} would do{swap}", argument(enough))
    }

    /// What each of these results' policies holds at its peak, page tables included, where there is as much as it wants. Nothing where the trace cannot
    /// be read again, or others were replayed before it.
    fn wanted<'a>(&self, results: impl Iterator<Item = &'a CellResult>) -> Result<Wanted, Failure> {
        let mut policies: Vec<Box<dyn Policy>> = Vec::new();
        for result in results {
            if policies.iter().all(|policy| policy.name() != result.policy) {
                policies.push(broadleaf_policy::parse(&result.policy).map_err(Failure::failed)?);
            }
        }
        if !self.is_file() || self.after_others {
            return Ok(Wanted::new());
        }
        let limits = MemoryLimits {
            files: self.limits.files,
            code: self.limits.code,
            ..MemoryLimits::none()
        };
        let plan =
            Plan::within(policies, self.machines.clone(), limits).map_err(Failure::failed)?;
        let reading = Reading {
            passes: Passes::Several,
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

    /// Finds out what the program holds at its peak, where nearly all that it waits for under `4k` is the disk: that may be for want of memory.
    fn look_at_footprint(&mut self, references: &[CellResult]) -> Result<(), Failure> {
        let mut of_4k = references.iter().filter(|result| result.policy == BASELINE);
        let is_unknown = self.asked.bytes.is_some() && self.asked.footprint_bytes.is_none();
        if is_unknown && self.is_file() && of_4k.any(|result| is_mostly_disk(result, &self.asked)) {
            self.asked.footprint_bytes = Some(footprint(self.trace, &self.reading)?);
        }
        Ok(())
    }
}

/// A number of bytes as `--memory` takes it, or a little more.
fn argument(bytes: f64) -> String {
    let kib = (bytes / 1024.0).ceil() as u64;
    if kib < 64 << 10 {
        format!("{}K", kib.next_multiple_of(4))
    } else {
        format!("{}M", kib.div_ceil(1 << 10))
    }
}

/// What a reader has to know where pages that processes share are counted more than once.
fn shared(asked: &MemoryAsked, results: &[CellResult]) -> Option<String> {
    let memory = asked.bytes?;
    let more = results.iter().filter_map(|result| {
        let peak = result.peak_resident_pages * result.memory.as_ref()?.base_page_bytes;
        (peak > memory).then_some((peak, result))
    });
    let (peak, result) = more.max_by_key(|(peak, _)| *peak)?;
    Some(format!(
        "a page that several processes map is resident in each: so the peak is more than memory, {} under {}",
        size(peak),
        result.policy
    ))
}

/// A note for each page size that policies name and a machine lacks.
pub fn left_out(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Vec<String> {
    let mut notes = Vec::new();
    for machine in machines {
        let mut lacking: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for policy in policies {
            if !policy.promotes() {
                continue;
            }
            let sizes = lacks(policy.needs().sizes, machine.design.sizes());
            if policy.needs().allocates_sizes && !sizes.is_empty() {
                notes.push(format!(
                    "{} has no translations for {}: {} allocates such extents all the same, and the TLB holds smaller pages of them",
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
        let told = lacking.iter().map(|(size, policies)| {
            let (policies, name) = (policies.join(", "), &machine.name);
            format!("{name} has no pages of {size}: left out under {policies}")
        });
        notes.extend(told);
    }
    notes
}

/// Refuses a policy that is told page sizes that no machine has: it would make no superpages. Warns of one that has such sizes anyway.
///
/// # Errors
/// [`Failure::Wrong`] for the first such policy.
pub fn refuse_lacking(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Result<(), Failure> {
    let has_some = |named: Sizes, machine: &Machine| {
        let sizes = machine.design.sizes();
        sizes.iter().any(|size| named.holds(size.shift()))
    };
    for policy in policies {
        let named = policy.needs().sizes;
        let is_named = matches!(named, Sizes::These(sizes) if sizes != 0);
        // A kernel that allocates sizes does so even if the TLB lacks them.
        if !is_named
            || policy.needs().allocates_sizes
            || machines.iter().any(|machine| has_some(named, machine))
        {
            continue;
        }
        let has = machines.iter().map(|machine| {
            let sizes = machine.design.sizes().iter();
            let sizes: Vec<String> = sizes.map(|size| size.short_name().to_string()).collect();
            format!("{} has {}", machine.name, sizes.join(", "))
        });
        let has: Vec<String> = has.collect();
        let name = policy.name();
        let sizes = lacks(named, &[]).join(", ");
        let has = has.join("; ");
        let lacking = format!("{name} makes pages of {sizes}, which the machine lacks: {has}");
        if is_told_sizes(&name) {
            return Err(Failure::Wrong(lacking));
        }
        log::warn!("{lacking}; it makes no superpages there");
    }
    Ok(())
}

/// Whether the name of a policy says which sizes it makes: in brackets, or behind a dash where that is all that it can be told.
fn is_told_sizes(name: &str) -> bool {
    let entry = |end: char| broadleaf_policy::entry(name.split(end).next().unwrap_or(name));
    let bracketed = name.contains('(');
    let entry = if bracketed { entry('(') } else { entry('-') };
    let mut parameters = entry.into_iter().flat_map(|entry| entry.parameters);
    parameters.any(|told| {
        told.kind == Kind::Sizes
            && (name.contains(&format!("{}=", told.name)) || !bracketed && name.contains('-'))
    })
}

/// The page sizes of a policy that a machine of these sizes lacks.
fn lacks(wanted: Sizes, there: &[PageSize]) -> Vec<String> {
    let named = match wanted {
        Sizes::All => return Vec::new(),
        Sizes::Block if there.last().is_some_and(|size| *size >= PageSize::SIZE_2M) => {
            return Vec::new();
        }
        Sizes::Block => return vec!["2m or more".to_owned()],
        Sizes::These(_) => (0..64).filter(|shift| wanted.holds(*shift)),
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
    fn names_that_tell_sizes() {
        for name in [
            "fixed-16k",
            "asap-4-64",
            "fixed(size=16k+2m)",
            "approx-online(sizes=16k)",
            "offline(cycles=all,sizes=2m)",
        ] {
            assert!(is_told_sizes(name), "{name}");
        }
        for name in [
            "freebsd14",
            "linux(enabled=never)",
            "pop-64",
            "4k",
            "approx-online",
        ] {
            assert!(!is_told_sizes(name), "{name}");
        }
    }

    #[test]
    fn what_a_machine_lacks() {
        let sizes = |text: &[&str]| -> Vec<PageSize> {
            let read = text.iter().map(|name| PageSize::from_short_name(name));
            read.map(Option::unwrap).collect()
        };
        let skylake = sizes(&["4k", "2m"]);
        let both = Sizes::These(1 << 16 | 1 << 21);
        assert_eq!(lacks(both, &skylake), ["64k"]);
        assert_eq!(lacks(both, &sizes(&["8k", "32k"])), ["64k", "2m"]);
        assert_eq!(lacks(both, &sizes(&["4k", "64k", "2m"])), [""; 0]);
        assert_eq!(lacks(Sizes::All, &skylake), [""; 0]);
        assert_eq!(lacks(Sizes::Block, &sizes(&["8k", "4m"])), [""; 0]);
        assert_eq!(lacks(Sizes::Block, &sizes(&["8k", "64k"])), ["2m or more"]);
    }

    #[test]
    fn a_size_to_give_is_never_less() {
        assert_eq!(argument(1.0), "4K");
        assert_eq!(argument(4097.0), "8K");
        assert_eq!(argument(67_108_864.0), "64M");
        assert_eq!(argument(67_108_865.0), "65M");
    }
}
