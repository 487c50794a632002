//! The nodes of the tree: the populated pages of one aligned piece.

use broadleaf_units::PageSizes;

const WORD_BITS: u64 = u64::BITS as u64;

/// A link to a child node. Empty pieces have no node, so a tree takes memory for populated pages
/// alone.
pub(super) type NodeLink = Option<Box<PopulationNode>>;

/// A node: one aligned piece with a populated page.
#[derive(Clone, Debug)]
pub(super) struct PopulationNode {
    /// The number of populated base pages.
    pub(super) count: u32,
    /// The number of children with a populated page.
    pub(super) somepop: u32,
    /// The number of full children.
    pub(super) fullpop: u32,
    pub(super) below: Below,
}

/// The children of a node.
#[derive(Clone, Debug)]
pub(super) enum Below {
    /// Base pages, one bit each, at most 64.
    Word(u64),
    /// Base pages, one bit each.
    Words(Box<[u64]>),
    /// Larger pieces.
    Pieces(Box<[NodeLink]>),
}

impl PopulationNode {
    /// A node without a populated page.
    fn new(sizes: &PageSizes, level: usize) -> Self {
        let children = sizes.children(level);
        let below = match level {
            0 | 1 if children as u64 <= WORD_BITS => Below::Word(0),
            0 | 1 => Below::Words(vec![0; children / WORD_BITS as usize].into()),
            _ => Below::Pieces(vec![None; children].into()),
        };
        Self {
            count: 0,
            somepop: 0,
            fullpop: 0,
            below,
        }
    }

    /// Returns true if all of a piece of `level` is populated.
    pub(super) fn is_full(&self, sizes: &PageSizes, level: usize) -> bool {
        self.fullpop as usize == sizes.children(level)
    }

    /// Returns true if a page's bit is set in a node whose children are base pages.
    fn bit(words: &[u64], page: u64) -> bool {
        words[(page / WORD_BITS) as usize] >> (page % WORD_BITS) & 1 != 0
    }

    /// Sets a bit to `to`. Returns true if the bit changed.
    fn turn(words: &mut [u64], page: u64, to: bool) -> bool {
        let (word, bit) = (
            &mut words[(page / WORD_BITS) as usize],
            1 << (page % WORD_BITS),
        );
        let turned = (*word & bit != 0) != to;
        if turned {
            *word ^= bit;
        }
        turned
    }

    /// Populates a page of a piece of `level`, counted from the piece's first. Returns true if the
    /// page was not populated.
    pub(super) fn set(slot: &mut NodeLink, sizes: &PageSizes, level: usize, page: u64) -> bool {
        let node = slot.get_or_insert_with(|| Box::new(Self::new(sizes, level)));
        let (new, some, full) = match &mut node.below {
            Below::Word(word) => (Self::turn(std::slice::from_mut(word), page, true), 1, 1),
            Below::Words(words) => (Self::turn(words, page, true), 1, 1),
            Below::Pieces(pieces) => {
                let order = sizes.order(level - 1);
                let child = &mut pieces[(page >> order) as usize];
                let some = child.is_none();
                let new = Self::set(child, sizes, level - 1, page & ((1 << order) - 1));
                let full = child
                    .as_ref()
                    .is_some_and(|child| child.is_full(sizes, level - 1));
                (new, u32::from(some), u32::from(full))
            }
        };
        if new {
            node.count += 1;
            node.somepop += some;
            node.fullpop += full;
        }
        new
    }

    /// Clears a page. Returns true if the page was populated.
    pub(super) fn clear(slot: &mut NodeLink, sizes: &PageSizes, level: usize, page: u64) -> bool {
        let Some(node) = slot else { return false };
        let (was, none, full) = match &mut node.below {
            Below::Word(word) => (Self::turn(std::slice::from_mut(word), page, false), 1, 1),
            Below::Words(words) => (Self::turn(words, page, false), 1, 1),
            Below::Pieces(pieces) => {
                let order = sizes.order(level - 1);
                let child = &mut pieces[(page >> order) as usize];
                let full = child
                    .as_ref()
                    .is_some_and(|child| child.is_full(sizes, level - 1));
                let was = Self::clear(child, sizes, level - 1, page & ((1 << order) - 1));
                (was, u32::from(child.is_none()), u32::from(full))
            }
        };
        if was {
            node.count -= 1;
            node.somepop -= none;
            node.fullpop -= full;
            if node.count == 0 {
                *slot = None;
            }
        }
        was
    }

    /// The child on the way to a page: a piece, or the bit of the page itself.
    pub(super) fn child(&self, sizes: &PageSizes, level: usize, page: u64) -> Child<'_> {
        match &self.below {
            Below::Word(word) => Child::Page(Self::bit(std::slice::from_ref(word), page)),
            Below::Words(words) => Child::Page(Self::bit(words, page)),
            Below::Pieces(pieces) => {
                Child::Piece(&pieces[(page >> sizes.order(level - 1)) as usize])
            }
        }
    }

    /// Returns the children, which have level `level`.
    pub(super) fn into_children(self, sizes: &PageSizes, level: usize) -> Vec<NodeLink> {
        let pages = |words: &[u64]| {
            let page = |page| {
                let mut slot = None;
                if Self::bit(words, page) {
                    Self::set(&mut slot, sizes, level, 0);
                }
                slot
            };
            (0..sizes.children(level + 1) as u64).map(page).collect()
        };
        match self.below {
            Below::Word(word) => pages(&[word]),
            Below::Words(words) => pages(&words),
            Below::Pieces(pieces) => pieces.into_vec(),
        }
    }

    /// Adds to `found`, by level, the largest unpopulated pieces that lie in this one, of that
    /// level.
    pub(super) fn count_empty(&self, sizes: &PageSizes, level: usize, found: &mut [u32]) {
        if level > 0 {
            found[level - 1] += sizes.children(level) as u32 - self.somepop;
        }
        if let Below::Pieces(pieces) = &self.below {
            for piece in pieces.iter().flatten() {
                piece.count_empty(sizes, level - 1, found);
            }
        }
    }

    /// Asserts that the numbers of a piece of that level and of all below are those of its
    /// children.
    pub(super) fn check(&self, sizes: &PageSizes, level: usize) {
        let (mut count, mut some, mut full) = (0, 0, 0);
        match &self.below {
            Below::Word(word) => count = word.count_ones(),
            Below::Words(words) => count = words.iter().map(|word| word.count_ones()).sum(),
            Below::Pieces(pieces) => {
                assert_eq!(pieces.len(), sizes.children(level), "children of a node");
                for piece in pieces.iter().flatten() {
                    piece.check(sizes, level - 1);
                    count += piece.count;
                    some += 1;
                    full += u32::from(u64::from(piece.count) == sizes.pages(level - 1));
                }
            }
        }
        if level <= 1 {
            (some, full) = (count, count);
        }
        assert!(count > 0, "a node in which nothing is populated");
        assert_eq!(self.count, count, "populated pages of a node");
        assert_eq!(self.somepop, some, "somepop");
        assert_eq!(self.fullpop, full, "fullpop");
    }
}

/// The child of a node around a page.
pub(super) enum Child<'a> {
    /// The page itself: true if it is populated.
    Page(bool),
    /// A piece of the next smaller size.
    Piece(&'a NodeLink),
}
