//! Pages that the kernel makes resident: the touches of a `Populate` event.

use crate::batch::Incident;
use crate::events::pages;
use crate::stream::{Refused, Stream};
use broadleaf_memory::{AddressSpaces, Backing, GEOMETRY, Pages};
use broadleaf_trace::reduced::Manner;
use broadleaf_trace::{KernelTouch, Range};
use broadleaf_units::{PageNumber, SpaceId};

/// Pages that the kernel touches in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TouchedPart {
    pub(crate) pages: Pages,
    pub(crate) store: bool,
}

/// The mapped parts of a populated range. Pages outside every mapping and pages that the kernel
/// provides are left out.
pub(crate) fn parts(
    spaces: &AddressSpaces,
    space: SpaceId,
    range: Range,
    touch: KernelTouch,
) -> Vec<TouchedPart> {
    let as_mapped = matches!(touch, KernelTouch::AsMapped | KernelTouch::Collapse);
    let mappings = spaces.mappings_in(space, pages(range)).into_iter();
    mappings
        .filter(|mapping| mapping.backing != Backing::Kernel)
        .filter(|mapping| {
            let rights = mapping.rights;
            !as_mapped || rights.read || rights.write || rights.execute
        })
        .map(|mapping| TouchedPart {
            pages: mapping.pages,
            store: match touch {
                KernelTouch::Load => false,
                KernelTouch::Store => true,
                KernelTouch::AsMapped | KernelTouch::Collapse => {
                    mapping.rights.write && !mapping.shared
                }
            },
        })
        .collect()
}

/// A page whose state the kernel's access changes under every policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) page: PageNumber,
    pub(crate) incident: Incident,
    pub(crate) store: bool,
}

impl Stream {
    /// Takes a populated range in: the touches that change a page's state, in order of address.
    pub(crate) fn populate(
        &mut self,
        range: Range,
        touch: KernelTouch,
    ) -> Result<Vec<Touch>, Refused> {
        let mut touches = Vec::new();
        let time = self.now();
        for part in parts(&self.spaces, self.running, range, touch) {
            for page in (part.pages.start..part.pages.end).map(PageNumber) {
                let Some((block, seen)) = self.touch(page, part.store)? else {
                    continue;
                };
                let incident = Incident {
                    at: 0,
                    block,
                    offset: GEOMETRY.offset_in_block(page) as u16,
                    manner: Manner::LOAD,
                    time,
                    loads_before_store: 0,
                    seen,
                };
                touches.push(Touch {
                    page,
                    incident,
                    store: part.store,
                });
            }
        }
        Ok(touches)
    }
}
