//! Lookups that wait: each machine makes many at a time, so that its TLB stays in the cache.
//!
//! Machines whose TLBs keep the last pages need not make every lookup. They form classes by the
//! number of pages that they keep. The filter of a class passes over the lookups once for all its
//! machines, after the filters of the classes that keep fewer pages.

use super::World;
use crate::mapped::{MappedMemory, PageLookup};
use crate::mmu::Mmu;
use broadleaf_filter::LastPages;
use broadleaf_memory::AddressSpaces;
use broadleaf_tlb::ReferenceKind;
use broadleaf_units::PageNumber;

/// A class has the pages of its smallest TLB, and TLBs with fewer than this many halves of these
/// pages.
const CLASS_HALVES: usize = 3;

/// The classes of a world's machines.
#[derive(Default)]
pub(super) struct LookupClasses {
    /// From the fewest pages to the most.
    classes: Vec<LookupClass>,
    /// For each machine, the number of its class. `None` for a machine that makes every lookup.
    of_machines: Vec<Option<usize>>,
    /// [`System::unsettled`](broadleaf_memory::system::System::unsettled) when last read.
    unsettled: u64,
}

/// Machines that make the same lookups.
struct LookupClass {
    filter: LastPages,
    /// The lookups that the machines make next.
    lookups: Vec<PageLookup>,
}

/// A lookup of a page that every TLB of a class holds. Its level counts only at a miss.
const fn renewal(page: PageNumber) -> PageLookup {
    PageLookup::new(page, 0, ReferenceKind::Load)
}

impl LookupClass {
    /// Adds the lookups that must be made.
    fn sift(&mut self, lookups: &[PageLookup]) {
        let made = &mut self.lookups;
        for lookup in lookups {
            // No machine of a class makes these.
            if lookup.kind == ReferenceKind::Fetch || lookup.after_stores {
                continue;
            }
            let stores = lookup.kind == ReferenceKind::Store;
            let mut renew = |page| made.push(renewal(page));
            if (self.filter).has_to_be_made(lookup.page, stores, &mut renew) {
                made.push(*lookup);
            }
        }
    }
}

impl LookupClasses {
    /// The classes of machines that keep these numbers of pages. `None` for a machine that makes
    /// every lookup.
    fn new(kept: &[Option<usize>]) -> Self {
        let mut sorted: Vec<usize> = kept.iter().flatten().copied().collect();
        sorted.sort_unstable();
        let mut least: Vec<usize> = Vec::new();
        for pages in sorted {
            if least
                .last()
                .is_none_or(|least| CLASS_HALVES * least <= 2 * pages)
            {
                least.push(pages);
            }
        }
        let class = |pages: &usize| LookupClass {
            filter: LastPages::new(*pages),
            lookups: Vec::new(),
        };
        let of_machine = |pages: &Option<usize>| {
            pages.map(|pages| least.partition_point(|least| *least <= pages) - 1)
        };
        Self {
            of_machines: kept.iter().map(of_machine).collect(),
            classes: least.iter().map(class).collect(),
            unsettled: 0,
        }
    }

    /// Finds the lookups of each class. If `ends` is true, each filter also makes those that it
    /// deferred, and forgets all pages.
    fn sift(&mut self, waiting: &[PageLookup], ends: bool) {
        for number in 0..self.classes.len() {
            let (before, rest) = self.classes.split_at_mut(number);
            let lookups = before.last().map_or(waiting, |class| &class.lookups);
            let Some(class) = rest.first_mut() else {
                return;
            };
            class.sift(lookups);
            if ends {
                let made = &mut class.lookups;
                class.filter.end(&mut |page| made.push(renewal(page)));
            }
        }
    }

    /// The lookups of a machine. `None` if the machine makes every lookup.
    fn of(&self, machine: usize) -> Option<&[PageLookup]> {
        let class = self.of_machines.get(machine).copied().flatten()?;
        self.classes.get(class).map(|class| &class.lookups[..])
    }

    /// Returns true if a machine leaves lookups out.
    pub(super) const fn has_any(&self) -> bool {
        !self.classes.is_empty()
    }

    fn clear(&mut self) {
        self.classes
            .iter_mut()
            .for_each(|class| class.lookups.clear());
    }
}

/// The number of last pages that a machine's TLB keeps, whatever kind of reference comes. `None` if
/// the machine makes every lookup.
fn kept_pages(mmu: &Mmu<'_>) -> Option<usize> {
    let is_filtered = !mmu.follows() && !mmu.translates_fetches() && mmu.cached.is_none();
    (mmu.machine.design.last_pages()).filter(|_| is_filtered)
}

impl World<'_> {
    /// Lets machines leave out lookups that change nothing in their TLBs. No lookup was made so
    /// far.
    pub(super) fn classify_machines(&mut self) {
        if self.counts_uses || self.parts_loads || self.charged.is_some() || self.recorder.is_some()
        {
            return;
        }
        let kept: Vec<Option<usize>> = std::iter::once(&self.mmu)
            .chain(&self.observers)
            .map(kept_pages)
            .collect();
        self.first_waits = kept[0].is_some();
        self.reads_tables |= self.first_waits && self.mmu.wants_tables();
        self.classes = LookupClasses::new(&kept);
    }

    /// Lets the machines make the lookups that wait. `spaces` is `None` if memory has changed
    /// already. Then the caller makes sure that no lookup that waits reads a page table.
    pub(super) fn translate_now(&mut self, spaces: Option<&AddressSpaces>) {
        let has_memory = spaces.is_some() || !self.reads_tables || self.waiting.is_empty();
        debug_assert!(has_memory, "a lookup waited while memory changed");
        let unsettled = self.system.unsettled();
        if self.classes.unsettled != unsettled {
            // Lookups of before the change do not wait, or their TLBs know no modified bits.
            self.end_classes();
            self.classes.unsettled = unsettled;
        }
        self.classes.sift(&self.waiting, false);
        self.make_lookups(spaces);
        self.waiting.clear();
    }

    /// Makes the lookups that the classes deferred, since what their filters know does not hold
    /// from here on. Lookups that wait beside them go on waiting.
    pub(super) fn end_classes(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.classes.sift(&[], true);
        self.make_lookups(None);
        self.waiting = waiting;
    }

    /// Makes the lookups of all machines, and walks the tables of their followers.
    fn make_lookups(&mut self, spaces: Option<&AddressSpaces>) {
        self.read.renew(self.system.entries_set());
        for number in 0..=self.observers.len() {
            self.make_lookups_of(number, spaces);
            if let Some(misses) = self.mmu_mut(number).take_misses() {
                self.follow_misses(number, misses);
            }
        }
        self.classes.clear();
    }

    fn make_lookups_of(&mut self, number: usize, spaces: Option<&AddressSpaces>) {
        let mmu = match number.checked_sub(1) {
            None if !self.first_waits => return,
            None => &mut self.mmu,
            Some(at) => &mut self.observers[at],
        };
        if mmu.follows() {
            return;
        }
        let mut memory = MappedMemory::new(&self.system, spaces);
        if self.reads_tables {
            memory = memory.with(&self.read);
        }
        let lookups = self.classes.of(number).unwrap_or(&self.waiting);
        match self.counts_uses {
            // Repeated uses follow the lookup, and belong to its page. So each lookup is made.
            true => lookups
                .iter()
                .for_each(|lookup| mmu.translate(lookup, &memory)),
            false => mmu.translate_all(lookups, &memory),
        }
    }
}
