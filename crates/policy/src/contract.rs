//! The contract between a policy and its host: decision points, verdicts and the policy trait.

use crate::{Effort, Foresight, Needs, Refusal, View};
use alloc::string::String;

/// A decision point: a moment at which a host asks a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// A page of the block became resident. `populated` counts the page. If the access is a store,
    /// `dirty` counts the page too.
    Fault,
    /// The program stored to a page of the block that was resident and clean; `dirty` counts the
    /// page.
    FirstStore,
    /// The reservation reached the age in [`Needs::asked_at_age`].
    Due,
    /// A store will dirty the first page of a superpage without dirty pages; `dirty` is 0.
    StoreToCleanSuperpage,
    /// A daemon's round reached the block, as [`Needs::scan`] requests.
    Scan,
    /// Memory is short, and the page daemon checks whether the superpage was referenced.
    /// `referenced` counts the referenced pages; the daemon then clears their reference bits. Only
    /// for policies with [`Needs::asked_when_short`].
    Short,
    /// The program released the content of some pages of a superpage (`MADV_FREE`). These pages are
    /// now clean, and stay resident until memory is short. Only for policies with
    /// [`Needs::asked_when_freed`].
    Freed,
    /// A resident page of the block was referenced for the first time since its reference bit was
    /// cleared; `referenced` counts the page. Only for policies with
    /// [`Needs::asked_when_used_again`].
    UsedAgain,
    /// A TLB missed, and the block's charges count the miss. The TLB does not hold the entry yet.
    /// The host asks about the smallest block first. Only for policies with [`Needs::charges`].
    Miss,
}

impl Point {
    /// All decision points.
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
            // A policy with knowledge of the trace may begin a promotion at a miss.
            Self::Miss => needs.charges.any() || matches!(needs.foresight, Foresight::Cheapest(_)),
        }
    }
}

/// The coverage of a block by mappings. Only a covered block can become a superpage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// One mapping spans the whole block, and its backing is large enough and aligned.
    Covered,
    /// No single mapping spans the block.
    NotCovered,
    /// Mappings span the whole block, with different rights.
    MixedProtection,
}

impl Coverage {
    /// Returns the refusal for an uncovered block.
    pub const fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Covered => None,
            Self::NotCovered => Some(Refusal::NotCovered),
            Self::MixedProtection => Some(Refusal::MixedProtection),
        }
    }
}

/// The answer of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Make the block a superpage. The host promotes only a covered block, and otherwise counts its
    /// own refusal.
    Promote,
    /// Break the superpage into base pages.
    Demote,
    /// Leave the block unchanged. The host counts the reason.
    Stay(Refusal),
    /// Leave the block unchanged. The host counts nothing.
    Pass,
}

/// A policy: the rule that promotes and demotes blocks.
///
/// A host asks about base pages at [`Point::Fault`] and [`Point::FirstStore`], and about superpages
/// at [`Point::StoreToCleanSuperpage`]. [`Policy::needs`] requests other points. The answer depends
/// on the point and the view alone.
///
/// If [`Needs::sizes`] holds several sizes, a block is an aligned piece of any of these sizes, and
/// the view describes that piece. The host's order depends on placement:
///
/// - With [`crate::Placement::Reserved`], the host asks about the smallest piece first, and
///   continues upwards after each promotion. With [`Needs::every_size`] it always continues.
/// - With [`crate::Placement::AtFault`], the host asks about the largest piece first at a fault. It
///   stops at the first promotion that finds an extent.
/// - At [`Point::Scan`], the host asks about the largest piece first.
pub trait Policy: Send + Sync {
    /// The catalogue name with its parameters. [`crate::parse`] makes an equal policy from this
    /// name, if [`Policy::is_known_by_name`].
    fn name(&self) -> String;

    /// Returns true if the name says all of the policy, so that results may be kept under its name.
    /// A policy that its owner gives as a value ([`crate::GivenPolicy`]) returns false.
    fn is_known_by_name(&self) -> bool {
        true
    }

    /// The requirements on the host. They never change.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Returns true if the policy makes superpages.
    fn promotes(&self) -> bool {
        !self.needs().sizes.is_none()
    }

    /// Decides about the block.
    fn decide(&self, point: Point, view: &View) -> Verdict;

    /// Returns true if a block with these charges may have to become a superpage. A host asks at
    /// [`Point::Miss`] only if so, and otherwise counts [`Refusal::TooFewMisses`]. The view holds
    /// only sizes and the fields about misses.
    fn may_be_due(&self, _charged: &View) -> bool {
        true
    }

    /// The effort of the host to obtain an extent of frames, if the block shall become a superpage
    /// and no extent is free.
    fn effort(&self, _point: Point, _view: &View) -> Effort {
        Effort::None
    }

    /// The rank of a block that [`Point::Scan`] would promote: the host promotes high ranks first.
    /// Used if [`Scan::order`] is [`PromotionOrder::ByRank`] or [`PromotionOrder::Fair`].
    fn rank(&self, _view: &View) -> u64 {
        0
    }
}

impl Verdict {
    /// Returns [`Verdict::Promote`] if `reached`, and otherwise [`Verdict::Stay`] with this reason.
    pub const fn promote_if(reached: bool, otherwise: Refusal) -> Self {
        if reached {
            Self::Promote
        } else {
            Self::Stay(otherwise)
        }
    }
    /// Returns [`Verdict::Demote`] if `demotes`, and otherwise [`Verdict::Pass`].
    pub const fn demote_if(demotes: bool) -> Self {
        if demotes { Self::Demote } else { Self::Pass }
    }
}
