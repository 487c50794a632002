//! Pages that the kernel makes resident: the touches of a `Populate` event.

use crate::events::pages;
use broadleaf_memory::{AddressSpaces, Backing, Pages};
use broadleaf_trace::{KernelTouch, Range};
use broadleaf_units::SpaceId;

/// Pages that the kernel touches in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchedPart {
    /// The pages.
    pub pages: Pages,
    /// The kernel stores to the pages.
    pub store: bool,
}

/// The mapped parts of a populated range. Pages outside every mapping and pages that the kernel
/// provides are left out.
pub fn parts(
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
