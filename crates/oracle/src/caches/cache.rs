//! One cache: sets of ways with the whole history of each way.

use crate::random::Rng;

/// A replacement rule of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRuleSpec {
    /// The line whose last use is longest ago.
    Lru,
    /// A binary tree that points away from recent uses.
    TreePlru,
    /// Predictions of this number of bits.
    Srrip(u32),
    /// A duel of two predictions of this number of bits.
    Drrip(u32),
    /// Any line, by random numbers from this seed.
    Random(u64),
}

impl LineRuleSpec {
    /// The rule of that name, with the value of its parameter.
    pub fn named(name: &str, parameter: Option<u64>) -> Option<Self> {
        Some(match (name, parameter) {
            ("lru", None) => Self::Lru,
            ("tree-plru", None) => Self::TreePlru,
            ("srrip", Some(bits)) => Self::Srrip(bits as u32),
            ("drrip", Some(bits)) => Self::Drrip(bits as u32),
            ("random", Some(seed)) => Self::Random(seed),
            _ => return None,
        })
    }
}

/// The description of a cache.
#[derive(Clone, Copy, Debug)]
pub struct OracleCacheSpec {
    /// The number of sets.
    pub sets: usize,
    /// The number of ways.
    pub ways: usize,
    /// The cycles of a lookup.
    pub cycles: u64,
    /// The replacement rule.
    pub rule: LineRuleSpec,
}

/// A line in a cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedLine {
    pub(super) number: u64,
    pub(super) core: usize,
    pub(super) modified: bool,
    /// Another core may have the line too.
    pub(super) shared: bool,
}

/// A way: its line, the time of its last use, and the prediction of its next one.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    line: Option<CachedLine>,
    used: u64,
    distance: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Cache {
    spec: OracleCacheSpec,
    sets: Vec<Vec<Way>>,
    clock: u64,
    numbers: Rng,
    /// The misses of DRRIP's two kinds of leading sets against each other.
    balance: i32,
    distant: u64,
}

/// How a set of DRRIP fills.
#[derive(PartialEq, Eq)]
enum Leads {
    ForNear,
    ForDistant,
    Follows,
}

impl Cache {
    pub(super) fn new(spec: &OracleCacheSpec) -> Self {
        let seed = match spec.rule {
            LineRuleSpec::Random(seed) => seed,
            _ => 0,
        };
        Self {
            spec: *spec,
            sets: vec![vec![Way::default(); spec.ways]; spec.sets],
            clock: 0,
            numbers: Rng::new(seed),
            balance: 512,
            distant: 0,
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = CachedLine> + '_ {
        self.sets.iter().flatten().filter_map(|way| way.line)
    }

    fn set_of(&self, number: u64) -> usize {
        (number % self.spec.sets as u64) as usize
    }

    fn way_of(&mut self, number: u64) -> Option<&mut Way> {
        let set = self.set_of(number);
        let ways = self.sets[set].iter_mut();
        let mut ways = ways.filter(|way| way.line.is_some_and(|line| line.number == number));
        ways.next()
    }

    pub(super) fn get(&self, number: u64) -> Option<CachedLine> {
        let mut lines = self.sets[self.set_of(number)]
            .iter()
            .filter_map(|way| way.line);
        lines.find(|line| line.number == number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut CachedLine> {
        self.way_of(number)?.line.as_mut()
    }

    /// An access looks the line up.
    pub(super) fn use_line(&mut self, number: u64) -> bool {
        self.clock += 1;
        let now = self.clock;
        if let Some(way) = self.way_of(number) {
            way.used = now;
            way.distance = 0;
            return true;
        }
        if let LineRuleSpec::Drrip(_) = self.spec.rule {
            match self.leads(self.set_of(number)) {
                Leads::ForNear => self.balance = (self.balance + 1).min(1023),
                Leads::ForDistant => self.balance = (self.balance - 1).max(0),
                Leads::Follows => {}
            }
        }
        false
    }

    fn leads(&self, set: usize) -> Leads {
        let group = (self.spec.sets / 32).max(2);
        match set % group {
            0 => Leads::ForNear,
            1 => Leads::ForDistant,
            _ => Leads::Follows,
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<CachedLine> {
        self.way_of(number)?.line.take()
    }

    /// Loads a line. Returns the line that makes room.
    pub(super) fn insert(&mut self, line: CachedLine) -> Option<CachedLine> {
        self.clock += 1;
        let set = self.set_of(line.number);
        let unused = self.sets[set].iter().position(|way| way.line.is_none());
        let way = match unused {
            Some(way) => way,
            None => self.victim(set),
        };
        let distance = self.prediction(set);
        let new = Way {
            line: Some(line),
            used: self.clock,
            distance,
        };
        std::mem::replace(&mut self.sets[set][way], new).line
    }

    /// The predicted distance of a new line.
    fn prediction(&mut self, set: usize) -> u32 {
        match self.spec.rule {
            LineRuleSpec::Srrip(bits) => (1 << bits) - 2,
            LineRuleSpec::Drrip(bits) => {
                let is_distant = match self.leads(set) {
                    Leads::ForNear => false,
                    Leads::ForDistant => true,
                    Leads::Follows => self.balance > 512,
                };
                if !is_distant {
                    return (1 << bits) - 2;
                }
                self.distant += 1;
                if self.distant.is_multiple_of(32) {
                    (1 << bits) - 2
                } else {
                    (1 << bits) - 1
                }
            }
            _ => 0,
        }
    }

    fn victim(&mut self, set: usize) -> usize {
        let ways = &mut self.sets[set];
        match self.spec.rule {
            LineRuleSpec::Lru => {
                let numbered = ways.iter().enumerate();
                numbered.min_by_key(|(_, way)| way.used).expect("a way").0
            }
            LineRuleSpec::TreePlru => {
                let mut all: &[Way] = ways;
                let mut first = 0;
                while all.len() > 1 {
                    let (lower, upper) = all.split_at(all.len() / 2);
                    let last_use = |half: &[Way]| half.iter().map(|way| way.used).max();
                    if last_use(upper) < last_use(lower) {
                        first += lower.len();
                        all = upper;
                    } else {
                        all = lower;
                    }
                }
                first
            }
            LineRuleSpec::Srrip(bits) | LineRuleSpec::Drrip(bits) => {
                let farthest = (1 << bits) - 1;
                loop {
                    if let Some(way) = ways.iter().position(|way| way.distance == farthest) {
                        return way;
                    }
                    ways.iter_mut().for_each(|way| way.distance += 1);
                }
            }
            LineRuleSpec::Random(_) => {
                let fraction = u128::from(self.numbers.next());
                (fraction * ways.len() as u128 / (1 << 64)) as usize
            }
        }
    }
}
