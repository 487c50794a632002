//! A TLB of one geometry with exact LRU replacement, slow and obvious.

/// A TLB of one geometry with exact LRU replacement. Each set is a list of pages in the order of
/// their last use. `S` is the name of an address space.
#[derive(Clone, Debug)]
pub struct PlainTlb<S> {
    /// The number of sets. The rest of the page number by this number chooses a page's set.
    pub sets: usize,
    /// The number of ways of a set.
    pub ways: usize,
    /// The number of lookups that missed.
    pub misses: u64,
    held: Vec<Vec<(S, u64)>>,
}

impl<S: PartialEq> PlainTlb<S> {
    /// An empty TLB.
    pub fn new(sets: usize, ways: usize) -> Self {
        Self {
            sets,
            ways,
            misses: 0,
            held: (0..sets).map(|_| Vec::new()).collect(),
        }
    }

    /// Looks up a page of a space, and loads the page after a miss.
    pub fn reference(&mut self, key: (S, u64)) {
        let set = &mut self.held[key.1 as usize % self.sets];
        match set.iter().position(|held| *held == key) {
            Some(at) => {
                set.remove(at);
            }
            None => self.misses += 1,
        }
        set.insert(0, key);
        set.truncate(self.ways);
    }

    /// Removes the pages for which `keep` returns false.
    pub fn keep(&mut self, keep: impl Fn(&(S, u64)) -> bool) {
        self.held.iter_mut().for_each(|set| set.retain(&keep));
    }
}
