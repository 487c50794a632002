//! Scattered superpages (Chen 2014, section III).

use super::{Piece, Place, Pte, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use broadleaf_units::{PageSize, RegionShare, Scattering};
use std::collections::BTreeSet;

/// The frames of a superpage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SuperpageFrames {
    pub(super) first: Frame,
    /// `None` if the frames follow one another.
    pub(super) scattering: Option<Scattering>,
}

impl SuperpageFrames {
    /// Frames that follow one another.
    pub(super) const fn in_order(first: Frame) -> Self {
        let scattering = None;
        Self { first, scattering }
    }

    /// The frame of a page, by its number in the superpage.
    pub(super) const fn frame(self, number: u64) -> Frame {
        match self.scattering {
            None => Frame(self.first.0 + number),
            Some(scattering) => Frame(scattering.frame(self.first.0, number)),
        }
    }

    /// The number of the share in the tree of shares. 1 if the frames follow one another.
    pub(super) const fn share(self) -> u8 {
        match self.scattering {
            None => 1,
            Some(scattering) => scattering.share.node(scattering.regions),
        }
    }
}

impl System<'_> {
    /// Returns true if the policy's superpages lie in their owner's share of the colour regions.
    pub(super) fn scatters(&self, level: usize) -> bool {
        let rule = self.needs.colours;
        rule.is_some_and(|rule| rule.scatters) && self.size(level) == PageSize::SIZE_2M
    }

    /// Makes a scattered superpage of an empty piece. Returns false if no consecutive physical
    /// superpages have the owner's regions free.
    pub(super) fn fill_scattered(&mut self, spaces: &AddressSpaces, piece: Piece) -> bool {
        let Some(scattering) = self.wanted_scattering(piece.first) else {
            return false;
        };
        let Some(given) = self.buddy.allocate_scattered(scattering) else {
            self.counters.extents_refused += 1;
            return false;
        };
        self.zeroed_given = given.zeroed;
        let frames = SuperpageFrames {
            first: given.first,
            scattering: Some(scattering),
        };
        self.counters.scattered_superpages += u64::from(!scattering.is_ordinary());
        for number in 0..self.pages(piece.level) {
            self.lose_cache(frames.frame(number), 1);
        }
        self.fill_placed(spaces, piece, frames);
        true
    }

    /// The scattering that an entry's superpage has. `None` if its frames follow one another.
    pub(super) fn scattering_of(&self, pte: Pte) -> Option<Scattering> {
        if pte.share() == 1 {
            return None;
        }
        let regions = self.colouring.as_ref()?.regions();
        let share = RegionShare::of_node(pte.share(), regions)?;
        Some(Scattering { regions, share })
    }

    /// The free frames in physical superpages that scattered superpages use in part. No ordinary
    /// superpage can lie there.
    pub(super) fn frames_beside_scattered(&self) -> u64 {
        let mut used = BTreeSet::new();
        if self.colouring.is_some() {
            let order = PageSize::SIZE_2M.shift() - self.base.shift();
            let scattered = self.tables.iter().filter(|(_, pte)| pte.share() != 1);
            used.extend(scattered.map(|(_, pte)| pte.frame().0 >> order));
        }
        self.buddy.free_in_superpages(used.into_iter())
    }

    /// Asserts that the frame of a page in a superpage is the one that the superpage's first page
    /// and its configuration say.
    pub(super) fn check_frame_in_superpage(&self, piece: Piece, at: Place, pte: Pte) {
        let first = self.tables.get(piece.first);
        assert_eq!(first.share(), pte.share(), "a superpage with two shares");
        let number = at.page - piece.first.page;
        let frames = SuperpageFrames {
            first: first.frame(),
            scattering: self.scattering_of(first),
        };
        assert_eq!(frames.frame(number), pte.frame(), "a superpage in pieces");
        match frames.scattering {
            None => assert_eq!(
                first.frame().0 % self.pages(piece.level),
                0,
                "a superpage that is not aligned"
            ),
            Some(scattering) => {
                let base = first.frame().0 >> self.sizes.order(piece.level);
                assert_eq!(
                    scattering.first_frame(base),
                    first.frame().0,
                    "not in its share"
                );
            }
        }
    }
}
