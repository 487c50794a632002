//! Linux's counts of free extents, from `/proc/buddyinfo`.

use super::MOST_ORDER;

/// The text of `/proc/buddyinfo`: a line for each zone of each node, `Node 0, zone   Normal   216
/// 55 ...`, with the number of free extents of each order from 0 on (the manual page
/// proc_buddyinfo(5)).
///
/// ```
/// use broadleaf_memory::frames::{Buddyinfo, Start};
///
/// let text = "Node 0, zone      DMA      1      0      2
/// Node 0, zone   Normal      3      4      5
/// ";
/// let recorded = Buddyinfo::parse(text).expect("two zones");
/// let free = recorded.free(None, Some("Normal")).expect("one of them");
/// let start = Start::Recorded { free, movable: 0.5, seed: 1 };
/// let layout = start.lay_out(64, 2).expect("it fits");
/// assert_eq!(layout.buddy.free_frames(), 3 + 4 * 2 + 5 * 4);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buddyinfo {
    /// Its lines.
    pub zones: Vec<Zone>,
}

/// A line of `/proc/buddyinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The number of its node.
    pub node: u32,
    /// Its name, such as `DMA32` or `Normal`.
    pub name: String,
    /// The number of free extents of each order, from order 0 on.
    pub free: Vec<u64>,
}

/// An error in a text of `/proc/buddyinfo`, or in a request. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuddyinfoError {
    /// The text has no line.
    #[error("no zones: a line of /proc/buddyinfo reads `Node 0, zone Normal 216 55 ...`")]
    Empty,
    /// A line does not begin as one for a zone does, or has no numbers.
    #[error("line {line}: not a zone; it should read `Node 0, zone Normal 216 55 ...`")]
    NoZone {
        /// The line's number.
        line: usize,
    },
    /// A word is no number.
    #[error("line {line}: {text:?} is not a number of free extents")]
    NotANumber {
        /// The line's number.
        line: usize,
        /// The word.
        text: String,
    },
    /// The line has numbers for more orders than the model has.
    #[error("line {line}: {orders} orders, and there are at most {}", MOST_ORDER + 1)]
    Orders {
        /// The line's number.
        line: usize,
        /// The count of numbers in the line.
        orders: usize,
    },
    /// No zone has the requested node and name.
    #[error("no such zone; there are {there}")]
    Unknown {
        /// The existing zones.
        there: String,
    },
}

impl Buddyinfo {
    /// Parses the text. Empty lines are ignored.
    ///
    /// # Errors
    /// Returns an error with the number of a line that is no zone's line, or if the text has no
    /// line.
    pub fn parse(text: &str) -> Result<Self, BuddyinfoError> {
        let lines = text.lines().zip(1..);
        let full = lines.filter(|(line, _)| !line.trim().is_empty());
        let zones: Vec<Zone> = full
            .map(|(text, line)| Zone::parse(text, line))
            .collect::<Result<_, _>>()?;
        if zones.is_empty() {
            return Err(BuddyinfoError::Empty);
        }
        Ok(Self { zones })
    }

    /// The number of free extents of each order, from order 0 on, in all zones of a node and a
    /// name. `None` matches every node or name.
    ///
    /// # Errors
    /// Returns an error if there is no such zone.
    pub fn free(&self, node: Option<u32>, name: Option<&str>) -> Result<Vec<u64>, BuddyinfoError> {
        let mut sum: Vec<u64> = Vec::new();
        let asked = self.zones.iter().filter(|zone| {
            node.is_none_or(|node| zone.node == node) && name.is_none_or(|name| zone.name == name)
        });
        for zone in asked {
            sum.resize(sum.len().max(zone.free.len()), 0);
            for (sum, free) in sum.iter_mut().zip(&zone.free) {
                *sum = sum.saturating_add(*free);
            }
        }
        if sum.is_empty() {
            let zones = self.zones.iter();
            let names: Vec<String> = zones
                .map(|zone| format!("node {} {}", zone.node, zone.name))
                .collect();
            let there = names.join(", ");
            return Err(BuddyinfoError::Unknown { there });
        }
        Ok(sum)
    }
}

impl Zone {
    fn parse(text: &str, line: usize) -> Result<Self, BuddyinfoError> {
        let mut words = text.split_whitespace();
        let [Some("Node"), Some(node), Some("zone"), Some(name)] = [(); 4].map(|()| words.next())
        else {
            return Err(BuddyinfoError::NoZone { line });
        };
        let node = node.strip_suffix(',').and_then(|node| node.parse().ok());
        let node = node.ok_or(BuddyinfoError::NoZone { line })?;
        let free: Vec<u64> = words
            .map(|text| {
                text.parse().map_err(|_| BuddyinfoError::NotANumber {
                    line,
                    text: text.to_string(),
                })
            })
            .collect::<Result<_, _>>()?;
        match free.len() {
            0 => Err(BuddyinfoError::NoZone { line }),
            orders if orders > usize::from(MOST_ORDER) + 1 => {
                Err(BuddyinfoError::Orders { line, orders })
            }
            _ => Ok(Self {
                node,
                name: name.to_string(),
                free,
            }),
        }
    }
}
