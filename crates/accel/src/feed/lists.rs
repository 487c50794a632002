//! Lists that are used again, so that their memory need not be asked for again.

use super::ahead::PIECE_KEPT;
use broadleaf_filter::{Fed, Sifted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many are kept at most.
const MOST: usize = 64;
/// For how many visits they have room from the start: for all that are kept of a piece, mostly, so
/// that what is written is not moved.
const ROOM: usize = 2 * PIECE_KEPT;
/// Where fewer are kept, a piece gets lists of its own, and these go on being used.
const FEW: usize = PIECE_KEPT / 4;

/// Lists that are used again, by whoever needs one. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists(Arc<Mutex<Vec<Sifted>>>);

impl Lists {
    fn all(&self) -> MutexGuard<'_, Vec<Sifted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists that hold nothing.
    pub(super) fn take(&self) -> Sifted {
        let some = self.all().pop();
        some.unwrap_or_else(|| Sifted {
            kept: Vec::with_capacity(ROOM),
            ..Sifted::default()
        })
    }

    /// What was sifted so far, as a piece of its own. Nothing is left in `sifted`.
    pub(super) fn cut(&self, sifted: &mut Sifted) -> Sifted {
        if sifted.kept.len().max(sifted.trail.pages.len()) > FEW {
            return std::mem::replace(sifted, self.take());
        }
        let few = sifted.clone();
        sifted.clear();
        few
    }

    /// Takes the lists of a piece back that is no longer needed.
    pub(crate) fn give_back(&self, piece: Fed) {
        if let Fed::Visits(sifted, _) = piece {
            self.put(sifted);
        }
    }

    pub(super) fn put(&self, mut sifted: Sifted) {
        if sifted.kept.capacity() < ROOM {
            return;
        }
        sifted.clear();
        let mut all = self.all();
        if all.len() < MOST {
            all.push(sifted);
        }
    }
}
