//! The analysis: capacities, ways and index bits of the levels of a TLB.

use crate::chase::{Chase, far_apart, in_a_row, part_of, with_detection};
use crate::inclusion::{Inclusion, inclusion};
use crate::index::{IndexBits, index_bits};
use crate::replacement::{first_rule, second_rule};
use crate::second::second_level;
use crate::{ChaseOracle, Finding, TlbLevel, Verdict};
use broadleaf_tlb::IndexFunction;

/// The findings on one level, for one page size.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelFound {
    /// The most pages in a row that fit. Rounds of chases with other translations may lower it.
    pub capacity: Finding<usize>,
    /// The entries: ways times sets, if the chases agree on them.
    pub entries: Finding<usize>,
    /// The ways of a set.
    pub ways: Finding<usize>,
    /// The address bits that lead to another set.
    pub bits: Finding<IndexBits>,
    /// The index function.
    pub index: Finding<IndexFunction>,
    /// The replacement rules that answer the chases as this level does.
    pub rules: Finding<Vec<&'static str>>,
}

/// The findings on the TLB for one page size.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The first level.
    pub first: LevelFound,
    /// The second level. `None` if chases show no second level.
    pub second: Option<LevelFound>,
    /// The relation of the levels. Open without a second level.
    pub inclusion: Finding<Inclusion>,
}

/// The number of steps of an analysis.
pub const STEPS: u64 = 4;

/// The shares by which ways times sets may differ from the capacity in a row, in shares that other
/// translations take. Some rules let a few pages more than fit miss rarely. Walk entries, code and
/// neighbours compete for the last level, so fewer may fit there.
const MORE_FIT: f64 = 4.5;
const FEWER_FIT: [f64; 2] = [4.0, 10.0];

/// Finds the structure of the TLB that an oracle answers for. `step` is called before each of the
/// [`STEPS`] steps.
pub fn analyse(oracle: &mut dyn ChaseOracle, step: &mut dyn FnMut()) -> Analysis {
    step();
    let mut first = first_level(oracle);
    step();
    first.rules = first_rule(oracle, &first);
    step();
    let mut second = second_level(oracle, &first);
    if let Some(second) = &mut second {
        second.rules = second_rule(oracle, &first, second);
    }
    step();
    let inclusion = match &second {
        Some(second) => inclusion(oracle, &first, second),
        None => Finding::open("there is no second level"),
    };
    Analysis {
        first,
        second,
        inclusion,
    }
}

/// Finds the structure of the first level, without its replacement.
pub fn first_level(oracle: &mut dyn ChaseOracle) -> LevelFound {
    let above = oracle.above();
    let capacity = capacity(oracle, TlbLevel::First);
    let ways = largest(oracle, TlbLevel::First, &|count| far_apart(count, above));
    let (Some(most), Some(found)) = (capacity.value, ways.value) else {
        return open(capacity, ways, "the ways are open");
    };
    // Other translations take a few entries of a set that is the whole level.
    let lost = (most as f64 * oracle.intruders()) as usize;
    if found + lost >= most {
        let none = ways.map(|_| IndexBits::default());
        return closed(oracle, TlbLevel::First, capacity, ways, none);
    }
    let part = part_of(found);
    let chase = |bits| with_detection(part, bits, above);
    let bits = index_bits(oracle, TlbLevel::First, &chase);
    closed(oracle, TlbLevel::First, capacity, ways, bits)
}

/// A level whose ways or whose bits are open.
pub(crate) fn open(capacity: Finding<usize>, ways: Finding<usize>, reason: &str) -> LevelFound {
    LevelFound {
        entries: Finding::open(reason),
        capacity,
        ways,
        bits: Finding::open(reason),
        index: Finding::open(reason),
        rules: Finding::open("not examined"),
    }
}

/// A level with its ways and its bits. The entries are determined if ways times sets and the
/// capacity in a row agree.
pub(crate) fn closed(
    oracle: &dyn ChaseOracle,
    level: TlbLevel,
    capacity: Finding<usize>,
    ways: Finding<usize>,
    bits: Finding<IndexBits>,
) -> LevelFound {
    let index = match bits.value.as_ref().map(IndexBits::function) {
        Some(Some(index)) => bits.map(|_| index),
        Some(None) => Finding::open(format!(
            "the bits are no exclusive or of ranges: {}",
            bits.value.as_ref().map_or_else(String::new, words)
        )),
        None => Finding::open(bits.reason.clone()),
    };
    let (Some(of_set), Some(function), Some(most)) = (ways.value, &index.value, capacity.value)
    else {
        // Ways that no index confirms may be those of half a structure, or of none.
        let reason = match ways.value {
            Some(of_set) => format!("{of_set} pages seem to fill a set, and the index is open"),
            None => ways.reason.clone(),
        };
        return LevelFound {
            index,
            bits,
            ..open(capacity, Finding::open(reason.as_str()), &reason)
        };
    };
    let entries = of_set * usize::try_from(function.sets()).unwrap_or(usize::MAX / of_set);
    let of_row = entries as f64 / most as f64;
    let fewer = FEWER_FIT[usize::from(level == TlbLevel::All)];
    let agrees = 1.0 - MORE_FIT * oracle.intruders()..=1.0 + fewer * oracle.intruders();
    if !agrees.contains(&of_row) {
        let reason = format!(
            "the chases contradict each other: {of_set} ways, index {function}, and {most} pages \
             in a row"
        );
        return LevelFound {
            bits,
            ..open(capacity, Finding::open(reason.as_str()), &reason)
        };
    }
    let entries = Finding {
        value: Some(entries),
        confidence: ways.confidence.min(index.confidence),
        reason: String::new(),
    };
    LevelFound {
        capacity,
        entries,
        ways,
        bits,
        index,
        rules: Finding::open("not examined"),
    }
}

/// Bits and pairs in words.
fn words(bits: &IndexBits) -> String {
    let list: Vec<String> = bits.bits.iter().map(u32::to_string).collect();
    let pairs = bits.pairs.iter();
    let pairs: Vec<String> = pairs.map(|(low, high)| format!("{low}^{high}")).collect();
    format!("bits {} (pairs {})", list.join(" "), pairs.join(" "))
}

/// The most pages in a row that fit a level: the median of several answers, and their agreement.
pub(crate) fn capacity(oracle: &mut dyn ChaseOracle, level: TlbLevel) -> Finding<usize> {
    let unit = oracle.unit();
    let mut found = Vec::new();
    for _ in 0..oracle.repeats() {
        let one = largest(oracle, level, &|count| in_a_row(count, unit));
        match one.value {
            Some(count) => found.push(count),
            None => return one,
        }
    }
    found.sort_unstable();
    let (least, most) = (found[0], found[found.len() - 1]);
    Finding {
        value: Some(found[found.len() / 2]),
        confidence: least as f64 / most as f64,
        reason: String::new(),
    }
}

/// The largest number of pages with which a chase fits. The number is open if one page does not
/// fit, if the most pages fit, or if a chase cannot run.
pub(crate) fn largest(
    oracle: &mut dyn ChaseOracle,
    level: TlbLevel,
    chase: &dyn Fn(usize) -> Chase,
) -> Finding<usize> {
    let most = oracle.most_pages();
    let mut ask = |count: usize| oracle.fits(level, &chase(count));
    let (mut fits, mut fails) = (None::<(usize, Verdict)>, None::<(usize, Verdict)>);
    let mut count = 1;
    while fails.is_none() {
        if chase(count).offsets.len() > most {
            return Finding::open("more pages fit than a chase can have");
        }
        let Some(answer) = ask(count) else {
            return Finding::open("a chase cannot be mapped");
        };
        match answer.fits {
            true => fits = Some((count, answer)),
            false => fails = Some((count, answer)),
        }
        count *= 2;
    }
    let (Some(mut fits), Some(mut fails)) = (fits, fails) else {
        return Finding::open("one page alone does not fit");
    };
    while fits.0 + 1 < fails.0 {
        let middle = fits.0.midpoint(fails.0);
        let Some(answer) = ask(middle) else {
            return Finding::open("a chase cannot be mapped");
        };
        match answer.fits {
            true => fits = (middle, answer),
            false => fails = (middle, answer),
        }
    }
    Finding::of(fits.0, &[fits.1, fails.1])
}
