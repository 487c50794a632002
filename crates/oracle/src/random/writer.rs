//! Conversion of steps into the visits and events of a trace.

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_trace::{Event, Grain, Visit};

use super::space::WriterSpace;
use super::{Action, Rng};
use crate::{OwnedItem, Recording};

/// A trace under construction.
pub(super) struct Writer {
    pub(super) grain: Grain,
    mapped_spaces: u8,
    items: Vec<OwnedItem>,
    /// Visits since the last event.
    visits: Vec<Visit>,
    spaces: BTreeMap<u32, WriterSpace>,
    /// Spaces that neither ended nor were replaced.
    pub(super) living: Vec<u32>,
    /// Spaces with a start event.
    pub(super) started: BTreeSet<u32>,
    pub(super) running: u32,
    pub(super) named_files: BTreeSet<u32>,
}

impl Writer {
    pub(super) fn new(grain: Grain, mapped_spaces: u8) -> Self {
        Self {
            grain,
            mapped_spaces,
            items: Vec::new(),
            visits: Vec::new(),
            spaces: BTreeMap::from([(0, WriterSpace::new(mapped_spaces & 1 != 0))]),
            living: vec![0],
            started: BTreeSet::from([0]),
            running: 0,
            named_files: BTreeSet::new(),
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
        let has_maps = self.space().has_maps;
        match action {
            // A program maps memory before using it; sometimes the recorder missed the mapping.
            Action::Fill | Action::Wander
                if has_maps && self.space().is_bare() && !rng.one_in(4) =>
            {
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
            // The other actions need map events.
            _ if !has_maps => self.fill(rng),
            Action::Map => self.map(rng),
            Action::Tile => self.tile(rng),
            Action::Brk => self.brk(rng),
            Action::StackGrow => self.stack_grow(rng),
        }
    }

    pub(super) fn space(&mut self) -> &mut WriterSpace {
        self.spaces
            .entry(self.running)
            .or_insert_with(|| WriterSpace::new(false))
    }

    pub(super) fn new_space(&mut self) -> u32 {
        let id = self.spaces.len() as u32;
        self.spaces.insert(
            id,
            WriterSpace::new(self.mapped_spaces >> (id % 8) & 1 != 0),
        );
        self.living.push(id);
        id
    }

    /// Makes the running space empty again.
    pub(super) fn begin_again(&mut self) {
        let has_maps = self.space().has_maps;
        self.spaces.insert(self.running, WriterSpace::new(has_maps));
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

    /// Appends a visit with a final unit.
    pub(super) fn push(&mut self, visit: Visit) {
        self.visits.push(visit);
    }

    /// Appends a visit to the page `visit.unit`, at the trace's grain.
    pub(super) fn visit(&mut self, rng: &mut Rng, mut visit: Visit) {
        if self.grain == Grain::Line {
            visit.unit = visit.unit << 6 | rng.below(64);
        }
        self.push(visit);
        if rng.one_in(100) {
            self.end_of_visits();
        }
    }

    /// Appends two visits. The second leads with the first's last access, in the next unit.
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
