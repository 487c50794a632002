//! The conditions of this machine that keep a governor from its work.

use broadleaf_governor::{Abilities, Obstacle};

/// Returns the obstacles to governing on this machine: to processes that run already if `attaching`
/// is set, otherwise to programs that are started. A dry run only looks, so it needs neither rights
/// nor a recent kernel.
pub(crate) fn obstacles(attaching: bool, dry: bool) -> Vec<Obstacle> {
    let mut found = Abilities::here().obstacles(attaching);
    if dry {
        found.retain(|obstacle| {
            !matches!(
                obstacle,
                Obstacle::NoRight | Obstacle::TooOld(_) | Obstacle::Blind
            )
        });
    }
    found
}
