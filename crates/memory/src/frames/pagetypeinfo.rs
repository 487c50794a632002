//! Linux's counts of free extents by mobility, from `/proc/pagetypeinfo`.

use super::{MOST_ORDER, Mobility};

/// The text of `/proc/pagetypeinfo`: for each zone and migrate type the number of free extents of
/// each order, and for each zone the number of pageblocks of each type (`pagetypeinfo_show` in
/// `mm/vmstat.c`).
///
/// `CMA` counts as movable. `HighAtomic` and `Isolate` count as unmovable, since no ordinary page
/// may go there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pagetypeinfo {
    /// By mobility, in the order of [`Mobility::EACH`].
    pub of: [TypeCounts; 3],
    /// The number of base pages in a pageblock.
    pub pages_per_block: u64,
}

/// The free extents and the pageblocks of one mobility, in all zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeCounts {
    /// The number of free extents of each order, from order 0 on.
    pub free: Vec<u64>,
    /// The number of pageblocks.
    pub blocks: u64,
}

/// The number of base pages in a pageblock of 2 MiB, if the text does not name another.
const PAGES_PER_BLOCK: u64 = 512;

/// An error in a text of `/proc/pagetypeinfo`. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagetypeinfoError {
    /// There are no counts.
    #[error(
        "no counts: a line of /proc/pagetypeinfo reads \
         `Node 0, zone Normal, type Movable 216 55 ...` (only root can read that file)"
    )]
    Empty,
    /// A word is no number.
    #[error("line {line}: {text:?} is not a number")]
    NotANumber {
        /// The line's number.
        line: usize,
        /// The word.
        text: String,
    },
    /// There are numbers for more orders than there can be.
    #[error("line {line}: {orders} orders, and there are at most {}", MOST_ORDER + 1)]
    Orders {
        /// The line's number.
        line: usize,
        /// The number of orders in the line.
        orders: usize,
    },
    /// A migrate type that is not known.
    #[error("line {line}: {text:?} is no migrate type that is known")]
    Type {
        /// The line's number.
        line: usize,
        /// The word.
        text: String,
    },
}

impl Pagetypeinfo {
    /// Reads the text, and adds up all zones.
    ///
    /// # Errors
    /// If a line of counts is damaged, or there is none.
    pub fn parse(text: &str) -> Result<Self, PagetypeinfoError> {
        let mut read = Self {
            of: Default::default(),
            pages_per_block: PAGES_PER_BLOCK,
        };
        let mut types: Vec<Mobility> = Vec::new();
        let mut found = false;
        for (text, line) in text.lines().zip(1..) {
            let words: Vec<&str> = text.split_whitespace().collect();
            match words[..] {
                ["Pages", "per", "block:", pages] => {
                    read.pages_per_block = number(pages, line)?;
                }
                ["Number", "of", "blocks", "type", ref names @ ..] => {
                    let names = names.iter().map(|name| mobility(name, line));
                    types = names.collect::<Result<_, _>>()?;
                }
                ["Node", _, "zone", _, "type", name, ref counts @ ..] => {
                    if counts.len() > usize::from(MOST_ORDER) + 1 {
                        let orders = counts.len();
                        return Err(PagetypeinfoError::Orders { line, orders });
                    }
                    let of = &mut read.of[mobility(name, line)? as usize];
                    let length = of.free.len().max(counts.len());
                    of.free.resize(length, 0);
                    for (sum, text) in of.free.iter_mut().zip(counts) {
                        *sum = sum.saturating_add(number(text, line)?);
                    }
                    found = true;
                }
                ["Node", _, "zone", _, ref counts @ ..] => {
                    for (text, mobility) in counts.iter().zip(&types) {
                        let blocks = &mut read.of[*mobility as usize].blocks;
                        *blocks = blocks.saturating_add(number(text, line)?);
                    }
                }
                _ => {}
            }
        }
        if found {
            Ok(read)
        } else {
            Err(PagetypeinfoError::Empty)
        }
    }

    /// The number of base pages in all pageblocks: the size of the machine's memory. Zero if the
    /// text does not count pageblocks.
    pub fn pages(&self) -> u64 {
        let blocks = self.of.iter().map(|of| of.blocks);
        let blocks = blocks.fold(0, u64::saturating_add);
        blocks.saturating_mul(self.pages_per_block)
    }

    /// The number of free extents of each order, over all mobilities.
    pub fn free(&self) -> Vec<u64> {
        let orders = self.of.iter().map(|of| of.free.len()).max().unwrap_or(0);
        let count = |of: &TypeCounts, order: usize| of.free.get(order).copied().unwrap_or(0);
        let of_order = |order| {
            let counts = self.of.iter().map(|of| count(of, order));
            counts.fold(0, u64::saturating_add)
        };
        (0..orders).map(of_order).collect()
    }

    /// Adjusts the sums to those of a `/proc/buddyinfo` that was read a moment before or after.
    /// Additional extents are movable; missing ones are taken from movable ones first. (Linux also
    /// stops counting at 100,000 extents of a type.)
    pub fn matched_to(&mut self, free: &[u64]) {
        for (order, wanted) in free.iter().copied().enumerate() {
            let mut all = 0_u64;
            for of in &mut self.of {
                of.free.resize(of.free.len().max(free.len()), 0);
                all = all.saturating_add(of.free[order]);
            }
            self.of[Mobility::Movable as usize].free[order] += wanted.saturating_sub(all);
            let mut more = all.saturating_sub(wanted);
            for of in &mut self.of {
                let less = more.min(of.free[order]);
                of.free[order] -= less;
                more -= less;
            }
        }
    }
}

fn mobility(name: &str, line: usize) -> Result<Mobility, PagetypeinfoError> {
    match name {
        "Movable" | "CMA" => Ok(Mobility::Movable),
        "Unmovable" | "HighAtomic" | "Isolate" => Ok(Mobility::Unmovable),
        "Reclaimable" => Ok(Mobility::Reclaimable),
        _ => Err(PagetypeinfoError::Type {
            line,
            text: name.to_string(),
        }),
    }
}

/// Parses a number. A `>` before it means that Linux stopped counting there.
fn number(text: &str, line: usize) -> Result<u64, PagetypeinfoError> {
    let digits = text.strip_prefix('>').unwrap_or(text);
    digits.parse().map_err(|_| PagetypeinfoError::NotANumber {
        line,
        text: text.to_string(),
    })
}
