//! The mappings of one address space, in order.

use crate::{Mapping, Pages};
use broadleaf_units::Rights;
use std::collections::BTreeMap;

/// Mappings by their first page. No two overlap, and neighbours that continue each other are
/// joined. A change takes time in proportion to the mappings that it meets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings(BTreeMap<u64, Mapping>);

impl Mappings {
    /// The mapping that holds a page.
    pub(crate) fn at(&self, page: u64) -> Option<&Mapping> {
        let (_, last) = self.0.range(..=page).next_back()?;
        last.pages.contains(page).then_some(last)
    }

    /// The mappings that meet a range, in order.
    pub(crate) fn meeting(&self, pages: Pages) -> impl Iterator<Item = &Mapping> {
        let first = self
            .at(pages.start)
            .map_or(pages.start, |first| first.pages.start);
        self.0
            .range(first..pages.end.max(first))
            .map(|(_, mapping)| mapping)
    }

    /// Cuts a range out, and returns the mappings that were in the range.
    pub(crate) fn cut(&mut self, pages: Pages) -> Vec<Mapping> {
        if pages.is_empty() {
            return Vec::new();
        }
        let met: Vec<Mapping> = self.meeting(pages).copied().collect();
        for mapping in &met {
            self.0.remove(&mapping.pages.start);
            for rest in mapping.pages.without(pages) {
                if !rest.is_empty() {
                    self.0.insert(rest.start, mapping.part(rest));
                }
            }
        }
        met.iter().map(|mapping| mapping.part(pages)).collect()
    }

    /// Adds a mapping in place of all others in its range.
    pub(crate) fn put(&mut self, mapping: Mapping) {
        if mapping.pages.is_empty() {
            return;
        }
        self.cut(mapping.pages);
        let start = mapping.pages.start;
        self.0.insert(start, mapping);
        self.join(start);
        if let Some((&before, _)) = self.0.range(..start).next_back() {
            self.join(before);
        }
    }

    /// Joins the mapping that begins at a page with the next one, if the next one continues it.
    fn join(&mut self, start: u64) {
        let mut both = self.0.range_mut(start..).map(|(_, mapping)| mapping);
        if let (Some(first), Some(next)) = (both.next(), both.next())
            && first.is_continued_by(next)
        {
            let joined = next.pages;
            first.pages.end = joined.end;
            self.0.remove(&joined.start);
        }
    }

    /// Sets the rights of a range. Returns the parts that had other rights.
    pub(crate) fn protect(&mut self, pages: Pages, rights: Rights) -> Vec<Pages> {
        let differing = self
            .meeting(pages)
            .filter(|mapping| mapping.rights != rights);
        let parts: Vec<Mapping> = differing.map(|mapping| mapping.part(pages)).collect();
        for part in &parts {
            self.put(Mapping { rights, ..*part });
        }
        parts.iter().map(|part| part.pages).collect()
    }

    /// Removes all mappings.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Asserts that mappings are in order, disjoint and joined.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        for (start, mapping) in &self.0 {
            assert!(!mapping.pages.is_empty());
            assert_eq!(*start, mapping.pages.start);
        }
        let in_order: Vec<Mapping> = self.0.values().copied().collect();
        for pair in in_order.windows(2) {
            assert!(pair[0].pages.end <= pair[1].pages.start, "{pair:?}");
            assert!(!pair[0].is_continued_by(&pair[1]), "{pair:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backing;
    use broadleaf_units::FileId;

    const READ: Rights = Rights {
        read: true,
        write: false,
        execute: false,
    };

    fn pages(start: u64, end: u64) -> Pages {
        Pages { start, end }
    }

    fn mapping(start: u64, end: u64, backing: Backing) -> Mapping {
        Mapping {
            pages: pages(start, end),
            rights: Rights::READ_WRITE,
            shared: false,
            backing,
        }
    }

    fn ranges(mappings: &Mappings) -> Vec<(u64, u64)> {
        mappings.check();
        mappings
            .0
            .values()
            .map(|mapping| (mapping.pages.start, mapping.pages.end))
            .collect()
    }

    #[test]
    fn neighbours_join_and_protection_splits_them_again() {
        let mut mappings = Mappings::default();
        mappings.put(mapping(20, 30, Backing::Anonymous));
        mappings.put(mapping(0, 10, Backing::Anonymous));
        mappings.put(mapping(10, 20, Backing::Anonymous));
        assert_eq!(ranges(&mappings), [(0, 30)]);
        assert_eq!(mappings.protect(pages(5, 15), READ), [pages(5, 15)]);
        assert_eq!(ranges(&mappings), [(0, 5), (5, 15), (15, 30)]);
        // Only the parts with other rights change.
        assert_eq!(
            mappings.protect(pages(0, 40), READ),
            [pages(0, 5), pages(15, 30)]
        );
        assert_eq!(ranges(&mappings), [(0, 30)]);
        assert_eq!(mappings.protect(pages(0, 40), READ), []);
    }

    #[test]
    fn a_hole_in_a_file_keeps_the_offsets() {
        let file = |offset| Backing::File {
            file: FileId(3),
            offset,
        };
        let mut mappings = Mappings::default();
        mappings.put(mapping(100, 110, file(0)));
        assert_eq!(
            mappings.cut(pages(103, 105)),
            [mapping(103, 105, file(3 << 12))]
        );
        assert_eq!(ranges(&mappings), [(100, 103), (105, 110)]);
        assert_eq!(mappings.at(104), None);
        assert_eq!(mappings.at(109).unwrap().backing, file(5 << 12));
        mappings.put(mapping(103, 105, file(3 << 12)));
        assert_eq!(ranges(&mappings), [(100, 110)]);
        mappings.put(mapping(103, 105, file(0)));
        assert_eq!(ranges(&mappings), [(100, 103), (103, 105), (105, 110)]);
    }
}
