//! What a policy would do to a process now.

use crate::budget::{Allowance, Budgets};
use crate::seen::{MachineSeen, Pages, ProcessSeen, Seen};
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

/// What a policy would do to a process that was seen so, if memory were not short.
///
/// It is what a [`Ward`] decides that may add as much as it likes, on a machine that has room for all of it. A governor comes to the same by several steps where few extents are free
/// at a time. What only shows when it is tried (pages that a fork shares, pages that are pinned) is not foreseen.
pub fn forecast(policy: Box<dyn Policy>, process: ProcessSeen) -> Forecast {
    let name = policy.name();
    let budgets = Budgets {
        added: Allowance::Unlimited,
        ..Budgets::DEFAULT
    };
    let machine = MachineSeen {
        available_bytes: u64::MAX,
        free_blocks: u64::MAX,
        pressure: None,
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
    let huge = ward.pages(id).map_or(0, Pages::huge_bytes);
    Forecast {
        policy: name,
        would_promote: plan.promotions(),
        added_bytes: plan.added_bytes(),
        covered_bytes: huge + plan.resident_bytes(),
        refusals: ward.tally().refusals.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::{BLOCK_BYTES, PAGE_BYTES};
    use crate::{Behind, BlockSeen, Came, Mapping, Outcome, Plan, ProcessId, Vitals};
    use std::collections::BTreeMap;

    fn mapping(first: u64, end: u64, behind: Behind) -> Mapping {
        Mapping {
            start: first * BLOCK_BYTES,
            end: end * BLOCK_BYTES,
            behind,
            writable: true,
            congruent: true,
            inode: 0,
            offset: 0,
            name: String::new(),
        }
    }

    /// A superpage, then blocks of these populations, and two blocks of a file.
    fn process(populations: &[u16]) -> ProcessSeen {
        let end = 2 + populations.len() as u64;
        let mut blocks = vec![BlockSeen::superpage(1)];
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
                held: None,
                asked: None,
                mappings: vec![
                    mapping(1, end, Behind::Anonymous),
                    mapping(end, end + 2, Behind::File),
                ],
                blocks,
            }),
        }
    }

    fn of(policy: &str, populations: &[u16]) -> Forecast {
        let policy = broadleaf_policy::parse(policy).unwrap();
        forecast(policy, process(populations))
    }

    fn refused(forecast: &Forecast) -> BTreeMap<&'static str, u64> {
        let each = forecast.refusals.iter();
        each.map(|(reason, count)| (reason.name(), count)).collect()
    }

    #[test]
    fn what_is_added_and_what_is_covered_is_counted_in_pages() {
        let told = of("pop-64", &[512, 64, 63, 1]);
        assert_eq!(told.policy, "pop-64");
        assert_eq!(told.would_promote, 2);
        assert_eq!(told.added_bytes, 448 * PAGE_BYTES);
        assert_eq!(told.covered_bytes, (512 + 512 + 64) * PAGE_BYTES);
        assert_eq!(
            refused(&told),
            BTreeMap::from([("too_few_resident", 2), ("file_backed", 2)])
        );
        let never = of("4k", &[512, 64]);
        assert_eq!((never.would_promote, never.added_bytes), (0, 0));
        assert_eq!(never.covered_bytes, BLOCK_BYTES);
    }

    #[test]
    fn a_limit_that_leaves_nothing_does_not_count() {
        assert_eq!(of("pop-1", &[500, 512, 9]).would_promote, 3);
        assert_eq!(of("greedy", &[0]).would_promote, 0);
    }

    /// A governor with an unlimited budget that decides again and again, and succeeds, comes to what was foretold.
    #[test]
    fn a_governor_comes_to_what_was_foretold() {
        let populations: Vec<u16> = (0..200).map(|at| at * 37 % 513).collect();
        for name in ["4k", "pop-64", "pop-461", "greedy", "dirty-128", "navarro"] {
            let told = of(name, &populations);
            let budgets = Budgets {
                added: Allowance::Unlimited,
                ..Budgets::DEFAULT
            };
            let mut ward = Ward::new(broadleaf_policy::parse(name).unwrap(), budgets);
            let mut seen = Seen {
                at: Duration::ZERO,
                machine: MachineSeen {
                    available_bytes: 1 << 40,
                    free_blocks: 7,
                    pressure: Some(0),
                },
                processes: vec![process(&populations)],
            };
            seen.processes[0].headroom = None;
            loop {
                ward.see(seen.clone());
                let plan = ward.decide();
                if plan.is_empty() {
                    break;
                }
                let mut outcomes = Vec::new();
                for run in &plan.promote {
                    for (block, present) in run.blocks.clone().zip(&run.present) {
                        let before = BlockSeen {
                            block,
                            present: *present,
                            ..BlockSeen::default()
                        };
                        outcomes.push(Outcome {
                            process: run.process,
                            block,
                            came: Came::Promoted(before),
                        });
                    }
                }
                ward.learn(&outcomes);
                seen.processes[0].pages = ward.pages(run_of(&plan)).cloned();
                seen.at += Duration::from_secs(1);
            }
            assert_eq!(ward.tally().promotions, told.would_promote, "{name}");
            assert_eq!(ward.added_bytes(), told.added_bytes, "{name}");
        }
    }

    fn run_of(plan: &Plan) -> ProcessId {
        plan.promote[0].process
    }
}
