//! Random traces in small memories with much reuse, for TLBs of a few entries and for policies that
//! count misses.

use std::ops::Range;

use broadleaf_trace::{
    Advice, Backing, Event, Grain, KernelTouch, Lead, Mapping, TouchOrigin, Visit,
};
use broadleaf_units::{FileId, Rights, SpaceId};

use super::Rng;
use super::ranges::bytes;
use crate::{OwnedItem, Recording};

/// The first page of each address space's memory, aligned for pages of a megabyte.
const FIRST: u64 = 0x1000;
/// The number of pages of this memory.
const PAGES: u64 = 96;

/// A trace of at most four address spaces, with `steps` steps: loops over a few pages, walks,
/// straddling accesses, and occasional changes of mappings. Each process has its own files, mapped
/// once, and no process is a copy: nothing is shared.
pub fn near(seed: u64, steps: u64) -> Recording {
    let mut rng = Rng::new(seed);
    let mut near = Near {
        items: Vec::new(),
        running: 0,
        files: 0,
        mapped_spaces: rng.pick(&[0xff, 0xff, 0xfb, 0]),
        counts_instructions: rng.one_in(2),
        spread: rng.pick(&[2, 5, 5, 12]),
        begun: [false; 4],
    };
    let changes = rng.pick(&[3, 8, 30, 1000]);
    near.begin(&mut rng);
    for _ in 0..steps {
        if rng.one_in(changes) {
            near.change(&mut rng);
        } else {
            near.go(&mut rng);
        }
    }
    Recording {
        grain: Grain::Page,
        items: near.items,
    }
}

struct Near {
    items: Vec<OwnedItem>,
    running: u32,
    /// The number of files named so far.
    files: u32,
    /// Bit `i`: space `i` has map events.
    mapped_spaces: u8,
    counts_instructions: bool,
    /// The maximum number of pages of a loop.
    spread: u64,
    begun: [bool; 4],
}

impl Near {
    fn event(&mut self, event: Event) {
        self.items.push(OwnedItem::Event(event));
    }

    /// Maps most of the memory that the running space will use, with some holes.
    fn begin(&mut self, rng: &mut Rng) {
        if std::mem::replace(&mut self.begun[self.running as usize], true) {
            return;
        }
        self.event(Event::SpaceStart {
            pid: 1000 + self.running,
            parent: 1,
            command: vec!["near".into()],
        });
        if !self.has_maps() {
            return;
        }
        for pages in [FIRST..FIRST + 40, FIRST + 40..FIRST + PAGES] {
            if !rng.one_in(6) {
                self.map(rng, &pages);
            }
        }
        if rng.one_in(3) {
            self.event(Event::Unmap(bytes(&some_pages(rng))));
        }
    }

    fn has_maps(&self) -> bool {
        self.mapped_spaces >> self.running & 1 != 0
    }

    fn map(&mut self, rng: &mut Rng, pages: &Range<u64>) {
        let backing = if rng.one_in(4) {
            let size = rng.pick(&[PAGES << 12, (pages.end - pages.start) << 12, 21 * 4096 + 17]);
            let file = FileId(self.files);
            self.files += 1;
            let path = format!("/file{}", file.0);
            self.event(Event::File {
                id: file,
                size,
                path,
            });
            let offset = rng.pick(&[pages.start - FIRST, 0, 1, 4]) << 12;
            Backing::File { file, offset }
        } else {
            Backing::Anonymous
        };
        self.event(Event::Map(Mapping {
            range: bytes(pages),
            protection: some_rights(rng),
            shared: false,
            backing,
        }));
    }

    fn change(&mut self, rng: &mut Rng) {
        let pages = some_pages(rng);
        match rng.below(16) {
            0..3 => self.event(Event::Advise(bytes(&pages), Advice::DontNeed)),
            3..5 => self.event(Event::Unmap(bytes(&pages))),
            14 | 15 => self.event(Event::Populate {
                range: bytes(&pages),
                touch: rng.pick(&[KernelTouch::Load, KernelTouch::Store, KernelTouch::AsMapped]),
                origin: TouchOrigin::Request,
            }),
            5..7 if self.has_maps() => self.map(rng, &pages),
            7..9 => {
                let rights = some_rights(rng);
                self.event(Event::Protect(bytes(&pages), rights));
            }
            9 | 10 => {
                self.running = rng.below(4) as u32;
                self.event(Event::SpaceSwitch(SpaceId(self.running)));
                self.begin(rng);
            }
            11 if rng.one_in(4) => {
                self.event(Event::SpaceEnd { status: None });
                self.begun[self.running as usize] = false;
                self.running = (self.running + 1) % 4;
                self.event(Event::SpaceSwitch(SpaceId(self.running)));
                self.begin(rng);
            }
            12 | 13 => {
                let length = pages.end - pages.start;
                let start = FIRST + rng.below(PAGES - length);
                let to = start..start + length;
                if to.end <= pages.start || pages.end <= to.start {
                    let (from, to) = (bytes(&pages), bytes(&to));
                    self.event(Event::Remap { from, to });
                }
            }
            _ => {}
        }
    }

    /// References a few pages repeatedly.
    fn go(&mut self, rng: &mut Rng) {
        let start = FIRST + rng.below(PAGES);
        let (count, stride) = (1 + rng.below(self.spread), rng.pick(&[1, 1, 1, 2, 3, 8]));
        let place = |rng: &mut Rng, i: u64| match stride {
            8 => FIRST + rng.below(PAGES),
            _ => FIRST + (start - FIRST + i * stride) % PAGES,
        };
        let pages: Vec<u64> = (0..count).map(|i| place(rng, i)).collect();
        let mut visits = Vec::new();
        for _ in 0..rng.pick(&[1, 2, 5, 20]) {
            for &page in &pages {
                visits.push(self.visit(rng, page));
                if rng.one_in(40) {
                    // The access ends in the next page.
                    let lead = match visits.last() {
                        Some(visit) if visit.stores > 0 => Lead::Store,
                        _ => Lead::Load,
                    };
                    visits.push(Visit {
                        unit: page + 1,
                        lead,
                        ..Visit::default()
                    });
                }
            }
        }
        self.items.push(OwnedItem::Visits(visits));
    }

    fn visit(&self, rng: &mut Rng, page: u64) -> Visit {
        let instructions = match self.counts_instructions {
            true => 1 + rng.below(60) as u32,
            false => 0,
        };
        let stores = rng.one_in(3);
        Visit {
            unit: page,
            loads: u32::from(!stores),
            loads_before_store: u32::from(!stores),
            stores: u32::from(stores),
            instructions,
            ..Visit::default()
        }
    }
}

fn some_rights(rng: &mut Rng) -> Rights {
    Rights {
        read: true,
        write: !rng.one_in(5),
        execute: false,
    }
}

/// One to forty of the pages, often from a possible start of a larger page.
fn some_pages(rng: &mut Rng) -> Range<u64> {
    let unit = rng.pick(&[1, 1, 4, 16]);
    let start = FIRST + rng.below(PAGES) / unit * unit;
    let end = start + unit * (1 + rng.below(40 / unit));
    start..end.min(FIRST + PAGES)
}
