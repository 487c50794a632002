//! The oracle: slow and obvious models for comparison with the engine.
//!
//! The engine replays a trace with packed arrays and whole visits. The oracle implements the
//! written rules a second time, with vectors, ordered maps and one reference at a time. The rules
//! are `docs/spec/model.md` for memory and policies, and Zhu 2018,
//! section 4, for the TLBs. A difference between engine and oracle therefore reveals a mistake in
//! one of them. The oracle shares no code with the models that it checks.
//!
//! [`design`] models TLBs of any organisation and any levels (Talluri 1995, chapters 3 and 4).
//!
//! [`caches`] models cache hierarchies of several cores.
//!
//! [`replay_romer`] models policies that are notified of TLB misses (Romer 1995, and
//! `docs/spec/charges.md`).
//!
//! [`offline`] finds the best superpages from the beginning: by OFFLINE of the same paper, and
//! exactly.
//!
//! [`AssignedMemory`] assigns page sizes by lists of pages and frames: reservation, gather, repair
//! and the working set (Talluri 1995, chapter 6).
//!
//! [`VictimMemory`] chooses the pages that leave a memory that is short.
//!
//! [`scattered_frames`] lists the frames of a scattered superpage, and [`colours_of_pages`] the
//! colours of pages (Chen 2014).
//!
//! [`replay`] gives the counts of one policy. [`random`] makes traces that reach corner cases, and
//! shrinks a failing trace. [`split`] splits visits, which must not change a count. [`alone()`]
//! removes shared frames from a trace.
#![forbid(unsafe_code)]

mod alone;
mod assigned;
mod block;
pub mod caches;
mod colours;
mod counts;
pub mod design;
mod drawn;
mod fewest;
mod future;
mod machine;
mod mappings;
mod memory;
pub mod offline;
mod opt;
mod plain;
mod policy;
pub mod random;
mod recording;
mod replacement;
mod replay;
mod romer;
mod scattered;
pub mod split;
mod tlb;
mod victims;

pub use alone::alone;
pub use assigned::{AssignedCounts, AssignedMemory, AssignmentRule, Frames, GatherCosts};
pub use colours::{SlowOrder, colours_of_pages, lowest_of_colour};
pub use counts::OracleCounts;
pub use fewest::{
    SlowUse, fewest_misses, fewest_walks, fewest_walks_of_blocks, fewest_walks_of_levels,
};
pub use machine::{OracleMachine, RuledMachine};
pub use opt::belady;
pub use plain::PlainTlb;
pub use policy::PolicySpec;
pub use recording::{Foreknowledge, OwnedItem, Recording, Survey};
pub use replacement::RuleSpec;
pub use replay::{OracleReplay, Pace, curve, replay, replay_items};
pub use romer::{RomerCounts, RomerMachine, RomerPolicy, replay_romer};
pub use scattered::{first_place, scattered_frames};
pub use tlb::{AgedTlb, FoundIn, OfOneSize, PageSizeKind};
pub use victims::VictimMemory;
