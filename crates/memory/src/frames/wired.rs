//! Frames that can never be moved, and how they are kept together.

use super::runs::Runs;
use super::{Buddy, Choice, Frame, FreeError, Mobility};
use std::collections::BTreeMap;

/// Gives out single frames for pages that cannot be evicted or moved.
///
/// Wherever such a frame lies, no superpage can be made around it. *Clustered*, they come from
/// extents of one order that hold nothing else, so that they spoil few large extents; one whose
/// frames have all come back goes back to the buddy allocator (Navarro 2002, slide 44, "Wired Page
/// Clustering"). Unclustered, each is whatever single frame the buddy allocator gives.
///
/// The slides leave open which cluster is used first; here it is the lowest frame of any cluster,
/// so that the highest ones empty. Where no extent of the order is left, a cluster is one of the
/// next smaller order that there is.
#[derive(Clone, Debug)]
pub struct Wired {
    /// The order of a cluster; none where frames are not clustered.
    order: Option<u8>,
    /// Orders of the extents that are held, and how many of their frames were given out, by first
    /// frame.
    clusters: BTreeMap<u64, Cluster>,
    /// Frames of clusters that were not given out.
    unused: Runs,
    /// Frames that were given out.
    frames: u64,
}

/// An extent for pages that cannot be moved.
fn unmovable(buddy: &mut Buddy, order: u8) -> Option<Frame> {
    let given = buddy.allocate_for(order, Choice::Lowest, Mobility::Unmovable)?;
    Some(given.first)
}

#[derive(Clone, Copy, Debug)]
struct Cluster {
    order: u8,
    used: u64,
}

impl Wired {
    /// Frames as the buddy allocator gives them.
    pub const fn unclustered() -> Self {
        Self::of(None)
    }

    /// Frames from extents of that order.
    pub const fn clustered(order: u8) -> Self {
        Self::of(Some(order))
    }

    const fn of(order: Option<u8>) -> Self {
        Self {
            order,
            clusters: BTreeMap::new(),
            unused: Runs::new(),
            frames: 0,
        }
    }

    /// How many frames are given out.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// How many frames are held: those given out, and those of clusters that are not.
    pub const fn held(&self) -> u64 {
        self.frames + self.unused.count()
    }

    /// How many extents are held.
    pub fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// Gives out a frame. `None` where neither a cluster nor the buddy allocator has one.
    pub fn allocate(&mut self, buddy: &mut Buddy) -> Option<Frame> {
        let order = self.order.map(|order| order.min(buddy.most_order()));
        let frame = match order {
            None => unmovable(buddy, 0)?,
            Some(order) => self.allocate_clustered(order, buddy)?,
        };
        self.frames += 1;
        Some(frame)
    }

    fn allocate_clustered(&mut self, order: u8, buddy: &mut Buddy) -> Option<Frame> {
        if self.unused.count() == 0 {
            let mut orders = (0..=order).rev();
            let (first, order) =
                orders.find_map(|order| Some((unmovable(buddy, order)?.0, order)))?;
            self.clusters.insert(first, Cluster { order, used: 0 });
            self.unused.add(first..first + (1 << order));
        }
        let frame = self.unused.first()?;
        let (_, cluster) = self.clusters.range_mut(..=frame).next_back()?;
        cluster.used += 1;
        self.unused.remove(frame..frame + 1);
        Some(Frame(frame))
    }

    /// Takes back a frame. A cluster of which nothing is given out any more goes back to the buddy
    /// allocator.
    ///
    /// # Errors
    /// Where it was not given out. Nothing has changed then. (Unclustered, only what the buddy
    /// allocator can tell is noticed.)
    pub fn free(&mut self, buddy: &mut Buddy, frame: Frame) -> Result<(), FreeError> {
        if self.order.is_none() {
            buddy.free(frame, 0)?;
            self.frames -= 1;
            return Ok(());
        }
        let found = self.clusters.range_mut(..=frame.0).next_back();
        let found = found.filter(|(first, cluster)| frame.0 - **first < 1 << cluster.order);
        let wrong = FreeError::AlreadyFree {
            first: frame,
            order: 0,
        };
        let (first, cluster) = found.ok_or(wrong)?;
        if self.unused.contains(frame.0) {
            return Err(wrong);
        }
        let (first, order) = (*first, cluster.order);
        if cluster.used == 1 {
            buddy.free(Frame(first), order)?;
            self.clusters.remove(&first);
            self.unused.remove(first..first + (1 << order));
        } else {
            cluster.used -= 1;
            self.unused.add(frame.0..frame.0 + 1);
        }
        self.frames -= 1;
        Ok(())
    }

    /// Asserts that the clusters are what was given out and what was not, and that nothing of them
    /// is free.
    ///
    /// # Panics
    /// Where they are not.
    pub fn check(&self, buddy: &Buddy) {
        let (mut used, mut unused, mut end) = (0, 0, 0);
        for (first, cluster) in &self.clusters {
            assert!(*first >= end, "two clusters overlap");
            end = first + (1 << cluster.order);
            let left = self.unused.count_within(*first..end);
            assert_eq!(
                cluster.used + left,
                1 << cluster.order,
                "a cluster is not its frames"
            );
            assert!(cluster.used > 0, "an empty cluster was kept");
            let free = buddy.free_frames_in(Frame(*first), cluster.order);
            assert_eq!(free, 0, "a frame of a cluster is free");
            used += cluster.used;
            unused += left;
        }
        assert_eq!(unused, self.unused.count(), "an unused frame of no cluster");
        if self.order.is_some() {
            assert_eq!(used, self.frames, "the count is not that of the clusters");
        }
    }
}
