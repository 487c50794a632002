//! The sections of the stream chunk under construction, and the tables that its decoder will have.

use crate::chunk::Totals;
use crate::decode::recent_place;
use crate::error::WriteError;
use crate::event::Event;
use crate::event_bytes::EventEncoder;
use crate::varint;
use crate::write::StreamChunk;

const PATH_NEXT: u8 = 0;
const PATH_OTHER: u8 = 1;
const PATH_NAMED: u8 = 2;
const PATH_NONE: u8 = 3;
const LEFT_SAME: u8 = 1 << 2;
const LEFT_MASK: u8 = 2 << 2;
const LONG_RUN: u64 = 15;

const NO_PATTERN: u32 = u32::MAX;
const NO_UNIT: u64 = u64::MAX;

/// The size of a finished chunk: accesses, and bytes that encode them.
const ENOUGH_ACCESSES: u64 = 1 << 24;
const ENOUGH_BYTES: usize = 1 << 23;

/// The decoder's state of one pattern, which has at most one reference.
#[derive(Clone, Copy, Debug)]
struct PatternState {
    next: u32,
    other: u32,
    last: u64,
    masked: bool,
    used: bool,
}

const EMPTY: PatternState = PatternState {
    next: NO_PATTERN,
    other: NO_PATTERN,
    last: NO_UNIT,
    masked: false,
    used: false,
};

/// The destination of an execution's reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExecutionTarget {
    pub(super) unit: u64,
    /// The number of further units that the access reaches.
    pub(super) reach: u64,
}

/// The chunk under construction.
#[derive(Debug)]
pub(super) struct StreamBuilder {
    heads: Vec<u8>,
    runs: Vec<u8>,
    patterns: Vec<u8>,
    masks: Vec<u8>,
    units: Vec<u8>,
    places: Vec<u8>,
    events: EventEncoder,
    totals: Totals,
    /// The state before any pattern at index 0, then the patterns.
    entries: Vec<PatternState>,
    used: Vec<u32>,
    recent: [u64; 256],
    last_unit: u64,
    /// The index of the last executed pattern's entry.
    current: usize,
    /// The number of predicted executions since the last head.
    run: u64,
}

impl StreamBuilder {
    pub(super) fn new() -> Self {
        Self {
            heads: Vec::new(),
            runs: Vec::new(),
            patterns: Vec::new(),
            masks: Vec::new(),
            units: Vec::new(),
            places: Vec::new(),
            events: EventEncoder::new(),
            totals: Totals::default(),
            entries: vec![EMPTY],
            used: Vec::new(),
            recent: [0; 256],
            last_unit: 0,
            current: 0,
            run: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.totals.executions == 0 && self.events.bytes().is_empty()
    }

    pub(super) fn is_enough(&self) -> bool {
        self.totals.accesses() >= ENOUGH_ACCESSES
            || self.heads.len() + self.units.len() + self.places.len() >= ENOUGH_BYTES
    }

    /// Makes room for this number of patterns.
    pub(super) fn make_room(&mut self, patterns: u32) {
        if self.entries.len() <= patterns as usize {
            self.entries.resize(patterns as usize + 1, EMPTY);
        }
    }

    pub(super) fn count(&mut self, loads: u32, stores: u32, instructions: u32) {
        self.totals.loads += u64::from(loads);
        self.totals.stores += u64::from(stores);
        self.totals.instructions += u64::from(instructions);
    }

    /// Adds one execution of a pattern. The caller has made room for the pattern.
    #[inline]
    pub(super) fn execute(&mut self, pattern: u32, target: Option<ExecutionTarget>) {
        self.totals.executions += 1;
        let at = pattern as usize + 1;
        let stays = match target {
            Some(target) => target.reach == 0 && self.entries[at].last == target.unit,
            None => true,
        };
        let link = &mut self.entries[self.current];
        let next = link.next == pattern;
        if next && stays {
            self.run += 1;
            self.current = at;
            return;
        }
        let mut head = PATH_NEXT;
        if !next {
            head = if link.other == pattern {
                PATH_OTHER
            } else {
                self.patterns.extend_from_slice(&pattern.to_le_bytes()[..3]);
                PATH_NAMED
            };
            link.other = link.next;
            link.next = pattern;
            if !link.used {
                link.used = true;
                self.used.push(self.current as u32);
            }
        }
        self.current = at;
        if let Some(target) = target
            && !stays
        {
            let entry = &mut self.entries[at];
            if entry.masked {
                head |= LEFT_SAME;
            } else {
                head |= LEFT_MASK;
                self.masks.push(1);
                entry.masked = true;
            }
            entry.last = target.unit;
            if !entry.used {
                entry.used = true;
                self.used.push(at as u32);
            }
            self.put_unit(target);
        }
        self.put_head(head);
    }

    #[inline]
    fn put_head(&mut self, head: u8) {
        let shown = self.run.min(LONG_RUN);
        self.heads.push(head | (shown as u8) << 4);
        if shown == LONG_RUN {
            varint::put(&mut self.runs, self.run - LONG_RUN);
        }
        self.run = 0;
    }

    #[inline]
    fn put_unit(&mut self, target: ExecutionTarget) {
        let place = recent_place(target.unit);
        let recent = &mut self.recent[place];
        if target.reach == 0 && target.unit == self.last_unit {
            self.units.push(0);
        } else if target.reach == 0 && *recent == target.unit {
            self.units.push(place as u8);
        } else {
            self.units.push(255);
            let distance = target.unit.wrapping_sub(self.last_unit);
            let zigzag = distance << 1 ^ ((distance as i64 >> 63) as u64);
            varint::put(&mut self.places, zigzag << 1 | u64::from(target.reach > 0));
            if target.reach > 0 {
                varint::put(&mut self.places, target.reach);
            }
        }
        *recent = target.unit;
        self.last_unit = target.unit;
    }

    /// Writes a head for executions that are only counted so far.
    fn put_run(&mut self) {
        if self.run > 0 {
            self.put_head(PATH_NONE);
        }
    }

    /// Appends an event.
    pub(super) fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.put_run();
        self.events.push(self.heads.len() as u64, event)
    }

    /// Ends the chunk, passes it to `write`, and begins the next chunk.
    pub(super) fn finish<T>(&mut self, clock: u64, write: impl FnOnce(&StreamChunk<'_>) -> T) -> T {
        self.put_run();
        let result = write(&StreamChunk {
            totals: self.totals,
            clock,
            sections: [
                &self.heads,
                &self.runs,
                &self.patterns,
                &self.masks,
                &self.units,
                &self.places,
            ],
            events: self.events.bytes(),
        });
        for section in [
            &mut self.heads,
            &mut self.runs,
            &mut self.patterns,
            &mut self.masks,
            &mut self.units,
            &mut self.places,
        ] {
            section.clear();
        }
        self.events.clear();
        self.totals = Totals::default();
        for &at in &self.used {
            self.entries[at as usize] = EMPTY;
        }
        self.used.clear();
        self.recent = [0; 256];
        self.last_unit = 0;
        self.current = 0;
        result
    }
}
