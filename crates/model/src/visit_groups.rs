//! Groups of consecutive visits, each with its pages. Pages that share a slot may be there twice.
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

    /// Notes the references of a visit of that number.
    fn note(&mut self, kinds: Kinds, at: u8) {
        let has = |bits: u8| kinds.0 & bits != 0;
        let note = |first: &mut u8, is_made: bool| {
            if is_made {
                *first = at.min(*first);
            }
        };
        note(&mut self.load, has(Kinds::LOAD | Kinds::LEAD_LOAD));
        note(&mut self.store, has(Kinds::STORE | Kinds::LEAD_STORE));
        note(&mut self.late_load, has(Kinds::LATE_LOAD));
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

/// The references of a visit, in order: `Some(true)` for a store, `Some(false)` for a load. They
/// are the lead, the first load before the stores, and the first store.
#[inline]
pub(crate) fn references(visit: &Visit) -> [Option<bool>; 3] {
    let lead = match visit.lead {
        Lead::None => None,
        Lead::Load => Some(false),
        Lead::Store => Some(true),
    };
    let stores = visit.stores > 0;
    let loads = match stores {
        false => visit.loads > 0,
        true => visit.loads_before_store.min(visit.loads) > 0,
    };
    [lead, loads.then_some(false), stores.then_some(true)]
}

/// A group of visits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VisitGroup {
    /// The pages of all groups before, and those with the pages of this group.
    pages_begin: usize,
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
    /// The number of the page among those of the group.
    number: u8,
    /// The kinds of its references so far.
    kinds: Kinds,
}

/// The kinds of the references of visits to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds(u8);

impl Kinds {
    const LOAD: u8 = 1;
    const STORE: u8 = 2;
    const LATE_LOAD: u8 = 4;
    const LEAD_LOAD: u8 = 8;
    const LEAD_STORE: u8 = 16;

    #[inline]
    fn of(visit: &Visit) -> Self {
        let stores = visit.stores > 0;
        let before = if stores {
            visit.loads_before_store
        } else {
            u32::MAX
        };
        let lead = match visit.lead {
            Lead::None => 0,
            Lead::Load => Self::LEAD_LOAD,
            Lead::Store => Self::LEAD_STORE,
        };
        let load = u8::from(before.min(visit.loads) > 0) * Self::LOAD;
        let store = u8::from(stores) * Self::STORE;
        let late = u8::from(stores & (visit.loads > 0)) * Self::LATE_LOAD;
        Self(load | store | late | lead)
    }

    /// The references that memory counts: the lead, the first load and the first store.
    #[inline]
    const fn references(self) -> u64 {
        let bits = self.0;
        let leads = bits >> 3 & 1 | bits >> 4;
        ((bits & 1) + (bits >> 1 & 1) + leads) as u64
    }

    #[inline]
    const fn contain(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    const fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
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
    /// Adds the next visit. `shift` is the number of low bits of a unit inside a page, and `code`
    /// is true if fetches of instructions refer to memory. Returns the page if the group had no
    /// visit to it before.
    #[inline]
    pub(crate) fn add(&mut self, visit: &Visit, shift: u32, code: bool) -> Option<PageNumber> {
        let at = self.numbers.len() % GROUP;
        if at == 0 {
            self.begin();
        }
        let group = self.groups.last_mut()?;
        group.instructions += u64::from(visit.instructions);
        let page = PageNumber(visit.unit >> shift);
        if visit.fetch {
            group.is_unusual |= code;
            self.numbers.push(0);
            return Some(page);
        }
        group.accesses += u64::from(visit.loads) + u64::from(visit.stores);
        let kinds = Kinds::of(visit);
        group.references += kinds.references();
        let slot = &mut self.slots[(page.0 ^ page.0 >> 8) as usize % SLOTS];
        let is_known = slot.group == self.number && slot.page == page;
        if is_known && slot.kinds.contain(kinds) {
            self.numbers.push(slot.number);
            return None;
        }
        if !is_known {
            *slot = GroupSlot {
                page,
                group: self.number,
                number: (self.pages.len() - group.pages_begin) as u8,
                kinds: Kinds::default(),
            };
            self.pages.push(GroupPage::new(page));
            group.pages_end = self.pages.len();
        }
        self.numbers.push(slot.number);
        slot.kinds.add(kinds);
        let place = group.pages_begin + usize::from(slot.number);
        self.pages[place].note(kinds, at as u8);
        (!is_known).then_some(page)
    }

    fn begin(&mut self) {
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.slots.fill(GroupSlot::default());
            self.number = 1;
        }
        self.groups.push(VisitGroup {
            pages_begin: self.pages.len(),
            pages_end: self.pages.len(),
            ..VisitGroup::default()
        });
    }

    /// The groups with their pages, and for each visit the number of its page.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&VisitGroup, &[GroupPage], &[u8])> {
        let groups = self.groups.iter().zip(self.numbers.chunks(GROUP));
        groups.map(|(group, numbers)| {
            let pages = &self.pages[group.pages_begin..group.pages_end];
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
            let new = groups.add(&visit(number % 3, 2, stores), 0, false);
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
    fn leads_are_references_and_fetches_of_code_make_a_group_unusual() {
        let lead = Visit {
            lead: Lead::Store,
            ..visit(7, 1, 0)
        };
        let fetch = Visit {
            fetch: true,
            ..visit(8, 0, 0)
        };
        for code in [false, true] {
            let mut groups = VisitGroups::default();
            groups.add(&fetch, 0, code);
            groups.add(&lead, 0, code);
            let (group, pages, numbers) = groups.iter().next().expect("a group");
            assert_eq!((group.is_unusual, group.references), (code, 2));
            assert_eq!((numbers, pages.len()), (&[0, 0][..], 1));
            assert_eq!((pages[0].first_store(), pages[0].first_load(false)), (1, 1));
        }
    }

    #[test]
    fn a_visit_without_a_reference_names_its_page() {
        let mut groups = VisitGroups::default();
        assert_eq!(groups.add(&visit(4, 0, 0), 0, false), Some(PageNumber(4)));
        let (group, pages, _) = groups.iter().next().expect("a group");
        assert!(!pages[0].is_referenced() && group.references == 0);
    }
}
