//! Worst fit: an extent in the longest run.

use super::Allocator;
use super::state::lowest_in;
use broadleaf_units::Described;

pub(super) static WORST_FIT: Allocator = Allocator {
    described: Described {
        name: "worst-fit",
        summary: "an extent in the longest run of free frames",
        explanation: "Of all runs of free frames, the longest one with an aligned extent is \
                      taken, and of equally long runs the lowest. The extent is the lowest of its \
                      run. What is left of the run is as long as it can be.",
        source: "Talluri 1995, section 6.2.1",
    },
    divides: false,
    choose: Some(|pool, order| {
        let mut runs = pool.chosen_by.as_ref()?.longest_runs();
        runs.find_map(|run| lowest_in(&run, order))
    }),
};
