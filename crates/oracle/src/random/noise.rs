//! Steps that switch address spaces, and events that no model of data translation uses.

use broadleaf_trace::{Allocation, Event, Range, Site, SiteFrame, Visit};
use broadleaf_units::{CoreId, SiteId, SpaceId, ThreadId, VirtAddr};

use super::Rng;
use super::ranges::{ARENA, ARENA_PAGES, bytes, some_range};
use super::writer::Writer;

impl Writer {
    /// Runs a living space, or a new one.
    pub(super) fn switch(&mut self, rng: &mut Rng) {
        let wanted = rng.below(3) as usize;
        let to = match self.living.get(wanted) {
            Some(&space) => space,
            None => self.new_space(),
        };
        self.event(Event::SpaceSwitch(SpaceId(to)));
        self.running = to;
        if !self.started.contains(&to) {
            self.start(to);
        }
    }

    /// Ends the running space and runs another or a new one; or executes another program in a new
    /// space or in the same space; or fails to execute.
    pub(super) fn leave(&mut self, rng: &mut Rng) {
        if rng.one_in(3) {
            self.event(Event::Exec {
                path: "/bin/true".into(),
            });
            match rng.below(3) {
                0 => return,
                1 => {
                    self.begin_again();
                    return self.start(self.running);
                }
                _ => {}
            }
        }
        let old = self.running;
        self.event(Event::SpaceEnd { status: Some(0) });
        self.living.retain(|&space| space != old);
        if !self.living.is_empty() && rng.one_in(2) {
            self.running = self.living[0];
            self.event(Event::SpaceSwitch(SpaceId(self.running)));
            return;
        }
        let new = self.new_space();
        self.event(Event::SpaceSwitch(SpaceId(new)));
        self.running = new;
        self.start(new);
    }

    fn start(&mut self, space: u32) {
        self.started.insert(space);
        self.event(Event::SpaceStart {
            // Sometimes a process executes another program, and its old memory disappears.
            pid: 100 + space % 5,
            parent: 1,
            command: vec!["random".into()],
        });
    }

    pub(super) fn noise(&mut self, rng: &mut Rng) {
        let at = bytes(&some_range(rng, &(ARENA..ARENA + ARENA_PAGES)));
        let thread = ThreadId(rng.below(3) as u32);
        match rng.below(7) {
            0 => self.event(Event::ThreadStart(thread)),
            1 => {
                self.event(Event::ThreadSwitch(thread));
                self.event(Event::CoreSwitch(CoreId(thread.0)));
            }
            2 => self.event(Event::ThreadEnd(thread)),
            3 => self.event(Event::Fork { child: 7 }),
            4 => self.event(Event::Misplaced {
                at,
                native: VirtAddr(4096),
            }),
            5 => self.site(SiteId(thread.0), at),
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
    /// A site makes memory. No count may depend on it.
    fn site(&mut self, site: SiteId, at: Range) {
        self.event(Event::Site(
            site,
            Site {
                allocator: "malloc".into(),
                frames: vec![SiteFrame::default()],
            },
        ));
        self.event(Event::Allocation(Allocation {
            site,
            start: at.start,
            len: at.len,
            count: 1,
            bytes: at.len,
        }));
    }
}
