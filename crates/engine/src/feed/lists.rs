//! Lists that are used again, so that their memory need not be asked for again.

use crate::sifted::{Fed, Sifted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many are kept at most.
const MOST: usize = 64;

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
        some.unwrap_or_default()
    }

    /// Takes the lists of a piece back that is no longer needed.
    pub(crate) fn give_back(&self, piece: Fed) {
        if let Fed::Visits(sifted, _) = piece {
            self.put(sifted);
        }
    }

    pub(super) fn put(&self, mut sifted: Sifted) {
        sifted.clear();
        let mut all = self.all();
        if all.len() < MOST {
            all.push(sifted);
        }
    }
}
