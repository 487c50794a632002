//! TLBs of one design that look the same pages up.
//!
//! Side by side, one instruction looks into several TLBs at the same time.
//! [Apart](Tlbs::set_apart), each TLB looks up all pages before the next does. The first is faster
//! if most lookups hit the first level, the second if most miss. Both rely on exact LRU
//! replacement, on two page sizes (4 KiB and 2 MiB), and on page tables that do not change during a
//! call.

mod alone;
mod rows;
#[cfg(test)]
mod tests;

use alone::{Alone, AloneShape};
use broadleaf_tlb::Compiled;
use broadleaf_tlb::Design;
use broadleaf_tlb::set;
use broadleaf_units::{PageNumber, PageSize};
use pulp::Arch;
use rows::Rows;

/// The most TLBs that there can be side by side.
pub const MOST_LANES: usize = 64;

/// No entry.
const EMPTY: u32 = <u32 as set::SetEntry>::EMPTY;
/// Marks an entry of a superpage.
const SUPERPAGE: u32 = 1 << 31;
/// How many bits of a base page's entry say which page of its block it is.
const OFFSET_BITS: u32 = 9;

/// The names that TLBs keep of a base page and of the block around it.
///
/// Blocks are numbered by the host, over all address spaces, so that an entry has 32 bits and needs
/// no tag of its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageId(u32);

impl PageId {
    /// The greatest number of distinct blocks: 8 TiB of them.
    pub const MOST_BLOCKS: usize = 1 << (31 - OFFSET_BITS);

    /// The base page at `offset` of the block of that number, which is below
    /// [`PageId::MOST_BLOCKS`].
    #[inline]
    pub const fn new(block: u32, offset: u16) -> Self {
        Self((block << OFFSET_BITS | offset as u32) & !SUPERPAGE)
    }

    /// Its block.
    #[inline]
    pub const fn block(self) -> u32 {
        self.0 >> OFFSET_BITS
    }

    /// The offset of the page in its block.
    #[inline]
    pub const fn offset(self) -> u16 {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as u16
    }

    #[inline]
    const fn entry(self, size: Size) -> u32 {
        match size {
            Size::Base => self.0,
            Size::Superpage => SUPERPAGE | self.block(),
        }
    }
}

/// What an entry translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The base page at this offset of the block.
    Base(u32, u16),
    /// The block, which is a superpage.
    Superpage(u32),
}

impl Entry {
    const fn of(entry: u32) -> Self {
        if entry & SUPERPAGE == 0 {
            Self::Base(
                entry >> OFFSET_BITS,
                (entry & ((1 << OFFSET_BITS) - 1)) as u16,
            )
        } else {
            Self::Superpage(entry & !SUPERPAGE)
        }
    }
}

/// The page sizes that the TLBs distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A base page of 4 KiB.
    Base,
    /// A superpage of 2 MiB.
    Superpage,
}

/// Where pages of one size are kept at one level.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: Compiled,
    structure: usize,
}

/// A structure of the second level: each lane by itself, since few lookups come this far, and not
/// in all lanes at once.
#[derive(Clone, Debug)]
struct Second {
    ways: usize,
    sets: usize,
    /// By lane, set and way.
    entries: Vec<Vec<u32>>,
}

impl Second {
    #[inline]
    fn set(&mut self, lane: usize, set: usize) -> &mut [u32] {
        &mut self.entries[lane][set * self.ways..(set + 1) * self.ways]
    }
}

/// What the first level and the page tables answer to a lookup that misses in some lane.
pub trait Walks {
    /// The first level of a lane missed, and the second did not.
    fn second_hit(&mut self, lane: usize);

    /// Both levels of a lane missed at the page of that number: the size of the page that its page
    /// table holds. `None` stops the lookup before it changes that lane.
    fn walk(&mut self, lane: usize, at: usize) -> Option<Size>;

    /// What the page table of a lane holds of a base page: whether it lies in a superpage, and
    /// whether only [`Walks::walk`] can say.
    fn sizes(&self, lane: usize) -> impl Fn(PageId) -> (bool, bool);

    /// Adds counts of one lane: lookups that the second level answered, and walks by page size.
    fn count(&mut self, lane: usize, second_hits: u64, base_walks: u64, super_walks: u64);
}

/// TLBs of one design side by side.
#[derive(Clone, Debug)]
pub struct Tlbs {
    /// How many there are.
    count: usize,
    /// How many there is room for: a number of lanes that the loops are compiled for.
    lanes: usize,
    first: Vec<Rows>,
    second: Vec<Second>,
    /// Where the first level keeps superpages and base pages: the order of lookup. And where the
    /// second level does, if at all.
    superpages: (Place, Option<Place>),
    base_pages: (Place, Option<Place>),
    /// The TLBs, if they are apart. Then `first` and `second` are empty.
    apart: Option<Vec<Alone>>,
    /// The sets that pages go to in TLBs that are apart; `None` if the design does not allow that.
    shape: Option<AloneShape>,
    /// The vector instructions that the processor has.
    vectors: Arch,
}

impl Tlbs {
    /// One empty TLB of that design. `None` where that lacks 4 KiB pages, or has other larger pages
    /// than 2 MiB.
    pub fn new(design: &Design) -> Option<Self> {
        let of_level = |level: usize| {
            (design.structures().iter()).filter(move |structure| structure.level == level)
        };
        let place = |level: usize, size: PageSize| {
            let holds = |(_, structure): &(usize, &broadleaf_tlb::Structure)| {
                structure.index(size).is_some()
            };
            let (structure, found) = of_level(level).enumerate().find(holds)?;
            Some(Place {
                index: found.index(size)?.compile(),
                structure,
            })
        };
        let places = |size: PageSize| Some((place(1, size)?, place(2, size)));
        let mut first: Vec<Rows> = of_level(1)
            .map(|structure| Rows::new(structure.sets(), structure.ways, 1))
            .collect();
        // A machine of base pages alone has an empty place to look for superpages in.
        let superpages = places(PageSize::SIZE_2M).or_else(|| {
            let structure = first.len();
            let only_base_pages = design.sizes().len() == 1;
            only_base_pages.then(|| {
                first.push(Rows::new(1, 1, 1));
                let index = Compiled::default();
                (Place { index, structure }, None)
            })
        })?;
        let mut tlbs = Self {
            count: 1,
            lanes: 1,
            first,
            second: of_level(2)
                .map(|structure| Second {
                    ways: structure.ways,
                    sets: structure.sets(),
                    entries: vec![vec![EMPTY; structure.entries]],
                })
                .collect(),
            superpages,
            base_pages: places(PageSize::SIZE_4K)?,
            apart: None,
            shape: None,
            vectors: Arch::new(),
        };
        tlbs.shape = tlbs.shape_apart();
        Some(tlbs)
    }

    /// The shape of TLBs that are apart, if the design has the structures that they need.
    fn shape_apart(&self) -> Option<AloneShape> {
        let (base, superpage) = (self.base_pages, self.superpages);
        let (base, superpage) = ((base.0, base.1?), (superpage.0, superpage.1?));
        let [super_rows, base_rows] = self.first.as_slice() else {
            return None;
        };
        let [second] = self.second.as_slice() else {
            return None;
        };
        let fits = (superpage.0.structure, base.0.structure) == (0, 1)
            && [super_rows.ways(), base_rows.ways()] == [alone::FIRST; 2]
            && second.ways == alone::SECOND;
        if !fits {
            return None;
        }
        AloneShape::new(base, superpage, super_rows.sets())
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Appends a copy of a TLB.
    pub fn copy(&mut self, lane: usize) {
        if let Some(apart) = &mut self.apart {
            apart.push(apart[lane].clone());
            self.count += 1;
            return;
        }
        if self.count == self.lanes {
            self.resize(room_for(self.count + 1));
        }
        let to = self.count;
        self.count += 1;
        for rows in &mut self.first {
            rows.copy_lane(lane, to, self.lanes);
        }
        for second in &mut self.second {
            let copied = second.entries[lane].clone();
            second.entries.push(copied);
        }
    }

    /// Takes a TLB away. The last one takes its number.
    pub fn remove(&mut self, lane: usize) {
        self.count -= 1;
        if let Some(apart) = &mut self.apart {
            apart.swap_remove(lane);
            return;
        }
        for rows in &mut self.first {
            rows.copy_lane(self.count, lane, self.lanes);
            rows.remove_where(self.count, self.lanes, &mut |_| true);
        }
        for second in &mut self.second {
            second.entries.swap_remove(lane);
        }
        let room = room_for(self.count);
        if room < self.lanes {
            self.resize(room);
        }
    }

    fn resize(&mut self, lanes: usize) {
        for rows in &mut self.first {
            rows.resize(self.lanes, lanes);
        }
        self.lanes = lanes;
    }

    /// Looks pages up in each TLB by itself from now on, or in all at once. Returns false if the
    /// design cannot be looked up so; then nothing changes.
    pub fn set_apart(&mut self, apart: bool) -> bool {
        if apart && self.shape.is_none() {
            return false;
        }
        match self.apart.take() {
            None if apart => self.take_apart(),
            Some(alone) if !apart => self.put_together(&alone),
            same => self.apart = same,
        }
        true
    }

    fn take_apart(&mut self) {
        let alone = |lane: usize| {
            let rows = self.first.iter();
            let first: Vec<u32> = rows.flat_map(|rows| rows.lane(lane, self.lanes)).collect();
            let second = self.second.iter().flat_map(|second| &second.entries[lane]);
            Alone::new(&first, &second.copied().collect::<Vec<u32>>())
        };
        self.apart = Some((0..self.count).map(alone).collect());
    }

    fn put_together(&mut self, apart: &[Alone]) {
        self.resize(room_for(self.count));
        for (lane, alone) in apart.iter().enumerate() {
            let mut first = alone.first().iter().copied();
            for rows in &mut self.first {
                rows.fill_lane(lane, self.lanes, &mut first);
            }
        }
        let second = |alone: &Alone| alone.second().collect();
        for structure in &mut self.second {
            structure.entries = apart.iter().map(second).collect();
        }
    }

    /// Finds out whether TLBs that are apart hold base pages. Lookups are faster if none does.
    pub fn find_strays(&mut self) {
        (self.apart.iter_mut().flatten()).for_each(Alone::find_strays);
    }

    /// Looks base pages up in one of the TLBs, which have to be [apart](Self::set_apart). What
    /// comes of it is the same as with [`Tlbs::look_up`]. Stops where a walk says so, and answers
    /// at which page.
    ///
    /// # Panics
    /// Where there are fewer ids than pages, or the TLBs are not apart.
    pub fn look_up_alone(
        &mut self,
        lane: usize,
        pages: &[PageNumber],
        ids: &[PageId],
        walks: &mut impl Walks,
    ) -> Option<usize> {
        let (Some(apart), Some(shape)) = (&mut self.apart, &self.shape) else {
            panic!("a lookup in one TLB, which are side by side");
        };
        let ids = &ids[..pages.len()];
        apart[lane].look_up(shape, self.vectors, lane, (pages, ids), walks)
    }

    /// Whether two hold the same in the same order, so that they answer alike for ever.
    pub fn are_alike(&self, one: usize, other: usize) -> bool {
        if let Some(apart) = &self.apart {
            return apart[one].is_like(&apart[other]);
        }
        let of = |lane: usize| {
            self.first
                .iter()
                .flat_map(move |rows| rows.lane(lane, self.lanes))
        };
        of(one).eq(of(other))
            && (self.second.iter()).all(|second| second.entries[one] == second.entries[other])
    }

    /// Removes entries of one TLB.
    pub fn remove_where(&mut self, lane: usize, mut unwanted: impl FnMut(Entry) -> bool) {
        let mut unwanted = |entry: u32| unwanted(Entry::of(entry));
        if let Some(apart) = &mut self.apart {
            apart[lane].remove_where(&mut unwanted);
            return;
        }
        for rows in &mut self.first {
            rows.remove_where(lane, self.lanes, &mut unwanted);
        }
        for second in &mut self.second {
            for set in second.entries[lane].chunks_exact_mut(second.ways) {
                set::remove_where(set, &mut unwanted);
            }
        }
    }

    /// Removes the entry of one superpage from one TLB. `page` is any of its base pages.
    pub fn remove_superpage(&mut self, lane: usize, page: PageNumber, id: PageId) {
        let unwanted = id.entry(Size::Superpage);
        if let (Some(apart), Some(shape)) = (&mut self.apart, &self.shape) {
            apart[lane].remove_superpage(shape, page, unwanted);
            return;
        }
        let (first, second) = self.superpages;
        self.first[first.structure].remove_from(
            first.index.set_of(page),
            lane,
            self.lanes,
            unwanted,
        );
        if let Some(place) = second {
            let set = place.index.set_of(page);
            let set = self.second[place.structure].set(lane, set);
            set::remove_where(set, &mut |entry| entry == unwanted);
        }
    }

    /// Looks base pages up in some TLBs, those whose bit is set in `which`, superpages first at
    /// each level. What is found becomes the newest of its set; what only the second level holds is
    /// copied to the first, and what a walk finds is taken in at both. Stops where a walk says so,
    /// and answers at which page; looking the same page up once more then changes nothing in any
    /// other lane.
    ///
    /// # Panics
    /// Where there are fewer ids than pages, or the TLBs are apart.
    pub fn look_up(
        &mut self,
        pages: &[PageNumber],
        ids: &[PageId],
        which: u64,
        walks: &mut impl Walks,
    ) -> Option<usize> {
        assert!(self.apart.is_none(), "lookups in all TLBs, which are apart");
        let ids = &ids[..pages.len()];
        let mut asked = [0; MOST_LANES];
        for (lane, asked) in asked.iter_mut().enumerate().take(self.count) {
            *asked = ((which >> lane & 1) as u32).wrapping_neg();
        }
        match self.lanes {
            1 => self.look_up_in::<1>(pages, ids, &asked, walks),
            4 => self.look_up_in::<4>(pages, ids, &asked, walks),
            8 => self.look_up_in::<8>(pages, ids, &asked, walks),
            16 => self.look_up_in::<16>(pages, ids, &asked, walks),
            24 => self.look_up_in::<24>(pages, ids, &asked, walks),
            _ => self.look_up_in::<MOST_LANES>(pages, ids, &asked, walks),
        }
    }

    /// The same, with which lanes are asked in memory: a compiler that sees them lane by lane keeps
    /// them apart, and would put them together for each page.
    #[inline(never)]
    fn look_up_in<const LANES: usize>(
        &mut self,
        pages: &[PageNumber],
        ids: &[PageId],
        asked: &[u32; MOST_LANES],
        walks: &mut impl Walks,
    ) -> Option<usize> {
        let asked: &[u32; LANES] = asked.first_chunk()?;
        for (at, (page, id)) in pages.iter().zip(ids).enumerate() {
            let mut left = *asked;
            let superpages = &mut self.first[self.superpages.0.structure];
            if superpages.used {
                let set = self.superpages.0.index.set_of(*page);
                match superpages.renew(set, id.entry(Size::Superpage), asked) {
                    None => continue,
                    Some(lanes) => left = lanes,
                }
            }
            let set = self.base_pages.0.index.set_of(*page);
            let base_pages = &mut self.first[self.base_pages.0.structure];
            let Some(left) = base_pages.renew(set, id.entry(Size::Base), &left) else {
                continue;
            };
            for (lane, left) in left.iter().enumerate() {
                if *left != 0 && !self.miss::<LANES>(lane, *page, *id, at, walks) {
                    return Some(at);
                }
            }
        }
        None
    }

    /// The first level of a lane missed. Answers whether a page was found.
    #[inline(always)]
    fn miss<const LANES: usize>(
        &mut self,
        lane: usize,
        page: PageNumber,
        id: PageId,
        at: usize,
        walks: &mut impl Walks,
    ) -> bool {
        let found = [
            (Size::Superpage, self.superpages.1),
            (Size::Base, self.base_pages.1),
        ];
        for (size, place) in found {
            if let Some(place) = place {
                let set = place.index.set_of(page);
                let set = self.second[place.structure].set(lane, set);
                if set::renew(set, id.entry(size)) {
                    walks.second_hit(lane);
                    self.insert_first::<LANES>(lane, page, id, size);
                    return true;
                }
            }
        }
        let Some(size) = walks.walk(lane, at) else {
            return false;
        };
        self.insert_first::<LANES>(lane, page, id, size);
        let place = match size {
            Size::Superpage => self.superpages.1,
            Size::Base => self.base_pages.1,
        };
        if let Some(place) = place {
            let set = place.index.set_of(page);
            let set = self.second[place.structure].set(lane, set);
            set::insert(set, id.entry(size));
        }
        true
    }

    #[inline(always)]
    fn insert_first<const LANES: usize>(
        &mut self,
        lane: usize,
        page: PageNumber,
        id: PageId,
        size: Size,
    ) {
        let place = match size {
            Size::Superpage => self.superpages.0,
            Size::Base => self.base_pages.0,
        };
        let set = place.index.set_of(page);
        self.first[place.structure].insert::<LANES>(set, id.entry(size), lane);
    }

    /// Asserts the invariants: no set holds an entry twice, and empty entries come last.
    ///
    /// # Panics
    /// Where it does not hold.
    pub fn check(&self) {
        if let Some(apart) = &self.apart {
            assert_eq!(apart.len(), self.count);
            apart.iter().for_each(Alone::check);
            return;
        }
        for lane in 0..self.count {
            for rows in &self.first {
                let entries: Vec<u32> = rows.lane(lane, self.lanes).collect();
                entries.chunks(rows.ways()).for_each(set::check);
            }
            for second in &self.second {
                assert_eq!(second.entries[lane].len(), second.sets * second.ways);
                (second.entries[lane].chunks(second.ways)).for_each(set::check);
            }
        }
    }
}

/// The fewest lanes that the loops are compiled for and that are enough.
const fn room_for(count: usize) -> usize {
    match count {
        0..=1 => 1,
        2..=4 => 4,
        5..=8 => 8,
        9..=16 => 16,
        17..=24 => 24,
        _ => MOST_LANES,
    }
}
