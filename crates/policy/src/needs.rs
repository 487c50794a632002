//! The requirements of a policy on its host, beyond questions at faults and first stores.

use crate::{ColourRule, Without};
use broadleaf_units::SizeSet;

/// The requirements of a policy on its host, beyond questions at faults and first stores. The
/// default suits the policies of Zhu's study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Ask at [`crate::Point::Due`] when a reservation reaches this age, in accesses.
    pub asked_at_age: Option<u64>,
    /// The policy's knowledge of the trace ([`crate::View::foreseen`]).
    pub foresight: Foresight,
    /// The source of frames at a fault.
    pub placement: Placement,
    /// The seed of the random choice of frames for base pages. `None` takes the lowest free frame.
    pub random_frames: Option<u64>,
    /// The rule that gives each page a colour. `None` places pages without regard to colours, as
    /// Linux and FreeBSD do. With [`Placement::AtFault`].
    pub colours: Option<ColourRule>,
    /// True if reservations are preempted in the order in which they were made, one frame at a time
    /// and never for a larger extent (Talluri 1995, section 6.6). Otherwise the one with the oldest
    /// latest allocation comes first, and breaks (Navarro 2002).
    pub preempts_oldest: bool,
    /// The superpage sizes in use, of those that the machine has.
    pub sizes: SizeSet,
    /// True if the kernel allocates extents of these sizes even if the TLB holds no such page. The
    /// TLB then holds smaller pages of an extent (multi-size THP on x86-64). The flag applies to
    /// named sizes below the machine's smallest page of at least 2 MiB.
    pub allocates_sizes: bool,
    /// With [`Placement::Reserved`]: ask about a larger piece even after a smaller one was not
    /// promoted.
    pub every_size: bool,
    /// The promotions that copy a block's pages together.
    pub copies: Copies,
    /// True if a promotion that copies has the cost of each part of a gather, and moves pages that
    /// other address spaces map too (Talluri 1995, section 6.2.2). Otherwise copying and the
    /// promotion are its costs, and such pages stay.
    pub gathers: bool,
    /// True if file pages in memory keep their frames: the host never copies them into a
    /// reservation. A reservation ends when none of its pages is mapped, while the pages stay in
    /// memory.
    pub files_stay: bool,
    /// Ask at [`crate::Point::Scan`], in rounds of a daemon.
    pub scan: Option<Scan>,
    /// Ask at [`crate::Point::Short`].
    pub asked_when_short: bool,
    /// Ask at [`crate::Point::Freed`].
    pub asked_when_freed: bool,
    /// Ask at [`crate::Point::UsedAgain`].
    pub asked_when_used_again: bool,
    /// The charges of a block at TLB misses. The host asks at [`crate::Point::Miss`].
    pub charges: Charges,
    /// True if larger pieces keep the prefetch charges of a promoted piece. Romer's policies remove
    /// these charges (1995, section 6.1).
    pub keeps_prefetch_charges: bool,
    /// True if a promotion leaves all capacity charges. Romer's ONLINE sets them to zero (1995,
    /// section 7.2).
    pub keeps_capacity_charges: bool,
    /// The number of misses in a piece of the largest size that pass before pieces larger than 64
    /// KiB get prefetch charges (Romer 1995, appendix A). 0 and 1 charge at each miss.
    pub deferral: u32,
    /// The walk cycles per thousand instructions, since the trace began, below which the host does
    /// not ask at misses (Romer 1995, section 5, on policies that begin late). 0 asks from the
    /// start.
    pub idle_below: u64,
    /// True if reservations of files and shared memory belong to the object: the first mapper
    /// decides where a block lies, others find its frames, and pages stay there while nobody maps
    /// them (Talluri 1995, section 6.3.2). Files then stay, as with `files_stay`.
    pub by_object: bool,
    /// With `by_object`: [`crate::View::populated`] counts the pages of the object that any address
    /// space maps. Otherwise each address space counts its own.
    pub counts_by_object: bool,
    /// The neighbours of a page of a file that are read when the page faults, with `by_object`.
    pub read_around: ReadAround,
    /// True if a promotion copies the block's resident pages to their places in an extent, and
    /// leaves them base pages (Talluri 1995, section 6.2.2: gather for partial-subblock TLBs).
    pub repairs: bool,
    /// True if a program does not wait for the pages that a promotion at a fault fetches: it goes
    /// on with base pages, and the promotion comes when they have arrived (Talluri 1995, section
    /// 6.2.3).
    pub early_restart: bool,
    /// True if a block that a mapping covers in part gets a reservation too, whose other frames are
    /// freed at once (Talluri 1995, section 6.2.1, on sizes that are no powers of two).
    pub odd_sizes: bool,
    /// The answer to a store to a page that others map too.
    pub store_to_shared: StoreToShared,
    /// The number of pages, including the faulting page, that a fault in a mapped file maps if they
    /// are in memory. 0 and 1 map the faulting page alone.
    pub fault_around: u32,
    /// True if pages have the sizes that a recorded system's own page tables gave them. In traces
    /// without page tables, the flag means nothing.
    pub recorded_sizes: bool,
    /// True if loads from anonymous memory without a store share one page of zeroes.
    pub zero_page: bool,
    /// The number of free frames zeroed ahead of time in a million accesses.
    pub zeroed_ahead: u64,
    /// True if wired pages are clustered, apart from other pages.
    pub wires_together: bool,
    /// True if the program gets superpages on request (`MADV_COLLAPSE`), without asking the policy.
    pub obeys_collapse: bool,
    /// The behaviour of the page daemon when memory is short.
    pub daemon: PageDaemon,
    /// True if frames are chosen for contiguity alone, although free frames are zeroed ahead of
    /// time (Navarro 2002, on mesa).
    pub ignores_zeroed: bool,
    /// True if hash digests show the base pages of a dirty superpage that changed, so that only
    /// these are written back (Navarro 2002, on paging out dirty superpages).
    pub digests: bool,
    /// Mechanisms that an experiment turned off.
    pub without: Without,
    /// True if the policy uses fields of [`crate::View`] that only a host with frames can fill in.
    pub sees_frames: bool,
    /// A requirement that an observer of resident pages cannot satisfy.
    pub beyond_looking: Option<Beyond>,
}

impl Needs {
    /// Returns true if misses of the TLB decide which pages the policy promotes. Two machines then
    /// have two worlds, and no rule of replacement knows the future.
    pub fn decides_by_misses(&self) -> bool {
        self.charges.any() || matches!(self.foresight, Foresight::Cheapest(_))
    }

    /// Returns true if the policy needs a host that keeps a limited number of frames. Other
    /// policies run on a host whose memory never runs short, with reservations and superpages of
    /// [`SizeSet::Block`] only.
    pub fn needs_frames(&self) -> bool {
        let without = Self {
            asked_at_age: self.asked_at_age,
            foresight: self.foresight,
            beyond_looking: self.beyond_looking,
            ..Self::default()
        };
        *self != without || matches!(self.foresight, Foresight::Cheapest(_))
    }

    /// Returns the requirement that an observer of resident pages cannot satisfy, with superpages
    /// of `1 << shift` bytes only.
    pub fn out_of_reach(&self, shift: u8) -> Option<Beyond> {
        if self.charges.any() {
            Some(Beyond::Misses)
        } else if self.foresight != Foresight::None {
            Some(Beyond::Future)
        } else if self.colours.is_some() {
            Some(Beyond::Colours)
        } else if self.beyond_looking.is_some() {
            self.beyond_looking
        } else if self.sizes.holds(shift) || self.sizes.is_none() {
            None
        } else {
            Some(Beyond::Size)
        }
    }
}

/// The neighbours that are read at a fault in a file on the disk, inside the block of the page that
/// faulted (Talluri 1995, section 6.3.4). The program does not wait for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAround {
    /// No neighbours.
    #[default]
    No,
    /// The whole block of the smallest superpage size: before and after the page.
    Block,
    /// At most this number of pages after it.
    Next(u32),
}

/// The answer to a store to a private page whose frame others map too: copy-on-write (Talluri 1995,
/// section 6.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreToShared {
    /// A superpage is broken, and the page is copied to any frame.
    #[default]
    Page,
    /// A superpage is broken, and the page is copied to a frame that is reserved for it beside the
    /// frames of the copies to come, so that copies are properly placed too.
    Placed,
    /// The whole superpage is copied to a new extent. If there is none, it is broken.
    Superpage,
}

/// A requirement that an observer of resident pages cannot satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The first fault in a block.
    FirstFaults,
    /// The pages referenced recently.
    References,
    /// The age of a reservation, in accesses.
    Ages,
    /// The advice of the program.
    Advice,
    /// TLB misses.
    Misses,
    /// Knowledge of the future.
    Future,
    /// The frames of pages.
    Colours,
    /// The page tables of a recorded system.
    Recording,
    /// Superpages of a size that does not exist.
    Size,
}

impl Beyond {
    /// The end of a sentence that begins with the policy's name.
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
            Self::Colours => "chooses the frames of pages, which only the kernel does",
            Self::Recording => "repeats what the kernel of a recorded system did",
            Self::Size => {
                "makes superpages of other sizes than 2 MiB, which no live program can have"
            }
        }
    }
}

/// The knowledge of a trace that a policy has before the trace begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Foresight {
    /// No knowledge.
    #[default]
    None,
    /// The blocks that the catalogue's policy of this name promotes on the same trace.
    Of(&'static str),
    /// The pieces that pay as superpages from the beginning (Romer 1995, section 7.1, OFFLINE).
    Cheapest(OfflineSearch),
}

impl Foresight {
    /// Returns the policy whose promotions are foreseen.
    pub const fn policy(self) -> Option<&'static str> {
        match self {
            Self::Of(name) => Some(name),
            Self::None | Self::Cheapest(_) => None,
        }
    }
}

/// The method of choosing the pieces that pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfflineSearch {
    /// The cycles to minimise.
    pub cycles: Cycles,
    /// True if each round chooses one piece, as Romer did. Otherwise each round chooses all pieces
    /// that pay by the misses left.
    pub one_by_one: bool,
}

/// The cycles that count as the cost of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// Walks, bookkeeping and promotions: the cycles of Romer's TLBMCPI.
    Tlb,
    /// Walks, bookkeeping, faults and daemons: all modelled cycles.
    All,
}

/// The charges of a block of base pages at TLB misses (Romer 1995, section 6.1). A host does not
/// ask policies without charges at misses.
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
    /// No charges.
    pub const NONE: Self = Self {
        misses: false,
        prefetch: false,
        capacity: false,
    };

    /// Returns true if there are any charges.
    pub const fn any(self) -> bool {
        self.misses || self.prefetch || self.capacity
    }

    /// Returns the union of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            misses: self.misses || other.misses,
            prefetch: self.prefetch || other.prefetch,
            capacity: self.capacity || other.capacity,
        }
    }
}

/// The promotions that copy a block's pages together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copies {
    /// None: a block with pages outside its reservation stays as it is.
    #[default]
    Never,
    /// Promotions of pages that do not lie in one extent.
    Scattered,
    /// All promotions, so that each has its full price (Romer 1995, section 6, on the worst case).
    Always,
}

/// The source of frames at a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// A fault in an empty block reserves an extent for all pages of the block (Navarro 2002).
    #[default]
    Reserved,
    /// Each page gets any frame. A block promoted at its first fault gets an extent at once
    /// (Linux).
    AtFault,
}

/// The behaviour of the page daemon when memory is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageDaemon {
    /// Pages leave in the order of their last use. For a missing extent, a policy that copies
    /// ([`Needs::copies`]) moves pages out of the way; other policies do nothing.
    #[default]
    OldestFirst,
    /// Of the oldest pages, the one leaves whose block of frames has most free frames, so that
    /// blocks of the smallest superpage size become free (Talluri 1995, section 6.3.5).
    CompletingBlocks,
    /// Pages leave if they complete an extent after a failed allocation. All unused clean pages
    /// count as free (Navarro 2002).
    ForContiguity,
}

/// The access rate, per second, that converts periods in seconds into accesses.
pub const NOMINAL_RATE: u64 = 1_000_000_000;

/// A daemon that visits the address spaces in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The time between two turns, in accesses of a program with [`NOMINAL_RATE`].
    pub period: u64,
    /// The number of base pages in a turn; 0 is all.
    pub pages: u64,
    /// The maximum number of promotions in a turn; 0 is no limit.
    pub promotions: u64,
    /// The order of promotions.
    pub order: PromotionOrder,
}

/// The order in which a daemon promotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromotionOrder {
    /// By address space and address.
    ByAddress,
    /// By [`crate::Policy::rank`], highest first, over all address spaces.
    ByRank,
    /// Alternating: first the address space with the smallest share of its memory in superpages,
    /// and within it by rank.
    Fair,
}

/// The effort of a host to obtain an extent of frames if none is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// No effort: the block stays as it is.
    #[default]
    None,
    /// The host wakes the compacting daemon, so that a later promotion finds an extent.
    Later,
    /// The host moves pages, and reclaims pages if moving does not suffice, while the program
    /// waits.
    Now,
}
