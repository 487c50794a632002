//! An LRU list of translations: the most recently used ones, in order.

/// A translation: the place of its region, the first page that it covers there, and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element(u64);

impl Element {
    #[inline]
    pub(super) const fn new(region: usize, first: u64, level: usize) -> Self {
        Self(((region as u64) << 32) | (first << 8) | level as u64)
    }

    #[inline]
    pub(super) const fn region(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline]
    pub(super) const fn first(self) -> u64 {
        (self.0 & 0xffff_ff00) >> 8
    }

    #[inline]
    pub(super) const fn level(self) -> usize {
        (self.0 & 0xff) as usize
    }
}

/// The most recently used translations, each once. The newest is the last element, so that a new
/// one moves nothing.
#[derive(Clone, Debug)]
pub(super) struct RecentTranslations {
    elements: Vec<Element>,
    /// The minimum number of kept translations.
    kept: usize,
}

/// The number of translations compared at a time, without a branch.
const STRIDE: usize = 8;

impl RecentTranslations {
    pub(super) const fn new(kept: usize) -> Self {
        Self {
            elements: Vec::new(),
            kept,
        }
    }

    #[inline]
    pub(super) fn newest(&self) -> Option<Element> {
        self.elements.last().copied()
    }

    /// The number of translations newer than this one, which must be there.
    #[inline]
    pub(super) fn newer_than(&self, wanted: Element) -> Option<usize> {
        let mut newer = 0;
        for part in self.elements.rchunks(STRIDE) {
            let any = part.iter().fold(false, |any, one| any | (*one == wanted));
            if any {
                let at = part.iter().rposition(|one| *one == wanted)?;
                return Some(newer + part.len() - 1 - at);
            }
            newer += part.len();
        }
        None
    }

    /// Makes the translation with `newer` newer ones the newest.
    #[inline]
    pub(super) fn renew(&mut self, newer: usize) {
        let length = self.elements.len();
        if let Some(part) = self.elements.get_mut(length.wrapping_sub(newer + 1)..) {
            part.rotate_left(1);
        }
    }

    /// Adds a new translation as the newest. Returns the translations that are too old to keep.
    #[inline]
    pub(super) fn push(&mut self, element: Element) -> Option<impl Iterator<Item = Element>> {
        self.elements.push(element);
        let length = self.elements.len();
        // Many are removed at a time, since every removal moves all others.
        (length > self.kept.saturating_add(self.kept / 4 + 16))
            .then(|| self.elements.drain(..length - self.kept))
    }

    /// Removes the translations beyond the limit, so that no removal of others brings them back.
    pub(super) fn trim(&mut self) -> impl Iterator<Item = Element> {
        let surplus = self.elements.len().saturating_sub(self.kept);
        self.elements.drain(..surplus)
    }

    /// The `count` newest translations, the newest last.
    #[inline]
    pub(super) fn last(&self, count: usize) -> &[Element] {
        &self.elements[self.elements.len().saturating_sub(count)..]
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Element) -> bool) {
        self.elements.retain(keep);
    }

    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_in_order() {
        let element = |number| Element::new(number as usize * 3, number << 6, number as usize % 5);
        let mut recent = RecentTranslations::new(20);
        let mut slow: Vec<Element> = Vec::new();
        for step in 0..4000u64 {
            let one = element(step * step % 97 % 41);
            assert_eq!(one.first() >> 6, one.region() as u64 / 3);
            assert_eq!(one.level() as u64, (one.first() >> 6) % 5);
            let newer = recent.newer_than(one);
            let slowly = slow.iter().rposition(|other| *other == one);
            assert_eq!(newer, slowly.map(|at| slow.len() - 1 - at));
            if let (Some(newer), Some(at)) = (newer, slowly) {
                recent.renew(newer);
                slow.remove(at);
            } else if let Some(dropped) = recent.push(one) {
                let dropped: Vec<Element> = dropped.collect();
                assert_eq!(slow.drain(..dropped.len()).collect::<Vec<_>>(), dropped);
            }
            slow.push(one);
            assert_eq!(recent.last(slow.len()), slow);
            assert_eq!(recent.newest(), slow.last().copied());
            assert!(recent.len() <= 20 + 20 / 4 + 16);
        }
    }
}
