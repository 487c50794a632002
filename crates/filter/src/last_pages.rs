//! A filter for some of the TLBs that observe a memory: those that keep more pages than the others.

use crate::recency::window::Window;
use broadleaf_units::PageNumber;

/// The last pages that were looked up, for TLBs that keep them
/// ([`broadleaf_tlb::Design::last_pages`]).
///
/// The lookups that the filter makes have the answers and leave the order of last use of all
/// lookups. The filter so serves each TLB that keeps at least as many pages. Its lookups may come
/// from a filter of fewer pages. The filter knows loads and stores in one address space. The first
/// store to a page is always made, since the store may set a modified bit.
#[derive(Clone, Debug)]
pub struct LastPages(Window);

impl LastPages {
    /// A filter for TLBs that keep at least `capacity` pages.
    pub fn new(capacity: usize) -> Self {
        Self(Window::new(capacity, false))
    }

    /// Notes a lookup. Returns true if the lookup must be made. `look_up` receives deferred pages
    /// that must be looked up first, by a load.
    #[inline]
    pub fn has_to_be_made(
        &mut self,
        page: PageNumber,
        stores: bool,
        look_up: &mut impl FnMut(PageNumber),
    ) -> bool {
        let is_deferred = self.0.defer(page, stores);
        if !is_deferred {
            self.0.make(page, stores, look_up);
        }
        !is_deferred
    }

    /// Makes the deferred lookups, and forgets all pages: entries of TLBs are about to be dropped,
    /// or modified bits were cleared, or another address space runs.
    pub fn end(&mut self, look_up: &mut impl FnMut(PageNumber)) {
        self.0.catch_up(look_up);
        self.0.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_tlb::{
        Design, IndexFunction, Lookup, Organisation, REPLACEMENTS, Replacement, ReplacementChoice,
        Role, Structure, Tlb, TlbRequest, Walk,
    };
    use broadleaf_trace::synth::SplitMix64;
    use broadleaf_units::{Asid, PageSize};

    /// A TLB of one set, and a second level whose rule sees every miss of the first.
    fn design(rule: &'static Replacement, ways: usize) -> Design {
        let structure = |level: usize, ways: usize, replacement: ReplacementChoice| Structure {
            name: format!("level {level}"),
            level,
            entries: ways,
            ways,
            pages: vec![(
                PageSize::SIZE_4K,
                IndexFunction::parse("none").expect("an index"),
            )],
            organisation: Organisation::set_associative().into(),
            replacement,
            role: Role::default(),
            wired: 0,
            walk_entries: Vec::new(),
        };
        let gods = Replacement::named("gods").expect("a rule");
        let first = structure(1, ways, rule.into());
        Design::new(vec![first, structure(2, 2 * ways, gods.into())]).expect("a design")
    }

    /// Looks a page up, and loads it after a miss.
    fn found(tlb: &mut Tlb, page: u64) -> Lookup {
        let request = TlbRequest::load(Asid::ZERO, PageNumber(page));
        let found = tlb.access(&request);
        if found == Lookup::Miss {
            let size = PageSize::SIZE_4K;
            tlb.load(&Walk::plain(Asid::ZERO, PageNumber(page), size));
        }
        found
    }

    /// Each rule that keeps the last translations finds the same with all lookups and with those
    /// that are made. Each translation that the rule keeps is found at the first level.
    #[test]
    fn every_rule_that_keeps_the_last_finds_the_same() {
        let (mut left_out, mut kept_no_more) = (0_u64, Vec::new());
        for rule in REPLACEMENTS {
            let fitting = (1..=16).filter(|ways| (rule.refuses)(*ways).is_none());
            for (ways, seed) in fitting.flat_map(|ways| (0..12).map(move |seed| (ways, seed))) {
                let design = design(rule, ways);
                let Some(kept) = design.last_pages() else {
                    continue;
                };
                let mut random = SplitMix64::new(seed);
                let mut filter = LastPages::new(kept);
                let (mut all, mut some) = (Tlb::new(&design), Tlb::new(&design));
                let mut newest: Vec<u64> = Vec::new();
                let pages = 2 + random.below(2 * ways as u64);
                for _ in 0..1500 {
                    // Every other page is among the nearest ones.
                    let page = random.below(pages) >> random.below(3);
                    let place = newest.iter().position(|known| *known == page);
                    place.map(|at| newest.remove(at));
                    newest.insert(0, page);
                    let right = found(&mut all, page);
                    if place.is_some_and(|at| at < kept) {
                        assert_eq!(right, Lookup::First, "{rule:?} of {ways} ways");
                    } else if place == Some(kept) && right != Lookup::First {
                        kept_no_more.push((rule.described.name, ways));
                    }
                    let mut renew = |page: PageNumber| {
                        assert_eq!(found(&mut some, page.0), Lookup::First);
                    };
                    if filter.has_to_be_made(PageNumber(page), false, &mut renew) {
                        assert_eq!(found(&mut some, page), right, "{rule:?} of {ways} ways");
                    } else {
                        left_out += 1;
                    }
                }
            }
        }
        assert!(left_out > 10_000, "{left_out}");
        // A filter of one more page would be wrong.
        for rule_and_ways in [("lru", 8), ("tree-plru", 4)] {
            assert!(kept_no_more.contains(&rule_and_ways), "{rule_and_ways:?}");
        }
    }
}
