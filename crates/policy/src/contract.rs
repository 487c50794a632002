//! What a policy is, what it answers, and when it is asked.

use crate::{Effort, Foresight, Needs, Refusal, View};
use alloc::string::String;

/// The moment at which a policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// A page of the block was not resident and has just become so. `populated` counts the page. If
    /// the access is a store, `dirty` counts it too.
    Fault,
    /// A page of the block that was resident and clean before this access was stored to; `dirty`
    /// counts the page.
    FirstStore,
    /// The reservation has reached the age that [`Needs::asked_at_age`] names.
    Due,
    /// A store is about to dirty the first page of a superpage without dirty pages; `dirty` is 0.
    StoreToCleanSuperpage,
    /// The turn of the block in a daemon's round has come, as [`Needs::scan`] asks for.
    Scan,
    /// Memory is short, and the page daemon comes to the block, a superpage, to see whether it was referenced; `referenced` says how many of its
    /// pages were, which is forgotten then. Only of policies with [`Needs::asked_when_short`].
    Short,
    /// The program said that it no longer needs what stands in some pages of a superpage (`MADV_FREE`). They are clean now, and stay resident until
    /// memory is short. Only of policies with [`Needs::asked_when_freed`].
    Freed,
    /// A resident page of the block is referenced for the first time since its reference bit was cleared; `referenced` counts it. Only of policies
    /// with [`Needs::asked_when_used_again`].
    UsedAgain,
    /// A TLB missed, and the block was charged for it: its charges count that. The entry is not loaded yet. Blocks are asked of smallest first. Only of
    /// policies with [`Needs::charges`].
    Miss,
}

impl Point {
    /// Every point.
    pub const ALL: &[Self] = &[
        Self::Fault,
        Self::FirstStore,
        Self::Due,
        Self::StoreToCleanSuperpage,
        Self::Scan,
        Self::Short,
        Self::Freed,
        Self::UsedAgain,
        Self::Miss,
    ];

    /// Returns true if a policy with these needs is asked at this point.
    pub const fn is_asked_of(self, needs: &Needs) -> bool {
        match self {
            Self::Fault | Self::FirstStore | Self::StoreToCleanSuperpage => true,
            Self::Due => needs.asked_at_age.is_some(),
            Self::Scan => needs.scan.is_some(),
            Self::Short => needs.asked_when_short,
            Self::Freed => needs.asked_when_freed,
            Self::UsedAgain => needs.asked_when_used_again,
            // A policy that knows the trace may begin a promotion at a miss.
            Self::Miss => needs.charges.any() || matches!(needs.foresight, Foresight::Cheapest(_)),
        }
    }
}

/// Whether one mapping spans a block, so that it could be a superpage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// One mapping spans the whole block, and what stands behind it reaches as far and is aligned.
    Covered,
    /// No one mapping does.
    NotCovered,
    /// Mappings span the whole block, but with different rights.
    MixedProtection,
}

impl Coverage {
    /// Why a block is no superpage for this, if it is not.
    pub const fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Covered => None,
            Self::NotCovered => Some(Refusal::NotCovered),
            Self::MixedProtection => Some(Refusal::MixedProtection),
        }
    }
}

/// What stands behind the memory in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackingKind {
    /// Private memory that begins as zeroes.
    Anonymous,
    /// Memory shared between processes that begins as zeroes.
    SharedMemory,
    /// A file's pages.
    File,
}

/// What a policy answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Make the block a superpage. A host does so only where it is covered, and counts its own refusal otherwise.
    Promote,
    /// Break the superpage into base pages.
    Demote,
    /// Leave the block as it is, for this reason, which is counted.
    Stay(Refusal),
    /// There is nothing to decide; nothing is counted.
    Pass,
}

/// When a block becomes a superpage, and when it ceases to be one.
///
/// A host asks at [`Point::Fault`] and [`Point::FirstStore`] for blocks that are not promoted, at [`Point::StoreToCleanSuperpage`] for blocks that are,
/// and at the other points as [`Policy::needs`] says. The answer depends on nothing but the point and the view.
///
/// Where [`Needs::sizes`] holds several sizes, a block is an aligned piece of memory of any of them, and the view is of that piece. A host with
/// [`crate::Placement::Reserved`] asks for the smallest piece first and goes up as long as the verdict is to promote, or throughout with
/// [`Needs::every_size`]. With [`crate::Placement::AtFault`] it asks at a fault for the largest first, and the first that is to be promoted and finds an
/// extent is. At [`Point::Scan`] it asks for the largest first.
pub trait Policy: Send + Sync {
    /// The catalogue name with its parameters: [`crate::parse`] makes an equal policy of it.
    fn name(&self) -> String;

    /// What the host has to provide. The same for the whole life of the policy.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Returns true if the policy makes superpages at all.
    fn promotes(&self) -> bool {
        !self.needs().sizes.is_none()
    }

    /// What to do with the block.
    fn decide(&self, point: Point, view: &View) -> Verdict;

    /// Whether a block with such charges may have to become a superpage, whatever else there is to know of it; a host asks at [`Point::Miss`] only
    /// where that is so, and counts [`Refusal::TooFewMisses`] where it is not. The view holds the sizes and what concerns misses, and nothing else.
    fn may_be_due(&self, _charged: &View) -> bool {
        true
    }

    /// How far the host goes for an extent of frames, where the block is to become a superpage and none is free.
    fn effort(&self, _point: Point, _view: &View) -> Effort {
        Effort::None
    }

    /// Which of the blocks that [`Point::Scan`] would promote come first: the higher, the sooner. Matters where
    /// [`Scan::order`] is [`Order::ByRank`] or [`Order::Fair`].
    fn rank(&self, _view: &View) -> u64 {
        0
    }
}

impl Verdict {
    /// [`Verdict::Promote`] where `reached`, else to stay for this reason.
    pub const fn promote_if(reached: bool, otherwise: Refusal) -> Self {
        if reached {
            Self::Promote
        } else {
            Self::Stay(otherwise)
        }
    }
    /// [`Verdict::Demote`] where it is `wanted`, else nothing.
    pub const fn demote_if(wanted: bool) -> Self {
        if wanted { Self::Demote } else { Self::Pass }
    }
}
