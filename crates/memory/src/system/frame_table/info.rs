//! The entry of a frame.

use super::List;
use crate::system::sparse::SparseEntry;
use crate::system::table::Place;
use broadleaf_units::SpaceId;

pub(super) const NO_FRAME: u32 = u32::MAX;

/// The page number that means no place: no address space has this many pages.
const NO_PAGE: u64 = u64::MAX;

/// The entry of a used frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Info {
    /// The first place that maps it; of [`NO_PAGE`] where none does.
    mapper: Packed,
    pub(super) newer: u32,
    pub(super) older: u32,
    pub(super) used: bool,
    /// The frame's page differs from its file, and the place that stored to it no longer maps it.
    pub(super) unsaved: bool,
    pub(super) list: Option<List>,
}

/// A [`Place`] without padding.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packed {
    page: [u32; 2],
    space: SpaceId,
}

impl Packed {
    const NOWHERE: Self = Self {
        page: [u32::MAX; 2],
        space: SpaceId(0),
    };

    const fn of(Place { space, page }: Place) -> Self {
        let page = [page as u32, (page >> 32) as u32];
        Self { page, space }
    }

    const fn page(self) -> u64 {
        self.page[0] as u64 | (self.page[1] as u64) << 32
    }

    fn place(self) -> Option<Place> {
        let (space, page) = (self.space, self.page());
        (page != NO_PAGE).then_some(Place { space, page })
    }
}

/// The bound for each frame of a page that is alone in its block, in groups of four.
const _: () = assert!(size_of::<Info>() <= 24);

impl Info {
    pub(super) fn mapper(&self) -> Option<Place> {
        self.mapper.place()
    }

    pub(super) fn set_mapper(&mut self, place: Option<Place>) {
        self.mapper = place.map_or(Packed::NOWHERE, Packed::of);
    }
}

impl SparseEntry for Info {
    const NONE: Self = Self {
        mapper: Packed::NOWHERE,
        newer: NO_FRAME,
        older: NO_FRAME,
        used: false,
        unsaved: false,
        list: None,
    };

    fn plus(self, entries: u64) -> Self {
        let Some(Place { space, page }) = self.mapper() else {
            return self;
        };
        let page = page + entries;
        Self {
            mapper: Packed::of(Place { space, page }),
            ..self
        }
    }

    fn minus(self, entries: u64) -> Option<Self> {
        let Some(Place { space, page }) = self.mapper() else {
            return Some(self);
        };
        let page = page.checked_sub(entries)?;
        Some(Self {
            mapper: Packed::of(Place { space, page }),
            ..self
        })
    }
}
