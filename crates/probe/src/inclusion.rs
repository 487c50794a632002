//! The relation of two levels (Zhu 2018, chapter 4).

use crate::chase::{Chase, far_apart};
use crate::{ChaseOracle, Finding, IndexBits, LevelFound, TlbLevel};

/// The relation of the second level to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// A translation that leaves the second level leaves the first.
    Inclusive,
    /// The levels hold different translations.
    Exclusive,
    /// Neither.
    Neither,
}

impl Inclusion {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inclusive => "inclusive",
            Self::Exclusive => "exclusive",
            Self::Neither => "neither",
        }
    }
}

/// Finds the relation of the levels.
pub(crate) fn inclusion(
    oracle: &mut dyn ChaseOracle,
    first: &LevelFound,
    second: &LevelFound,
) -> Finding<Inclusion> {
    let (Some(of_first), Some(of_second)) = (first.ways.value, second.ways.value) else {
        return Finding::open("the ways of a level are open");
    };
    let (Some(first_bits), Some(second_bits)) = (&first.bits.value, &second.bits.value) else {
        return Finding::open("the index bits of a level are open");
    };
    let cannot = "a chase cannot be mapped";
    // Exclusive levels hold the ways of both for the pages of one set.
    let more = far_apart(of_first.max(of_second) + 1, oracle.above());
    let Some(together) = oracle.fits(TlbLevel::All, &more) else {
        return Finding::open(cannot);
    };
    if together.fits {
        return Finding::of(Inclusion::Exclusive, &[together]);
    }
    let count = of_second + 1;
    let Some(chase) = spread(first_bits, second_bits, of_first, count, oracle.above()) else {
        return Finding::open(
            "not exclusive; no pages of one set of the second level fit the first level",
        );
    };
    // An inclusive second level removes what its set cannot hold from the first level.
    match oracle.fits(TlbLevel::First, &chase) {
        Some(answer) if answer.fits => Finding::of(Inclusion::Neither, &[together, answer]),
        Some(answer) => Finding::of(Inclusion::Inclusive, &[together, answer]),
        None => Finding::open(cannot),
    }
}

/// Pages of one set of the second level that fit the first level. `None` if there are none.
fn spread(
    first: &IndexBits,
    second: &IndexBits,
    of_first: usize,
    count: usize,
    above: u32,
) -> Option<Chase> {
    // Changes of an address that lead to another set of the first level and stay in the set of
    // the second level.
    let in_first = |bit: &u32| first.bits.contains(bit);
    let unused = first.bits.iter().filter(|bit| !second.bits.contains(bit));
    let unused = unused.map(|bit| 1_u64 << *bit);
    let pairs = second.pairs.iter();
    let pairs = pairs.filter(|(low, high)| in_first(low) != in_first(high));
    let pairs = pairs.map(|(low, high)| 1_u64 << *low | 1 << *high);
    let changes: Vec<u64> = unused.chain(pairs).collect();
    let sets = 1_usize << changes.len().min(16);
    if of_first * sets < count {
        return None;
    }
    let page = |number: usize| {
        let (set, copy) = (number % sets, (number / sets) as u64);
        let chosen = changes.iter().enumerate();
        let chosen = chosen.filter(|(at, _)| set >> *at & 1 == 1);
        chosen.fold(copy << above, |page, (_, change)| page ^ change)
    };
    Some(Chase::of((0..count).map(page).collect()))
}
