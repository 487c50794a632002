//! What a policy would do to a process now.

use crate::budget::{Allowance, Budgets};
use crate::seen::{BLOCK_BYTES, MachineSeen, PAGE_BYTES, ProcessSeen, Seen};
use crate::ward::Ward;
use broadleaf_policy::{Policy, Refusals};
use std::time::Duration;

/// What a policy would do to a process now.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The policy, with its parameters.
    pub policy: String,
    /// Blocks that would become superpages.
    pub would_promote: u64,
    /// Bytes that the process would hold more.
    pub added_bytes: u64,
    /// Bytes which are resident now that would lie in superpages, with those that do.
    pub covered_bytes: u64,
    /// Blocks that would stay as they are, by reason.
    pub refusals: Refusals,
}

/// What a policy would do to a process that was seen so, on a machine that was seen so.
///
/// It is what a [`Ward`] decides that may add as much as there is, and that finds no shortage: neither the pressure on the machine nor a cgroup's limit counts. So many
/// blocks are promoted as there are free extents for. What only shows when it is tried (pages that a fork shares, pages that are pinned) is not foreseen.
pub fn forecast(policy: Box<dyn Policy>, machine: MachineSeen, process: ProcessSeen) -> Forecast {
    let name = policy.name();
    let budgets = Budgets {
        added: Allowance::Unlimited,
        keep_available: 0,
        ..Budgets::DEFAULT
    };
    let machine = MachineSeen {
        pressure: None,
        ..machine
    };
    let process = ProcessSeen {
        headroom: None,
        ..process
    };
    let id = process.id;
    let mut ward = Ward::new(policy, budgets);
    ward.see(Seen {
        at: Duration::ZERO,
        machine,
        processes: vec![process],
    });
    let plan = ward.decide();
    let mut forecast = Forecast {
        policy: name,
        would_promote: plan.promotions(),
        added_bytes: 0,
        covered_bytes: 0,
        refusals: ward.tally().refusals.clone(),
    };
    for run in &plan.promote {
        for present in &run.present {
            let resident = u64::from(*present) * PAGE_BYTES;
            forecast.added_bytes += BLOCK_BYTES - resident;
            forecast.covered_bytes += resident;
        }
    }
    let blocks = ward.pages(id).map_or(&[][..], |pages| &pages.blocks);
    let huge = blocks.iter().filter(|seen| seen.huge).count() as u64;
    forecast.covered_bytes += huge * BLOCK_BYTES;
    forecast
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Behind, BlockSeen, Mapping, Pages, ProcessId, Vitals};
    use broadleaf_policy::Refusal;
    use std::collections::BTreeMap;

    const MACHINE: MachineSeen = MachineSeen {
        available_bytes: 1 << 40,
        free_blocks: 1000,
        pressure: Some(9999),
    };

    fn mapping(first: u64, end: u64, behind: Behind) -> Mapping {
        Mapping {
            start: first * BLOCK_BYTES,
            end: end * BLOCK_BYTES,
            behind,
            writable: true,
            congruent: true,
            name: String::new(),
        }
    }

    /// A superpage, then blocks of these populations, and two blocks of a file.
    fn process(populations: &[u16]) -> ProcessSeen {
        let end = 2 + populations.len() as u64;
        let mut blocks = vec![BlockSeen {
            block: 1,
            huge: true,
            ..BlockSeen::default()
        }];
        let all = populations.iter().chain(&[512, 512]);
        blocks.extend(all.enumerate().map(|(at, present)| BlockSeen {
            block: 2 + at as u64,
            present: *present,
            ..BlockSeen::default()
        }));
        ProcessSeen {
            id: ProcessId { pid: 7, started: 1 },
            vitals: Vitals::default(),
            headroom: Some(crate::Headroom {
                bytes: 0,
                limit: 1 << 30,
            }),
            pages: Some(Pages {
                mappings: vec![
                    mapping(1, end, Behind::Anonymous),
                    mapping(end, end + 2, Behind::File),
                ],
                blocks,
            }),
        }
    }

    fn of(policy: &str, machine: MachineSeen, populations: &[u16]) -> Forecast {
        let policy = broadleaf_policy::parse(policy).unwrap();
        forecast(policy, machine, process(populations))
    }

    fn refused(forecast: &Forecast) -> BTreeMap<&'static str, u64> {
        let each = forecast.refusals.iter();
        each.map(|(reason, count)| (reason.name(), count)).collect()
    }

    #[test]
    fn what_is_added_and_what_is_covered_is_counted_in_pages() {
        let told = of("pop-64", MACHINE, &[512, 64, 63, 1]);
        assert_eq!(told.policy, "pop-64");
        assert_eq!(told.would_promote, 2);
        assert_eq!(told.added_bytes, 448 * PAGE_BYTES);
        assert_eq!(told.covered_bytes, (512 + 512 + 64) * PAGE_BYTES);
        assert_eq!(
            refused(&told),
            BTreeMap::from([("too_few_resident", 2), ("file_backed", 2)])
        );
        let never = of("4k", MACHINE, &[512, 64]);
        assert_eq!((never.would_promote, never.added_bytes), (0, 0));
        assert_eq!(never.covered_bytes, BLOCK_BYTES);
    }

    #[test]
    fn free_extents_bound_it_and_shortage_does_not() {
        let few = MachineSeen {
            free_blocks: 1,
            available_bytes: 100 * PAGE_BYTES,
            pressure: Some(10_000),
        };
        let told = of("pop-1", few, &[500, 512, 9]);
        // The fullest comes first.
        assert_eq!((told.would_promote, told.added_bytes), (1, 0));
        let reasons = refused(&told);
        assert_eq!(reasons[Refusal::NoExtent.name()], 1);
        assert_eq!(reasons[Refusal::OverBudget.name()], 1);
    }
}
