//! What an expression may speak of: the quantities and flags of a [`View`].

use super::Unit;
use crate::{BackingKind, Refusal, View};

macro_rules! quantities {
    ($($variant:ident = $name:literal, $unit:ident, $sentence:literal, |$view:ident| $value:expr;)*) => {
        /// A number that an expression may speak of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Quantity {
            $(#[doc = $sentence] $variant,)*
        }

        impl Quantity {
            /// Every one, in the order in which they are explained.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// How it is written.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it counts.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// What it means, in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }

            /// What it is in a view; no number where it has no value.
            pub(super) fn of(self, view: &View) -> f64 {
                match self { $(Self::$variant => { let $view = view; $value })* }
            }
        }
    };
}

quantities! {
    Populated = "populated", Pages, "Base pages that are resident.", |view| view.populated.into();
    Dirty = "dirty", Pages, "Base pages stored to since they became resident.", |view| view.dirty.into();
    Pages = "pages", Pages, "Base pages that the block has room for.", |view| view.pages.into();
    Size = "size", Bytes, "The size of the block.", |view| view.bytes() as f64;
    Age = "age", Accesses, "How long the block has been reserved; no value where it is not.", |view| view.reservation_age.map_or(f64::NAN, |age| age as f64);
    Referenced = "referenced", Pages, "Base pages that were referenced since the daemon of scan=N came by.", |view| view.referenced.into();
    Swapped = "swapped", Pages, "Base pages that stand in the swap.", |view| view.swapped.into();
    Shared = "shared", Pages, "Base pages whose frame another place uses too.", |view| view.shared.into();
    Zero = "zero", Pages, "Base pages of anonymous memory that were never stored to.", |view| view.zero.into();
    Misses = "misses", Number, "TLB misses of pages in the block since it was a superpage.", |view| view.misses as f64;
    Prefetch = "prefetch", Number, "Those of them that one entry for the block would have spared.", |view| view.prefetch_charge as f64;
    Capacity = "capacity", Number, "Misses elsewhere that one entry for the block would have spared.", |view| view.capacity_charge as f64;
    MissCycles = "miss_cycles", Cycles, "What a walk costs that finds a base page.", |view| view.miss_cycles as f64;
    CopyCycles = "copy_cycles", Cycles, "What it costs to copy the whole block.", |view| view.copy_cycles as f64;
}

macro_rules! flags {
    ($($variant:ident = $name:literal, $sentence:literal, $field:ident;)*) => {
        /// Something that is true or false of a block.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Flag {
            $(#[doc = $sentence] $variant,)*
        }

        impl Flag {
            /// Every one, in the order in which they are explained.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// How it is written.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means, in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }

            /// Whether it is true in a view.
            pub(super) const fn of(self, view: &View) -> bool {
                match self { $(Self::$variant => view.$field,)* }
            }
        }
    };
}

flags! {
    Writable = "writable", "The program may store there.", writable;
    Advised = "advised", "The program advised superpages for every page of the block.", advised_for;
    AdvisedAgainst = "advised_against", "The program advised against superpages for a page of the block.", advised_against;
    ExtentFree = "extent_free", "An extent of frames as large as the block is free, or set aside for it.", extent_free;
    MemoryShort = "memory_short", "Free memory is below what the host keeps.", memory_short;
    Promoted = "promoted", "The block is a superpage.", promoted;
}

impl Quantity {
    pub(super) fn named(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|known| known.name() == word)
    }

    /// Whether only a host that keeps frames knows it.
    pub(super) const fn needs_frames(self) -> bool {
        !matches!(
            self,
            Self::Populated | Self::Dirty | Self::Pages | Self::Size | Self::Age
        )
    }

    /// Why a block stays where there are fewer of it than an expression asks for.
    pub(super) const fn refused_below(self) -> Refusal {
        match self {
            Self::Populated => Refusal::TooFewResident,
            Self::Dirty => Refusal::TooFewDirty,
            Self::Age => Refusal::TooYoung,
            Self::Referenced => Refusal::RarelyReferenced,
            _ => Refusal::Expression,
        }
    }

    /// Why a block stays where there are more of it.
    pub(super) const fn refused_above(self) -> Refusal {
        match self {
            Self::Swapped => Refusal::TooManySwapped,
            Self::Shared => Refusal::TooManyShared,
            _ => Refusal::Expression,
        }
    }
}

impl Flag {
    pub(super) fn named(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|known| known.name() == word)
    }

    /// Whether only a host that keeps frames knows it.
    pub(super) const fn needs_frames(self) -> bool {
        matches!(self, Self::Advised | Self::ExtentFree | Self::MemoryShort)
    }

    /// Why a block stays where this has to be so, or may `not` be so, and is the other way.
    pub(super) const fn refused(self, not: bool) -> Refusal {
        match (self, not) {
            (Self::Advised, false) => Refusal::NotAdvised,
            (Self::AdvisedAgainst, true) => Refusal::AdvisedAgainst,
            (Self::ExtentFree, false) => Refusal::NoExtent,
            _ => Refusal::Expression,
        }
    }
}

/// The word for what stands behind a block, and behind `kind`.
pub(super) const KIND: &str = "kind";

/// The kinds of backing, as they are written.
pub(super) const KINDS: [(&str, BackingKind); 3] = [
    ("anonymous", BackingKind::Anonymous),
    ("file", BackingKind::File),
    ("shared", BackingKind::SharedMemory),
];

/// How a kind is written.
pub(super) fn kind_name(kind: BackingKind) -> &'static str {
    let mut kinds = KINDS.iter();
    kinds
        .find(|(_, known)| *known == kind)
        .map_or("", |(name, _)| name)
}
