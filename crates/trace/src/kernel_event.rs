//! Events that an instrumented kernel emits: the thirteen of Zhu 2018, table 3.1.

use broadleaf_units::{Rights, SpaceId, VirtAddr};

use crate::event::Range;

/// The size of a reserved block, in bytes.
pub const RESERVED_BYTES: u64 = 2 << 20;

/// An event that an instrumented kernel emitted about one address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelEvent {
    /// The address space that the event is about.
    pub space: SpaceId,
    /// The kernel's action.
    pub action: KernelAction,
}

/// An action of an instrumented kernel. Addresses of blocks are multiples of 2 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelAction {
    /// `RV_CREATE`: the kernel reserved this block, of which no page is resident.
    ReservationCreated(VirtAddr),
    /// `RV_BREAK`: the kernel took back the pages of this reserved block that were never used.
    ReservationBroken(VirtAddr),
    /// `RV_FREE`: the reservation of this block ended, and all of its pages are free.
    ReservationFreed(VirtAddr),
    /// `VM_PROMOTE`: the kernel made a superpage of this block.
    Promoted(VirtAddr),
    /// `VM_DEMOTE`: the kernel broke the superpage of this block.
    Demoted(VirtAddr),
    /// `VM_MAPPING`: the space shares another space's superpage at this block.
    Shared(VirtAddr),
    /// `VM_UNMAP`: the kernel unmapped the range.
    Unmapped(Range),
    /// `VM_PROTECT`: the range's rights changed.
    Protected(Range, Rights),
    /// `VM_PAGEOUT`: the pages of the range left memory.
    PagedOut(Range),
    /// `INVLPG`: a processor dropped the translation of the page at this address.
    PageFlushed(VirtAddr),
    /// `INVLTLB`: a processor dropped the space's translations that are not global.
    SpaceFlushed,
    /// `INVLTLB_G`: a processor dropped all translations, global ones included.
    AllFlushed,
    /// `INVPCID`: a processor dropped translations by their tag.
    TagFlushed(TagFlush),
}

/// The types of the instruction INVPCID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagFlush {
    /// Type 0: the translation of one page of the space.
    Page(VirtAddr),
    /// Type 1: the space's translations that are not global.
    Space,
    /// Type 2: all translations, global ones included.
    All,
    /// Type 3: the translations of all spaces that are not global.
    AllButGlobal,
}

impl KernelEvent {
    /// The names of the actions in Zhu 2018, by their number in the format.
    pub const NAMES: [&'static str; 13] = [
        "RV_CREATE",
        "RV_BREAK",
        "RV_FREE",
        "VM_PROMOTE",
        "VM_DEMOTE",
        "VM_MAPPING",
        "VM_UNMAP",
        "VM_PROTECT",
        "VM_PAGEOUT",
        "INVLPG",
        "INVLTLB",
        "INVLTLB_G",
        "INVPCID",
    ];

    /// The event of an action's number and its arguments, as instrumented kernels store them: two
    /// numbers whose meaning depends on the action, and one for rights or the type of INVPCID.
    ///
    /// # Errors
    /// The reason if there is no such action, or an argument is impossible.
    pub fn of_numbers(
        space: SpaceId,
        action: u64,
        [start, len, more]: [u64; 3],
    ) -> Result<Self, &'static str> {
        let block = || match start % RESERVED_BYTES {
            0 => Ok(VirtAddr(start)),
            _ => Err("a block of the kernel does not begin at a multiple of 2 MiB"),
        };
        let range = || match start.checked_add(len) {
            Some(_) => Ok(Range {
                start: VirtAddr(start),
                len,
            }),
            None => Err("a range goes past the last address"),
        };
        let action = match action {
            0 => KernelAction::ReservationCreated(block()?),
            1 => KernelAction::ReservationBroken(block()?),
            2 => KernelAction::ReservationFreed(block()?),
            3 => KernelAction::Promoted(block()?),
            4 => KernelAction::Demoted(block()?),
            5 => KernelAction::Shared(block()?),
            6 => KernelAction::Unmapped(range()?),
            7 => KernelAction::Protected(range()?, rights(more)?),
            8 => KernelAction::PagedOut(range()?),
            9 => KernelAction::PageFlushed(VirtAddr(start)),
            10 => KernelAction::SpaceFlushed,
            11 => KernelAction::AllFlushed,
            12 => KernelAction::TagFlushed(match more {
                0 => TagFlush::Page(VirtAddr(start)),
                1 => TagFlush::Space,
                2 => TagFlush::All,
                3 => TagFlush::AllButGlobal,
                _ => return Err("INVPCID has no such type"),
            }),
            _ => return Err("the kernel has no such event"),
        };
        Ok(Self { space, action })
    }

    /// The action's number and its arguments, as [`KernelEvent::of_numbers`] takes them.
    pub const fn numbers(&self) -> (u64, [u64; 3]) {
        match self.action {
            KernelAction::ReservationCreated(at) => (0, [at.0, 0, 0]),
            KernelAction::ReservationBroken(at) => (1, [at.0, 0, 0]),
            KernelAction::ReservationFreed(at) => (2, [at.0, 0, 0]),
            KernelAction::Promoted(at) => (3, [at.0, 0, 0]),
            KernelAction::Demoted(at) => (4, [at.0, 0, 0]),
            KernelAction::Shared(at) => (5, [at.0, 0, 0]),
            KernelAction::Unmapped(range) => (6, [range.start.0, range.len, 0]),
            KernelAction::Protected(range, rights) => {
                let bits =
                    rights.read as u64 | (rights.write as u64) << 1 | (rights.execute as u64) << 2;
                (7, [range.start.0, range.len, bits])
            }
            KernelAction::PagedOut(range) => (8, [range.start.0, range.len, 0]),
            KernelAction::PageFlushed(at) => (9, [at.0, 0, 0]),
            KernelAction::SpaceFlushed => (10, [0; 3]),
            KernelAction::AllFlushed => (11, [0; 3]),
            KernelAction::TagFlushed(what) => match what {
                TagFlush::Page(at) => (12, [at.0, 0, 0]),
                TagFlush::Space => (12, [0, 0, 1]),
                TagFlush::All => (12, [0, 0, 2]),
                TagFlush::AllButGlobal => (12, [0, 0, 3]),
            },
        }
    }

    /// The name of the action in Zhu 2018.
    pub const fn name(&self) -> &'static str {
        Self::NAMES[self.numbers().0 as usize]
    }
}

const fn rights(bits: u64) -> Result<Rights, &'static str> {
    match bits {
        0..8 => Ok(Rights {
            read: bits & 1 != 0,
            write: bits & 2 != 0,
            execute: bits & 4 != 0,
        }),
        _ => Err("a protection has unknown bits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_event_give_the_event_back() {
        let space = SpaceId(3);
        for number in 0..KernelEvent::NAMES.len() as u64 {
            for more in 0..4 {
                let arguments = [6 * RESERVED_BYTES, 4096, more];
                let event = KernelEvent::of_numbers(space, number, arguments).expect("an event");
                let (same, arguments) = event.numbers();
                assert_eq!(same, number);
                assert_eq!(KernelEvent::of_numbers(space, number, arguments), Ok(event));
            }
        }
    }

    #[test]
    fn impossible_arguments_are_refused() {
        let of = |action, arguments| KernelEvent::of_numbers(SpaceId(1), action, arguments);
        assert!(of(0, [4096, 0, 0]).is_err());
        assert!(of(6, [u64::MAX, 2, 0]).is_err());
        assert!(of(7, [0, 4096, 8]).is_err());
        assert!(of(12, [0, 0, 4]).is_err());
        assert!(of(13, [0, 0, 0]).is_err());
    }
}
