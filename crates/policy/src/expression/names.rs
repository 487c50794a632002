//! The names in an expression: quantities and flags of a [`View`].

use super::Unit;
use crate::{Refusal, View};
use broadleaf_units::BackingKind;

macro_rules! quantities {
    ($($variant:ident = $name:literal, $unit:ident,
       $sentence:literal, |$view:ident| $value:expr;)*) => {
        /// A number that an expression may use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Quantity {
            $(#[doc = $sentence] $variant,)*
        }

        impl Quantity {
            /// All quantities, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in expressions.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The unit.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// The meaning, in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }

            /// The value in a view; NaN if the quantity has no value.
            pub(super) fn of(self, view: &View) -> f64 {
                match self { $(Self::$variant => { let $view = view; $value })* }
            }
        }
    };
}

quantities! {
    Populated = "populated", Pages, "Base pages that are resident.", |view| view.populated.into();
    Dirty = "dirty", Pages, "Base pages stored to since they became resident.",
        |view| view.dirty.into();
    Pages = "pages", Pages, "Base pages that the block has room for.", |view| view.pages.into();
    Size = "size", Bytes, "The size of the block.", |view| view.bytes() as f64;
    Place = "place", Number, "The block's place among four neighbours, 0 to 3: place < 2 is half of \
                              the blocks.", |view| view.place.into();
    Age = "age", Accesses, "The time since the block was reserved; no value without a reservation.",
        |view| view.reservation_age.map_or(f64::NAN, |age| age as f64);
    Referenced = "referenced", Pages, "Base pages referenced since the last round of the daemon of \
                                       scan=N.", |view| view.referenced.into();
    Swapped = "swapped", Pages, "Base pages in the swap.", |view| view.swapped.into();
    Shared = "shared", Pages, "Base pages whose frame another mapping uses too.",
        |view| view.shared.into();
    Zero = "zero", Pages, "Base pages of anonymous memory without a store.",
        |view| view.zero.into();
    Misses = "misses", Number, "TLB misses of pages in the block since the block was a superpage.",
        |view| view.misses as f64;
    Prefetch = "prefetch", Number, "The misses of the block that one TLB entry for the block would \
                                    have prevented.", |view| view.prefetch_charge as f64;
    Capacity = "capacity", Number, "The misses of other pages that one TLB entry for the block \
                                    would have prevented.", |view| view.capacity_charge as f64;
    MissCycles = "miss_cycles", Cycles, "The cost of a walk that finds a base page.",
        |view| view.miss_cycles as f64;
    CopyCycles = "copy_cycles", Cycles, "The cost of copying the whole block.",
        |view| view.copy_cycles as f64;
}

macro_rules! flags {
    ($($variant:ident = $name:literal, $sentence:literal, $field:ident;)*) => {
        /// A property of a block that is true or false.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Flag {
            $(#[doc = $sentence] $variant,)*
        }

        impl Flag {
            /// All flags, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in expressions.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The meaning, in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }

            /// The value in a view.
            pub(super) const fn of(self, view: &View) -> bool {
                match self { $(Self::$variant => view.$field,)* }
            }
        }
    };
}

flags! {
    Writable = "writable", "The program may store to the block.", writable;
    Advised = "advised", "The program advised superpages for every page of the block.", advised_for;
    AdvisedAgainst = "advised_against", "The program advised against superpages for a page of the \
                                         block.", advised_against;
    ExtentFree = "extent_free", "An extent of frames as large as the block is free, or reserved \
                                 for it.", extent_free;
    MemoryShort = "memory_short", "Free memory is below the host's reserve.", memory_short;
    Promoted = "promoted", "The block is a superpage.", promoted;
}

impl Quantity {
    pub(super) fn named(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|known| known.name() == word)
    }

    /// Returns true if only a host with frames can fill in the quantity.
    pub(super) const fn needs_frames(self) -> bool {
        !matches!(
            self,
            Self::Populated | Self::Dirty | Self::Pages | Self::Size | Self::Place | Self::Age
        )
    }

    /// The refusal if the quantity is below the limit of an expression.
    pub(super) const fn refused_below(self) -> Refusal {
        match self {
            Self::Populated => Refusal::TooFewResident,
            Self::Dirty => Refusal::TooFewDirty,
            Self::Age => Refusal::TooYoung,
            Self::Referenced => Refusal::RarelyReferenced,
            _ => Refusal::Expression,
        }
    }

    /// The refusal if the quantity is above the limit of an expression.
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

    /// Returns true if only a host with frames can fill in the flag.
    pub(super) const fn needs_frames(self) -> bool {
        matches!(self, Self::Advised | Self::ExtentFree | Self::MemoryShort)
    }

    /// The refusal if the flag does not have the required value. The required value is false if
    /// `not` is true.
    pub(super) const fn refused(self, not: bool) -> Refusal {
        match (self, not) {
            (Self::Advised, false) => Refusal::NotAdvised,
            (Self::AdvisedAgainst, true) => Refusal::AdvisedAgainst,
            (Self::ExtentFree, false) => Refusal::NoExtent,
            _ => Refusal::Expression,
        }
    }
}

/// The word that begins a comparison of the backing.
pub(super) const KIND: &str = "kind";

/// The kinds of backing with their names.
pub(super) const KINDS: [(&str, BackingKind); 3] = [
    ("anonymous", BackingKind::Anonymous),
    ("file", BackingKind::File),
    ("shared", BackingKind::SharedMemory),
];

/// The name of a kind of backing.
pub(super) fn kind_name(kind: BackingKind) -> &'static str {
    let mut kinds = KINDS.iter();
    kinds
        .find(|(_, known)| *known == kind)
        .map_or("", |(name, _)| name)
}
