//! Steps that change mappings.

use std::ops::Range;

use broadleaf_trace::{Advice, Backing, Event, KernelTouch, Mapping, TouchOrigin};
use broadleaf_units::{FileId, Rights};

use super::Rng;
use super::ranges::{ARENA, ARENA_PAGES, HEAP, STACK_END, WIDE, WIDE_PAGES, bytes, some_range};
use super::writer::Writer;

const READ: Rights = Rights {
    read: true,
    write: false,
    execute: false,
};
const NONE: Rights = Rights {
    read: false,
    write: false,
    execute: false,
};

/// Sizes in bytes of the files: as long as the arena, a little less than a block, three blocks and
/// a bit.
const FILES: [u64; 3] = [4 * 512 * 4096, 511 * 4096 + 17, (3 * 512 + 5) * 4096 + 123];

impl Writer {
    fn map_at(&mut self, pages: &Range<u64>, protection: Rights, shared: bool, backing: Backing) {
        self.event(Event::Map(Mapping {
            range: bytes(pages),
            protection,
            shared,
            backing,
        }));
    }

    pub(super) fn map(&mut self, rng: &mut Rng) {
        if rng.one_in(8) && !self.space().wide {
            self.space().wide = true;
            let pages = WIDE..WIDE + WIDE_PAGES;
            return self.map_at(&pages, Rights::READ_WRITE, false, Backing::Anonymous);
        }
        let arena = ARENA..ARENA + ARENA_PAGES;
        let whole = rng.one_in(3) || (self.space().is_bare() && !rng.one_in(4));
        let pages = if whole {
            arena
        } else {
            some_range(rng, &arena)
        };
        let protection = rng.pick(&[
            Rights::READ_WRITE,
            Rights::READ_WRITE,
            Rights::READ_WRITE,
            READ,
        ]);
        self.space().set_mapped(&pages);
        match rng.below(8) {
            0..4 => self.map_at(&pages, protection, false, Backing::Anonymous),
            4..7 => {
                let file = self.some_file(rng);
                // Mostly the offset in the arena, so that neighbours continue each other.
                let offset = match rng.below(4) {
                    0 => rng.below(600),
                    1 => pages.start % 512,
                    _ => pages.start - ARENA,
                };
                let backing = Backing::File {
                    file,
                    offset: offset * 4096,
                };
                self.map_at(&pages, protection, rng.one_in(4), backing);
            }
            _ if rng.one_in(3) => self.map_at(&pages, protection, false, Backing::Kernel),
            _ => self.map_at(&pages, protection, true, Backing::SharedMemory),
        }
    }

    fn some_file(&mut self, rng: &mut Rng) -> FileId {
        let file = rng.pick(&[0, 0, 0, 1, 2]);
        if self.named_files.insert(file) {
            let size = FILES[file as usize];
            self.event(Event::File {
                id: FileId(file),
                size,
                path: format!("/file{file}"),
            });
        }
        FileId(file)
    }

    /// Maps a block in pieces, and uses it. The pieces continue each other, or differ in one
    /// property that keeps them apart.
    pub(super) fn tile(&mut self, rng: &mut Rng) {
        let block = ARENA + 512 * rng.below(ARENA_PAGES / 512);
        let file = self.some_file(rng);
        let kind = rng.below(5);
        let odd = rng.below(6);
        let cut = rng.pick(&[1, 128, 300, 511]);
        let pieces = [block..block + cut, block + cut..block + 512];
        for (piece, differs) in pieces.into_iter().zip([false, true]) {
            let protection = if differs && odd == 0 {
                READ
            } else {
                Rights::READ_WRITE
            };
            let shared = differs && odd == 1;
            let skipped = u64::from(differs && odd == 2);
            let backing = match kind {
                0 | 1 => Backing::File {
                    file,
                    offset: (piece.start - ARENA + skipped) * 4096,
                },
                2 => Backing::SharedMemory,
                _ if differs && odd == 3 => Backing::SharedMemory,
                _ => Backing::Anonymous,
            };
            // Only a file can be mapped shared or private.
            let shared = if let Backing::File { .. } = backing {
                shared
            } else {
                backing == Backing::SharedMemory
            };
            self.space().set_mapped(&piece);
            self.map_at(&piece, protection, shared, backing);
        }
        self.fill_block(rng, block);
    }

    pub(super) fn unmap(&mut self, rng: &mut Rng) {
        let pages = some_range(rng, &(ARENA..ARENA + ARENA_PAGES));
        self.space().set_unmapped(&pages);
        self.event(Event::Unmap(bytes(&pages)));
    }

    pub(super) fn protect(&mut self, rng: &mut Rng) {
        let place = rng.below(6);
        let mut pages = some_range(rng, &(ARENA..ARENA + ARENA_PAGES));
        pages = self.space().mapped(&pages);
        if let (0, Some(heap)) = (place, self.space().heap.clone()) {
            pages = some_range(rng, &heap);
        } else if let (1, Some(stack)) = (place, self.space().stack.clone()) {
            pages = some_range(rng, &stack);
        }
        if pages.is_empty() {
            return;
        }
        let protection = rng.pick(&[Rights::READ_WRITE, Rights::READ_WRITE, READ, NONE]);
        self.event(Event::Protect(bytes(&pages), protection));
        if rng.one_in(3) {
            // The rights change and change back, as under a dynamic linker.
            self.touch_some(rng, &pages);
            self.event(Event::Protect(bytes(&pages), Rights::READ_WRITE));
            self.touch_some(rng, &pages);
        }
    }

    pub(super) fn advise(&mut self, rng: &mut Rng) {
        let within = self.space().place(rng.below(4));
        let pages = some_range(rng, &within);
        let advice = rng.pick(&[
            Advice::DontNeed,
            Advice::DontNeed,
            Advice::DontNeed,
            Advice::Remove,
            Advice::Free,
            Advice::HugePage,
            Advice::NoHugePage,
            Advice::NoHugePage,
            Advice::Other(21),
        ]);
        if pages.is_empty() {
            return;
        }
        self.event(Event::Advise(bytes(&pages), advice));
        if advice == Advice::NoHugePage && within.start == ARENA {
            // This tests whether advice moves with its pages.
            match rng.below(4) {
                0 => {
                    self.try_remap(rng, &pages);
                }
                1 => {
                    let part = pages.start..pages.start + 1 + rng.below(pages.end - pages.start);
                    self.space().set_unmapped(&part);
                    self.event(Event::Unmap(bytes(&part)));
                    self.fill_block(rng, part.start / 512 * 512);
                }
                _ => {}
            }
        }
    }

    /// Populates a range, which may reach past the mapped memory.
    pub(super) fn populate(&mut self, rng: &mut Rng) {
        let within = self.space().place(rng.below(4));
        let pages = some_range(rng, &within);
        if pages.is_empty() {
            return;
        }
        let touch = rng.pick(&[
            KernelTouch::Load,
            KernelTouch::Store,
            KernelTouch::Store,
            KernelTouch::AsMapped,
            KernelTouch::AsMapped,
            KernelTouch::Collapse,
        ]);
        let origin = rng.pick(&[TouchOrigin::Request, TouchOrigin::Buffer]);
        self.event(Event::Populate {
            range: bytes(&pages),
            touch,
            origin,
        });
        if rng.one_in(2) {
            self.touch_some(rng, &pages);
        }
    }

    pub(super) fn remap(&mut self, rng: &mut Rng) {
        // Most ranges are unsuitable, so the code tries a few.
        for _ in 0..6 {
            let from = if rng.one_in(2) {
                some_range(rng, &(ARENA..ARENA + ARENA_PAGES))
            } else {
                let block = ARENA + 512 * rng.below(ARENA_PAGES / 512);
                block..block + 512
            };
            if self.try_remap(rng, &from) {
                return;
            }
        }
    }

    fn try_remap(&mut self, rng: &mut Rng, from: &Range<u64>) -> bool {
        let from = self.space().one_mapping(from);
        if from.is_empty() {
            return false;
        }
        let length = from.end - from.start;
        let new_length = match rng.below(4) {
            0 => 1 + rng.below(length),
            1 => length + rng.pick(&[1, 128, 512]),
            _ => length,
        };
        let to_start = match rng.below(4) {
            0 => from.start,
            1 => ARENA + rng.below(ARENA_PAGES),
            _ => ARENA + from.start % 512 + 512 * rng.below(ARENA_PAGES / 512),
        };
        let to = to_start..to_start + new_length;
        let apart = to.start >= from.end || to.end <= from.start;
        if to.end > ARENA + ARENA_PAGES || !(apart || to.start == from.start) {
            return false;
        }
        if rng.one_in(2) {
            self.touch_some(rng, &from);
        }
        self.space().move_pages(&from, &to);
        self.event(Event::Remap {
            from: bytes(&from),
            to: bytes(&to),
        });
        if rng.one_in(2) {
            self.touch_some(rng, &to);
        }
        true
    }

    pub(super) fn brk(&mut self, rng: &mut Rng) {
        let heap = match self.space().heap.clone() {
            None => {
                let start = HEAP + rng.pick(&[0, 0, 300]);
                let pages = start..start + rng.below(700);
                if rng.one_in(2) && !pages.is_empty() {
                    self.map_at(&pages, Rights::READ_WRITE, false, Backing::Heap);
                }
                pages
            }
            Some(heap) => {
                let change = rng.pick(&[1, 33, 128, 512, 700]);
                let down = rng.one_in(3);
                heap.start..if down {
                    heap.end.saturating_sub(change).max(heap.start)
                } else {
                    heap.end + change
                }
            }
        };
        self.space().heap = Some(heap.clone());
        self.event(Event::Brk(bytes(&heap)));
        if !heap.is_empty() {
            self.touch_some(rng, &heap);
            let block = heap.start / 512 + rng.below(2);
            self.fill_block(rng, block * 512);
        }
    }

    pub(super) fn stack_grow(&mut self, rng: &mut Rng) {
        let stack = match self.space().stack.clone() {
            None => {
                let end = STACK_END - rng.pick(&[0, 0, 20]);
                let most = rng.pick(&[300, 1200]);
                let pages = end - 1 - rng.below(most)..end;
                self.map_at(&pages, Rights::READ_WRITE, false, Backing::Stack);
                pages
            }
            Some(stack) => {
                let pages = stack.start - rng.pick(&[1, 3, 50, 300])..stack.end;
                self.event(Event::StackGrow(bytes(&pages)));
                pages
            }
        };
        self.space().stack = Some(stack.clone());
        self.touch_some(rng, &stack);
        self.fill_block(rng, stack.start / 512 * 512);
    }
}
