//! The allocator tcmalloc.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "tcmalloc",
    applies: |program| program.contains("libtcmalloc"),
    purpose: "tcmalloc has no switch that asks for huge pages: it gets them if the kernel's \
              setting `enabled` is always. Without the return of free memory it keeps them",
    command: |program| program.with_environment(&["TCMALLOC_RELEASE_RATE=0"]),
    source: "gperftools, docs/tcmalloc.html, TCMALLOC_RELEASE_RATE",
};
