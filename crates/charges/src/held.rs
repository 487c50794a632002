//! Counts of recent translations in each region, with their maximum.

/// One number for each place of a region.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldCounts {
    held: Vec<u32>,
    /// The number of regions by their count. The number of regions with count 0 is not kept.
    regions: Vec<u32>,
    most: usize,
}

impl HeldCounts {
    /// Adds a translation to a region.
    #[inline]
    pub(super) fn add(&mut self, region: usize) {
        if region >= self.held.len() {
            self.held.resize(region + 1, 0);
        }
        let held = self.held[region] as usize;
        if held + 1 >= self.regions.len() {
            self.regions.resize(held + 2, 0);
        }
        self.regions[held] = self.regions[held].saturating_sub(1);
        self.regions[held + 1] += 1;
        self.held[region] += 1;
        self.most = self.most.max(held + 1);
    }

    /// Removes a translation from a region.
    #[inline]
    pub(super) fn remove(&mut self, region: usize) {
        let held = self.held[region] as usize;
        self.held[region] -= 1;
        self.regions[held] -= 1;
        self.regions[held - 1] += 1;
        // The region itself holds one less now, so the maximum falls by one only.
        if self.most == held && self.regions[held] == 0 {
            self.most = held - 1;
        }
    }

    /// The maximum count of a region.
    #[inline]
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Asserts that these are the regions, each as often as it holds a translation.
    pub(super) fn check(&self, regions: impl Iterator<Item = usize>) {
        let mut slowly = vec![0; self.held.len()];
        regions.for_each(|region| slowly[region] += 1);
        assert_eq!(self.held, slowly);
        assert_eq!(self.most, slowly.into_iter().max().unwrap_or(0) as usize);
    }
}
