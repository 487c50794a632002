//! Steps that change which address space runs, and events that no model of data translation heeds.

use broadleaf_trace::{Event, Visit};
use broadleaf_units::{SpaceId, ThreadId, VirtAddr};

use super::Rng;
use super::ranges::{ARENA, ARENA_PAGES, bytes, some_range};
use super::writer::Writer;

impl Writer {
    /// Runs one of the spaces that live, or a new one.
    pub(super) fn switch(&mut self, rng: &mut Rng) {
        let wanted = rng.below(3) as usize;
        let to = match self.living.get(wanted) {
            Some(&space) => space,
            None => self.new_space(),
        };
        self.event(Event::SpaceSwitch(SpaceId(to)));
        self.running = to;
        if self.started.insert(to) {
            self.event(Event::SpaceStart {
                pid: 100 + to,
                parent: 1,
                command: vec!["random".into()],
            });
        }
    }

    /// The running space ends or executes another program, which is a new space; or the trace goes on with another.
    pub(super) fn leave(&mut self, rng: &mut Rng) {
        let old = self.running;
        let exec = rng.one_in(3);
        self.event(if exec {
            Event::Exec {
                path: "/bin/true".into(),
            }
        } else {
            Event::SpaceEnd { status: Some(0) }
        });
        self.living.retain(|&space| space != old);
        if !exec && !self.living.is_empty() && rng.one_in(2) {
            self.running = self.living[0];
            self.event(Event::SpaceSwitch(SpaceId(self.running)));
            return;
        }
        let new = self.new_space();
        self.event(Event::SpaceSwitch(SpaceId(new)));
        self.running = new;
        self.started.insert(new);
        self.event(Event::SpaceStart {
            pid: 100 + new,
            parent: 1,
            command: vec!["random".into()],
        });
    }

    pub(super) fn noise(&mut self, rng: &mut Rng) {
        let at = bytes(&some_range(rng, &(ARENA..ARENA + ARENA_PAGES)));
        let thread = ThreadId(rng.below(3) as u32);
        match rng.below(6) {
            0 => self.event(Event::ThreadStart(thread)),
            1 => self.event(Event::ThreadSwitch(thread)),
            2 => self.event(Event::ThreadEnd(thread)),
            3 => self.event(Event::Fork { child: 7 }),
            4 => self.event(Event::Misplaced {
                at,
                native: VirtAddr(4096),
            }),
            _ => {
                let unit = (ARENA + rng.below(ARENA_PAGES)) << (12 - self.grain.shift());
                self.push(Visit {
                    unit,
                    instructions: 9,
                    fetch: true,
                    ..Visit::default()
                });
            }
        }
    }
}
