//! What a policy asks of its host beyond being asked at faults and first stores.

use crate::Without;

/// What a policy asks of its host beyond being asked at faults and first stores. The default is what a policy of Zhu's needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Ask at [`crate::Point::Due`] when a reservation reaches this age, in accesses.
    pub asked_at_age: Option<u64>,
    /// What it knows of the trace before it begins ([`crate::View::foreseen`]).
    pub foresight: Foresight,
    /// Where frames come from at a fault.
    pub placement: Placement,
    /// Which page sizes are used beside the base page: those of the set that the machine has.
    pub sizes: Sizes,
    /// True if the kernel allocates extents of these sizes even if the TLB holds no such page. The
    /// TLB then holds smaller pages of an extent (multi-size THP on x86-64). This applies to named
    /// sizes below the machine's smallest page of at least 2 MiB.
    pub allocates_sizes: bool,
    /// With [`Placement::Reserved`]: ask for a larger piece too where the verdict on a smaller one was not to promote.
    pub every_size: bool,
    /// When the pages of a block are copied together to make a superpage of it.
    pub copies: Copies,
    /// Whether pages of files stay in the frames where they are once they are in memory: none is copied to where a reservation would want it, and a
    /// reservation ends when no page of it is mapped any more, while the pages stay in memory.
    pub files_stay: bool,
    /// Ask at [`crate::Point::Scan`], in rounds of a daemon.
    pub scan: Option<Scan>,
    /// Ask at [`crate::Point::Short`].
    pub asked_when_short: bool,
    /// Ask at [`crate::Point::Freed`].
    pub asked_when_freed: bool,
    /// Ask at [`crate::Point::UsedAgain`].
    pub asked_when_used_again: bool,
    /// What blocks are charged with at TLB misses, and the policy asked of at [`crate::Point::Miss`].
    pub charges: Charges,
    /// True if larger pieces keep the prefetch charges of a promoted piece. Romer's policies remove
    /// these charges (1995, section 6.1).
    pub keeps_prefetch_charges: bool,
    /// True if a promotion leaves all capacity charges. Romer's ONLINE sets them to zero (1995,
    /// section 7.2).
    pub keeps_capacity_charges: bool,
    /// Charge pieces larger than 64 KiB with prefetch charges only after so many misses in a piece of the largest size that were to be charged (Romer 1995, appendix A).
    /// 0 and 1 are at each miss.
    pub deferral: u32,
    /// Not to ask at misses before walks have taken so many cycles of a thousand instructions since the trace began (Romer 1995, section 5, on policies that
    /// begin when there is something to win). 0 is from the start.
    pub idle_below: u64,
    /// Into how many pages, the faulting one included, a fault in a file that is mapped looks for what is in memory already, to map it as well.
    /// 0 and 1 are none.
    pub fault_around: u32,
    /// Whether loads from anonymous memory that was never stored to find one page of zeroes that all share.
    pub zero_page: bool,
    /// How many free frames are zeroed ahead of time in a million accesses.
    pub zeroed_ahead: u64,
    /// Whether pages that can neither leave nor move are put together, apart from others.
    pub wires_together: bool,
    /// True if the program gets superpages on request (`MADV_COLLAPSE`), without asking the policy.
    pub obeys_collapse: bool,
    /// What the page daemon keeps in mind when memory is short.
    pub daemon: PageDaemon,
    /// True if frames are chosen for contiguity alone, although free frames are zeroed ahead of
    /// time (Navarro 2002, on mesa).
    pub ignores_zeroed: bool,
    /// True if hash digests show the base pages of a dirty superpage that changed, so that only
    /// these are written back (Navarro 2002, on paging out dirty superpages).
    pub digests: bool,
    /// Mechanisms that an experiment turned off.
    pub without: Without,
    /// Whether the policy looks at what only a host that keeps frames can fill in of a [`crate::View`].
    pub sees_frames: bool,
    /// What it goes by that nobody knows who only looks, from time to time, at which pages are resident.
    pub beyond_looking: Option<Beyond>,
}

impl Needs {
    /// Whether it takes a host that keeps frames, of which there may be too few. A host whose memory never runs short, which knows reservations and
    /// no superpages but those of [`Sizes::Block`], can replay the others.
    pub fn needs_frames(&self) -> bool {
        let without = Self {
            asked_at_age: self.asked_at_age,
            foresight: self.foresight,
            beyond_looking: self.beyond_looking,
            ..Self::default()
        };
        *self != without || matches!(self.foresight, Foresight::Cheapest(_))
    }

    /// Why a host cannot run it that only looks, from time to time, at which pages are resident, and makes superpages of one size of `1 << shift` bytes.
    pub fn out_of_reach(&self, shift: u8) -> Option<Beyond> {
        if self.charges.any() {
            Some(Beyond::Misses)
        } else if self.foresight != Foresight::None {
            Some(Beyond::Future)
        } else if self.beyond_looking.is_some() {
            self.beyond_looking
        } else if self.sizes.holds(shift) || self.sizes.is_none() {
            None
        } else {
            Some(Beyond::Size)
        }
    }
}

/// What a policy may go by that nobody knows who only looks, from time to time, at which pages are resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The first fault in a block.
    FirstFaults,
    /// Which pages were referenced of late.
    References,
    /// How many accesses ago a block was reserved.
    Ages,
    /// What the program advised.
    Advice,
    /// TLB misses.
    Misses,
    /// What is still to come.
    Future,
    /// Superpages of other sizes than there are.
    Size,
}

impl Beyond {
    /// What a policy does that goes by it, as the end of a sentence that begins with the policy's name.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::FirstFaults => {
                "decides at the first fault in a block, which only the kernel sees"
            }
            Self::References => {
                "depends on which pages were referenced recently, and nothing here reports that"
            }
            Self::Ages => "counts accesses, and nothing counts those of a live program",
            Self::Advice => "depends on what the program advised, which only the kernel knows",
            Self::Misses => "depends on TLB misses, and nothing reports those of a live program",
            Self::Future => {
                "depends on the future, which a recording holds and a live program does not"
            }
            Self::Size => {
                "makes superpages of other sizes than 2 MiB, which no live program can have"
            }
        }
    }
}

/// What a policy knows of a trace before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Foresight {
    /// Nothing.
    #[default]
    None,
    /// Which blocks the catalogue's policy of this name promotes on the same trace.
    Of(&'static str),
    /// Which pieces are worth being superpages from the beginning (Romer 1995, section 7.1, OFFLINE).
    Cheapest(Search),
}

impl Foresight {
    /// The policy whose promotions are foreseen.
    pub const fn policy(self) -> Option<&'static str> {
        match self {
            Self::Of(name) => Some(name),
            Self::None | Self::Cheapest(_) => None,
        }
    }
}

/// How those pieces are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Which cycles there are to be few of.
    pub cycles: Cycles,
    /// Whether one piece is chosen at a time, as Romer did. Otherwise all are that pay by what is known, before it is looked again what misses are left.
    pub one_by_one: bool,
}

/// Which of the cycles that memory takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// Walks, bookkeeping and promotions: those of Romer's TLBMCPI.
    Tlb,
    /// Walks, bookkeeping, faults and daemons: all that are modelled.
    All,
}

/// The charges of a block that is no superpage at TLB misses (Romer 1995, section 6.1). Policies
/// without charges are not asked at misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// Every miss of a page in it ([`crate::View::misses`]).
    pub misses: bool,
    /// Prefetch charges ([`crate::View::prefetch_charge`]).
    pub prefetch: bool,
    /// Capacity charges ([`crate::View::capacity_charge`]).
    pub capacity: bool,
}

impl Charges {
    /// Nothing.
    pub const NONE: Self = Self {
        misses: false,
        prefetch: false,
        capacity: false,
    };

    /// Whether there are any.
    pub const fn any(self) -> bool {
        self.misses || self.prefetch || self.capacity
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            misses: self.misses || other.misses,
            prefetch: self.prefetch || other.prefetch,
            capacity: self.capacity || other.capacity,
        }
    }
}

/// When the pages of a block are copied together to make a superpage of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copies {
    /// Never: a block whose pages lie anywhere else than its reservation has them stays as it is.
    #[default]
    Never,
    /// Where they do not lie in one extent already.
    Scattered,
    /// Even there, so that every promotion has its full price (Romer 1995, section 6, on the worst case).
    Always,
}

/// Where frames come from at a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// A fault in an empty block sets an extent aside that all its pages find their places in (Navarro 2002).
    #[default]
    Reserved,
    /// Each page gets any frame; a block that the policy promotes at its first fault gets an extent at once (Linux).
    AtFault,
}

/// What the page daemon keeps in mind when memory is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageDaemon {
    /// Pages leave in the order of their last use. For an extent that is missed, pages are moved out of the way where the policy copies
    /// ([`Needs::copies`]), and nothing is done where it does not.
    #[default]
    OldestFirst,
    /// Pages leave that complete an extent which was asked for in vain, and all clean pages that nobody uses count as free (Navarro 2002).
    ForContiguity,
}

/// A set of page sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizes {
    /// The smallest superpage of at least 2 MiB.
    #[default]
    Block,
    /// All that there are.
    All,
    /// Those of `1 << n` bytes for each bit `n` that is set. The base page may be among them, and is no superpage.
    These(u64),
}

impl Sizes {
    /// Whether pages of `1 << shift` bytes are in it. [`Sizes::Block`] is for the host to find.
    pub const fn holds(self, shift: u8) -> bool {
        match self {
            Self::Block => shift >= 21,
            Self::All => true,
            Self::These(shifts) => shift < 64 && shifts >> shift & 1 != 0,
        }
    }

    /// Whether there are no superpages at all.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::These(0))
    }

    /// Whether it is one size.
    pub(crate) const fn is_one(self) -> bool {
        matches!(self, Self::These(shifts) if shifts.is_power_of_two())
    }
}

/// The accesses per second for which periods are given. If a source gives a period in seconds, the
/// default period is the seconds times this rate.
pub const NOMINAL_RATE: u64 = 1_000_000_000;

/// A daemon that goes round the address spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// From one turn to the next, in accesses of a program that makes [`NOMINAL_RATE`] of them per
    /// second.
    pub period: u64,
    /// How many base pages it looks at in a turn. 0 is all that there are.
    pub pages: u64,
    /// How many blocks it promotes in a turn at most. 0 is as many as there are.
    pub promotions: u64,
    /// In which order.
    pub order: Order,
}

/// In which order a daemon promotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As it comes by them: by address space and address.
    AsTheyStand,
    /// By [`crate::Policy::rank`], highest first, over all address spaces.
    ByRank,
    /// In turns, the address space first that has the smallest part of its memory in superpages; within it by rank.
    Fair,
}

/// How far a host goes for an extent of frames where none is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// It does not: the block stays as it is.
    #[default]
    None,
    /// Not now, but the compacting daemon is woken, so that there will be one for the next.
    Later,
    /// Pages are moved out of the way and, where that is not enough, reclaimed, while the program waits.
    Now,
}
