//! `navarro`: reservations, and superpages of every size that grow as they fill.

#[cfg(test)]
mod tests;

use super::filled::{filled, stored_to};
use crate::parameter::GivenParameters;
use crate::{
    Needs, PageDaemon, Parameter, Point, Policy, PolicyEntry, PromotionOrder, Refusal, Scan,
    Verdict, View, Without,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::SizeSet;

/// The values of `without`: mechanisms that can be turned off. The explanation of [`ENTRY`]
/// describes their effects.
const SWITCHES: &[&str] = &[
    NOTHING,
    "least-recent-victim",
    "preemption",
    "smallest-list",
    "partial-preemption",
    "coalescing",
    "small-superpages",
    "full-population",
    "speculative-demotion",
    "re-promotion",
    "wired-clustering",
    "cache-hits",
    "large-reservations",
    "closing",
    "clearing",
    "promotion",
];

/// The value of `without` that turns off no mechanism.
const NOTHING: &str = "nothing";

/// The period, in accesses, at which free frames are zeroed ahead of time.
const ZEROING: u64 = 50_000;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "navarro",
    syntax: "navarro(...)",
    summary: "promote full pieces of a reservation to every page size in turn, and keep memory \
              contiguous",
    explanation: "Memory is reserved for the largest page that fits. A piece of a reservation \
                  becomes a superpage of the next size when it is full, and all clean or all \
                  dirty. The first store breaks a clean superpage, size by size down to the stored \
                  page, so that the system knows the dirty pages; a piece is promoted \
                  again when all of it is dirty. When memory is short, the page daemon breaks \
                  superpages as it clears their reference bits, to find the parts in use. \
                  It also takes the pages that complete an extent after a failed allocation. \
                  A piece becomes a superpage again, size by size, when all of its pages were \
                  referenced since. \
                  The only wired pages in the model are page tables; they are clustered. \
                  The parameter `without` is a switch for experiments. It turns one mechanism off: \
                  `least-recent-victim`: the most recently allocated reservation is preempted; \
                  `preemption`: extents never preempt reservations; \
                  `smallest-list`: the list of the largest free pieces comes first; \
                  `partial-preemption`: preemption dissolves the whole reservation; \
                  `coalescing`: the buddy allocator does not merge; `small-superpages`: pieces \
                  below 4 MiB are never promoted; \
                  `full-population`: promotion happens at the first page; `speculative-demotion`: \
                  a shortage of memory breaks no superpage; \
                  `re-promotion`: superpages that a shortage broke are not promoted again; \
                  `wired-clustering`: page tables lie anywhere; \
                  `cache-hits`: pages in free frames are not found again; `large-reservations`: \
                  only the smallest size is reserved; \
                  `closing`: pages of closed files stay active; `clearing`: the daemon clears no \
                  extent; `promotion`: nothing is promoted.",
    source: "Navarro, Iyer, Druschel, Cox 2002 (OSDI), sections 4.1 to 4.9, 5.1 (the page daemon) \
             and 6 (the experiments that the options are for)",
    parameters: &[
        Parameter::sizes(
            "sizes",
            SizeSet::All,
            "The superpage sizes in use, of those that the machine has.",
        ),
        Parameter::word(
            "dirty",
            &["demote", "ignore", "digest"],
            "demote",
            "With demote the first store breaks a clean superpage, and pieces must be all clean or \
             all dirty; with ignore neither; with digest neither, and hash digests \
             show the base pages that changed.",
        ),
        Parameter::word(
            "daemon",
            &["contiguity", "cache"],
            "contiguity",
            "With contiguity, the page daemon completes extents after failed allocations, and \
             wired pages are clustered; with cache, pages leave in the order of their last use.",
        ),
        Parameter::number(
            "part",
            "percent",
            (1, 100),
            100,
            "The part of a piece that must be in memory for a promotion. Below 100, a promotion \
             fills the other pages in, and clean and dirty pages may lie together.",
        ),
        Parameter::number(
            "zeroed",
            "frames",
            (0, 1_000_000),
            0,
            "The number of free frames zeroed ahead of time in a million accesses. Superpages do \
             not favour them; base pages alone (`sizes=none`) do.",
        ),
        Parameter::word(
            "without",
            SWITCHES,
            NOTHING,
            "Switch for experiments: the mechanism to turn off.",
        ),
    ],
    examples: &["navarro", "navarro(dirty=ignore)", "navarro(daemon=cache)"],
    by_default: false,
    build: |given| Box::new(Navarro { given }),
};

struct Navarro {
    given: GivenParameters,
}

impl Navarro {
    fn is_without(&self, mechanism: &str) -> bool {
        self.given.word("without") == mechanism
    }

    /// Returns true if a first store breaks superpages, and pieces must be all clean or all dirty.
    fn demotes(&self) -> bool {
        self.given.word("dirty") == "demote"
    }

    /// The percentage of a piece that must be in memory for a promotion.
    fn part(&self) -> u64 {
        if self.is_without("full-population") {
            return 0;
        }
        self.given.number("part")
    }

    /// The verdict on a piece that may be promoted.
    fn grown(&self, point: Point, view: &View) -> Verdict {
        if self.is_without("promotion") {
            return Verdict::Pass;
        }
        let verdict = match self.part() {
            100 => filled(point, view, self.demotes()),
            part => match view.reservation_to_decide_on(point) {
                Ok(_) => Verdict::promote_if(view.has_percent(part), Refusal::TooFewResident),
                Err(verdict) => verdict,
            },
        };
        match verdict {
            Verdict::Promote
                if self.is_without("small-superpages") && view.bytes() < LARGEST_SMALL =>
            {
                Verdict::Pass
            }
            verdict => verdict,
        }
    }
}

/// The least size of the superpages that remain without small superpages.
const LARGEST_SMALL: u64 = 4 << 20;

impl Policy for Navarro {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        let contiguity = self.given.word("daemon") == "contiguity";
        let sizes = self.given.sizes("sizes");
        let zeroed_ahead = self.given.number("zeroed");
        let turn = Scan {
            period: ZEROING,
            pages: 1,
            promotions: 0,
            order: PromotionOrder::ByAddress,
        };
        Needs {
            files_stay: true,
            sizes,
            every_size: self.is_without("small-superpages"),
            asked_when_short: !self.is_without("speculative-demotion"),
            asked_when_used_again: !self.is_without("re-promotion"),
            wires_together: contiguity && !self.is_without("wired-clustering"),
            daemon: if contiguity {
                PageDaemon::ForContiguity
            } else {
                PageDaemon::OldestFirst
            },
            scan: (zeroed_ahead > 0).then_some(turn),
            zeroed_ahead,
            ignores_zeroed: !sizes.is_none(),
            digests: self.given.word("dirty") == "digest",
            without: Without {
                least_recent_victim: self.is_without("least-recent-victim"),
                preemption: self.is_without("preemption"),
                smallest_list: self.is_without("smallest-list"),
                partial_preemption: self.is_without("partial-preemption"),
                coalescing: self.is_without("coalescing"),
                cache_hits: self.is_without("cache-hits"),
                large_reservations: self.is_without("large-reservations"),
                closing: self.is_without("closing"),
                clearing: self.is_without("clearing"),
            },
            ..Needs::default()
        }
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        match point {
            Point::Fault | Point::FirstStore => self.grown(point, view),
            Point::StoreToCleanSuperpage if self.demotes() => stored_to(view),
            Point::Short if !self.is_without("speculative-demotion") => {
                Verdict::demote_if(view.promoted)
            }
            Point::UsedAgain if self.is_without("re-promotion") => Verdict::Pass,
            // A superpage broken to find the pages in use is promoted again, step by step, when all
            // pages were referenced.
            Point::UsedAgain if !view.promoted && view.referenced < view.pages => {
                Verdict::Stay(Refusal::RarelyReferenced)
            }
            Point::UsedAgain => self.grown(point, view),
            _ => Verdict::Pass,
        }
    }
}
