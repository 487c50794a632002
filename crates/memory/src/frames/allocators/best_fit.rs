//! Best fit: an extent in the shortest run.

use super::Allocator;
use super::state::lowest_in;
use broadleaf_units::Described;

pub(super) static BEST_FIT: Allocator = Allocator {
    described: Described {
        name: "best-fit",
        summary: "an extent in the shortest run of free frames that has room for it",
        explanation: "Of all runs of free frames, the shortest one with an aligned extent is \
                      taken, and of equally long runs the lowest. The extent is the lowest of its \
                      run. Long runs stay whole, and short ones are used up.",
        source: "Talluri 1995, section 6.2.1",
    },
    divides: false,
    choose: Some(|pool, order| {
        let mut runs = pool.chosen_by.as_ref()?.runs_from(1 << order);
        runs.find_map(|run| lowest_in(&run, order))
    }),
};
