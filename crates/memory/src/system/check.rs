//! The invariants between two verbs.

use super::objects::Objects;
use super::{Place, Pte, System};
use crate::frames::Frame;
use broadleaf_policy::Copies;
use std::collections::{BTreeMap, BTreeSet};

impl System<'_> {
    /// Asserts the invariants between two verbs. Each frame has exactly one use, and page tables,
    /// frames, reservations and the buddy allocator agree on the use. The time is proportional to
    /// the size of memory.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check(&self) {
        self.buddy.check();
        self.tables.check();
        self.frames.check();
        self.reservations.check();
        let due = self.due.first().map_or(u64::MAX, |(due, ..)| *due);
        let stream = self.streams.first().map_or(u64::MAX, |(due, _)| *due);
        assert_eq!(self.next_due, due.min(stream), "what falls due first");
        self.wired_pages.check(&self.buddy);
        assert_eq!(self.wired_pages.frames(), self.of_tables.len() as u64);
        let owners = self.check_tables();
        self.check_frames(&owners);
        self.check_reservations(&owners);
        let (all, copying) = (self.counters.promotion_cycles, self.counters.copy_cycles);
        match self.needs.copies {
            Copies::Never => assert_eq!(copying, 0, "nothing is copied"),
            Copies::Scattered => assert!(copying <= all, "copying is a part of it"),
            Copies::Always => assert_eq!(copying, all, "every promotion has its full price"),
        }
        for frame in self.cache.keys() {
            assert!(
                self.buddy.is_free(*frame),
                "the cache is in a frame that is not free"
            );
        }
        assert_eq!(self.cache.len(), self.cached.len());
        for page in &self.shared_in_swap {
            assert!(
                self.frames.file_frame(*page).is_none(),
                "shared memory in the swap and in a frame"
            );
        }
    }

    /// The places that map each frame, from the page tables.
    fn check_tables(&self) -> BTreeMap<Frame, Vec<Place>> {
        let mut owners: BTreeMap<Frame, Vec<Place>> = BTreeMap::new();
        let (mut resident, mut in_superpages) = (0, 0);
        let mut in_swap = self.shared_in_swap.len() as u64;
        for (at, pte) in self.tables.iter() {
            assert!(
                !(pte.is_present() && pte.has(Pte::SWAPPED)),
                "resident and swapped"
            );
            in_swap += u64::from(pte.has(Pte::SWAPPED));
            if pte.has_frame() {
                owners.entry(pte.frame()).or_default().push(at);
                resident += 1;
                in_superpages += u64::from(pte.level() > 0);
            }
            if pte.level() > 0 {
                let piece = self.piece(at, pte.level());
                let first = self.tables.get(piece.first);
                assert_eq!(first.level(), pte.level(), "a superpage in part");
                if !self.needs.digests && pte.is_shared_file() && pte.has(Pte::UNSAVED) {
                    let clean = |at| {
                        let other = self.tables.get(at);
                        other.is_shared_file() && !other.has(Pte::UNSAVED)
                    };
                    assert!(
                        !self.places(piece).any(clean),
                        "a superpage that was stored to in part"
                    );
                }
                if pte.has_frame() {
                    self.check_frame_in_superpage(piece, at, pte);
                }
            } else {
                assert_eq!(pte.share(), 1, "a base page in a share");
            }
        }
        assert_eq!(in_swap, self.in_swap, "pages in the swap are miscounted");
        assert_eq!(
            resident, self.counters.resident,
            "resident pages are miscounted"
        );
        assert_eq!(
            in_superpages, self.counters.in_superpages,
            "pages in superpages are miscounted"
        );
        owners
    }

    fn check_frames(&self, owners: &BTreeMap<Frame, Vec<Place>>) {
        let mut taken = BTreeSet::new();
        for frame in self.frames.iter() {
            assert!(taken.insert(frame));
            assert!(!self.buddy.is_free(frame), "a frame is used and free");
            let mut mappers = self.frames.mappers(frame);
            mappers.sort();
            let mut said = owners.get(&frame).cloned().unwrap_or_default();
            said.sort();
            assert_eq!(
                mappers, said,
                "page tables and frames disagree on {frame:?}"
            );
            let shared = mappers.len() > 1;
            for at in &mappers {
                assert_eq!(self.tables.get(*at).has(Pte::SHARED), shared);
            }
            let anonymous = self.frames.file_page(frame).is_none();
            assert!(
                !mappers.is_empty() || !anonymous,
                "a page that nobody can reach"
            );
            let heads = mappers.iter().any(|at| {
                let level = self.tables.get(*at).level();
                self.piece(*at, level).first == *at
            });
            if heads || mappers.is_empty() {
                assert!(
                    self.frames.list(frame).is_some(),
                    "a page that the daemon does not know"
                );
            }
        }
        for frame in owners.keys() {
            assert!(taken.contains(frame), "a mapped frame that is not used");
        }
        for frame in self.movable.iter().flatten().map(Frame) {
            assert!(taken.insert(frame), "a frame has two uses");
            assert!(!self.buddy.is_free(frame));
        }
        let all = self.buddy.free_frames()
            + taken.len() as u64
            + self.reservations.reserved_unpopulated()
            + self.occupied
            + self.wired_pages.held();
        assert_eq!(all, self.buddy.frames(), "frames were lost or made");
        let seen = self.sample().frames();
        assert_eq!(
            seen,
            self.buddy.frames(),
            "a sample counts frames twice, or not at all"
        );
    }

    fn check_reservations(&self, owners: &BTreeMap<Frame, Vec<Place>>) {
        assert_eq!(self.reserved_at.len(), self.reservations.len());
        for (_, reservation) in self.reservations.iter() {
            let key = reservation.key();
            assert!(self.reserved_at.contains_key(&key));
            let population = reservation.population();
            assert!(!reservation.holds_nothing(), "a reservation of nothing");
            for page in 0..population.len() {
                let frame = Frame(reservation.frame(page));
                let at = Place {
                    page: key.page + page,
                    ..key
                };
                let there = match Objects::is_of(key) {
                    true => self.frames.is_used(frame),
                    false => owners
                        .get(&frame)
                        .is_some_and(|owners| owners.contains(&at)),
                };
                let was_given_up = population.get(page) && !reservation.holds(page);
                assert!(
                    population.get(page) == there || was_given_up,
                    "a reservation is wrong of {at:?}: {:?}",
                    self.tables.get(at)
                );
                if !population.get(page) {
                    assert!(!self.frames.is_used(frame) && !self.buddy.is_free(frame));
                }
            }
        }
    }
}
