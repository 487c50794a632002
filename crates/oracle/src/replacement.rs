//! Replacement rules, written from their texts: sets of entries that remember everything.

use crate::drawn::DrawnNumbers;

/// A replacement rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleSpec {
    /// The entry whose last use is longest ago.
    #[default]
    Lru,
    /// Talluri 1995, section 5.1: the lowest entry that is not used; all are cleared if all are.
    Gods,
    /// Talluri 1995, section 5.1, and decision 1: a hand that gives second chances.
    Clock,
    /// The entry that was loaded first.
    Fifo,
    /// The entries in turn, valid or not.
    RoundRobin,
    /// The entries in turn, except the one that was used last.
    NotLastUsed,
    /// The entry with the fewest uses, the lowest among equals.
    Lfu,
    /// Any entry, valid or not, by random numbers from this seed.
    Random(u64),
    /// A binary tree that points away from recent uses.
    TreePlru,
    /// A bit for each entry, and the last bit to be set clears the others.
    BitPlru,
    /// The bits of bit-PLRU: a random entry whose bit is clear, by MT19937 from this seed.
    BitPlruRandom(u32),
    /// Of three groups the one after the last used, and a tree inside.
    Mru3Plru,
    /// Of three groups the least recently used, and a tree inside.
    Lru3Plru,
    /// Jaleel 2010: predictions of this number of bits.
    Srrip(u32),
    /// Belady 1966: the entry whose next use is farthest, the lowest among equals.
    Opt,
}

impl RuleSpec {
    /// The rule of that name, with the value of its parameter.
    pub fn named(name: &str, parameter: Option<u64>) -> Option<Self> {
        Some(match (name, parameter) {
            ("lru", None) => Self::Lru,
            ("gods", None) => Self::Gods,
            ("clock", None) => Self::Clock,
            ("fifo", None) => Self::Fifo,
            ("round-robin", None) => Self::RoundRobin,
            ("not-last-used", None) => Self::NotLastUsed,
            ("lfu", None) => Self::Lfu,
            ("random", Some(seed)) => Self::Random(seed),
            ("tree-plru", None) => Self::TreePlru,
            ("bit-plru", None) => Self::BitPlru,
            ("bit-plru-random", Some(seed)) => Self::BitPlruRandom(seed as u32),
            ("mru3-plru", None) => Self::Mru3Plru,
            ("lru3-plru", None) => Self::Lru3Plru,
            ("srrip", Some(bits)) => Self::Srrip(bits as u32),
            ("opt", None) => Self::Opt,
            _ => return None,
        })
    }

    /// The rule's name, and the name and the value of its parameter.
    pub const fn text(self) -> (&'static str, Option<(&'static str, u64)>) {
        match self {
            Self::Lru => ("lru", None),
            Self::Gods => ("gods", None),
            Self::Clock => ("clock", None),
            Self::Fifo => ("fifo", None),
            Self::RoundRobin => ("round-robin", None),
            Self::NotLastUsed => ("not-last-used", None),
            Self::Lfu => ("lfu", None),
            Self::Random(seed) => ("random", Some(("seed", seed))),
            Self::TreePlru => ("tree-plru", None),
            Self::BitPlru => ("bit-plru", None),
            Self::BitPlruRandom(seed) => ("bit-plru-random", Some(("seed", seed as u64))),
            Self::Mru3Plru => ("mru3-plru", None),
            Self::Lru3Plru => ("lru3-plru", None),
            Self::Srrip(bits) => ("srrip", Some(("bits", bits as u64))),
            Self::Opt => ("opt", None),
        }
    }

    /// Returns true if sets of this number of ways can have the rule.
    pub const fn fits(self, ways: usize) -> bool {
        match self {
            Self::TreePlru => ways.is_power_of_two(),
            Self::Mru3Plru | Self::Lru3Plru => {
                ways.is_multiple_of(3) && (ways / 3).is_power_of_two()
            }
            _ => true,
        }
    }

    const fn takes_invalid_first(self) -> bool {
        !matches!(self, Self::RoundRobin | Self::NotLastUsed | Self::Random(_))
    }

    /// The random numbers of a structure.
    pub(crate) fn numbers(self) -> DrawnNumbers {
        match self {
            Self::Random(seed) => DrawnNumbers::fractions(seed),
            Self::BitPlruRandom(seed) => DrawnNumbers::words(seed),
            _ => DrawnNumbers::fractions(0),
        }
    }

    const fn has_bits_of_plru(self) -> bool {
        matches!(self, Self::BitPlru | Self::BitPlruRandom(_))
    }
}

/// An entry and its past. The past stays when the translation goes.
#[derive(Clone, Debug)]
struct SlowWay<K> {
    key: Option<K>,
    /// The time of the last load.
    loaded: u64,
    /// The time of the last load or hit.
    used: u64,
    /// Uses since the load.
    uses: u64,
    /// The used bit of the rules that have one.
    bit: bool,
    /// The prediction of SRRIP.
    distance: Option<u32>,
    /// The next use that was foreseen at the last load or hit.
    next_use: u64,
}

/// One set.
#[derive(Clone, Debug)]
pub(crate) struct SlowSet<K> {
    ways: Vec<SlowWay<K>>,
    /// Loads and hits so far.
    now: u64,
    /// The entry at the hand or the pointer, for the rules that have one.
    pointer: usize,
    /// The number of wired entries, the lowest ones: they hold nothing and never make room.
    wired: usize,
    /// The next use of the translation that is looked up now.
    foreseen: u64,
    /// The lookups so far whose next use was given.
    numbered: u64,
}

impl<K: Copy + Eq> SlowSet<K> {
    pub(crate) fn new(ways: usize, wired: usize) -> Self {
        let never_used = SlowWay {
            key: None,
            loaded: 0,
            used: 0,
            uses: 0,
            bit: false,
            distance: None,
            next_use: u64::MAX,
        };
        Self {
            ways: vec![never_used; ways],
            now: 0,
            pointer: 0,
            wired,
            foreseen: u64::MAX,
            numbered: 0,
        }
    }

    /// Gives the set the next use of the translation that is looked up now.
    pub(crate) fn foresee(&mut self, next_use: u64) {
        self.foreseen = next_use;
        // Another structure may answer this use of an entry.
        for way in &mut self.ways {
            if way.next_use == self.numbered {
                way.next_use = next_use;
            }
        }
        self.numbered += 1;
    }

    /// Returns true if the set holds `key`. A hit is a use.
    pub(crate) fn hit(&mut self, rule: RuleSpec, key: K) -> bool {
        let Some(way) = self.ways.iter().position(|way| way.key == Some(key)) else {
            return false;
        };
        self.used(rule, way);
        self.ways[way].uses += 1;
        self.ways[way].distance = Some(0);
        if rule == RuleSpec::NotLastUsed && self.pointer == way {
            self.pointer = self.after(way);
        }
        true
    }

    /// Hits `key` `times` more times. The first of them matters to predictions, and their number to
    /// counts. Nothing else changes: `key` was the last to be used.
    pub(crate) fn used_again(&mut self, rule: RuleSpec, key: K, times: u64) {
        if times > 0 {
            self.hit(rule, key);
        }
        for way in &mut self.ways {
            if way.key == Some(key) {
                way.uses += times.saturating_sub(1);
            }
        }
    }

    /// Loads `key`.
    pub(crate) fn insert(&mut self, rule: RuleSpec, numbers: &mut DrawnNumbers, key: K) {
        let mut free = self.wired..self.ways.len();
        let invalid = free.find(|way| self.ways[*way].key.is_none());
        let invalid = invalid.filter(|_| rule.takes_invalid_first());
        let way = match invalid {
            Some(way) => way,
            None => self.victim(rule, numbers),
        };
        self.used(rule, way);
        self.ways[way].key = Some(key);
        self.ways[way].loaded = self.now;
        self.ways[way].uses = 1;
        self.ways[way].distance = match rule {
            RuleSpec::Srrip(bits) => Some(2u32.pow(bits) - 2),
            _ => None,
        };
        if matches!(rule, RuleSpec::RoundRobin | RuleSpec::NotLastUsed) {
            self.pointer = self.after(way);
        }
    }

    /// The entries, in the order of their ways.
    pub(crate) fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.ways.iter().filter_map(|way| way.key)
    }

    /// Removes the entries of which `goes` is true.
    pub(crate) fn remove(&mut self, goes: impl Fn(K) -> bool) {
        for way in &mut self.ways {
            way.key = way.key.filter(|key| !goes(*key));
        }
    }

    fn after(&self, way: usize) -> usize {
        (way + 1) % self.ways.len()
    }

    fn used(&mut self, rule: RuleSpec, way: usize) {
        self.now += 1;
        self.ways[way].used = self.now;
        self.ways[way].next_use = self.foreseen;
        self.ways[way].bit = true;
        if rule.has_bits_of_plru() && self.ways[self.wired..].iter().all(|way| way.bit) {
            self.ways.iter_mut().for_each(|way| way.bit = false);
            self.ways[way].bit = true;
        }
    }

    fn victim(&mut self, rule: RuleSpec, numbers: &mut DrawnNumbers) -> usize {
        let all = self.wired..self.ways.len();
        match rule {
            RuleSpec::Lru => self.least(all, |way| way.used),
            RuleSpec::Fifo => self.least(all, |way| way.loaded),
            RuleSpec::Lfu => self.least(all, |way| way.uses),
            RuleSpec::Opt => self.least(all, |way| u64::MAX - way.next_use),
            RuleSpec::RoundRobin | RuleSpec::NotLastUsed => self.pointer.max(self.wired),
            RuleSpec::Random(_) => self.wired + numbers.below(all.len()),
            RuleSpec::Gods => {
                if self.ways[self.wired..].iter().all(|way| way.bit) {
                    self.ways.iter_mut().for_each(|way| way.bit = false);
                }
                self.least(all, |way| u64::from(way.bit))
            }
            RuleSpec::BitPlru => self.least(all, |way| u64::from(way.bit)),
            RuleSpec::BitPlruRandom(_) => {
                let clear: Vec<usize> = all.filter(|way| !self.ways[*way].bit).collect();
                // The bit of a set's only free entry is set.
                let drawn = numbers.below(clear.len().max(1));
                clear.get(drawn).copied().unwrap_or(self.wired)
            }
            RuleSpec::Clock => {
                while self.pointer < self.wired || self.ways[self.pointer].bit {
                    self.ways[self.pointer].bit = false;
                    self.pointer = self.after(self.pointer);
                }
                let way = self.pointer;
                self.pointer = self.after(way);
                way
            }
            RuleSpec::TreePlru => self.away(0..self.ways.len()),
            RuleSpec::Mru3Plru | RuleSpec::Lru3Plru => {
                let third = self.ways.len() / 3;
                let newest = |group: &usize| {
                    let ways = &self.ways[group * third..(group + 1) * third];
                    ways.iter().map(|way| way.used).max()
                };
                let is_free = |group: &usize| (group + 1) * third > self.wired;
                let group = match rule {
                    RuleSpec::Lru3Plru => (0..3).filter(is_free).min_by_key(newest),
                    _ => {
                        let last = (0..3).max_by_key(newest).unwrap_or_default();
                        let mut next = (1..=3).map(|step| (last + step) % 3);
                        next.find(is_free)
                    }
                };
                let first = group.unwrap_or_default() * third;
                self.away(first..first + third)
            }
            RuleSpec::Srrip(bits) => {
                let distant = Some(2u32.pow(bits) - 1);
                loop {
                    let found = self.ways.iter().position(|way| way.distance == distant);
                    if let Some(way) = found {
                        return way;
                    }
                    for distance in self.ways.iter_mut().flat_map(|way| &mut way.distance) {
                        *distance += 1;
                    }
                }
            }
        }
    }

    /// The lowest of the ways with the least number.
    fn least(&self, ways: std::ops::Range<usize>, number: impl Fn(&SlowWay<K>) -> u64) -> usize {
        let first = ways.start;
        ways.min_by_key(|way| number(&self.ways[*way]))
            .unwrap_or(first)
    }

    /// The way that a tree points to: the half that does not hold the last use, down to one way.
    /// The lower half while nothing was used.
    fn away(&self, ways: std::ops::Range<usize>) -> usize {
        if ways.len() == 1 {
            return ways.start;
        }
        let middle = ways.start + ways.len() / 2;
        let (lower, upper) = (ways.start..middle, middle..ways.end);
        let newest = |half: &std::ops::Range<usize>| {
            let ways = &self.ways[half.clone()];
            ways.iter().map(|way| way.used).max()
        };
        if newest(&lower) > newest(&upper) || middle <= self.wired {
            self.away(upper)
        } else {
            self.away(lower)
        }
    }
}
