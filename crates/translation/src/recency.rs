//! Which pages were used last in each set of the first level: what tells lookups that change nothing, whatever sizes the pages have.

use crate::index::Compiled;
use crate::{Design, Structure};
use broadleaf_units::{PageNumber, PageSize};

/// What was looked up last in a set, of those that may have used it.
#[derive(Clone, Copy, Debug)]
struct Last {
    page: PageNumber,
    /// When that was.
    time: u64,
    /// Since when all that may have used the set lay in the same larger page.
    since: u64,
}

/// In no set of any TLB.
const NOTHING: Last = Last {
    page: PageNumber(u64::MAX),
    time: 0,
    since: 0,
};

/// The sets of one first-level structure, as pages of one size use them.
#[derive(Clone, Debug)]
struct Sets {
    index: Compiled,
    /// How far a page's number is from that of a base page.
    shift: u32,
    last: Vec<Last>,
}

impl Sets {
    #[inline]
    fn last(&mut self, page: PageNumber) -> &mut Last {
        &mut self.last[self.index.set_of(page)]
    }
}

/// Tells lookups that change nothing in any TLB of some designs, without knowing which size each page has.
///
/// A lookup of a base page uses, in each first-level structure, at most the set of the base page or that of the larger page around it: what the page
/// table holds, and which entries are left from before, decides which. Here each lookup is noted in all of them. The lookup of a page
/// repeats the last one of the same page where since then
///
/// - no other page was noted in the base page's set, so that an entry of the base page that the last lookup found or brought is still the newest, and
/// - only pages of the same larger page were noted in the larger page's set, so that an entry of the larger page, whether the last lookup found or
///   brought it or one since, is the newest.
///
/// Larger pages are looked up first, so one of the two is found, and being the newest already changes no order. It does not do
/// to ask that a page of the same larger page was noted last: that may have been found by an entry of its own, left from before the larger page was
/// made, when the larger page's was gone. Where one structure holds both sizes a set may serve both, so the page itself has to be what was noted
/// last in both sets.
///
/// That holds until entries are removed: then everything has to be forgotten with [`Recency::forget`].
#[derive(Clone, Debug)]
pub struct Recency {
    /// Structures that hold base pages alone.
    base: Vec<Sets>,
    /// Those that hold larger pages of one size alone.
    larger: Vec<Sets>,
    /// Those that hold several sizes: the index of each, and what was noted.
    mixed: Vec<(Vec<Compiled>, Vec<Last>)>,
    time: u64,
}

impl Recency {
    /// Nothing noted yet, for TLBs of these designs.
    pub fn new<'a>(designs: impl IntoIterator<Item = &'a Design>) -> Self {
        let mut recency = Self {
            base: Vec::new(),
            larger: Vec::new(),
            mixed: Vec::new(),
            time: 0,
        };
        let mut known: Vec<&Structure> = Vec::new();
        let first = designs
            .into_iter()
            .flat_map(|design| design.structures())
            .filter(|structure| structure.level == 1);
        for structure in first {
            // How many ways there are is no matter: only the newest is looked at.
            let alike = |other: &&Structure| {
                (other.sets(), &other.pages) == (structure.sets(), &structure.pages)
            };
            if known.iter().any(alike) {
                continue;
            }
            known.push(structure);
            let last = vec![NOTHING; structure.sets()];
            let [(size, index)] = &structure.pages[..] else {
                let sizes = structure.pages.iter().map(|(_, index)| index.compile());
                recency.mixed.push((sizes.collect(), last));
                continue;
            };
            let shift = u32::from(size.shift() - PageSize::SIZE_4K.shift());
            let kind = if shift == 0 {
                &mut recency.base
            } else {
                &mut recency.larger
            };
            kind.push(Sets {
                index: index.compile(),
                shift,
                last,
            });
        }
        recency
    }

    /// Notes the lookup of a base page, and says whether it changes nothing.
    #[inline]
    pub fn repeats(&mut self, page: PageNumber) -> bool {
        self.time += 1;
        let now = Last {
            page,
            time: self.time,
            since: self.time,
        };
        let mut repeats = true;
        // When the page was looked up last, as far as that is known.
        let mut before = 0;
        for sets in &mut self.base {
            let last = std::mem::replace(sets.last(page), now);
            repeats &= last.page == page;
            before = last.time;
        }
        for (sizes, noted) in &mut self.mixed {
            for index in &*sizes {
                let last = noted[index.set_of(page)];
                repeats &= last.page == page;
                before = last.time;
            }
            for index in &*sizes {
                noted[index.set_of(page)] = now;
            }
        }
        for sets in &mut self.larger {
            let shift = sets.shift;
            let last = sets.last(page);
            let same = last.page.0 >> shift == page.0 >> shift;
            repeats &= same & (last.since <= before);
            let since = if same { last.since } else { now.since };
            *last = Last { since, ..now };
        }
        repeats
    }

    /// Entries were removed, or other address spaces' will be looked up.
    pub fn forget(&mut self) {
        for sets in self.base.iter_mut().chain(&mut self.larger) {
            sets.last.fill(NOTHING);
        }
        for (_, noted) in &mut self.mixed {
            noted.fill(NOTHING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lookup, SpaceTag, Tlb};

    /// Random pages of a few blocks, of which some are superpages, become such, or are broken: a lookup that repeats is a hit that leaves the TLB as it was.
    #[test]
    fn what_repeats_changes_nothing() {
        for name in crate::machine_names() {
            let machine = crate::machine(name).unwrap();
            let mut recency = Recency::new([&machine.design]);
            let mut tlb = Tlb::new(&machine.design);
            let tag = SpaceTag::new(1).unwrap();
            let (mut promoted, mut repeated) = ([false; 64], 0);
            let mut random = 88_172_645_463_325_252u64;
            for step in 0..100_000u64 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                // Most lookups are near one of a few places.
                let block = if random.is_multiple_of(4) {
                    random >> 8 & 63
                } else {
                    random >> 8 & 3
                };
                let page = PageNumber(
                    block << 9 | (random >> 20 & if step.is_multiple_of(3) { 511 } else { 7 }),
                );
                if random >> 40 & 63 == 0 {
                    let state = &mut promoted[block as usize];
                    *state = !*state;
                    if !*state {
                        tlb.invalidate(tag, page, PageSize::SIZE_2M);
                        recency.forget();
                    }
                }
                let before = recency.repeats(page).then(|| tlb.clone());
                let found = tlb.lookup(tag, page);
                if let Some(before) = before {
                    assert_eq!(found, Lookup::First, "{name}, step {step}");
                    assert!(tlb.is_as(&before), "{name}, step {step}");
                    repeated += 1;
                }
                if found == Lookup::Miss {
                    let size = if promoted[block as usize] {
                        PageSize::SIZE_2M
                    } else {
                        PageSize::SIZE_4K
                    };
                    tlb.fill(tag, page, size);
                }
            }
            assert!(repeated > 500, "{name}: {repeated}");
        }
    }
}
