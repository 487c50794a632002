//! Invariants of the buddy allocator, checked after every verb in tests.

use super::buddy::Buddy;
use super::lists::{Free, Zeroed};

impl Buddy {
    /// Asserts the invariants. Extents are aligned, in the pool, disjoint and merged. Each is
    /// listed once, and the counts match. Frames known to hold zeroes are free. Takes time in
    /// proportion to the fragmentation.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self) {
        let below: Vec<Free> = self.lists.beginning_in(0..self.frames).collect();
        let mut listed: Vec<Free> = self.lists.listed().collect();
        listed.sort_unstable_by_key(|free| free.first);
        assert_eq!(below, listed, "the lists are not what the addresses say");
        let all = self.lists.beginning_in(0..u64::MAX).count();
        assert_eq!(all, below.len(), "a free extent outside the pool");
        for pair in below.windows(2) {
            assert!(
                pair[0].frames().end <= pair[1].first,
                "two free extents overlap: {pair:?}"
            );
        }
        for free in &below {
            self.check_below(*free);
        }
        let (count, zeroed) = self.check_top();
        let sizes = below.iter().map(|free| 1u64 << free.order);
        assert_eq!(
            self.free_frames,
            count + sizes.sum::<u64>(),
            "the count of free frames is not that of the extents"
        );
        let parts = below
            .iter()
            .map(|free| self.zeroed.count_within(free.frames()));
        assert_eq!(
            self.zeroed.count(),
            zeroed + parts.sum::<u64>(),
            "a frame is known to hold zeroes and is not free"
        );
        if let Some(chosen) = &self.chosen_by {
            chosen.check(self.iter());
        }
        self.check_colours();
    }

    fn check_below(&self, free: Free) {
        let Free { first, order, .. } = free;
        assert!(order < self.most_order, "an extent is too large: {free:?}");
        assert_eq!(first % (1 << order), 0, "an extent lies askew: {free:?}");
        assert!(
            free.frames().end <= self.frames,
            "an extent leaves the pool: {free:?}"
        );
        assert!(
            !self.merges || self.lists.at(first ^ (1 << order), order).is_none(),
            "two buddies are both free: {free:?}"
        );
        assert_eq!(
            free.zeroed,
            self.content(free.frames()),
            "an extent is not what its frames are: {free:?}"
        );
        assert_eq!(
            free.mobility,
            self.mobility_of(first),
            "an extent is on the list of another mobility: {free:?}"
        );
        assert!(
            !self.lists.top_holds(first),
            "an extent lies in one of the greatest order: {free:?}"
        );
    }

    /// The number of frames in extents of the greatest order, and the number of these frames that
    /// hold zeroes.
    fn check_top(&self) -> (u64, u64) {
        let order = self.most_order;
        let (mut count, mut zeroes) = (0, 0);
        for zeroed in Zeroed::EACH {
            for run in self.lists.top(zeroed).iter() {
                let frames = run.start << order..run.end << order;
                assert!(frames.end <= self.frames, "an extent leaves the pool");
                for other in Zeroed::EACH {
                    let shared = self.lists.top(other).count_within(run.clone());
                    assert!(
                        other == zeroed || shared == 0,
                        "an extent of the greatest order is listed twice"
                    );
                }
                if zeroed == Zeroed::Some {
                    for number in run {
                        let content = self.content(number << order..(number + 1) << order);
                        assert_eq!(content, zeroed, "an extent is not what its frames are");
                    }
                } else {
                    let content = self.content(frames.clone());
                    assert_eq!(content, zeroed, "an extent is not what its frames are");
                }
                count += frames.end - frames.start;
                zeroes += self.zeroed.count_within(frames);
            }
        }
        (count, zeroes)
    }
}
