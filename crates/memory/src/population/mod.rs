//! Population maps: the populated base pages of a piece of memory, for every page size at a time.
//!
//! A radix tree with one level for each page size, as in Navarro 2002 and in earlier FreeBSD. Each
//! node counts the children with a populated page (`somepop`) and the full ones (`fullpop`). On the
//! way from the root to a page, the two counts give the largest empty piece around the page, and
//! the largest full one.

mod node;
mod pieces;
#[cfg(test)]
mod tests;

pub use pieces::PopulatedPiece;

use broadleaf_units::{MOST_LEVELS, PageSizes};
use node::{Child, NodeLink, PopulationNode};

/// The population of one piece of memory: the set of its populated base pages. Pages are counted
/// from the piece's first.
///
/// Each operation on one page takes as many steps as there are page sizes. Empty pieces take no
/// memory. Other pieces take a bit for each base page or a pointer for each piece of the next
/// smaller size.
#[derive(Clone, Debug)]
pub struct Population {
    sizes: PageSizes,
    top: u8,
    /// The numbers of largest empty aligned pieces, by level.
    empty: [u32; MOST_LEVELS],
    root: NodeLink,
}

impl Population {
    /// An empty population of a piece of level `top_level`.
    ///
    /// # Panics
    /// Panics if there is no such level.
    pub fn new(sizes: PageSizes, top_level: usize) -> Self {
        Self::under(sizes, top_level, None)
    }

    /// The population of a node's tree.
    fn under(sizes: PageSizes, top: usize, root: NodeLink) -> Self {
        assert!(top < sizes.levels(), "no page size of level {top}");
        let mut empty = [0; MOST_LEVELS];
        match &root {
            None => empty[top] = 1,
            Some(node) => node.count_empty(&sizes, top, &mut empty),
        }
        Self {
            sizes,
            top: top as u8,
            empty,
            root,
        }
    }

    /// The page sizes.
    pub fn sizes(&self) -> &PageSizes {
        &self.sizes
    }

    /// The level of the whole piece.
    pub fn top_level(&self) -> usize {
        usize::from(self.top)
    }

    /// The number of base pages in the whole piece.
    pub fn len(&self) -> u64 {
        self.sizes.pages(self.top_level())
    }

    fn assert_inside(&self, page: u64) {
        assert!(page < self.len(), "page {page} of {}", self.len());
    }

    /// Populates a page. Returns true if the page was not populated.
    ///
    /// # Panics
    /// Panics if the piece has no such page, as do all methods with a page.
    pub fn set(&mut self, page: u64) -> bool {
        self.assert_inside(page);
        let Some(level) = self.largest_empty(page) else {
            return false;
        };
        // The empty piece around the page falls apart: of each smaller size all pieces beside the
        // page are now the largest.
        self.empty[level] -= 1;
        for below in 0..level {
            self.empty[below] += self.sizes.children(below + 1) as u32 - 1;
        }
        let top = self.top_level();
        PopulationNode::set(&mut self.root, &self.sizes, top, page)
    }

    /// Clears a page. Returns true if the page was populated.
    pub fn clear(&mut self, page: u64) -> bool {
        self.assert_inside(page);
        let top = self.top_level();
        if !PopulationNode::clear(&mut self.root, &self.sizes, top, page) {
            return false;
        }
        let level = self.largest_empty(page).unwrap_or(0);
        self.empty[level] += 1;
        for below in 0..level {
            self.empty[below] -= self.sizes.children(below + 1) as u32 - 1;
        }
        true
    }

    /// Returns true if a page is populated.
    pub fn get(&self, page: u64) -> bool {
        self.count_in(0, page) == 1
    }

    /// The number of populated pages.
    pub fn count(&self) -> u64 {
        self.root.as_ref().map_or(0, |node| u64::from(node.count))
    }

    /// Returns true if no page is populated.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Returns true if all pages are populated.
    pub fn is_full(&self) -> bool {
        let top = self.top_level();
        let root = self.root.as_ref();
        root.is_some_and(|node| node.is_full(&self.sizes, top))
    }

    /// The number of populated pages in the aligned piece of `level` around a page, or in the whole
    /// piece if that is smaller.
    pub fn count_in(&self, level: usize, page: u64) -> u64 {
        self.assert_inside(page);
        let (mut at, mut slot) = (self.top_level(), &self.root);
        while let Some(node) = slot {
            if at <= level {
                return u64::from(node.count);
            }
            match node.child(&self.sizes, at, self.within(at, page)) {
                Child::Page(populated) => return u64::from(populated),
                Child::Piece(piece) => (at, slot) = (at - 1, piece),
            }
        }
        0
    }

    /// The level of the largest empty aligned piece around a page. `None` if the page is populated.
    /// On the way from the root it is the first piece whose `somepop` is 0. A reservation of that
    /// size overlaps nothing.
    pub fn largest_empty(&self, page: u64) -> Option<usize> {
        let (level, populated) = self.uniform(page);
        (!populated).then_some(level)
    }

    /// The level of the largest full aligned piece around a page. `None` if the page is not
    /// populated. On the way from the root it is the first piece whose children are all full. After
    /// a fault, this piece can be promoted.
    pub fn largest_full(&self, page: u64) -> Option<usize> {
        let (level, populated) = self.uniform(page);
        populated.then_some(level)
    }

    /// The largest empty or full aligned piece around a page: its level, and true if it is full.
    fn uniform(&self, page: u64) -> (usize, bool) {
        self.assert_inside(page);
        let (mut level, mut slot) = (self.top_level(), &self.root);
        while let Some(node) = slot {
            if node.is_full(&self.sizes, level) {
                return (level, true);
            }
            match node.child(&self.sizes, level, self.within(level, page)) {
                Child::Page(populated) => return (0, populated),
                Child::Piece(piece) => (level, slot) = (level - 1, piece),
            }
        }
        (level, false)
    }

    /// The index of a page in the piece of `level` around it.
    fn within(&self, level: usize, page: u64) -> u64 {
        page & (self.sizes.pages(level) - 1)
    }

    /// The level of the largest empty aligned piece anywhere. `None` if all pages are populated.
    pub fn largest_free_level(&self) -> Option<usize> {
        self.empty.iter().rposition(|pieces| *pieces > 0)
    }

    /// Splits the piece into pieces of the next smaller size, each with its first page. A base page
    /// stays whole.
    pub fn split(self) -> Vec<(u64, Self)> {
        let Some(level) = self.top_level().checked_sub(1) else {
            return vec![(0, self)];
        };
        let size = self.sizes.pages(level);
        let below = match self.root {
            Some(node) => node.into_children(&self.sizes, level),
            None => vec![None; self.sizes.children(level + 1)],
        };
        let children = below.into_iter().enumerate();
        children
            .map(|(number, slot)| (number as u64 * size, Self::under(self.sizes, level, slot)))
            .collect()
    }

    /// Asserts the invariants.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self) {
        let top = self.top_level();
        if let Some(node) = &self.root {
            node.check(&self.sizes, top);
        }
        let mut empty = [0; MOST_LEVELS];
        for (_, level) in self.free_pieces() {
            empty[level] += 1;
        }
        assert_eq!(self.empty, empty, "largest empty pieces by level");
    }
}
