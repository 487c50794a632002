//! The trap engine: it counts the TLB misses of a running program by trapping only them.
//!
//! A page is open while the first level of the modelled TLB holds its translation, and closed
//! otherwise. A reference to a closed page traps. The handler runs in the thread that trapped: it
//! lets the TLB load the translation, opens what the new entry covers, and closes what its victim
//! covered (Talluri 1995, section 5.2). Between misses, the program runs at its own speed.
//!
//! The engine shares a process with the program (`inside`). [`count`] starts that process and waits
//! for its end. References of instructions do not trap: pages that hold code are always open.

mod counts;
mod design;
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere;
#[cfg(target_arch = "x86_64")]
mod inside;
mod pages;
mod run;
mod script;

#[cfg(not(target_arch = "x86_64"))]
use elsewhere as inside;

pub use counts::TrapCounts;
pub use design::{RefusedDesign, check};
pub use run::{Mechanism, TrapError, TrapFinished, TrapOptions, count};
