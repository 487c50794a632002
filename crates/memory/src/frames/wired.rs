//! Wired memory: frames that can never be moved, clustered in few extents.

use super::runs::Runs;
use super::{Buddy, Choice, Frame, FreeError, Mobility};
use std::collections::BTreeMap;

/// An allocator of single frames for pages that cannot be evicted or moved.
///
/// No superpage can be made around a wired frame. *Clustered* frames come from extents of one order
/// that hold nothing else, so that they spoil few large extents. A cluster whose frames are all
/// free returns to the buddy allocator (Navarro 2002, slide 44, "Wired Page Clustering").
/// Unclustered frames come from the buddy allocator one by one.
///
/// The slides do not name the cluster that is used first. Here it is the one with the lowest unused
/// frame, so that the highest clusters empty. If no extent of the order is left, a cluster has the
/// next smaller order that exists.
#[derive(Clone, Debug)]
pub struct Wired {
    /// The order of a cluster. `None` if frames are not clustered.
    order: Option<u8>,
    /// The clusters by first frame: the order, and the number of allocated frames.
    clusters: BTreeMap<u64, Cluster>,
    /// Unallocated frames of clusters.
    unused: Runs,
    /// The number of allocated frames.
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
    /// An allocator of unclustered frames.
    pub const fn unclustered() -> Self {
        Self::of(None)
    }

    /// An allocator with clusters of an order.
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

    /// The number of allocated frames.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The number of frames in use: allocated ones, and unallocated ones of clusters.
    pub const fn held(&self) -> u64 {
        self.frames + self.unused.count()
    }

    /// The number of clusters.
    pub fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// Allocates a frame. `None` if neither a cluster nor the buddy allocator has one.
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

    /// Frees a frame. A cluster without an allocated frame returns to the buddy allocator.
    ///
    /// # Errors
    /// Returns an error and changes nothing if the frame is not allocated. For unclustered frames,
    /// only the buddy allocator checks this.
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

    /// Asserts that the frames of clusters are either allocated or unused, and none of them is free
    /// in the buddy allocator.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
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
