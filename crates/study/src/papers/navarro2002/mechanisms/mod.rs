//! Each mechanism of the system alone: a small trace that needs it, replayed with and without it.

mod daemons;
mod reservations;

use super::setting::{ANYWHERE, MACHINE, MIB, PAGE, memory};
use crate::failure::Failure;
use crate::papers::generated::{GeneratedTrace, Said, Saying, touch};
use crate::papers::replay::PaperReplay;
use crate::papers::{PaperClaim, PaperSetting, Table};
use broadleaf_metrics::CellResult;

/// A mechanism, and a trace and a measure that show it.
struct NavarroMechanism {
    /// The mechanism's name in the policy's parameter `without`.
    name: &'static str,
    /// The slides' claim about it.
    claim: &'static str,
    /// The events of the trace.
    trace: fn() -> Saying,
    /// The size of memory, in bytes.
    memory: u64,
    measure: Measure,
    /// False if the claim is about memory alone. The other claims are about superpages, and fail if
    /// nothing is promoted.
    about_superpages: bool,
}

/// A figure that the mechanism changes.
struct Measure {
    name: &'static str,
    /// True if a larger figure is better.
    more: bool,
    of: fn(&CellResult) -> u64,
}

const PAGES_4M: Measure = Measure {
    name: "4 MiB pages",
    more: true,
    of: |result| pages_of(result, 4 * MIB),
};
const PAGES_512K: Measure = Measure {
    name: "512 KiB pages",
    more: true,
    of: |result| pages_of(result, 512 << 10),
};
const PAGES_64K: Measure = Measure {
    name: "64 KiB pages",
    more: true,
    of: |result| pages_of(result, 64 << 10),
};
const MISSES: Measure = Measure {
    name: "TLB misses",
    more: false,
    of: |result| result.l2_misses,
};
const RESIDENT: Measure = Measure {
    name: "resident pages",
    more: false,
    of: |result| (result.memory.as_ref()).map_or(0, |memory| memory.at_peak.resident_pages),
};
const SWAPPED_IN: Measure = Measure {
    name: "pages from swap",
    more: false,
    of: |result| (result.memory.as_ref()).map_or(0, |memory| memory.swapped_in_pages),
};
const READ: Measure = Measure {
    name: "pages from files",
    more: false,
    of: |result| (result.memory.as_ref()).map_or(0, |memory| memory.file_pages_read),
};

/// The number of pages of a size at the end of the trace.
fn pages_of(result: &CellResult, bytes: u64) -> u64 {
    let memory = result.memory.as_ref();
    let count = memory.and_then(|memory| memory.page_sizes.get(&bytes).copied());
    count.unwrap_or(0)
}

const MECHANISMS: &[NavarroMechanism] = &[
    NavarroMechanism {
        name: "least-recent-victim",
        claim: "the reservation that got a page least recently is preempted, and others grow on",
        trace: reservations::contended,
        memory: 17 * MIB,
        measure: PAGES_512K,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "preemption",
        claim: "where no extent is free, a reservation is preempted for it",
        trace: reservations::contended,
        memory: 17 * MIB,
        measure: PAGES_64K,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "smallest-list",
        claim: "the list of the size that is wanted comes first, then larger ones",
        trace: reservations::contended,
        memory: 17 * MIB,
        measure: PAGES_4M,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "partial-preemption",
        claim: "a preempted reservation keeps the parts that are in use",
        trace: reservations::contended,
        memory: 17 * MIB,
        measure: PAGES_64K,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "large-reservations",
        claim: "reservations are as large as the object allows: too small cannot be enlarged",
        trace: reservations::contended,
        memory: 17 * MIB,
        measure: PAGES_4M,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "coalescing",
        claim: "the buddy allocator coalesces",
        trace: reservations::after_small_ones,
        memory: 17 * MIB,
        measure: PAGES_4M,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "promotion",
        claim: "promoted pieces spare TLB misses",
        trace: reservations::filled,
        memory: 32 * MIB,
        measure: MISSES,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "small-superpages",
        claim: "promotion is incremental: a full piece need not be of the preferred size",
        trace: reservations::filled,
        memory: 32 * MIB,
        measure: MISSES,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "full-population",
        claim: "only full pieces are promoted: no memory is wasted",
        trace: reservations::filled,
        memory: 32 * MIB,
        measure: RESIDENT,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "speculative-demotion",
        claim: "short memory breaks superpages, to find the parts that are not used",
        trace: daemons::partly_used,
        memory: 8 * MIB,
        measure: SWAPPED_IN,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "re-promotion",
        claim: "what was broken is promoted again as its pages are referenced",
        trace: daemons::used_again,
        memory: 8 * MIB,
        measure: PAGES_4M,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "wired-clustering",
        claim: "wired pages are grouped, so that they fragment little",
        trace: daemons::page_tables,
        memory: 20 * MIB + (512 << 10),
        measure: PAGES_512K,
        about_superpages: true,
    },
    NavarroMechanism {
        name: "cache-hits",
        claim: "cache pages are available memory, and are found again until they are taken",
        trace: daemons::read_again,
        memory: 8 * MIB,
        measure: READ,
        about_superpages: false,
    },
    NavarroMechanism {
        name: "closing",
        claim: "pages of a file become inactive as soon as it is closed",
        trace: daemons::files_closed,
        memory: 8 * MIB,
        measure: SWAPPED_IN,
        about_superpages: false,
    },
    NavarroMechanism {
        name: "clearing",
        claim: "the daemon clears an extent that was asked for in vain",
        trace: daemons::extents_sought,
        memory: 8 * MIB,
        measure: PAGES_512K,
        about_superpages: true,
    },
];

/// The measure with a mechanism and without it.
struct MechanismEffect {
    with: u64,
    without: u64,
    /// The promotions with the mechanism.
    promotions: u64,
}

impl NavarroMechanism {
    fn effect(&self, setting: &PaperSetting) -> Result<MechanismEffect, Failure> {
        let without = format!("navarro(without={})", self.name);
        let trace = self.trace;
        let replay = PaperReplay {
            watch: setting.watch,
            doing: self.name,
            machine: MACHINE,
            policies: &[&setting.policy("navarro", &[]), &without],
            limits: memory(self.memory, ANYWHERE),
            interim: Vec::new(),
        };
        let outcome = replay.generated(GeneratedTrace::new(trace))?;
        let measured: Vec<u64> = outcome.results.iter().map(self.measure.of).collect();
        match measured[..] {
            [with, without] => Ok(MechanismEffect {
                with,
                without,
                promotions: outcome.results[0].promotions,
            }),
            _ => Err(Failure::failed("a policy is missing")),
        }
    }

    /// Claims that the mechanism improves the measure by more than a twentieth.
    fn claim(&self, effect: &MechanismEffect) -> PaperClaim {
        let (less, more) = if self.measure.more {
            (effect.without, effect.with)
        } else {
            (effect.with, effect.without)
        };
        let shown = effect.promotions > 0 || !self.about_superpages;
        let mut claim = PaperClaim::new(shown && more as f64 > less as f64 * 1.05, self.claim);
        if !shown {
            claim.because("nothing is promoted");
        } else if !claim.agrees {
            claim.because(format!("{} are as many without it", self.measure.name));
        }
        claim
    }
}

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let mut table = Table::new(
        "Mechanisms: each turned off by itself",
        "Small traces on each of which one mechanism matters, replayed under navarro and under \
         navarro(without=MECHANISM). A claim agrees if the mechanism improves the figure by more \
         than a twentieth; all but those on cache hits and closing also need promotions. The \
         slides give no figures for these; their claims are those of the design.",
        &["mechanism", "measured", "better", "with", "without"],
    );
    for mechanism in MECHANISMS {
        let effect = mechanism.effect(setting)?;
        table.row([
            mechanism.name.to_owned(),
            mechanism.measure.name.to_owned(),
            if mechanism.measure.more {
                "more"
            } else {
                "fewer"
            }
            .to_owned(),
            effect.with.to_string(),
            effect.without.to_string(),
        ]);
        table.claims.push(mechanism.claim(&effect));
    }
    Ok(vec![table])
}

/// Stores to `pages` base pages from `start` on, each `apart` bytes from the next.
fn stores(start: u64, pages: u64, apart: u64) -> impl Iterator<Item = Said> + Send {
    (0..pages).map(move |page| touch(start + page * apart, 0, 1))
}

/// Stores to all base pages of `bytes` bytes from `start` on.
fn fills(start: u64, bytes: u64) -> impl Iterator<Item = Said> + Send {
    stores(start, bytes / PAGE, PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(mechanism: &NavarroMechanism, without: Option<&str>) -> (bool, u64, u64) {
        let setting = PaperSetting::tiny(1.5, without);
        let effect = mechanism.effect(&setting).expect("a replay");
        (mechanism.claim(&effect).agrees, effect.with, effect.without)
    }

    #[test]
    fn every_mechanism_has_a_claim_that_fails_without_it() {
        let mut wrong = Vec::new();
        for mechanism in MECHANISMS {
            let name = mechanism.name;
            let with = agrees(mechanism, None);
            let without = agrees(mechanism, Some(name));
            if !with.0 || without.0 {
                wrong.push(format!("{name}: {with:?}, turned off {without:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn claims_about_superpages_fail_where_nothing_is_promoted() {
        for mechanism in MECHANISMS {
            let (agrees, ..) = agrees(mechanism, Some("promotion"));
            assert!(
                !(agrees && mechanism.about_superpages),
                "{}",
                mechanism.name
            );
        }
    }

    #[test]
    fn every_switch_of_the_policy_has_a_mechanism() {
        let entry = broadleaf_policy::entry("navarro").expect("navarro");
        let parameter = entry
            .parameters
            .iter()
            .find(|known| known.name == "without");
        let broadleaf_policy::ParameterKind::Word(words) = parameter.expect("switches").kind else {
            panic!("no words");
        };
        let mut switches = words[1..].to_vec();
        let mut known: Vec<&str> = MECHANISMS.iter().map(|mechanism| mechanism.name).collect();
        switches.sort_unstable();
        known.sort_unstable();
        assert_eq!(switches, known);
        assert_eq!(switches.len(), 15);
    }
}
