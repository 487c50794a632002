//! How many recent translations each region holds, and how many the one that holds most.

/// One number for each place of a region.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    held: Vec<u32>,
    /// How many regions hold so many. Nobody asks how many hold none.
    regions: Vec<u32>,
    most: usize,
}

impl Held {
    /// One translation more.
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

    /// One less.
    #[inline]
    pub(super) fn remove(&mut self, region: usize) {
        let held = self.held[region] as usize;
        self.held[region] -= 1;
        self.regions[held] -= 1;
        self.regions[held - 1] += 1;
        // The region itself holds one less now, so no lower number has to be looked at.
        if self.most == held && self.regions[held] == 0 {
            self.most = held - 1;
        }
    }

    /// How many the region holds that holds most.
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
