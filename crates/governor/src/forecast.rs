//! Forecasts the effect of a policy on a process.

use crate::budget::{Allowance, Budgets};
use crate::seen::{LivePages, MachineSeen, Observation, ProcessSeen};
use crate::ward::Ward;
use broadleaf_policy::{Policy, Refusals};
use std::time::Duration;

/// The effect that a policy would have on a process now.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The policy, with its parameters.
    pub policy: String,
    /// Blocks that would become superpages.
    pub would_promote: u64,
    /// The bytes that the process would gain.
    pub added_bytes: u64,
    /// The bytes that are resident now and would lie in superpages, including present superpages.
    pub covered_bytes: u64,
    /// The blocks that would stay as they are, by reason.
    pub refusals: Refusals,
}

/// Returns the effect that a policy would have on an observed process if memory were not short.
///
/// The forecast is the decision of a [`Ward`] with an unlimited budget on a machine with enough
/// memory. A governor reaches the same result in several ticks if few extents are free at a time.
/// The forecast misses refusals that only an attempt shows: pages that a fork shares, and pinned
/// pages.
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
    ward.see(Observation {
        at: Duration::ZERO,
        machine,
        processes: vec![process],
    });
    let plan = ward.decide();
    let huge = ward.pages(id).map_or(0, LivePages::huge_bytes);
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
    use crate::{
        BlockHeat, BlockSeen, Came, LiveBacking, LiveMapping, Outcome, ProcessId, TickPlan, Vitals,
    };
    use std::collections::BTreeMap;

    fn mapping(first: u64, end: u64, backing: LiveBacking) -> LiveMapping {
        LiveMapping {
            start: first * BLOCK_BYTES,
            end: end * BLOCK_BYTES,
            backing,
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
            pages: Some(LivePages {
                held: None,
                asked: None,
                used: None,
                mappings: vec![
                    mapping(1, end, LiveBacking::Anonymous),
                    mapping(end, end + 2, LiveBacking::File),
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
        let got = of("pop-64", &[512, 64, 63, 1]);
        assert_eq!(got.policy, "pop-64");
        assert_eq!(got.would_promote, 2);
        assert_eq!(got.added_bytes, 448 * PAGE_BYTES);
        assert_eq!(got.covered_bytes, (512 + 512 + 64) * PAGE_BYTES);
        assert_eq!(
            refused(&got),
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

    fn with_use(policy: &str, used: &[u16]) -> Forecast {
        let mut process = process(&vec![512; used.len()]);
        if let Some(pages) = &mut process.pages {
            let each = (2..).zip(used);
            let each = each.map(|(block, used)| BlockHeat { block, used: *used });
            pages.used = Some(each.collect());
        }
        forecast(broadleaf_policy::parse(policy).unwrap(), process)
    }

    #[test]
    fn policies_that_weigh_use_decide_by_the_measured_pages() {
        let counts = |policy: &str| {
            let got = with_use(policy, &[512, 0, 300, 1]);
            (got.would_promote, refused(&got))
        };
        let rarely = |blocks| BTreeMap::from([("file_backed", 2), ("rarely_referenced", blocks)]);
        assert_eq!(counts("hawkeye"), (3, rarely(1)));
        assert_eq!(counts("ingens(referenced=50)"), (2, rarely(2)));
        assert_eq!(
            counts("promote(scan=1e6) if referenced >= 301"),
            (1, rarely(3))
        );
        // Without a measurement, such a policy leaves every block as it is.
        let none = of("hawkeye", &[512, 1]);
        assert_eq!((none.would_promote, refused(&none).len()), (0, 1));
    }

    /// Beside the superpage that is there, a budget for two blocks goes to those that are used
    /// most, and not to the fullest.
    #[test]
    fn a_budget_goes_to_the_blocks_that_are_used_most() {
        let mut process = process(&[500, 400, 300, 200]);
        if let Some(pages) = &mut process.pages {
            let used = [(2, 0), (3, 10), (4, 300), (5, 200)];
            let used = used.map(|(block, used)| BlockHeat { block, used });
            pages.used = Some(used.to_vec());
        }
        process.headroom = None;
        let budgets = Budgets {
            added: Allowance::Bytes((600 + 512) * PAGE_BYTES),
            ..Budgets::DEFAULT
        };
        let mut ward = Ward::new(broadleaf_policy::parse("hawkeye").unwrap(), budgets);
        ward.see(Observation {
            at: Duration::ZERO,
            machine: MachineSeen {
                available_bytes: 1 << 40,
                free_blocks: 100,
                pressure: Some(0),
            },
            processes: vec![process],
        });
        let plan = ward.decide();
        let blocks: Vec<_> = plan.promote.iter().map(|run| run.blocks.clone()).collect();
        assert_eq!((blocks.len(), &blocks[0]), (1, &(4..6)));
    }

    /// A governor with an unlimited budget and no failing call reaches the forecast result after
    /// some ticks.
    #[test]
    fn a_governor_reaches_the_forecast() {
        let populations: Vec<u16> = (0..200).map(|at| at * 37 % 513).collect();
        for name in ["4k", "pop-64", "pop-461", "greedy", "dirty-128", "navarro"] {
            let expected = of(name, &populations);
            let budgets = Budgets {
                added: Allowance::Unlimited,
                ..Budgets::DEFAULT
            };
            let mut ward = Ward::new(broadleaf_policy::parse(name).unwrap(), budgets);
            let mut seen = Observation {
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
            assert_eq!(ward.tally().promotions, expected.would_promote, "{name}");
            assert_eq!(ward.added_bytes(), expected.added_bytes, "{name}");
        }
    }

    fn run_of(plan: &TickPlan) -> ProcessId {
        plan.promote[0].process
    }
}
