//! The buddy allocator.

use super::Allocator;
use broadleaf_units::Described;

pub(super) static BUDDY: Allocator = Allocator {
    described: Described {
        name: "buddy",
        summary: "the smallest free extent of a power of two that is large enough",
        explanation: "Free memory is kept in lists of extents of 1, 2, 4 and more frames. The \
                      lowest extent of the smallest sufficient size is cut in halves until it \
                      fits, and free buddies are merged. Linux and FreeBSD allocate in this way.",
        source: "Knuth, The Art of Computer Programming, volume 1, section 2.5; Talluri 1995, \
                 section 6.2.1",
    },
    divides: false,
    choose: None,
};
