//! Placement by colour: the owners of colours, and the frames that their pages get.

use super::{Place, System};
use crate::frames::Frame;
use broadleaf_policy::{ColourOrder, ColourOwner, ColourRule};
use broadleaf_units::{ColourRegions, CoreId, PageSize, RegionShare, Scattering, SpaceId};
use std::collections::BTreeMap;
use std::ops::Range;

/// The key of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OwnerKey {
    Space(SpaceId),
    Core(CoreId),
    /// A block of 2 MiB of a space.
    Block(SpaceId, u64),
}

/// An owner of colours.
#[derive(Clone, Copy, Debug)]
struct Owner {
    /// The number of the owner's share.
    share: usize,
    /// The pages of the owner that were placed.
    placed: u64,
}

/// The colours of the pages of a system.
#[derive(Clone, Debug)]
pub(super) struct Colouring {
    rule: ColourRule,
    /// The colour regions of a physical superpage.
    regions: ColourRegions,
    /// The regions of each share.
    shares: Vec<RegionShare>,
    /// The colours of base pages that each share has.
    colours: Vec<Range<u64>>,
    owners: BTreeMap<OwnerKey, Owner>,
    /// The pages of all owners that were placed.
    placed: u64,
    /// The core that runs.
    core: Option<CoreId>,
}

impl Colouring {
    /// The colouring that a rule asks for, before any page is placed. `None` if the cache's ways
    /// have fewer colours than there are owners, or base pages do not have 4 KiB.
    pub(super) fn new(rule: ColourRule, base: PageSize) -> Option<Self> {
        if base != PageSize::SIZE_4K {
            return None;
        }
        let (regions, shares) = rule.shares.divide(PageSize::SIZE_2M, rule.way).ok()?;
        let each = Self::colours_of(rule) / regions.count();
        let colours = |share: &RegionShare| {
            let first = share.entry() * each;
            first..first + share.count() * each
        };
        Some(Self {
            rule,
            regions,
            colours: shares.iter().map(colours).collect(),
            shares,
            owners: BTreeMap::new(),
            placed: 0,
            core: None,
        })
    }

    /// The colour regions of a physical superpage.
    pub(super) const fn regions(&self) -> ColourRegions {
        self.regions
    }

    /// The number of colours of base pages that a superpage holds.
    pub(super) fn colours(&self) -> u64 {
        Self::colours_of(self.rule)
    }

    fn colours_of(rule: ColourRule) -> u64 {
        let bits = rule.way.shift().min(PageSize::SIZE_2M.shift());
        1 << bits.saturating_sub(PageSize::SIZE_4K.shift())
    }

    /// The owner of a page. A new owner gets the next share.
    fn owner(&mut self, at: Place) -> &mut Owner {
        let key = match self.rule.owner {
            ColourOwner::Process => OwnerKey::Space(at.space),
            // The model refuses traces that do not say which core runs.
            ColourOwner::Core => OwnerKey::Core(self.core.unwrap_or_default()),
            ColourOwner::Region => {
                let shift = PageSize::SIZE_2M.shift() - PageSize::SIZE_4K.shift();
                OwnerKey::Block(at.space, at.page >> shift)
            }
        };
        let share = self.owners.len() % self.shares.len();
        let new = Owner { share, placed: 0 };
        self.owners.entry(key).or_insert(new)
    }

    /// The colours of a page's owner, the wanted one first.
    fn wanted(&mut self, at: Place) -> impl Iterator<Item = u64> + use<> {
        let (order, all) = (self.rule.order, self.placed);
        let Owner { share, placed } = *self.owner(at);
        let colours = self.colours[share].clone();
        let number = match order {
            ColourOrder::ByPage => at.page,
            ColourOrder::RoundRobin => all,
            ColourOrder::BinHopping => placed,
        };
        let count = colours.end - colours.start;
        (0..count).map(move |tried| colours.start + (number + tried) % count)
    }

    /// A page was placed.
    fn place(&mut self, at: Place) {
        self.placed += 1;
        self.owner(at).placed += 1;
    }
}

impl System<'_> {
    /// Another core runs, or none that the trace names.
    pub fn run_on(&mut self, core: Option<CoreId>) {
        if let Some(colouring) = &mut self.colouring {
            colouring.core = core;
        }
    }

    /// The scattering of a superpage around a place: the share of its owner.
    pub(super) fn wanted_scattering(&mut self, at: Place) -> Option<Scattering> {
        let colouring = self.colouring.as_mut()?;
        let share = colouring.owner(at).share;
        Some(Scattering {
            regions: colouring.regions,
            share: colouring.shares[share],
        })
    }

    /// A free frame of the colours that a page's owner has, if the policy places pages by colour.
    /// `None` if no colour of the owner has a free frame.
    pub(super) fn coloured_frame(&mut self, at: Place) -> Option<Frame> {
        let colouring = self.colouring.as_mut()?;
        let wanted = colouring.wanted(at);
        colouring.place(at);
        for (tried, colour) in wanted.enumerate() {
            if let Some(given) = self.buddy.allocate_colour(colour) {
                self.counters.other_colours += u64::from(tried > 0);
                self.zeroed_given = given.zeroed;
                self.lose_cache(given.first, 1);
                return Some(given.first);
            }
        }
        None
    }
}
