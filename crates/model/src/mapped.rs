//! Mapped memory, as the walks of a machine find it.

use crate::read_pages::ReadPages;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::{Place, System};
use broadleaf_tlb::{ReferenceKind, TlbRequest, Translation, Walk};
use broadleaf_units::{Asid, Leaf, PageNumber, PageSize, Rights, SpaceId};
use std::cell::Cell;
use std::num::NonZeroU8;

/// A lookup of a page of the running space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLookup {
    pub(crate) page: PageNumber,
    /// The level of the page that maps it.
    pub(crate) level: usize,
    pub(crate) kind: ReferenceKind,
    /// True for a load that only machines with TLBs of their own for loads look up: a store of the
    /// visit came before it.
    pub(crate) after_stores: bool,
    /// True if the instruction made a reference before.
    pub(crate) continues: bool,
}

impl PageLookup {
    /// A lookup that every machine makes that translates such references.
    #[inline]
    pub(crate) const fn new(page: PageNumber, level: usize, kind: ReferenceKind) -> Self {
        Self {
            page,
            level,
            kind,
            after_stores: false,
            continues: false,
        }
    }
}

/// A memory and its address spaces, which stay as they are meanwhile.
pub(crate) struct MappedMemory<'m, 's> {
    pub(crate) system: &'m System<'s>,
    /// The mappings. `None` for lookups that hit: a hit reads no page table.
    pub(crate) spaces: Option<&'m AddressSpaces>,
    /// The mapping of the page that was read last. All pages are of one space.
    pub(crate) known: KnownRights,
    /// The pages that machines read lately, if several machines read the same pages.
    pub(crate) read: Option<&'m ReadPages>,
}

impl<'m, 's> MappedMemory<'m, 's> {
    /// The same, with the pages that machines read lately.
    pub(crate) const fn with(self, read: &'m ReadPages) -> Self {
        Self {
            read: Some(read),
            ..self
        }
    }

    /// The pages of one space of a memory.
    pub(crate) const fn new(system: &'m System<'s>, spaces: Option<&'m AddressSpaces>) -> Self {
        Self {
            system,
            spaces,
            known: KnownRights::new(None),
            read: None,
        }
    }

    /// The level of the page that maps a lookup's page now.
    pub(crate) fn level(&self, space: SpaceId, lookup: &PageLookup) -> usize {
        self.system.level_at(Place {
            space,
            page: self.system.base_page(lookup.page),
        })
    }

    /// The translation of a page, with its frame and attributes; `None` if the page is not mapped.
    /// `sizes` are the sizes of the TLB's translations by level: one may be smaller than the page
    /// that the page table has.
    pub(crate) fn translation(
        &self,
        (space, tag): (SpaceId, Asid),
        page: PageNumber,
        sizes: &[PageSize],
    ) -> Option<Translation> {
        let at = Place {
            space,
            page: self.system.base_page(page),
        };
        if let Some(known) = self.read.and_then(|read| read.find(at)) {
            let (level, found) = known?;
            // Machines number address spaces alike, but not all machines hold all sizes.
            if sizes[level] == found.size {
                return Some(Translation { tag, ..found });
            }
        }
        let found = self.find(at, tag, page, sizes);
        let is_whole = found.is_none_or(|(level, found)| self.system.size(level) == found.size);
        if let Some(read) = self.read.filter(|_| is_whole) {
            read.keep(at, found);
        }
        found.map(|(_, found)| found)
    }

    /// The translation of a page, and the level of the page that the page table has.
    fn find(
        &self,
        at: Place,
        tag: Asid,
        page: PageNumber,
        sizes: &[PageSize],
    ) -> Option<(usize, Translation)> {
        let (leaf, level, modified) = self.system.leaf_and_modified(at)?;
        let size = sizes[level];
        let first = Translation::plain(tag, page, size).first;
        let found = Translation {
            tag,
            first,
            size,
            frame: leaf.frame_of(first),
            rights: self.rights(at),
            modified,
            share: share_of(&leaf, size),
        };
        Some((level, found))
    }

    /// The rights of the mapping of a place. The mapping of the page before often maps this page
    /// too.
    fn rights(&self, at: Place) -> Rights {
        if let Some((first, after, rights)) = self.known.get()
            && (first..after).contains(&at.page)
        {
            return rights;
        }
        let mapping = (self.spaces).and_then(|spaces| spaces.mapping_at(at.space, at.page));
        let Some(mapping) = mapping else {
            return Rights::READ_WRITE;
        };
        self.known.set(Some((
            mapping.pages.start,
            mapping.pages.end,
            mapping.rights,
        )));
        mapping.rights
    }
}

/// The pages of a mapping, first and after last, and its rights. A walk reads several pages of one
/// space, and its mappings stay as they are meanwhile.
pub(crate) type KnownRights = Cell<Option<(u64, u64, Rights)>>;

/// The share that an entry of a page of `size` gets from a leaf of the page table. A part of a
/// scattered superpage is no scattered superpage.
pub(crate) fn share_of(leaf: &Leaf, size: PageSize) -> Option<NonZeroU8> {
    let packed = leaf.scattering.filter(|_| leaf.run.size == size)?;
    let scattering = packed.unpack(size)?;
    NonZeroU8::new(scattering.share.node(scattering.regions))
}

/// The walk after a miss of `request`, with the translation that `read` gives. Without one, as for
/// a TLB whose entries depend on no frames, the translation is a plain one of `size`.
#[inline]
pub(crate) fn walk_of<'w>(
    request: &TlbRequest,
    size: PageSize,
    read: &'w dyn Fn(PageNumber) -> Option<Translation>,
) -> Walk<'w> {
    let plain = Translation::plain(request.tag, request.page, size);
    Walk {
        request: *request,
        translation: read(request.page).unwrap_or(plain),
        read,
    }
}
