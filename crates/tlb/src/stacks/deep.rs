//! The lower part of the list of one set: the entries below the upper 16, down to 4096.
//!
//! The results have powers of two of ways alone. So the list is cut into *parts* that end at those
//! depths, and each entry knows its part. An entry that moves down by one crosses at most one end
//! of each part, and the linked list finds that entry. So a reference takes a step for each part
//! above it, not for each entry.

use std::collections::BTreeMap;

use super::names::Name;
use super::set::WAYS;

mod finder;

use finder::Finder;

/// The number of parts. They end at 32, 64, ... 4096 entries, including the upper 16.
pub(super) const PARTS: usize = 8;
/// The maximum number of entries in all parts.
const MOST: usize = (WAYS << PARTS) - WAYS;
/// The sentinel: the node before the first and after the last.
const ENDS: u16 = 0;

/// One entry, or a hole.
#[derive(Clone, Copy, Debug)]
struct DeepNode {
    /// The time of the entry's move from the upper part. A hole has the time of its former entry.
    /// Times fall from the top down.
    time: u64,
    name: Option<Name>,
    above: u16,
    below: u16,
    part: u8,
}

/// The lower part of a list.
#[derive(Clone, Debug)]
pub(super) struct Deep {
    /// The nodes. The first is [`ENDS`].
    nodes: Vec<DeepNode>,
    finder: Finder,
    /// The holes by their time.
    holes: BTreeMap<u64, u16>,
    /// The last node of each part that is full.
    last: [u16; PARTS],
    time: u64,
}

/// The number of entries down to the end of a part.
const fn down_to(part: usize) -> usize {
    (WAYS << (part + 1)) - WAYS
}

impl Deep {
    pub(super) fn new() -> Self {
        let ends = DeepNode {
            time: 0,
            name: None,
            above: ENDS,
            below: ENDS,
            part: 0,
        };
        Self {
            nodes: vec![ends],
            finder: Finder::new(MOST),
            holes: BTreeMap::new(),
            last: [ENDS; PARTS],
            time: 0,
        }
    }

    /// Moves `wanted` to the upper part, which has pushed `lost` out, unless the upper part had a
    /// hole. Returns the part in which `wanted` was: [`PARTS`] if absent.
    #[inline]
    pub(super) fn exchange(&mut self, lost: Option<Name>, wanted: Name) -> usize {
        let found = self.finder.take(wanted);
        let part = found.map_or(PARTS, |node| {
            usize::from(self.nodes[usize::from(node)].part)
        });
        match (lost, found) {
            (None, None) => {}
            // A hole further up ended the move down, and moves here.
            (None, Some(found)) => self.make_hole(found),
            (Some(lost), found) => {
                let node = self.room(found);
                self.put_on_top(node, lost);
            }
        }
        part
    }

    /// The node whose place becomes free when the entries above it move down by one: `found`, or a
    /// hole further up, which then moves to `found`. Without both, a new node, or the last.
    fn room(&mut self, found: Option<u16>) -> u16 {
        if let Some(hole) = self.topmost_hole_above(found) {
            if let Some(found) = found {
                self.make_hole(found);
            }
            return hole;
        }
        if let Some(found) = found {
            return found;
        }
        if self.nodes.len() <= MOST {
            return self.new_node();
        }
        // The last node is no hole, or it would have been taken.
        let last = self.nodes[usize::from(ENDS)].above;
        if let Some(name) = self.nodes[usize::from(last)].name {
            self.finder.take(name);
        }
        last
    }

    /// Removes the topmost hole from the known ones, if it is above a node.
    fn topmost_hole_above(&mut self, found: Option<u16>) -> Option<u16> {
        let topmost = self.holes.last_entry()?;
        if found.is_some_and(|found| self.nodes[usize::from(found)].time > *topmost.key()) {
            return None;
        }
        Some(topmost.remove())
    }

    /// A node at the end of the list, about to be put on top.
    fn new_node(&mut self) -> u16 {
        let node = self.nodes.len() as u16;
        // The part that grows by one.
        let part = (0..PARTS).find(|part| usize::from(node) <= down_to(*part));
        let part = part.expect("no more nodes than the parts hold");
        let above = self.nodes[usize::from(ENDS)].above;
        self.nodes.push(DeepNode {
            time: 0,
            name: None,
            above,
            below: ENDS,
            part: part as u8,
        });
        self.nodes[usize::from(above)].below = node;
        self.nodes[usize::from(ENDS)].above = node;
        if usize::from(node) == down_to(part) {
            self.last[part] = node;
        }
        node
    }

    /// Moves a node to the top under a name. The nodes above it move down by one.
    #[inline]
    fn put_on_top(&mut self, node: u16, name: Name) {
        let DeepNode {
            above, below, part, ..
        } = self.nodes[usize::from(node)];
        let part = usize::from(part);
        // Parts are larger than one entry, so the one above the last is of the same part, or about
        // to move down into it.
        if self.last[part] == node {
            self.last[part] = above;
        }
        self.nodes[usize::from(above)].below = below;
        self.nodes[usize::from(below)].above = above;
        self.time += 1;
        let first = self.nodes[usize::from(ENDS)].below;
        self.nodes[usize::from(node)] = DeepNode {
            time: self.time,
            name: Some(name),
            above: ENDS,
            below: first,
            part: 0,
        };
        self.nodes[usize::from(first)].above = node;
        self.nodes[usize::from(ENDS)].below = node;
        for part in 0..part {
            let crosses = &mut self.nodes[usize::from(self.last[part])];
            crosses.part += 1;
            self.last[part] = crosses.above;
        }
        self.finder.add(name, node);
    }

    fn make_hole(&mut self, node: u16) {
        let state = &mut self.nodes[usize::from(node)];
        state.name = None;
        self.holes.insert(state.time, node);
    }

    /// Makes a hole of an entry.
    pub(super) fn remove(&mut self, name: Name) {
        if let Some(node) = self.finder.take(name) {
            self.make_hole(node);
        }
    }

    /// Makes holes of those entries.
    pub(super) fn remove_where(&mut self, goes: impl Fn(Name) -> bool) {
        let unwanted: Vec<Name> = self.names().filter(|name| goes(*name)).collect();
        unwanted.into_iter().for_each(|name| self.remove(name));
    }

    /// The entries, in no particular order.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.nodes.iter().filter_map(|node| node.name)
    }

    /// Gives every entry another name.
    pub(super) fn rename(&mut self, of: impl Fn(Name) -> Option<Name>) {
        self.finder = Finder::new(MOST);
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.name = node.name.and_then(&of);
            if let Some(name) = node.name {
                self.finder.add(name, number as u16);
            }
        }
    }

    /// Asserts the invariants.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub(super) fn check(&self) {
        let mut depth = 0;
        let mut time = u64::MAX;
        let mut at = self.nodes[usize::from(ENDS)].below;
        let mut holes = 0;
        while at != ENDS {
            let node = self.nodes[usize::from(at)];
            depth += 1;
            let part = usize::from(node.part);
            assert!(depth <= down_to(part) && (part == 0 || depth > down_to(part - 1)));
            if depth == down_to(part) {
                assert_eq!(self.last[part], at, "the last of part {part}");
            }
            assert!(node.time < time, "not in the order of last use");
            time = node.time;
            match node.name {
                Some(name) => assert_eq!(self.finder.find(name), Some(at)),
                None => {
                    assert_eq!(self.holes.get(&time), Some(&at));
                    holes += 1;
                }
            }
            at = node.below;
        }
        assert_eq!(depth, self.nodes.len() - 1);
        assert_eq!(holes, self.holes.len());
    }
}
