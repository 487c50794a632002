//! References that memory alone sees: a program is moved forward.

use super::World;
use crate::stream::Stream;
use broadleaf_memory::system::Place;
use broadleaf_trace::{Lead, Visit};
use broadleaf_units::{PageNumber, SpaceId};

impl World<'_> {
    /// Lets memory see the references of a visit. Neither TLBs nor caches do.
    pub(crate) fn forward(
        &mut self,
        space: SpaceId,
        visit: &Visit,
        shift: u32,
        time: u64,
        stream: &Stream,
    ) {
        // A visit may have its only reference from an access that began on another page.
        let references = visit.fetch || visit.accesses() > 0 || visit.lead != Lead::None;
        if self.ended.is_some() || !references {
            return;
        }
        if self.mmu.running.0 != space {
            self.switch(space);
        }
        if self.system.is_inheriting(space) {
            self.system.visited(space);
        }
        self.moment += 1;
        if self.system.next_time() <= time {
            self.system.set_moment(self.moment);
            self.system.pass(&stream.spaces, time);
            self.shoot_down(&stream.spaces);
        }
        let page = self.system.base_page(PageNumber(visit.unit >> shift));
        let at = Place { space, page };
        let store = visit.stores > 0 || visit.lead == Lead::Store;
        if self.system.look(at, store).is_none() {
            self.settle(at, time, store, stream);
            self.shoot_down(&stream.spaces);
        }
    }

    /// Passes references to settled pages. Returns false if memory is used up, or if a daemon falls
    /// due at `now` or earlier.
    pub(crate) fn pass_forward(&mut self, references: u64, now: u64) -> bool {
        self.moment += references;
        self.ended.is_none() && self.system.next_time() > now
    }

    /// A number that changes whenever memory begins to act again at references that it left as they
    /// were.
    pub(crate) const fn unsettled(&self) -> u64 {
        self.system.unsettled()
    }
}
