//! The next uses of translations, for the rule that knows the future.

use std::collections::BTreeMap;

use broadleaf_units::SpaceId;

use crate::tlb::PageSizeKind;

/// A translation: address space, page size, page number in units of that size.
type LookupKey = (SpaceId, PageSizeKind, u64);

/// The lookups of a replay, and the next use of each if an earlier replay found them. A lookup of
/// the translation of the lookup before is not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct OracleFuture {
    lookups: Vec<LookupKey>,
    next_uses: Vec<u64>,
}

impl OracleFuture {
    /// The future of a second replay, after a first one.
    pub(crate) fn after(first: &Self) -> Self {
        let mut later = BTreeMap::new();
        let numbered = first.lookups.iter().enumerate().rev();
        let next_uses = numbered.map(|(now, key)| later.insert(*key, now as u64));
        let mut next_uses: Vec<u64> = next_uses.map(|next| next.unwrap_or(u64::MAX)).collect();
        next_uses.reverse();
        Self {
            lookups: Vec::new(),
            next_uses,
        }
    }

    /// Passes a lookup. Returns its next use, if it is counted and the future is known.
    pub(crate) fn pass(&mut self, key: LookupKey) -> Option<u64> {
        if self.lookups.last() == Some(&key) {
            return None;
        }
        self.lookups.push(key);
        self.next_uses.get(self.lookups.len() - 1).copied()
    }
}
