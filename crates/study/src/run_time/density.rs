//! The page walks of policies by block of memory, weighted by the density of the walks with base
//! pages.
//!
//! Walks that are close together overlap and are nearly free; rare walks cost their full latency.
//! A program may do both: scattered reads of a table in a loop, and now and then a page of a list.
//! A policy that makes huge pages of the list saves few walks and much time. So each walk is
//! weighted by the cost that walks of its block have with base pages, from the number of
//! instructions since the walk before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_model::{SlowLookups, Step, StepListener};
use broadleaf_report::BASELINE;
use broadleaf_units::{PageSize, SpaceId};

use super::base::BASE_AT_FAULTS;
use super::cost::{WalkCost, cycles_of_hits};
use super::measured::ALL_HUGE;
use crate::cache::{KeptValue, TraceCache, TraceContent};
use crate::failure::Failure;
use crate::listening::Listening;
use crate::watch::SubjectWatch;

/// The replays that weigh walks.
pub(crate) struct Weighing<'a> {
    /// The replays.
    pub(crate) listening: Listening<'a>,
    /// The counts of the trace.
    pub(crate) trace: &'a TraceSummary,
    /// The cache, and the bytes of the trace by which the cache knows it.
    pub(crate) kept: Option<(&'a TraceCache, &'a TraceContent)>,
}

/// The cycles that policies lose to walks and second-level hits, by policy and machine. The costs
/// of walks are those of base pages, of each kind that was replayed.
#[derive(Debug, Default)]
pub(crate) struct WeighedCycles(BTreeMap<(String, String), BTreeMap<&'static str, f64>>);

/// The cycles of a policy on a machine: policy, machine, and by the kind of base pages the bits of
/// the cycles, which JSON would round.
type CyclesRow = (String, String, Vec<(String, u64)>);

impl WeighedCycles {
    /// The cycles as the cache keeps them.
    fn rows(&self) -> Vec<CyclesRow> {
        let row = |((policy, machine), cycles): (&(String, String), &BTreeMap<_, f64>)| {
            let cycles = cycles.iter();
            let cycles =
                cycles.map(|(base, cycles): (&&str, _)| ((*base).to_owned(), cycles.to_bits()));
            (policy.clone(), machine.clone(), cycles.collect())
        };
        self.0.iter().map(row).collect()
    }

    /// The cycles that the cache kept.
    fn of_rows(rows: Vec<CyclesRow>) -> Self {
        let rows = rows.into_iter().map(|(policy, machine, cycles)| {
            let of = |base: &str| cycles.iter().find(|(known, _)| known == base);
            let cycles = [BASELINE, BASE_AT_FAULTS].into_iter();
            let cycles = cycles.filter_map(|base| Some((base, f64::from_bits(of(base)?.1))));
            ((policy, machine), cycles.collect())
        });
        Self(rows.collect())
    }

    /// Returns the cycles of a policy on a machine with the costs of walks of `base`, if they were
    /// weighed.
    pub(super) fn of(&self, policy: &str, machine: &str, base: &str) -> Option<f64> {
        let key = (policy.to_owned(), machine.to_owned());
        self.0.get(&key)?.get(base).copied()
    }

    /// Gives a result the cycles of another policy on its machine. Both have equal counts.
    pub(super) fn share(&mut self, equal: &str, result: &CellResult) {
        let key = (equal.to_owned(), result.machine.clone());
        if let Some(cycles) = self.0.get(&key).cloned() {
            let key = (result.policy.clone(), result.machine.clone());
            self.0.insert(key, cycles);
        }
    }
}

impl Weighing<'_> {
    /// Replays the trace under these policies and under both ends, and weighs their walks. Leaves
    /// out policies that look into the future. Weighs nothing if the trace cannot be read again.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(super) fn weigh<'p>(
        &self,
        policies: impl IntoIterator<Item = &'p str>,
    ) -> Result<WeighedCycles, Failure> {
        let policies: Vec<&str> = policies.into_iter().collect();
        let kept = self.kept_value(&policies);
        if let Some(found) = kept.as_ref().and_then(KeptValue::find) {
            return Ok(WeighedCycles::of_rows(found));
        }
        let (weighed, contents) = self.weigh_anew(policies)?;
        // Another file may have taken the place of the trace meanwhile.
        let known = self.kept.map(|(_, content)| content);
        let mut contents = contents.iter().map(Option::as_ref);
        if let Some(kept) = kept.filter(|_| contents.all(|content| content == known)) {
            kept.keep(&weighed.rows());
        }
        Ok(weighed)
    }

    /// The cycles as the cache knows them. `None` if there is no cache, or a policy was given as a
    /// value, which its name does not describe.
    fn kept_value(&self, policies: &[&str]) -> Option<KeptValue<'_>> {
        let (cache, content) = self.kept?;
        let Listening {
            path,
            reading,
            machines,
            given,
            steps,
            threads: _,
            watch: _,
        } = self.listening;
        if !given.is_empty() {
            return None;
        }
        let request = format!(
            "costs of walks, {}, {steps:?}\n{policies:?}\n{machines:?}",
            reading.identity()
        );
        let of = "costs of walks".to_owned();
        let accesses = self.trace.accesses;
        Some(KeptValue::new(cache, path, content, accesses, &request, of))
    }

    /// [`Self::weigh`], without what was kept. Returns also the bytes that each replay read.
    fn weigh_anew(
        &self,
        policies: Vec<&str>,
    ) -> Result<(WeighedCycles, Vec<Option<TraceContent>>), Failure> {
        let mut weighed = WeighedCycles::default();
        let heard = Heard::default();
        let costs = self.costs();
        let results = Arc::clone(&heard);
        let listener = move |policy: &str, machine: &str| -> Option<Box<dyn StepListener>> {
            Some(Box::new(WalkedBlocks {
                key: (policy.to_owned(), machine.to_owned()),
                cost: costs.get(machine)?.clone(),
                counts: BlockCounts::default(),
                last: None,
                results: Arc::clone(&results),
            }))
        };
        let part = SubjectWatch {
            subject: "the cost of walks",
            watch: self.listening.watch,
        };
        let listening = Listening {
            watch: &part,
            ..self.listening
        };
        let contents = listening.replay(policies, &[BASELINE, ALL_HUGE], &listener)?;
        let heard = heard
            .lock()
            .map_err(|_| Failure::failed("a replay failed"))?;
        for ((policy, machine), counts) in heard.iter() {
            let cycles = [BASELINE, BASE_AT_FAULTS].into_iter().filter_map(|base| {
                let of_base = heard.get(&(base.to_owned(), machine.clone()))?;
                Some((base, counts.cycles(of_base)))
            });
            let key = (policy.clone(), machine.clone());
            weighed.0.insert(key, cycles.collect());
        }
        Ok((weighed, contents))
    }

    /// The costs of walks by machine.
    fn costs(&self) -> BTreeMap<String, CostByDistance> {
        let instructions = self.trace.instructions as f64 / self.trace.accesses.max(1) as f64;
        let of = |machine: &Machine| {
            let walk = WalkCost::new(self.trace.pages, machine);
            let cost = CostByDistance { instructions, walk };
            (machine.name.clone(), cost)
        };
        self.listening.machines.iter().map(of).collect()
    }
}

/// The cost of a walk with base pages, from its distance to the walk before.
#[derive(Clone)]
struct CostByDistance {
    /// Instructions for each access.
    instructions: f64,
    /// The costs of walks to the program.
    walk: WalkCost,
}

impl CostByDistance {
    /// Returns the cycles of a walk that comes so many accesses after the walk before.
    fn after(&self, accesses: u64) -> f64 {
        self.walk.walk(accesses as f64 * self.instructions, 1)
    }
}

/// A block of memory.
type Block = (SpaceId, u64);

/// The slow lookups of a policy on a machine.
#[derive(Clone, Debug, Default)]
struct BlockCounts {
    /// For each block of 2 MiB, the long walks and the sum of their costs.
    walks: BTreeMap<Block, (u64, f64)>,
    /// Lookups that hit the second level or the third.
    hits: u64,
}

impl BlockCounts {
    /// Returns the cycles of all lookups. A walk costs what walks of its block cost on average with
    /// base pages. In a block without walks there, it costs the average of all blocks.
    fn cycles(&self, base: &Self) -> f64 {
        let each = |(walks, cost): (u64, f64)| cost / walks.max(1) as f64;
        let all = base.walks.values();
        let all = all.fold((0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        let walks = self.walks.iter().map(|(block, (walks, _))| {
            let of_block = base.walks.get(block).copied().unwrap_or(all);
            *walks as f64 * each(of_block)
        });
        walks.sum::<f64>() + cycles_of_hits(self.hits)
    }
}

/// The counts of all listeners, by policy and machine.
type Heard = Arc<Mutex<BTreeMap<(String, String), BlockCounts>>>;

/// Counts the walks of a policy on a machine by block.
struct WalkedBlocks {
    key: (String, String),
    cost: CostByDistance,
    counts: BlockCounts,
    /// The accesses before the last walk.
    last: Option<u64>,
    results: Heard,
}

impl StepListener for WalkedBlocks {
    fn begin(&mut self) {
        self.counts = BlockCounts::default();
        self.last = None;
    }

    fn step(&mut self, step: &Step, slow: SlowLookups) {
        self.counts.hits += slow.second_hits + slow.third_hits;
        if slow.walks == 0 {
            return;
        }
        let visit = &step.visit;
        let after = visit.time - self.last.unwrap_or(0).min(visit.time);
        self.last = Some(visit.time);
        // A superpage that is fractured saved what its walks would have cost.
        let walks_here = slow.walks - slow.fractured_walks;
        if walks_here == 0 {
            return;
        }
        let shift = PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift();
        let block = (step.origin.space, visit.page.0 >> shift);
        let (walks, cost) = self.counts.walks.entry(block).or_default();
        *walks += walks_here;
        // The other walks of a visit follow the first one at once.
        *cost += self.cost.after(after) + (walks_here - 1) as f64 * self.cost.after(0);
    }

    fn end(&mut self) {
        if let Ok(mut results) = self.results.lock() {
            results.insert(self.key.clone(), std::mem::take(&mut self.counts));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_model::{StepOrigin, VisitStep};
    use broadleaf_units::PageNumber;

    /// Hears walks at these blocks, each after so many accesses.
    fn heard(walks: &[(u64, u64)]) -> BlockCounts {
        let results = Heard::default();
        let key = ("policy".to_owned(), "machine".to_owned());
        let mut blocks = WalkedBlocks {
            key: key.clone(),
            cost: CostByDistance {
                instructions: 4.0,
                walk: WalkCost::new(
                    1000,
                    &broadleaf_machine::machine("skylake").expect("a machine"),
                ),
            },
            counts: BlockCounts::default(),
            last: None,
            results: Arc::clone(&results),
        };
        blocks.begin();
        let mut time = 0;
        for (block, after) in walks {
            time += after;
            let step = Step {
                visit: VisitStep {
                    page: PageNumber(block << 9 | 7),
                    time,
                    accesses: true,
                    loads_before_store: 1,
                    more_stores: 0,
                    loads_after_stores: 0,
                    stores: false,
                    leads: false,
                    leads_with_store: false,
                    fetches: false,
                    continues: false,
                },
                origin: StepOrigin::default(),
            };
            let slow = SlowLookups {
                walks: 1,
                ..SlowLookups::default()
            };
            blocks.step(&step, slow);
        }
        blocks.end();
        let mut results = results.lock().expect("a map");
        results.remove(&key).expect("the listener heard the end")
    }

    /// Of a program with a dense structure and a sparse one, the sparse walks weigh more.
    #[test]
    fn rare_walks_weigh_more_than_dense_ones() {
        let (dense, sparse) = ((1, 2), (2, 2000));
        let all: Vec<(u64, u64)> = [dense, sparse].into_iter().cycle().take(200).collect();
        let base = heard(&all);
        let without_sparse = heard(&vec![dense; 100]);
        let without_dense = heard(&vec![sparse; 100]);
        let whole = base.cycles(&base);
        let share = |counts: &BlockCounts| 1.0 - counts.cycles(&base) / whole;
        let (sparse_saved, dense_saved) = (share(&without_sparse), share(&without_dense));
        assert!((sparse_saved + dense_saved - 1.0).abs() < 1e-9);
        // Each saves half of the walks.
        assert!(
            sparse_saved > 0.9 && dense_saved < 0.1,
            "{sparse_saved} {dense_saved}"
        );
    }

    #[test]
    fn kept_cycles_are_those_that_were_weighed() {
        let key = |policy: &str| (policy.to_owned(), "skylake".to_owned());
        let all = [(BASELINE, 0.1 + 0.2), (BASE_AT_FAULTS, f64::MIN_POSITIVE)];
        let weighed = WeighedCycles(BTreeMap::from([
            (key("pop-64"), BTreeMap::from(all)),
            (key("greedy"), BTreeMap::from([all[0]])),
        ]));
        let json = serde_json::to_vec(&weighed.rows()).expect("JSON");
        let rows = serde_json::from_slice(&json).expect("rows");
        assert_eq!(WeighedCycles::of_rows(rows).0, weighed.0);
    }

    /// The walks that a policy leaves are further apart, and cost what they cost before.
    #[test]
    fn a_walk_keeps_its_weight_if_others_vanish() {
        let all: Vec<(u64, u64)> = (0..100).map(|number| (number % 2, 100)).collect();
        let base = heard(&all);
        let half = heard(&[(0, 200); 50]);
        let share = half.cycles(&base) / base.cycles(&base);
        assert!((share - 0.5).abs() < 1e-9, "{share}");
        // A block that has no walks with base pages counts as the average.
        let other = heard(&[(9, 100)]);
        let one = other.cycles(&base);
        assert!((one * 100.0 - base.cycles(&base)).abs() < 1e-6, "{one}");
    }
}
