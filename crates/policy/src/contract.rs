//! What a policy sees, what it answers, and when it is asked.

use crate::Refusal;
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
}

impl Point {
    /// Every point.
    pub const ALL: &[Self] = &[
        Self::Fault,
        Self::FirstStore,
        Self::Due,
        Self::StoreToCleanSuperpage,
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

/// What a host shows of one block at one decision point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Base pages that are resident, however they came to be.
    pub populated: u32,
    /// Base pages stored to since they became resident.
    pub dirty: u32,
    /// Base pages that the block has room for (512 on x86-64).
    pub pages: u32,
    /// How long the block has been reserved, in accesses of the whole trace; `None` where it has no reservation.
    pub reservation_age: Option<u64>,
    /// Whether the block is a superpage now.
    pub promoted: bool,
    /// Whether it could be one.
    pub coverage: Coverage,
    /// What stands behind the block; where no one mapping covers it, behind the page in question.
    pub backing: BackingKind,
    /// Whether the program may store there.
    pub writable: bool,
    /// Whether the program advised against superpages for any page of the block.
    pub advised_against: bool,
    /// Whether the policy of [`Needs::foresight_of`] promotes this block sooner or later; `false` where nobody can know.
    pub foreseen: bool,
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

/// What a policy asks of its host beyond being asked at faults and first stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Ask at [`Point::Due`] when a reservation reaches this age, in accesses.
    pub asked_at_age: Option<u64>,
    /// Fill [`View::foreseen`] in from what the catalogue's policy of this name does on the same trace.
    pub foresight_of: Option<&'static str>,
}

/// When a block becomes a superpage, and when it ceases to be one.
///
/// A host asks at [`Point::Fault`] and [`Point::FirstStore`] for blocks that are not promoted, at [`Point::Due`] as
/// [`Policy::needs`] says, and at [`Point::StoreToCleanSuperpage`] for blocks that are. The answer depends on nothing
/// but the point and the view.
pub trait Policy: Send + Sync {
    /// The catalogue name with its parameter: [`crate::parse`] makes an equal policy of it.
    fn name(&self) -> String;

    /// What the host has to provide. The same for the whole life of the policy.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What to do with the block.
    fn decide(&self, point: Point, view: &View) -> Verdict;
}

impl View {
    /// The age of the block's reservation, or what a policy that promotes reservations answers where there is none or
    /// the block is a superpage already: at a fault without a reservation a refusal, otherwise nothing.
    ///
    /// # Errors
    /// The verdict to give.
    pub fn reservation_to_decide_on(&self, point: Point) -> Result<u64, Verdict> {
        match (self.promoted, self.reservation_age, point) {
            (true, ..) => Err(Verdict::Pass),
            (false, Some(age), _) => Ok(age),
            (false, None, Point::Fault) => Err(Verdict::Stay(Refusal::NoReservation)),
            (false, None, _) => Err(Verdict::Pass),
        }
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
