//! Pools of buffers: lists of sifted visits that are reused without a new allocation.

use super::ahead::PIECE_KEPT;
use super::waiting::MOST_PIECES;
use broadleaf_filter::{Fed, Sifted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximum number of pooled lists: the number of full pieces that wait at most. Lists beyond it
/// are freed and allocated again, and the kernel zeroes their pages each time.
const MOST: usize = MOST_PIECES;
/// The initial capacity of a list, in visits: most pieces keep fewer, so their lists do not grow.
const ROOM: usize = 2 * PIECE_KEPT;
/// A piece that keeps fewer visits gets lists of its own, and the large lists stay in use.
const FEW: usize = PIECE_KEPT / 4;

/// A pool of lists. Clones share the pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListPool(Arc<Mutex<Vec<Sifted>>>);

impl ListPool {
    fn all(&self) -> MutexGuard<'_, Vec<Sifted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes empty lists from the pool.
    pub(super) fn take(&self) -> Sifted {
        let some = self.all().pop();
        some.unwrap_or_else(|| Sifted {
            kept: Vec::with_capacity(ROOM),
            ..Sifted::default()
        })
    }

    /// Returns the visits sifted so far as a piece, and empties `sifted`.
    pub(super) fn cut(&self, sifted: &mut Sifted) -> Sifted {
        if sifted.kept.len().max(sifted.trail.pages.len()) > FEW {
            return std::mem::replace(sifted, self.take());
        }
        let few = sifted.clone();
        sifted.clear();
        few
    }

    /// Returns the lists of a finished piece to the pool.
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
