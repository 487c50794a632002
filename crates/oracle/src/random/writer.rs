//! Turns steps into the visits and events of a trace.

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_trace::{Event, Grain, Visit};

use super::space::Space;
use super::{Action, Rng};
use crate::{OwnedItem, Recording};

/// A trace that is being written.
pub(super) struct Writer {
    pub(super) grain: Grain,
    told: u8,
    items: Vec<OwnedItem>,
    /// Visits since the last event.
    visits: Vec<Visit>,
    spaces: BTreeMap<u32, Space>,
    /// Spaces that have neither ended nor been replaced.
    pub(super) living: Vec<u32>,
    /// Spaces whose start has been told.
    pub(super) started: BTreeSet<u32>,
    pub(super) running: u32,
    pub(super) files_told: BTreeSet<u32>,
}

impl Writer {
    pub(super) fn new(grain: Grain, told: u8) -> Self {
        Self {
            grain,
            told,
            items: Vec::new(),
            visits: Vec::new(),
            spaces: BTreeMap::from([(0, Space::new(told & 1 != 0))]),
            living: vec![0],
            started: BTreeSet::from([0]),
            running: 0,
            files_told: BTreeSet::new(),
        }
    }

    pub(super) fn finish(mut self) -> Recording {
        self.end_of_visits();
        Recording {
            grain: self.grain,
            items: self.items,
        }
    }

    pub(super) fn step(&mut self, action: Action, rng: &mut Rng) {
        let told = self.space().told;
        match action {
            // A program maps what it is about to use; now and then the recorder has not seen it do so.
            Action::Fill | Action::Wander if told && self.space().is_bare() && !rng.one_in(4) => {
                self.map(rng);
                self.fill(rng);
            }
            Action::Fill => self.fill(rng),
            Action::Wander => self.wander(rng),
            Action::Chase => self.chase(rng),
            Action::Straddle => self.straddle(rng),
            Action::Wait => self.wait(rng),
            Action::Switch => self.switch(rng),
            Action::Leave => self.leave(rng),
            Action::Noise => self.noise(rng),
            Action::Advise => self.advise(rng),
            Action::Populate => self.populate(rng),
            Action::Unmap => self.unmap(rng),
            Action::Protect => self.protect(rng),
            Action::Remap => self.remap(rng),
            // The others tell a mapping.
            _ if !told => self.fill(rng),
            Action::Map => self.map(rng),
            Action::Tile => self.tile(rng),
            Action::Brk => self.brk(rng),
            Action::StackGrow => self.stack_grow(rng),
        }
    }

    pub(super) fn space(&mut self) -> &mut Space {
        self.spaces
            .entry(self.running)
            .or_insert_with(|| Space::new(false))
    }

    pub(super) fn new_space(&mut self) -> u32 {
        let id = self.spaces.len() as u32;
        self.spaces
            .insert(id, Space::new(self.told >> (id % 8) & 1 != 0));
        self.living.push(id);
        id
    }

    /// The running space is empty again.
    pub(super) fn begin_again(&mut self) {
        let told = self.space().told;
        self.spaces.insert(self.running, Space::new(told));
    }

    // ---- output ----

    fn end_of_visits(&mut self) {
        if !self.visits.is_empty() {
            self.items
                .push(OwnedItem::Visits(std::mem::take(&mut self.visits)));
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        self.end_of_visits();
        self.items.push(OwnedItem::Event(event));
    }

    /// A visit whose unit is final.
    pub(super) fn push(&mut self, visit: Visit) {
        self.visits.push(visit);
    }

    /// A visit to the page that `visit.unit` names, at the trace's grain.
    pub(super) fn visit(&mut self, rng: &mut Rng, mut visit: Visit) {
        if self.grain == Grain::Line {
            visit.unit = visit.unit << 6 | rng.below(64);
        }
        self.push(visit);
        if rng.one_in(100) {
            self.end_of_visits();
        }
    }

    /// Two visits of which the second leads with the first's last access, in the unit that follows.
    pub(super) fn straddling(&mut self, rng: &mut Rng, mut lower: Visit, mut upper: Visit) {
        if self.grain == Grain::Line {
            lower.unit = lower.unit << 6 | rng.pick(&[63, 63, 20]);
        }
        upper.unit = lower.unit + 1;
        self.push(lower);
        if rng.one_in(5) {
            self.end_of_visits();
        }
        self.push(upper);
    }
}
