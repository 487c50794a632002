//! The allocator jemalloc.

use super::Switch;

pub(super) const SWITCH: Switch = Switch {
    name: "jemalloc",
    applies: |program| program.contains("libjemalloc") || program.contains("MALLOC_CONF"),
    purpose: "jemalloc's own switch: it asks for huge pages for all that it maps (`enabled` at \
              madvise or always)",
    command: |program| program.with_environment(&["MALLOC_CONF=thp:always"]),
    source: "jemalloc(3), opt.thp",
};
