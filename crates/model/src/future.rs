//! The future of lookups, for replacement rules that know it: a pass before the replay records the
//! translation of each lookup, and the replay reads the time of its next use.

use crate::passes::Passes;
use crate::worlds::Worlds;
use crate::{Error, Source};
use broadleaf_tlb::RuleNeed;
use broadleaf_units::{Asid, PageNumber, PageSize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most lookups whose next uses are kept for all machines of a plan: 2 GiB.
pub(crate) const MOST_NEXT_USES: usize = 1 << 29;

/// The lookups that a machine adds to its share of the room at once.
const SHARE: usize = 1 << 10;

/// The number of lookups that the machines of a plan may still record, all together.
#[derive(Clone, Debug)]
pub(crate) struct LookupRoom(Arc<AtomicUsize>);

impl LookupRoom {
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(most)))
    }

    /// Takes room for one more share. Returns false if there is none.
    fn take(&self) -> bool {
        // The counter orders no other memory.
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self
            .0
            .fetch_update(set, get, |left| left.checked_sub(SHARE));
        taken.is_ok()
    }
}

/// The translation of a lookup: its space, its first base page and its size.
type LookupKey = (Asid, PageNumber, PageSize);

/// The lookup that uses a translation again, by the number of the lookup before. `u32::MAX` if none
/// does. A lookup of the translation of the lookup before has no number.
pub(crate) type NextUses = Arc<[u32]>;

/// The state of one machine's TLB in time.
#[derive(Debug)]
pub(crate) enum LookupFuture {
    /// The translations of all lookups so far, by their numbers.
    Recording {
        numbers: BTreeMap<LookupKey, u32>,
        lookups: Vec<u32>,
        last: Option<LookupKey>,
        room: LookupRoom,
        /// The number of lookups for which the machine has taken room.
        share: usize,
        /// True if there was no room for a lookup.
        is_full: bool,
    },
    /// The next uses, and the number of the lookup that comes now.
    Known {
        uses: NextUses,
        now: usize,
        last: Option<LookupKey>,
    },
}

impl LookupFuture {
    /// Records lookups as long as there is room.
    pub(crate) const fn recording(room: LookupRoom) -> Self {
        Self::Recording {
            numbers: BTreeMap::new(),
            lookups: Vec::new(),
            last: None,
            room,
            share: 0,
            is_full: false,
        }
    }

    pub(crate) const fn known(uses: NextUses) -> Self {
        Self::Known {
            uses,
            now: 0,
            last: None,
        }
    }

    /// Passes a lookup. Returns the number of the lookup that uses the translation again, if a
    /// lookup does and the future is known. `None` if the lookup has no number.
    pub(crate) fn pass(&mut self, key: LookupKey) -> Option<u64> {
        match self {
            Self::Recording {
                numbers,
                lookups,
                last,
                room,
                share,
                is_full,
            } => {
                if last.replace(key) != Some(key) && !*is_full {
                    if lookups.len() == *share {
                        if !room.take() {
                            *is_full = true;
                            return None;
                        }
                        *share += SHARE;
                    }
                    // Fewer than the lookups.
                    let next = numbers.len() as u32;
                    lookups.push(*numbers.entry(key).or_insert(next));
                }
                None
            }
            Self::Known { uses, now, last } => {
                if last.replace(key) == Some(key) {
                    return None;
                }
                let next = uses.get(*now).copied().filter(|next| *next != u32::MAX);
                *now += 1;
                Some(next.map_or(u64::MAX, u64::from))
            }
        }
    }

    /// The next use of each lookup that was recorded. `None` if there were too many.
    pub(crate) fn uses(self) -> Option<NextUses> {
        let Self::Recording {
            numbers,
            lookups,
            is_full: false,
            ..
        } = self
        else {
            return None;
        };
        let mut later = vec![u32::MAX; numbers.len()];
        let mut uses = lookups;
        for (now, place) in uses.iter_mut().enumerate().rev() {
            *place = std::mem::replace(&mut later[*place as usize], now as u32);
        }
        Some(uses.into())
    }
}

/// The next uses of the lookups of each machine that knows the future, in the order of the worlds
/// and of the machines of each. One more pass over the traces records them.
pub(crate) fn foresee<'a, S: Source>(
    passes: &mut Passes<'_, '_, S>,
    worlds: impl Fn() -> Result<Worlds<'a>, String>,
) -> Result<Vec<NextUses>, Error<S::Error>> {
    let mut machines = passes.plan.machines().iter();
    if !machines.any(|machine| machine.design.needs(RuleNeed::Future)) {
        return Ok(Vec::new());
    }
    passes.state.passes = passes.state.passes.max(passes.state.pass + 2);
    let most = passes.plan.most_next_uses();
    let recording = || Ok(worlds()?.recording_lookups(&LookupRoom::new(most)));
    let futures = passes.replay(recording)?.worlds.into_futures();
    let uses: Option<Vec<NextUses>> = futures.map(LookupFuture::uses).collect();
    uses.ok_or_else(|| {
        Error::Memory(format!(
            "replacement rules that know the future keep the next uses of {most} lookups at most, \
             for all machines and policies together, and the trace makes more: record a part of \
             the program, compare fewer machines or policies, or choose another rule"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_those_of_the_recorded_lookups() {
        let key = |page: u64| (Asid::ZERO, PageNumber(page), PageSize::SIZE_4K);
        let pages = [3, 5, 5, 5, 3, 7, 5, 3];
        let mut recording = LookupFuture::recording(LookupRoom::new(SHARE));
        for page in pages {
            assert_eq!(recording.pass(key(page)), None);
        }
        let uses = recording.uses().expect("few lookups");
        // 3, 5, 3, 7, 5, 3: the repeated lookups of 5 have no number.
        let never = u32::MAX;
        assert_eq!(*uses, [2, 4, 5, never, never, never]);
        let mut known = LookupFuture::known(uses);
        let passed: Vec<Option<u64>> = pages.map(|page| known.pass(key(page))).to_vec();
        let never = Some(u64::MAX);
        let wanted = [Some(2), Some(4), None, None, Some(5), never, never, never];
        assert_eq!(passed, wanted);
    }

    #[test]
    fn all_recordings_share_one_room() {
        let room = LookupRoom::new(3 * SHARE);
        let record = |lookups: usize| {
            let mut recording = LookupFuture::recording(room.clone());
            for page in 0..lookups as u64 {
                recording.pass((Asid::ZERO, PageNumber(page), PageSize::SIZE_4K));
            }
            recording.uses().map(|uses| uses.len())
        };
        assert_eq!(record(SHARE + 1), Some(SHARE + 1));
        assert_eq!(record(SHARE + 1), None);
        assert_eq!(record(1), None);
    }
}
