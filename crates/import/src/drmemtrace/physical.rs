//! Physical addresses: the markers of DynamoRIO's option `-use_physical`, as leaves of page tables.
//!
//! A marker with a physical address and one with a virtual address come before the first reference
//! to a page, and again when the page's place has changed. A third type of marker names a page
//! whose physical address was not to be had. The simulators of DynamoRIO then take the lower 28
//! bits of the virtual address (simulator.cpp, `synthetic_virt2phys`), and so does this import.

use std::collections::HashMap;

use broadleaf_trace::{Event, Fold, GuestLeaf, SystemEvent};
use broadleaf_units::{Rights, SpaceId, VirtAddr};

use crate::batch::ImportBatch;

/// The bits of a virtual address that the tracer writes in place of a missing physical address.
const STAND_IN: u64 = 0xfff_ffff;
/// The logarithm of the page size if the trace does not name one.
const USUAL_SHIFT: u8 = 12;
/// The trace knows no rights.
const ALL_RIGHTS: Rights = Rights {
    execute: true,
    ..Rights::READ_WRITE
};
/// The maximum number of pages, whose places take about a gigabyte.
const MOST_PAGES: usize = 1 << 24;

/// The physical places of pages.
#[derive(Debug)]
pub(super) struct PhysicalPages {
    /// The logarithm of the page size, if it is known.
    shift: Option<u8>,
    /// The first physical address of each page, by space and number.
    known: HashMap<(SpaceId, u64), u64>,
    /// A page of `known`, which the last reference was to.
    last: Option<(SpaceId, u64)>,
    /// The value of the last marker with a physical address.
    physical: u64,
    /// The markers of physical addresses, and those of addresses that were not to be had.
    pub(super) markers: u64,
    pub(super) unavailable: u64,
    /// The pages whose physical address is not known.
    pub(super) missing: u64,
}

impl PhysicalPages {
    pub(super) fn new() -> Self {
        Self {
            shift: None,
            known: HashMap::new(),
            last: None,
            physical: 0,
            markers: 0,
            unavailable: 0,
            missing: 0,
        }
    }

    fn shift(&self) -> u8 {
        self.shift.unwrap_or(USUAL_SHIFT)
    }

    /// A marker gives the page size in bytes.
    pub(super) fn page_size(&mut self, bytes: u64) -> Result<(), String> {
        let shift = match bytes {
            0x1000 => 12,
            0x20_0000 => 21,
            _ => {
                return Err(format!(
                    "a trace with physical addresses has pages of 4 KiB or 2 MiB, and the page size \
                     of this one is {bytes} bytes: import it without --physical"
                ));
            }
        };
        match self.shift.replace(shift) {
            Some(other) if other != shift => {
                Err("the files have different page sizes: the input is damaged".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// A marker gives a physical address. The marker with its virtual address follows.
    pub(super) const fn physical(&mut self, address: u64) {
        self.physical = address;
        self.markers += 1;
    }

    /// A marker gives the virtual address of the last physical one, in this space.
    pub(super) fn place(
        &mut self,
        space: SpaceId,
        address: u64,
        fold: &mut Fold,
        batch: &mut ImportBatch,
    ) -> Result<(), String> {
        self.tell(space, address, self.physical, fold, batch)
    }

    /// A page of this space has no physical address that could be had. A frame that is known from
    /// another thread stays.
    pub(super) fn lacks(
        &mut self,
        space: SpaceId,
        address: u64,
        fold: &mut Fold,
        batch: &mut ImportBatch,
    ) -> Result<(), String> {
        if self.known.contains_key(&(space, address >> self.shift())) {
            return Ok(());
        }
        self.missing += 1;
        self.tell(space, address, address & STAND_IN, fold, batch)
    }

    /// A reference to the bytes from `first` to `last` follows.
    #[inline]
    pub(super) fn refer(
        &mut self,
        space: SpaceId,
        (first, last): (u64, u64),
        fold: &mut Fold,
        batch: &mut ImportBatch,
    ) -> Result<(), String> {
        let shift = self.shift();
        for number in first >> shift..=last >> shift {
            let page = (space, number);
            if self.last != Some(page) {
                self.lacks(space, number << shift, fold, batch)?;
                self.last = Some(page);
            }
        }
        Ok(())
    }

    /// Reports the place of a page, unless it is known.
    fn tell(
        &mut self,
        space: SpaceId,
        address: u64,
        physical: u64,
        fold: &mut Fold,
        batch: &mut ImportBatch,
    ) -> Result<(), String> {
        let shift = self.shift();
        let physical = physical >> shift << shift;
        let is_full = self.known.len() >= MOST_PAGES;
        let known = self.known.insert((space, address >> shift), physical);
        if known == Some(physical) {
            return Ok(());
        }
        if known.is_none() && is_full {
            return Err(
                "the trace has physical addresses of more than 16,777,216 pages: import it \
                 without --physical"
                    .to_owned(),
            );
        }
        fold.cut(&mut batch.visits);
        batch.event(Event::System(SystemEvent::Leaf(GuestLeaf {
            start: VirtAddr(address >> shift << shift),
            shift,
            physical,
            rights: ALL_RIGHTS,
            user: true,
            global: false,
        })));
        Ok(())
    }
}
