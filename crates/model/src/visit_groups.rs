//! Groups of consecutive visits, each with its distinct pages.
//!
//! Most visits change nothing, and a property of their pages says so. A world asks once for each
//! page of a group, and passes the whole group if no page would change anything.

use broadleaf_trace::{Lead, Visit};
use broadleaf_units::PageNumber;

/// The visits of a group. The last group of a part may have fewer.
pub(crate) const GROUP: usize = 64;
/// The slots of pages that the group has. A power of two.
const SLOTS: usize = 256;

/// No visit of a group has this number.
const NEVER: u8 = u8::MAX;

/// A page of a group, and the numbers of the first visits with references of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupPage {
    pub(crate) page: PageNumber,
    load: u8,
    store: u8,
    /// A load after stores.
    late_load: u8,
}

impl GroupPage {
    const fn new(page: PageNumber) -> Self {
        Self {
            page,
            load: NEVER,
            store: NEVER,
            late_load: NEVER,
        }
    }

    /// The first visit that refers to the page by a load first; more than any other number if there
    /// is none. `parts_loads` asks also for loads after stores.
    #[inline]
    pub(crate) fn first_load(self, parts_loads: bool) -> usize {
        let late = if parts_loads { self.late_load } else { NEVER };
        usize::from(self.load.min(late))
    }

    /// The first visit that stores to the page; more than any other number if there is none.
    #[inline]
    pub(crate) fn first_store(self) -> usize {
        usize::from(self.store)
    }

    /// True if a visit stores to the page.
    #[inline]
    pub(crate) const fn stores(self) -> bool {
        self.store != NEVER
    }

    /// True if the page is referenced: visits without a reference name pages too.
    #[inline]
    pub(crate) const fn is_referenced(self) -> bool {
        self.load != NEVER || self.store != NEVER
    }
}

/// True if a visit's first access is a load, before its stores.
#[inline]
pub(crate) fn loads_first(visit: &Visit) -> bool {
    let before = visit.loads_before_store.min(visit.loads);
    (visit.stores == 0 && visit.loads > 0) || (visit.stores > 0 && before > 0)
}

/// A group of visits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VisitGroup {
    /// The pages of this group and of all groups before.
    pages_end: usize,
    pub(crate) accesses: u64,
    /// The references that the visits make, as memory counts them.
    pub(crate) references: u64,
    pub(crate) instructions: u64,
    /// True if a visit is of an unusual kind, so that the group is replayed visit by visit.
    pub(crate) is_unusual: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct GroupSlot {
    page: PageNumber,
    /// The number of the group, from 1. 0 if the slot is empty.
    group: u32,
    /// The number of the page among those of all groups.
    number: u32,
}

/// The groups of the visits of a part.
#[derive(Debug)]
pub(crate) struct VisitGroups {
    pages: Vec<GroupPage>,
    groups: Vec<VisitGroup>,
    /// For each visit, the number of its page among those of its group.
    numbers: Vec<u8>,
    slots: Box<[GroupSlot; SLOTS]>,
    /// The number of the open group.
    number: u32,
}

impl Default for VisitGroups {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            groups: Vec::new(),
            numbers: Vec::new(),
            slots: Box::new([GroupSlot::default(); SLOTS]),
            number: 0,
        }
    }
}

impl VisitGroups {
    /// Adds the next visit. `shift` is the number of low bits of a unit inside a page. Returns the
    /// page if the group had no visit to it before.
    #[inline]
    pub(crate) fn add(&mut self, visit: &Visit, shift: u32) -> Option<PageNumber> {
        if self.numbers.len().is_multiple_of(GROUP) {
            self.begin();
        }
        let page = PageNumber(visit.unit >> shift);
        let first = self.groups.len().checked_sub(2);
        let first = first.map_or(0, |before| self.groups[before].pages_end);
        let slot = &mut self.slots[(page.0 ^ page.0 >> 8) as usize % SLOTS];
        let is_new = slot.group != self.number || slot.page != page;
        if is_new {
            *slot = GroupSlot {
                page,
                group: self.number,
                number: self.pages.len() as u32,
            };
            self.pages.push(GroupPage::new(page));
        }
        let number = slot.number as usize;
        self.numbers.push((number - first) as u8);
        let Some(group) = self.groups.last_mut() else {
            return None;
        };
        group.pages_end = self.pages.len();
        group.instructions += u64::from(visit.instructions);
        if visit.fetch || visit.lead != Lead::None {
            group.is_unusual = true;
            return is_new.then_some(page);
        }
        let (loads, stores) = (loads_first(visit), visit.stores > 0);
        group.accesses += visit.accesses();
        group.references += u64::from(loads) + u64::from(stores);
        let at = ((self.numbers.len() - 1) % GROUP) as u8;
        let note = |first: &mut u8, is_made: bool| {
            *first = if is_made { at.min(*first) } else { *first };
        };
        let page_of = &mut self.pages[number];
        note(&mut page_of.load, loads);
        note(&mut page_of.store, stores);
        note(&mut page_of.late_load, stores && visit.loads > 0);
        is_new.then_some(page)
    }

    fn begin(&mut self) {
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.slots.fill(GroupSlot::default());
            self.number = 1;
        }
        self.groups.push(VisitGroup {
            pages_end: self.pages.len(),
            ..VisitGroup::default()
        });
    }

    /// The groups with their pages, and for each visit the number of its page.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&VisitGroup, &[GroupPage], &[u8])> {
        let mut first = 0;
        let groups = self.groups.iter().zip(self.numbers.chunks(GROUP));
        groups.map(move |(group, numbers)| {
            let pages = &self.pages[first..group.pages_end];
            first = group.pages_end;
            (group, pages, numbers)
        })
    }

    /// Drops all groups.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.groups.clear();
        self.numbers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(page: u64, loads: u32, stores: u32) -> Visit {
        Visit {
            unit: page,
            loads,
            stores,
            loads_before_store: loads.min(1),
            instructions: 3,
            ..Visit::default()
        }
    }

    #[test]
    fn a_group_has_each_page_once_with_all_kinds() {
        let mut groups = VisitGroups::default();
        for number in 0..GROUP as u64 + 2 {
            let stores = u32::from(number == 5);
            let new = groups.add(&visit(number % 3, 2, stores), 0);
            let is_first = number < 3 || number >= GROUP as u64;
            assert_eq!(new.is_some(), is_first, "{number}");
        }
        let all: Vec<_> = groups.iter().collect();
        let [(first, pages, numbers), (last, few, _)] = all[..] else {
            panic!("two groups");
        };
        assert_eq!((pages.len(), few.len(), numbers.len()), (3, 2, GROUP));
        assert_eq!(first.accesses, 2 * GROUP as u64 + 1);
        assert_eq!(first.references, GROUP as u64 + 1);
        assert_eq!((last.references, last.instructions), (2, 6));
        let [one, other, stored] = pages else {
            panic!("three pages");
        };
        assert_eq!((one.first_load(false), other.first_load(true)), (0, 1));
        assert!(!other.stores() && other.first_store() >= GROUP);
        assert_eq!((stored.first_store(), stored.first_load(false)), (5, 2));
        assert!(
            numbers
                .iter()
                .enumerate()
                .all(|(at, of)| at % 3 == usize::from(*of))
        );
        groups.clear();
        assert_eq!(groups.iter().count(), 0);
    }

    #[test]
    fn leads_and_fetches_make_a_group_unusual() {
        for unusual in [
            Visit {
                fetch: true,
                ..visit(0, 0, 0)
            },
            Visit {
                lead: Lead::Load,
                ..visit(0, 1, 0)
            },
        ] {
            let mut groups = VisitGroups::default();
            groups.add(&visit(7, 0, 1), 0);
            groups.add(&unusual, 0);
            let (group, pages, _) = groups.iter().next().expect("a group");
            assert!(group.is_unusual && pages[0].stores());
            assert!(pages[0].first_load(false) >= GROUP);
        }
    }

    #[test]
    fn a_visit_without_a_reference_names_its_page() {
        let mut groups = VisitGroups::default();
        assert_eq!(groups.add(&visit(4, 0, 0), 0), Some(PageNumber(4)));
        let (group, pages, _) = groups.iter().next().expect("a group");
        assert!(!pages[0].is_referenced() && group.references == 0);
    }
}
