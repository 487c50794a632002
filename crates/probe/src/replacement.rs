//! Replacement: the rules that answer strings of pages as a level does.
//!
//! A cyclic chase over one page more than the ways does not distinguish most rules. A string with
//! a hot page between others and a string up and down do. The miss ratio of a pseudo-LRU rule
//! depends on the state that a string starts from, so each string has a range over many starts.

use crate::second::Pushers;
use crate::{ChaseOracle, Finding, LevelFound, Modelled, TlbLevel};
use broadleaf_tlb::{REPLACEMENTS, RuleNeed};

/// The states that each string starts from.
const STARTS: u64 = 24;
/// The difference of miss ratios within which two rules count as equal.
const ALIKE: f64 = 0.08;
/// The most ways that are examined: a string has at most 64 pages.
const MOST_WAYS: usize = 20;

/// The least and the greatest miss ratio of each string.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSignature(pub Vec<(f64, f64)>);

impl RuleSignature {
    /// The greatest difference from another signature.
    fn distance(&self, other: &Self) -> f64 {
        let both = self.0.iter().zip(&other.0);
        let differences = both.flat_map(|(one, other)| [one.0 - other.0, one.1 - other.1]);
        differences.map(f64::abs).fold(0.0, f64::max)
    }
}

/// The strings over pages `0..=ways`, by number: cyclic, with a hot page, up and down.
fn strings(ways: usize) -> [Vec<usize>; 3] {
    let hot = (1..=ways).flat_map(|other| [0, other]);
    let down = (1..ways).rev();
    [
        (0..=ways).collect(),
        hot.collect(),
        (0..=ways).chain(down).collect(),
    ]
}

/// The signature of a level whose sets have this number of ways. `page` returns pages of one set.
pub fn signature(
    oracle: &mut dyn ChaseOracle,
    level: TlbLevel,
    ways: usize,
    strings_used: usize,
    page: &dyn Fn(usize) -> u64,
) -> Option<RuleSignature> {
    let all_miss: Vec<u64> = (0..3 * ways + 2).map(page).collect();
    let mut ranges = Vec::new();
    for string in strings(ways).into_iter().take(strings_used) {
        let string: Vec<u64> = string.into_iter().map(page).collect();
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for start in 0..STARTS {
            let ratio = oracle.miss_ratio(level, &string, &all_miss, start)?;
            least = least.min(ratio);
            most = most.max(ratio);
        }
        ranges.push((least, most));
    }
    Some(RuleSignature(ranges))
}

/// The rules of the catalogue whose sets answer as the signature has it, nearest first.
fn rules(found: &RuleSignature, ways: usize) -> Vec<(f64, &'static str)> {
    let rules = REPLACEMENTS
        .iter()
        .filter(|rule| !rule.needs.contains(&RuleNeed::Future) && (rule.refuses)(ways).is_none());
    let near = rules.filter_map(|rule| {
        let mut set = Modelled::one_set(rule, ways)?;
        let page = |number: usize| (number as u64) << 12;
        let of_rule = signature(&mut set, TlbLevel::First, ways, found.0.len(), &page)?;
        Some((found.distance(&of_rule), rule.described.name))
    });
    let mut near: Vec<(f64, &'static str)> = near.collect();
    near.sort_by(|one, other| one.0.total_cmp(&other.0));
    near.retain(|(distance, _)| *distance <= ALIKE);
    near
}

fn finding(found: Option<RuleSignature>, ways: usize) -> Finding<Vec<&'static str>> {
    let Some(found) = found else {
        return Finding::open("the strings of the replacement rules cannot be run");
    };
    let near = rules(&found, ways);
    let Some((nearest, _)) = near.first() else {
        let ranges = found.0.iter();
        let ranges = ranges.map(|(least, most)| format!("{least:.2} to {most:.2}"));
        let ranges: Vec<String> = ranges.collect();
        return Finding::open(format!(
            "no rule of the catalogue has the miss ratios {}",
            ranges.join(", ")
        ));
    };
    Finding {
        confidence: 1.0 - nearest / ALIKE / 2.0,
        value: Some(near.iter().map(|(_, name)| *name).collect()),
        reason: String::new(),
    }
}

/// The rules that the first level may have.
pub(crate) fn first_rule(
    oracle: &mut dyn ChaseOracle,
    first: &LevelFound,
) -> Finding<Vec<&'static str>> {
    let (Some(ways), Some(bits)) = (first.ways.value, &first.bits.value) else {
        return Finding::open("the ways or the index bits are open");
    };
    if ways > MOST_WAYS {
        return Finding::open(format!("strings are too short for {ways} ways"));
    }
    // Pages of one set of the first level, in different sets of the second.
    let lowest = oracle.unit().trailing_zeros();
    let shift = bits.bits.last().map_or(lowest, |highest| highest + 1);
    let page = |number: usize| (number as u64) << shift;
    finding(signature(oracle, TlbLevel::First, ways, 3, &page), ways)
}

/// The rules that the second level may have. The first level hides the uses of a hot page, so the
/// cyclic string alone is examined, if its pages push one another out of the first level.
pub(crate) fn second_rule(
    oracle: &mut dyn ChaseOracle,
    first: &LevelFound,
    second: &LevelFound,
) -> Finding<Vec<&'static str>> {
    let (Some(of_first), Some(ways)) = (first.ways.value, second.ways.value) else {
        return Finding::open("the ways of a level are open");
    };
    if ways > MOST_WAYS || Pushers::misses_alone(of_first, ways).is_none() {
        return Finding::open("the first level hides the order of uses");
    }
    let above = oracle.above();
    let page = |number: usize| (number as u64) << above;
    finding(signature(oracle, TlbLevel::All, ways, 1, &page), ways)
}
