//! Pages that the kernel touches for the program.

use super::World;
use crate::populate::TouchedPart;
use crate::stream::Stream;
use broadleaf_memory::Pages;
use broadleaf_memory::system::Place;
use broadleaf_units::SpaceId;

impl World<'_> {
    /// The kernel touches pages: memory sees references, and the TLB sees none.
    pub(crate) fn populate(&mut self, space: SpaceId, parts: &[TouchedPart], stream: &Stream) {
        if self.ended.is_some() {
            return;
        }
        self.switch(space);
        if self.system.is_inheriting(space) {
            self.system.visited(space);
        }
        let time = stream.now();
        for part in parts {
            let (first, count) = self.system.base_pages(part.pages);
            for page in first..first + count {
                let at = Place { space, page };
                // Policies differ in the pages that are resident, but not in the number of pages.
                self.moment += 1;
                if self.system.look(at, part.store).is_none() {
                    self.settle(at, time, part.store, stream);
                    self.shoot_down(&stream.spaces);
                }
                if self.ended.is_some() {
                    return;
                }
            }
        }
    }

    /// `MADV_COLLAPSE`, for a policy that obeys it.
    pub(crate) fn collapse(&mut self, space: SpaceId, pages: Pages, stream: &Stream) {
        if self.ended.is_none() {
            self.moment += 1;
            self.system.set_moment(self.moment);
            let spaces = &stream.spaces;
            self.impose(spaces, |system| system.collapse(spaces, space, pages));
        }
    }
}
