//! Offers: lives of pieces that are worth their price by the last trial.

use super::lives::{LifeId, Lives};
use super::trial::{LadderPiece, Spared, TrialResult};
use super::{Chosen, OfflineSetting};
use broadleaf_memory::system::Place;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A life of a piece that is worth its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) piece: LadderPiece,
    pub(super) life: LifeId,
    /// The price of the life by itself.
    pub(super) price: i128,
    /// The price of the life, less the prices already paid for the lives that it replaces.
    net: i128,
    /// Cycles that the life spares.
    spared: i128,
}

impl Offer {
    pub(super) const fn gain(&self) -> i128 {
        self.spared - self.net
    }

    /// Returns true if the offer spares nearly as many cycles per cycle paid as the best one.
    fn is_near(&self, best: &Self, (part, of): (i128, i128)) -> bool {
        self.net <= 0
            || best.net > 0 && self.spared * best.net * of >= best.spared * self.net * part
    }

    /// Orders the best offer first: free offers by their gain, then the others by cycles spared per
    /// cycle paid. Ties go to the smaller piece, the lower space, the lower address and the earlier
    /// life.
    fn order(&self, other: &Self) -> Ordering {
        let by_worth = match (self.net <= 0, other.net <= 0) {
            (true, true) => other.gain().cmp(&self.gain()),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => (other.spared * self.net).cmp(&(self.spared * other.net)),
        };
        let place = |offer: &Self| (offer.piece.1, offer.piece.0, offer.life);
        by_worth.then_with(|| place(self).cmp(&place(other)))
    }
}

/// The part of the best offer's ratio that an offer needs to be accepted with the best. The first
/// constant applies if only the own misses of pieces are known, the second if all are.
const NEAR_OWN: (i128, i128) = (1, 4);
const NEAR: (i128, i128) = (3, 4);

/// Prices of lives.
pub(super) type Paid = BTreeMap<LifeId, i128>;

/// All lives that are worth their price beside the chosen ones. `alone` has the prices of lives
/// without superpages.
fn offers(
    found: &TrialResult,
    lives: &Lives,
    setting: &OfflineSetting,
    (chosen, paid): (&Chosen, &Paid),
    alone: &Paid,
) -> Vec<Offer> {
    let miss = i128::from(setting.walk_cycles.first().copied().unwrap_or(0));
    let offers = found.spared.iter().filter_map(|(life, spared)| {
        let mut parts = replaced(lives, setting, chosen, *life).peekable();
        // The pages that replaced superpages filled are not resident under the larger piece.
        let prices = match parts.peek() {
            Some(_) => alone,
            None => &found.prices,
        };
        let price = *prices.get(life)?;
        let replaced: i128 = parts.filter_map(|(.., part)| paid.get(&part)).sum();
        Some(Offer {
            piece: lives.get(*life).piece,
            life: *life,
            price,
            net: price - replaced,
            spared: i128::from(*spared) * miss,
        })
    });
    offers
        .filter(|offer| offer.gain() > 0 && !paid.contains_key(&offer.life))
        .collect()
}

/// The chosen lives that `life` replaces: those of smaller pieces in its piece that end with it.
fn replaced<'a>(
    lives: &'a Lives,
    setting: &OfflineSetting,
    chosen: &'a Chosen,
    life: LifeId,
) -> impl Iterator<Item = (Place, usize, LifeId)> + use<'a> {
    let life = lives.get(life);
    let (first, level) = life.piece;
    let page = first.page + setting.sizes.pages(level);
    let range = (first, 0, 0)..(Place { page, ..first }, 0, 0);
    let ends_with = move |part: LifeId| lives.get(part).span.to == life.span.to;
    chosen
        .range(range)
        .copied()
        .filter(move |(_, of, part)| *of < level && ends_with(*part))
}

/// Adds a life to the chosen ones, in place of those that it replaces.
pub(super) fn add(
    lives: &Lives,
    setting: &OfflineSetting,
    chosen: &mut Chosen,
    paid: &mut Paid,
    offer: &Offer,
) {
    let parts: Vec<_> = replaced(lives, setting, chosen, offer.life).collect();
    for part in parts {
        chosen.remove(&part);
        paid.remove(&part.2);
    }
    chosen.insert((offer.piece.0, offer.piece.1, offer.life));
    paid.insert(offer.life, offer.price);
}

/// The offers to add, the best first: the best one alone; or with it those that are nearly as good
/// and whose pieces do not overlap. Lives of one piece never overlap.
pub(super) fn accept(
    found: &TrialResult,
    lives: &Lives,
    setting: &OfflineSetting,
    (chosen, paid): (&Chosen, &Paid),
    alone: &Paid,
    barred: &BTreeSet<LifeId>,
    charges: Spared,
) -> Vec<Offer> {
    let near = match charges {
        Spared::Own => NEAR_OWN,
        Spared::All => NEAR,
    };
    let mut offers = offers(found, lives, setting, (chosen, paid), alone);
    offers.retain(|offer| !barred.contains(&offer.life));
    offers.sort_by(Offer::order);
    let Some(best) = offers.first().copied() else {
        return offers;
    };
    let mut taken: BTreeMap<Place, (Place, usize)> = BTreeMap::new();
    offers.retain(|offer| {
        let (first, level) = offer.piece;
        let page = first.page + setting.sizes.pages(level);
        let end = Place { page, ..first };
        let before = taken.range(..end).next_back();
        let alone =
            before.is_none_or(|(at, (to, of))| *to <= first || (*at, *of) == (first, level));
        let good = *offer == best || !setting.search.one_by_one && offer.is_near(&best, near);
        if alone && good {
            taken.insert(first, (end, level));
        }
        alone && good
    });
    offers
}
