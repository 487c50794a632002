//! First fit: the lowest extent.

use super::super::Frame;
use super::Allocator;
use broadleaf_units::Described;

pub(super) static FIRST_FIT: Allocator = Allocator {
    described: Described {
        name: "first-fit",
        summary: "the lowest free extent that is large enough",
        explanation: "The frames are searched from the lowest address on, and the first aligned \
                      extent of free frames is taken. Nothing is kept in lists by size, so single \
                      frames break large extents at low addresses.",
        source: "Talluri 1995, section 6.2.1",
    },
    divides: false,
    choose: Some(|pool, order| pool.next_free(Frame(0), order)),
};
