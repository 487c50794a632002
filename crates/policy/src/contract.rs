//! What a policy is, what it answers, and when it is asked.

use crate::{Effort, Needs, Refusal, View};
use alloc::string::String;

/// The moment at which a policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// A page of the block was not resident and has just become so; `populated` counts it, `dirty` does not yet.
    Fault,
    /// A resident, clean page of the block was stored to; `dirty` counts it.
    FirstStore,
    /// The reservation has reached the age that [`Needs::asked_at_age`] names.
    Due,
    /// A store is about to dirty the first page of a superpage without dirty pages; `dirty` is 0.
    StoreToCleanSuperpage,
    /// The turn of the block in a daemon's round has come, as [`Needs::scan`] asks for.
    Scan,
    /// Memory is short, and the block is a superpage none of whose pages was referenced since this was last asked. Only of
    /// policies with [`Needs::asked_when_short`].
    Short,
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
    ];
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
/// A host asks at [`Point::Fault`] and [`Point::FirstStore`] for blocks that are not promoted, at [`Point::Due`],
/// [`Point::Scan`] and [`Point::Short`] as [`Policy::needs`] says, and at [`Point::StoreToCleanSuperpage`] for blocks that are. The answer
/// depends on nothing but the point and the view.
pub trait Policy: Send + Sync {
    /// The catalogue name with its parameter: [`crate::parse`] makes an equal policy of it.
    fn name(&self) -> String;

    /// What the host has to provide. The same for the whole life of the policy.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What to do with the block.
    fn decide(&self, point: Point, view: &View) -> Verdict;

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
}
