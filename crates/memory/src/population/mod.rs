//! Which base pages of a piece of memory are populated, for every page size at a time.
//!
//! A radix tree, one level for each page size, as Navarro 2002 has it and as FreeBSD once had: each
//! node counts the children in which something is populated (`somepop`) and those that are full
//! (`fullpop`). The two answer, on the way from the root to a page, which is the largest piece
//! around it that is empty, and which is the largest that is full.

mod node;
mod pieces;
mod sizes;
#[cfg(test)]
mod tests;

pub use pieces::Piece;
pub use sizes::{LARGEST_ORDER, MOST_LEVELS, Sizes, SizesError};

use node::{Child, Node, Slot};

/// The population of one piece of memory: which of its base pages are populated. Pages are counted
/// from the piece's first.
///
/// Setting, clearing and every question about one page take as many steps as there are page sizes.
/// Nothing is kept of pieces in which nothing is populated; of the others, a bit for each base page
/// or a pointer for each piece of the next smaller size.
#[derive(Clone, Debug)]
pub struct Population {
    sizes: Sizes,
    top: u8,
    /// By level, the aligned pieces in which nothing is populated and that lie in no larger one of
    /// this kind.
    empty: [u32; MOST_LEVELS],
    root: Slot,
}

impl Population {
    /// That of a piece of level `top_level` in which nothing is populated.
    ///
    /// # Panics
    /// Where there is no such level.
    pub fn new(sizes: Sizes, top_level: usize) -> Self {
        Self::under(sizes, top_level, None)
    }

    /// The population that a node tells.
    fn under(sizes: Sizes, top: usize, root: Slot) -> Self {
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
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The level of the whole piece.
    pub fn top_level(&self) -> usize {
        usize::from(self.top)
    }

    /// How many base pages the whole piece has.
    pub fn len(&self) -> u64 {
        self.sizes.pages(self.top_level())
    }

    fn assert_inside(&self, page: u64) {
        assert!(page < self.len(), "page {page} of {}", self.len());
    }

    /// Populates a page, and says whether it was not populated.
    ///
    /// # Panics
    /// Where the piece has no such page, as for every other method that takes one.
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
        Node::set(&mut self.root, &self.sizes, top, page)
    }

    /// Takes a page's population away, and says whether there was any.
    pub fn clear(&mut self, page: u64) -> bool {
        self.assert_inside(page);
        let top = self.top_level();
        if !Node::clear(&mut self.root, &self.sizes, top, page) {
            return false;
        }
        let level = self.largest_empty(page).unwrap_or(0);
        self.empty[level] += 1;
        for below in 0..level {
            self.empty[below] -= self.sizes.children(below + 1) as u32 - 1;
        }
        true
    }

    /// Whether a page is populated.
    pub fn get(&self, page: u64) -> bool {
        self.count_in(0, page) == 1
    }

    /// How many pages are populated.
    pub fn count(&self) -> u64 {
        self.root.as_ref().map_or(0, |node| u64::from(node.count))
    }

    /// Whether no page is populated.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Whether all pages are populated.
    pub fn is_full(&self) -> bool {
        let top = self.top_level();
        let root = self.root.as_ref();
        root.is_some_and(|node| node.is_full(&self.sizes, top))
    }

    /// How many pages are populated of the aligned piece of that level around a page; of the whole,
    /// where it is no larger.
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

    /// The level of the largest aligned piece that contains a page and in which nothing is
    /// populated; none where the page itself is. On the way from the root it is the first piece
    /// whose `somepop` is 0. A reservation of that size overlaps nothing.
    pub fn largest_empty(&self, page: u64) -> Option<usize> {
        let (level, populated) = self.uniform(page);
        (!populated).then_some(level)
    }

    /// The level of the largest aligned piece that contains a page and is full; none where the page
    /// itself is not populated. On the way from the root it is the first piece whose children are
    /// all full. After a fault, it is what can be promoted.
    pub fn largest_full(&self, page: u64) -> Option<usize> {
        let (level, populated) = self.uniform(page);
        populated.then_some(level)
    }

    /// The largest aligned piece that contains a page and is either empty or full: its level, and
    /// whether it is full.
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

    /// Where a page lies in the piece of that level around it.
    fn within(&self, level: usize, page: u64) -> u64 {
        page & (self.sizes.pages(level) - 1)
    }

    /// The level of the largest aligned piece, wherever it lies, in which nothing is populated;
    /// none where all pages are populated.
    pub fn largest_free_level(&self) -> Option<usize> {
        self.empty.iter().rposition(|pieces| *pieces > 0)
    }

    /// Takes the piece apart: its pieces of the next smaller size, each with its first page. A base
    /// page has no smaller ones and stays whole.
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

    /// Asserts all that has to hold inside.
    ///
    /// # Panics
    /// Where something does not.
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
