//! No caches.

use super::CacheKind;
use broadleaf_units::Described;

pub(super) static NONE: CacheKind = CacheKind {
    described: Described {
        name: "none",
        summary: "no caches: the cost of a walk depends on the size of the page alone",
        explanation: "Accesses of the program and reads of a walk cost nothing by themselves. The \
                      machine's table of cycles for each page size holds the mean cost of a walk.",
        source: "Zhu 2018, chapter 6",
    },
    movement: None,
};
