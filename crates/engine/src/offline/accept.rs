//! Which pieces pay, by what a trial found.

use super::trial::{Found, Noted, Piece, Spared};
use super::{Chosen, Setting};
use broadleaf_memory::system::Place;
use broadleaf_policy::Cycles;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A piece that pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) piece: Piece,
    /// What it costs by itself.
    pub(super) price: i128,
    /// What is to be paid for it, where those that it takes the place of are paid for already.
    net: i128,
    /// Cycles that it spares.
    spared: i128,
}

impl Offer {
    pub(super) const fn gain(&self) -> i128 {
        self.spared - self.net
    }

    /// Whether it spares nearly as much for what is paid as the best one does.
    fn is_near(&self, best: &Self, (part, of): (i128, i128)) -> bool {
        self.net <= 0
            || best.net > 0 && self.spared * best.net * of >= best.spared * self.net * part
    }

    /// The best first: those that cost nothing more, by what they gain; then by what is spared for what is paid. Of equal ones the smaller, then the
    /// one of the lower space, then the one at the lower address.
    fn order(&self, other: &Self) -> Ordering {
        let by_worth = match (self.net <= 0, other.net <= 0) {
            (true, true) => other.gain().cmp(&self.gain()),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => (other.spared * self.net).cmp(&(self.spared * other.net)),
        };
        let place = |offer: &Self| (offer.piece.1, offer.piece.0);
        by_worth.then_with(|| place(self).cmp(&place(other)))
    }
}

/// How far below the best an offer may be to be accepted with it, where only what pieces spare themselves is known, and where all is.
const NEAR_OWN: (i128, i128) = (1, 4);
const NEAR: (i128, i128) = (3, 4);

/// What is paid for the chosen.
pub(super) type Paid = BTreeMap<Place, i128>;

/// All pieces that pay, where some are chosen already.
fn offers(found: &Found, setting: &Setting, chosen: &Chosen, paid: &Paid) -> Vec<Offer> {
    let miss = i128::from(setting.walk_cycles.first().copied().unwrap_or(0));
    let offers = found.noted.iter().map(|(piece, noted)| {
        let price = price(setting, piece.1, noted);
        let parts = inside(setting, chosen, *piece);
        let replaced: i128 = parts.filter_map(|part| paid.get(&part)).sum();
        Offer {
            piece: *piece,
            price,
            net: price - replaced,
            spared: i128::from(noted.spared) * miss,
        }
    });
    offers.filter(|offer| offer.gain() > 0).collect()
}

/// Those of the chosen that lie in a piece.
fn inside<'a>(
    setting: &Setting,
    chosen: &'a Chosen,
    (first, level): Piece,
) -> impl Iterator<Item = Place> + use<'a> {
    let page = first.page + setting.sizes.pages(level);
    let range = first..Place { page, ..first };
    chosen.range(range).map(|(part, _)| *part)
}

/// What a piece costs, as often as it becomes a superpage, and what faults it spares.
pub(super) fn price(setting: &Setting, level: usize, noted: &Noted) -> i128 {
    let lives = i128::from(noted.lives.max(1));
    let each = i128::from(setting.price(level, noted.page_cycles));
    match setting.search.cycles {
        Cycles::Tlb => lives * each,
        Cycles::All => {
            let fault = i128::from(setting.costs.fault);
            lives * (each + fault)
                - i128::from(noted.faults) * (i128::from(noted.page_cycles) + fault)
        }
    }
}

/// Chosen pieces, with those in the place of which they come left out.
pub(super) fn add(setting: &Setting, chosen: &mut Chosen, paid: &mut Paid, offer: &Offer) {
    let (first, level) = offer.piece;
    let parts: Vec<Place> = inside(setting, chosen, offer.piece).collect();
    for part in parts {
        chosen.remove(&part);
        paid.remove(&part);
    }
    chosen.insert(first, level);
    paid.insert(first, offer.price);
}

/// What is to be added, the best first: the best one alone; or with it those that are nearly as good and overlap neither it nor one another.
pub(super) fn accept(
    found: &Found,
    setting: &Setting,
    chosen: &Chosen,
    paid: &Paid,
    barred: &BTreeSet<Piece>,
    charges: Spared,
) -> Vec<Offer> {
    let near = match charges {
        Spared::Own => NEAR_OWN,
        Spared::All => NEAR,
    };
    let mut offers = offers(found, setting, chosen, paid);
    offers.retain(|offer| !barred.contains(&offer.piece));
    offers.sort_by(Offer::order);
    let Some(best) = offers.first().copied() else {
        return offers;
    };
    let mut taken: BTreeMap<Place, Place> = BTreeMap::new();
    offers.retain(|offer| {
        let (first, level) = offer.piece;
        let page = first.page + setting.sizes.pages(level);
        let end = Place { page, ..first };
        let before = taken.range(..end).next_back();
        let alone = before.is_none_or(|(_, taken)| *taken <= first);
        let good = *offer == best || !setting.search.one_by_one && offer.is_near(&best, near);
        if alone && good {
            taken.insert(first, end);
        }
        alone && good
    });
    offers
}
