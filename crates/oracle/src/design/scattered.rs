//! A TLB for scattered superpages as lists of entries, with LRU (Chen 2014, section III).

/// What has a configuration of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowConfiguration {
    /// Each entry.
    Entry,
    /// Each set.
    Set,
}

/// A superpage and the number of its share.
type Entry = (u64, u8);

/// A structure of superpages.
#[derive(Clone, Debug)]
pub struct SlowScattered {
    ways: usize,
    of: SlowConfiguration,
    /// The entries of each set, in the order of their last use.
    sets: Vec<Vec<Entry>>,
    /// The configuration of each set.
    shares: Vec<u8>,
    /// The misses.
    pub misses: u64,
    /// The cycles of additions.
    pub cycles: u64,
}

impl SlowScattered {
    /// An empty structure. 1 is the share of ordinary superpages.
    pub fn new(sets: usize, ways: usize, of: SlowConfiguration) -> Self {
        Self {
            ways,
            of,
            sets: vec![Vec::new(); sets],
            shares: vec![1; sets],
            misses: 0,
            cycles: 0,
        }
    }

    /// Refers to a superpage `times` times in a row. Returns true if the first reference hits.
    pub fn refer(&mut self, superpage: u64, share: u8, times: u64) -> bool {
        let set = superpage as usize % self.sets.len();
        if self.of == SlowConfiguration::Entry && share != 1 {
            self.cycles += times;
        }
        // The set is compared with its configuration: entries of another one are of no use.
        let configured = self.of == SlowConfiguration::Entry || self.shares[set] == share;
        let at = self.sets[set]
            .iter()
            .position(|entry| *entry == (superpage, share));
        if let Some(at) = at.filter(|_| configured) {
            let entry = self.sets[set].remove(at);
            self.sets[set].push(entry);
            return true;
        }
        self.misses += 1;
        if !configured {
            self.sets[set].clear();
            self.shares[set] = share;
        }
        if self.sets[set].len() == self.ways {
            self.sets[set].remove(0);
        }
        self.sets[set].push((superpage, share));
        false
    }

    /// Drops a superpage.
    pub fn forget(&mut self, superpage: u64) {
        for set in &mut self.sets {
            set.retain(|(other, _)| *other != superpage);
        }
    }
}
