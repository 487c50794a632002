//! An LRU list of TLB entries: the entries of a fully associative TLB with exact LRU replacement.

/// No entry.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    newer: u32,
    older: u32,
    held: bool,
}

const UNHELD: Link = Link {
    newer: NONE,
    older: NONE,
    held: false,
};

/// The result of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// A hit: the number was in the list.
    Held,
    /// A miss: the number is in the list now. The number that it evicted follows, if there is one.
    Missed(Option<u32>),
}

/// A list of at most `entries` numbers, in the order of last use.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    links: Vec<Link>,
    newest: u32,
    oldest: u32,
    held: usize,
    entries: usize,
}

impl Recency {
    /// An empty list with room for `entries` numbers, at least one.
    pub(super) fn new(entries: usize) -> Self {
        Self {
            links: Vec::new(),
            newest: NONE,
            oldest: NONE,
            held: 0,
            entries: entries.max(1),
        }
    }

    /// The most recently used number.
    #[inline]
    pub(super) fn newest(&self) -> Option<u32> {
        (self.newest != NONE).then_some(self.newest)
    }

    /// The numbers, from the newest to the oldest.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.newest(), |number| {
            let older = self.links[*number as usize].older;
            (older != NONE).then_some(older)
        })
    }

    /// Returns true if the list holds a number.
    #[inline]
    pub(super) fn holds(&self, number: u32) -> bool {
        let link = self.links.get(number as usize);
        link.is_some_and(|link| link.held)
    }

    /// Uses a number, which becomes the newest.
    #[inline]
    pub(super) fn use_it(&mut self, number: u32) -> Used {
        if self.newest == number {
            return Used::Held;
        }
        if self.links.len() <= number as usize {
            self.links.resize(number as usize + 1, UNHELD);
        }
        if self.links[number as usize].held {
            self.unlink(number);
            self.link(number);
            return Used::Held;
        }
        let full = self.held == self.entries;
        let gone = full.then_some(self.oldest);
        if let Some(gone) = gone {
            self.remove(gone);
        }
        self.link(number);
        self.held += 1;
        Used::Missed(gone)
    }

    /// Removes a number. Returns true if the list held the number.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        let link = self.links.get_mut(number as usize);
        let Some(link) = link.filter(|link| link.held) else {
            return false;
        };
        link.held = false;
        self.unlink(number);
        self.held -= 1;
        true
    }

    fn unlink(&mut self, number: u32) {
        let Link { newer, older, .. } = self.links[number as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
    }

    fn link(&mut self, number: u32) {
        self.links[number as usize] = Link {
            newer: NONE,
            older: self.newest,
            held: true,
        };
        match self.newest {
            NONE => self.oldest = number,
            newest => self.links[newest as usize].newer = number,
        }
        self.newest = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_oracle::random::Rng;

    #[test]
    fn it_is_a_list_that_is_searched_from_the_front() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let entries = 1 + rng.below(6) as usize;
            let mut recency = Recency::new(entries);
            let mut naive: Vec<u32> = Vec::new();
            for _ in 0..300 {
                let number = rng.below(9) as u32;
                let at = naive.iter().position(|known| *known == number);
                if rng.below(8) == 0 {
                    assert_eq!(recency.remove(number), at.is_some());
                    naive.retain(|known| *known != number);
                    continue;
                }
                naive.retain(|known| *known != number);
                naive.insert(0, number);
                let expected = match at {
                    Some(_) => Used::Held,
                    None => Used::Missed((naive.len() > entries).then(|| naive.remove(entries))),
                };
                assert_eq!(recency.use_it(number), expected);
                assert!(recency.newest_first().eq(naive.iter().copied()));
            }
        }
    }
}
