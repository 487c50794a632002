//! Two-dimensional walks: a guest's tree whose entries lie at guest addresses, over a host's tree.

use super::no_spans;
use crate::parts::last_used::LastUsed;
use crate::parts::radix::{ENTRY_BYTES, Radix, RadixStep};
use crate::{PageTable, PageTableChoice, PageTableKind, TableRead, TableSize};
use broadleaf_units::{
    AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId, StructureParameter,
};
use std::collections::BTreeMap;

pub(crate) static NESTED: PageTableKind = PageTableKind {
    described: Described {
        name: "nested",
        summary: "two-dimensional walks of a virtual machine: x86-64 over x86-64 with 4 KiB pages",
        explanation: "The guest's table is a tree of x86-64 at guest addresses. Each of its \
                      entries is found by a walk of the host's tree, and so is the page itself: 24 \
                      reads for a base page. The host maps what the guest uses with pages of 4 \
                      KiB. Memory is that of both tables, the guest's levels first. A superpage of \
                      the guest stays one page of the TLB. Three caches can shorten walks, each \
                      fully associative with LRU replacement. Without parameters there is none.",
        source: "Intel SDM volume 3, section 29.3 (extended page tables) and 29.4 (caches); AMD64 \
                 manual volume 2, section 15.25; Bhargava and others 2008 (ASPLOS)",
    },
    parameters: CACHES,
    build: |base, choice| Box::new(Nested::new(base, PageSize::SIZE_4K, choice)),
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
    parameters: CACHES,
    build: |base, choice| Box::new(Nested::new(base, PageSize::SIZE_2M, choice)),
    spans: no_spans,
    cost_by_size: false,
};

/// The caches of two-dimensional walks.
const CACHES: &[StructureParameter] = &[
    StructureParameter::number(
        GUEST_CACHE,
        MOST_ENTRIES,
        0,
        "entries that lead to the guest's nodes: a walk begins at the lowest of them",
    ),
    StructureParameter::number(
        NESTED_TLB,
        MOST_ENTRIES,
        0,
        "the host's pages for guest addresses: a page that is there needs no walk of the host",
    ),
    StructureParameter::number(
        HOST_CACHE,
        MOST_ENTRIES,
        0,
        "entries that lead to the host's nodes: a walk of the host begins at the lowest of them",
    ),
];
const GUEST_CACHE: &str = "guest-cache";
const NESTED_TLB: &str = "nested-tlb";
const HOST_CACHE: &str = "host-cache";
const MOST_ENTRIES: (u64, u64) = (0, 4096);

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
    /// Nodes of the guest whose addresses in the host are at hand.
    guest_cache: LastUsed<u32>,
    /// Pages of the host that are at hand, by their first frame.
    nested_tlb: LastUsed<u64>,
    /// Nodes of the host that are at hand.
    host_cache: LastUsed<u32>,
}

impl Nested {
    fn new(base: PageSize, host_size: PageSize, choice: &PageTableChoice) -> Self {
        let entries = |name| choice.number(name).unwrap_or(0) as usize;
        Self {
            guest_cache: LastUsed::new(entries(GUEST_CACHE)),
            nested_tlb: LastUsed::new(entries(NESTED_TLB)),
            host_cache: LastUsed::new(entries(HOST_CACHE)),
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
                self.host.map(GUEST, Leaf::new(run, Some(run.first.0)));
            }
        } else {
            *uses -= 1;
            if *uses == 0 {
                self.used.remove(&run.first.0);
                self.host.unmap(GUEST, run);
                self.nested_tlb.retain(|page| *page != run.first.0);
                let host = &self.host;
                self.host_cache.retain(|node| host.has(*node));
            }
        }
    }

    /// Notes the frames of a page of the guest.
    fn count_leaf(&mut self, leaf: &Leaf, is_more: bool) {
        let first = frame_of(leaf, leaf.run.first);
        let step = self.host_size.bytes() >> PageSize::SIZE_4K.shift();
        if leaf.scattering.is_some() {
            let pages = (leaf.run.first.0..leaf.run.bounds().1).map(PageNumber);
            let mut places: Vec<u64> = pages.map(|page| frame_of(leaf, page) / step).collect();
            places.sort_unstable();
            places.dedup();
            for place in places {
                self.count(place * step, is_more);
            }
            return;
        }
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
        let guest = &self.guest;
        self.guest_cache.retain(|node| guest.has(*node));
    }

    /// Walks the host's tree for a frame of the guest, as far as the caches do not know the page.
    fn walk_host(&mut self, frame: u64, reads: &mut dyn FnMut(TableRead)) {
        if self.nested_tlb.uses(self.host_page(frame).first.0) {
            return;
        }
        let (steps, _) = self.host.steps(GUEST, PageNumber(frame));
        let steps = steps.iter().flatten();
        for step in below_cached(steps, &mut self.host_cache) {
            reads(TableRead::of_node(step.address + HOST, ENTRY_BYTES));
        }
    }
}

/// The steps of a walk from the lowest node on that a cache holds. The cache then holds the nodes
/// below the root that the walk passes.
fn below_cached<'s>(
    steps: impl Iterator<Item = &'s RadixStep>,
    cache: &mut LastUsed<u32>,
) -> Vec<RadixStep> {
    let steps: Vec<RadixStep> = steps.copied().collect();
    // The root is at a place that the system knows.
    let below_root = steps.iter().skip(1).rev();
    let missing = below_root.take_while(|step| !cache.uses(step.node)).count();
    let first = steps.len().saturating_sub(missing + 1);
    steps[first..].to_vec()
}

/// The frame of a page of 4 KiB of a leaf. The page of zeroes has frames too.
fn frame_of(leaf: &Leaf, page: PageNumber) -> u64 {
    let frame = leaf.frame_of(page);
    frame.unwrap_or(page.0 - leaf.run.first.0)
}

impl PageTable for Nested {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.guest.map(space, leaf);
        self.count_leaf(&leaf, true);
        self.count_nodes();
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.guest.map(space, leaf);
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
        let all = steps.iter().flatten().count();
        let read = below_cached(steps.iter().flatten(), &mut self.guest_cache);
        // The cache has the host's address of the node where the walk begins.
        let is_cut = read.len() < all;
        for (number, step) in read.iter().enumerate() {
            if number > 0 || !is_cut {
                self.walk_host(NODES + u64::from(step.node), reads);
            }
        }
        if let Some(leaf) = leaf {
            self.walk_host(frame_of(&leaf, page), reads);
        }
        let read = read.iter();
        read.for_each(|step| reads(TableRead::of_node(step.address, ENTRY_BYTES)));
        leaf
    }

    fn size(&self) -> TableSize {
        let mut size = self.guest.size();
        size.levels.extend(self.host.size().levels);
        size
    }
}
