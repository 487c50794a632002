//! Pools: memory is divided among the page sizes for good.

use super::super::Frame;
use super::Allocator;
use broadleaf_units::Described;

pub(super) static POOLS: Allocator = Allocator {
    described: Described {
        name: "pools",
        summary: "memory that is divided among the page sizes for good",
        explanation: "A share of memory (--pools) is divided equally among the superpage sizes of \
                      the policy, and base pages have the rest. Each size is served from its own \
                      pool, at the lowest address. Memory does not fragment, but a pool can be \
                      used up while others are free: then base pages are reclaimed, and \
                      superpages are not to be had. No reservation is broken for another size, \
                      and nothing is compacted. Page tables come from the pool of base pages.",
        source: "Kagimasa et al. 1991, by Talluri 1995, section 6.2.1",
    },
    divides: true,
    choose: Some(|pool, order| {
        let own = pool.chosen_by.as_ref()?.frames_of(order);
        own.iter().find_map(|frames| {
            let first = pool.next_free(Frame(frames.start), order)?;
            (first.0 + (1 << order) <= frames.end).then_some(first)
        })
    }),
};
