//! The states of pages: which lookups change nothing now.

use crate::{Made, Recency, RecencyPlace, RecencyPlaces};

/// The state of a page in its recorded place, which is the state's lowest bits. Its lookups can be
/// left out.
pub(super) const IN_PLACE: u32 = 1 << 8;
/// The page was stored to since the last event.
pub(super) const STORED: u32 = 1 << 9;
/// A bit that no state has.
pub(super) const NEVER: u32 = 1 << 10;

/// No slot.
const NONE: u32 = u32::MAX;

/// The number of a page's state.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSlot(pub(super) u32);

/// The place that a state with [`IN_PLACE`] names.
#[inline]
pub(super) const fn place_in(state: u32) -> RecencyPlace {
    RecencyPlace::from_index(state as usize)
}

/// The states of some pages.
#[derive(Clone, Debug)]
pub(super) struct PageStates {
    states: Vec<u32>,
    /// By place: the slot of the page whose state names the place.
    owners: [u32; Recency::PLACES],
}

impl Default for PageStates {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            owners: [NONE; Recency::PLACES],
        }
    }
}

impl PageStates {
    /// Forgets all states, and makes room for `slots` of them.
    pub(super) fn resize(&mut self, slots: usize) {
        self.states.resize(slots, 0);
        self.forget();
    }

    /// Forgets all states.
    pub(super) fn forget(&mut self) {
        self.states.fill(0);
        self.owners.fill(NONE);
    }

    /// The states by slot.
    #[inline]
    pub(super) fn by_slot(&self) -> &[u32] {
        &self.states
    }

    fn of(&self, slot: PageSlot) -> u32 {
        self.states[slot.0 as usize]
    }

    /// The place of the page, or `None` if its lookups must be made.
    pub(super) fn place(&self, slot: PageSlot) -> Option<RecencyPlace> {
        let state = self.of(slot);
        (state & IN_PLACE != 0).then_some(place_in(state))
    }

    /// Returns true if the page was stored to.
    pub(super) fn was_stored_to(&self, slot: PageSlot) -> bool {
        self.of(slot) & STORED != 0
    }

    /// Notes a store to the page.
    pub(super) fn store(&mut self, slot: PageSlot) {
        self.states[slot.0 as usize] |= STORED;
    }

    /// Notes a lookup of the page that was made.
    pub(super) fn make(&mut self, slot: PageSlot, made: Made) {
        let Some(place) = made.place else { return };
        let before = self.owners[place.index()];
        if before != slot.0 && before != NONE {
            self.states[before as usize] &= STORED;
        }
        self.put(slot, place);
        self.fall(made.fallen);
    }

    fn put(&mut self, slot: PageSlot, place: RecencyPlace) {
        self.owners[place.index()] = slot.0;
        let state = &mut self.states[slot.0 as usize];
        *state = *state & STORED | IN_PLACE | place.index() as u32;
    }

    /// Marks pages that are no longer in their recorded places.
    pub(super) fn fall(&mut self, fallen: RecencyPlaces) {
        for place in fallen {
            let owner = self.owners[place.index()];
            if owner != NONE {
                self.states[owner as usize] &= !IN_PLACE;
            }
        }
    }

    /// Gives a slot to another page. `place` is the place of a page whose lookups can be left out.
    pub(super) fn replace(&mut self, slot: PageSlot, place: Option<RecencyPlace>, stored: bool) {
        let state = &mut self.states[slot.0 as usize];
        let owner = &mut self.owners[place_in(*state).index()];
        if *owner == slot.0 {
            *owner = NONE;
        }
        *state = if stored { STORED } else { 0 };
        if let Some(place) = place {
            self.put(slot, place);
        }
    }
}
