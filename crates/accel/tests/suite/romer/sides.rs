//! The two sides of the comparison: one recording, one policy and one machine, in the engine and in
//! the oracle.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::common::items_of;
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Costs, Files, MemoryLimits, Plan};
use broadleaf_oracle::{Recording, RomerCounts, RomerMachine, RomerPolicy, replay_romer};
use broadleaf_units::PageSize;

/// Figures by name; zeroes left out.
pub(super) type SideFigures = BTreeMap<String, u64>;

/// The counts of one side.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SideCounts {
    pub(super) figures: SideFigures,
    /// Cycles per instruction: of misses, of bookkeeping and of copying.
    pub(super) tlbmcpi: Option<[f64; 3]>,
}

fn name_of(pages: u64) -> String {
    let size = PageSize::from_bytes(pages << 12).expect("a page size");
    size.short_name().to_string()
}

/// The oracle's machine, as a description file.
fn machine(of: &RomerMachine) -> Machine {
    let list = |text: fn(u64, u64) -> String| -> Vec<String> {
        of.sizes
            .iter()
            .map(|&(pages, cycles)| text(pages, cycles))
            .collect()
    };
    let index = list(|pages, _| format!("{} = \"none\"", name_of(pages))).join(", ");
    let walks = list(|pages, cycles| format!("{} = {cycles}", name_of(pages))).join("\n");
    let entries = of.entries;
    let text = format!(
        "name = \"small\"\nsummary = \"a test's\"\nexplanation = \"\"\nsource = \"a test\"\n\
         [[tlb]]\nname = \"dtb\"\nlevel = 1\nentries = {entries}\nways = {entries}\n\
         replacement = \"lru\"\nindex = {{ {index} }}\n\
         [walk-cycles]\n{walks}\n"
    );
    Machine::from_toml(&text).expect("a machine")
}

/// The policy's name on the command line.
pub(super) fn name(policy: &RomerPolicy) -> String {
    match policy {
        RomerPolicy::Fixed(pages) => format!("fixed-{}", name_of(*pages)),
        RomerPolicy::Asap { sizes, percent } => {
            let sizes: Vec<String> = sizes.iter().map(|&pages| name_of(pages)).collect();
            format!("asap(sizes={},part={percent})", sizes.join("+"))
        }
        RomerPolicy::Online {
            prefetch,
            capacity,
            idle_below,
        } => {
            format!("online(prefetch={prefetch},capacity={capacity},idle_below={idle_below})")
        }
        RomerPolicy::ApproxOnline {
            prefetch,
            idle_below,
        } => {
            format!("approx-online(prefetch={prefetch},idle_below={idle_below})")
        }
    }
}

/// The model's counts.
pub(super) fn engine(recording: &Recording, policy: &RomerPolicy, of: &RomerMachine) -> SideCounts {
    replayed(recording, &name(policy), of)
}

/// The model's counts under the policy of that name.
pub(super) fn replayed(recording: &Recording, policy: &str, of: &RomerMachine) -> SideCounts {
    let mut items = items_of(recording).in_parts_of(1 + recording.items.len() % 7);
    let limits = MemoryLimits {
        files: Files::InMemory,
        costs: Costs {
            copy_kib: of.copy_per_kib,
            zero_kib: of.copy_per_kib,
            promotion: 0,
            prefetch: of.prefetch_bookkeeping,
            capacity: of.capacity_bookkeeping,
            ..Costs::default()
        },
        ..MemoryLimits::none()
    };
    let named = broadleaf_policy::parse(policy).expect("a policy");
    let plan = Plan::within(vec![named], vec![machine(of)], limits).expect("a plan");
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let result = &outcome.results[0];
    let memory = result.memory.as_ref().expect("memory down to the frame");
    let mut figures = SideFigures::from([
        ("accesses".into(), result.accesses),
        ("instructions".into(), outcome.trace.instructions),
        ("misses".into(), result.l1_misses),
        ("walk_cycles".into(), result.walk_cycles),
        ("bookkeeping_cycles".into(), memory.bookkeeping_cycles),
        ("copy_cycles".into(), memory.copy_cycles),
        ("page_faults".into(), result.page_faults),
        ("promotions".into(), result.promotions),
        ("demotions".into(), result.demotions),
        ("resident_pages".into(), result.resident_pages),
        ("peak_resident_pages".into(), result.peak_resident_pages),
    ]);
    for &(pages, _) in &of.sizes {
        let size = PageSize::from_bytes(pages << 12).expect("a page size");
        figures.insert(format!("misses of {pages}"), result.walks.of(size));
    }
    for (bytes, count) in &memory.page_sizes {
        figures.insert(format!("pages of {}", bytes >> 12), *count);
    }
    figures.retain(|_, count| *count > 0);
    let parts = memory.tlbmcpi;
    let tlbmcpi = parts.map(|parts| [parts.miss, parts.bookkeeping, parts.copy]);
    SideCounts { figures, tlbmcpi }
}

/// The oracle's counts.
pub(super) fn oracle(recording: &Recording, policy: &RomerPolicy, of: &RomerMachine) -> SideCounts {
    let counts: RomerCounts = replay_romer(recording, policy, of);
    let tlbmcpi = counts.tlbmcpi();
    let mut figures = SideFigures::from([
        ("accesses".into(), counts.accesses),
        ("instructions".into(), counts.instructions),
        ("misses".into(), counts.misses),
        ("walk_cycles".into(), counts.walk_cycles),
        ("bookkeeping_cycles".into(), counts.bookkeeping_cycles),
        ("copy_cycles".into(), counts.promotion_cycles),
        ("page_faults".into(), counts.page_faults),
        ("promotions".into(), counts.promotions.values().sum()),
        ("demotions".into(), counts.demotions),
        ("resident_pages".into(), counts.resident_pages),
        ("peak_resident_pages".into(), counts.peak_resident_pages),
    ]);
    for (pages, count) in counts.misses_by_size {
        figures.insert(format!("misses of {pages}"), count);
    }
    for (pages, count) in counts.page_sizes {
        figures.insert(format!("pages of {pages}"), count);
    }
    figures.retain(|_, count| *count > 0);
    SideCounts { figures, tlbmcpi }
}
