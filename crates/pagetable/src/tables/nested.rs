//! Two-dimensional walks: a guest's tree whose entries lie at guest addresses, over a host's tree.

use super::no_spans;
use crate::radix::{ENTRY_BYTES, Radix};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};
use std::collections::BTreeMap;

pub(crate) static NESTED: PageTableKind = PageTableKind {
    described: Described {
        name: "nested",
        summary: "two-dimensional walks of a virtual machine: x86-64 over x86-64 with 4 KiB pages",
        explanation: "The guest's table is a tree of x86-64 at guest addresses. Each of its \
                      entries is found by a walk of the host's tree, and so is the page itself: 24 \
                      reads for a base page. The host maps what the guest uses with pages of 4 \
                      KiB. Memory is that of both tables, the guest's levels first. A superpage of \
                      the guest stays one page of the TLB.",
        source: "Intel SDM volume 3, section 29.3 (extended page tables); AMD64 manual volume 2, \
                 section 15.25",
    },
    build: |base| Box::new(Nested::new(base, PageSize::SIZE_4K)),
    spans: no_spans,
    cost_by_size: false,
};

pub(crate) static NESTED_2M: PageTableKind = PageTableKind {
    described: Described {
        name: "nested-2m",
        summary: "two-dimensional walks of a virtual machine whose host has 2 MiB pages",
        explanation: "As nested, and the host maps what the guest uses with pages of 2 MiB: 19 \
                      reads for a base page of the guest, and 15 for a page of 2 MiB.",
        source: "Intel SDM volume 3, section 29.3 (extended page tables); AMD64 manual volume 2, \
                 section 15.25",
    },
    build: |base| Box::new(Nested::new(base, PageSize::SIZE_2M)),
    spans: no_spans,
    cost_by_size: false,
};

/// The bits of an address that the levels of both trees translate.
const ADDRESS_BITS: u32 = 48;
/// The one guest.
const GUEST: SpaceId = SpaceId(0);
/// Where the guest's own nodes lie among its frames of 4 KiB: above every frame of data.
const NODES: u64 = 1 << 34;
/// The address bits by which host nodes and guest nodes differ.
const HOST: u64 = 1 << 56;

/// The trees of all address spaces of a guest, and the host's tree.
#[derive(Clone, Debug)]
struct Nested {
    guest: Radix,
    host: Radix,
    host_size: PageSize,
    /// The host pages that the guest uses, by their first frame of 4 KiB: how often.
    used: BTreeMap<u64, u64>,
    /// The nodes of the guest that were counted as used.
    nodes: u64,
}

impl Nested {
    fn new(base: PageSize, host_size: PageSize) -> Self {
        Self {
            guest: Radix::of_pages(base, ADDRESS_BITS),
            host: Radix::of_pages(PageSize::SIZE_4K, ADDRESS_BITS),
            host_size,
            used: BTreeMap::new(),
            nodes: 0,
        }
    }

    fn host_page(&self, frame: u64) -> AlignedRun {
        AlignedRun::around(PageNumber(frame), self.host_size)
    }

    /// Notes that the guest uses a frame once more, or once less.
    fn count(&mut self, frame: u64, is_more: bool) {
        let run = self.host_page(frame);
        let uses = self.used.entry(run.first.0).or_default();
        if is_more {
            *uses += 1;
            if *uses == 1 {
                self.host.map(
                    GUEST,
                    Leaf {
                        run,
                        frame: Some(run.first.0),
                    },
                );
            }
        } else {
            *uses -= 1;
            if *uses == 0 {
                self.used.remove(&run.first.0);
                self.host.unmap(GUEST, run);
            }
        }
    }

    /// Notes the frames of a page of the guest.
    fn count_leaf(&mut self, leaf: &Leaf, is_more: bool) {
        let first = frame_of(leaf);
        let step = self.host_size.bytes() >> PageSize::SIZE_4K.shift();
        let mut frame = first;
        while frame < first + leaf.run.pages() {
            self.count(frame, is_more);
            frame = (frame / step + 1) * step;
        }
    }

    /// Lets the host map as many frames as the guest's tree has nodes.
    fn count_nodes(&mut self) {
        let now = self.guest.size().bytes() >> PageSize::SIZE_4K.shift();
        while self.nodes < now {
            self.count(NODES + self.nodes, true);
            self.nodes += 1;
        }
        while self.nodes > now {
            self.nodes -= 1;
            self.count(NODES + self.nodes, false);
        }
    }
}

/// The first frame of a page. The page of zeroes has one too.
fn frame_of(leaf: &Leaf) -> u64 {
    leaf.frame.unwrap_or(0)
}

impl PageTable for Nested {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let before = self.guest.steps(space, leaf.run.first).1;
        if before.is_some_and(|before| before.run == leaf.run) {
            self.unmap(space, leaf.run);
        }
        self.guest.map(space, leaf);
        self.count_leaf(&leaf, true);
        self.count_nodes();
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let leaf = self
            .guest
            .steps(space, run.first)
            .1
            .filter(|leaf| leaf.run == run);
        self.guest.unmap(space, run);
        if let Some(leaf) = leaf {
            self.count_leaf(&leaf, false);
        }
        self.count_nodes();
    }

    fn end(&mut self, space: SpaceId) {
        for leaf in self.guest.leaves(space) {
            self.count_leaf(&leaf, false);
        }
        self.guest.end(space);
        self.count_nodes();
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let (steps, leaf) = self.guest.steps(space, page);
        let mut walk_host = |frame: u64| {
            self.host.walk(GUEST, PageNumber(frame), &mut |read| {
                reads(TableRead {
                    address: read.address + HOST,
                    ..read
                });
            });
        };
        let mut entries = Vec::new();
        for step in steps.iter().flatten() {
            walk_host(NODES + u64::from(step.node));
            entries.push(step.address);
        }
        if let Some(leaf) = leaf {
            walk_host(frame_of(&leaf) + (page.0 - leaf.run.first.0));
        }
        entries
            .iter()
            .for_each(|address| reads(TableRead::of_node(*address, ENTRY_BYTES)));
        leaf
    }

    fn size(&self) -> TableSize {
        let mut size = self.guest.size();
        size.levels.extend(self.host.size().levels);
        size
    }
}
