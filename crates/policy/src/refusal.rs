//! Refusals: the named reasons for not promoting a block.

use core::fmt;

macro_rules! refusals {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $sentence:literal;)*) => {
        /// A reason for not promoting a block at a decision point. The names are stable, because
        /// results use them as keys.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Refusal {
            $(#[doc = $sentence] $variant,)*
        }

        impl Refusal {
            /// All reasons, in the order of the enum; `ALL[reason as usize] == reason`.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name, in snake case.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The meaning, in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

refusals! {
    NoReservation = "no_reservation", "The block has no reservation, so it could never become a \
                                       superpage.";
    TooFewResident = "too_few_resident", "Fewer base pages are populated than the policy asks for.";
    TooFewDirty = "too_few_dirty", "Fewer base pages are dirty than the policy asks for.";
    MixedDirty = "mixed_dirty", "Some base pages are dirty and some are clean.";
    TooYoung = "too_young", "The reservation is younger than the policy asks for.";
    NotForeseen = "not_foreseen", "The foreseen policy never promotes this block, or a superpage \
                                   does not pay for this block.";
    FileBacked = "file_backed", "The policy leaves file-backed memory alone.";
    SharedMemory = "shared_memory", "The policy leaves shared memory alone.";
    AdvisedAgainst = "advised_against", "The program advised against superpages here.";
    AlreadyPopulated = "already_populated", "Other base pages of the block are populated already.";
    NotCovered = "not_covered", "No one mapping spans the whole block.";
    MixedProtection = "mixed_protection", "The block is mapped throughout, but with different \
                                           rights.";
    NotAdvised = "not_advised", "The policy makes superpages only where the program advised them.";
    TooManyEmpty = "too_many_empty", "More base pages are empty than the policy fills.";
    TooManySwapped = "too_many_swapped", "More base pages are in the swap than the policy reads \
                                          back.";
    TooManyShared = "too_many_shared", "More base pages are shared than the policy copies.";
    RarelyReferenced = "rarely_referenced", "Too few base pages were referenced recently.";
    NothingStored = "nothing_stored", "No base page of the block was stored to.";
    MemoryShort = "memory_short", "Memory is short, or was short recently, and the superpage would \
                                   fill pages.";
    NoExtent = "no_extent", "No extent of frames of that size is free or obtainable with the \
                             effort that the policy allows.";
    NotInPlace = "not_in_place", "Base pages lie in other frames than the reservation's, and the \
                                  policy does not copy.";
    TooFewMisses = "too_few_misses", "TLB misses have not paid for a superpage yet.";
    Disabled = "disabled", "The policy's settings allow no superpages of this size.";
    Expression = "expression", "The expression did not hold.";
    OverBudget = "over_budget", "The superpage would add more memory than the user allows.";
    SplitByProgram = "split_by_program", "The program broke the superpage here, and has not filled \
                                          all of the block since.";
    BackingOff = "backing_off", "The block's superpage was recently broken to free memory; the \
                                 host waits.";
    Changed = "changed", "Fewer pages were populated at the promotion than at the decision.";
    Busy = "busy", "Pages of the block were locked, pinned or in transit, and the kernel could not \
                    move them.";
    NotCollapsible = "not_collapsible", "The kernel makes no superpage there: the program advised \
                                         against it, or the mapping allows none.";
    NoCharge = "no_charge", "The kernel had the memory, but the limit of the process's cgroup did \
                             not allow the superpage.";
    Incongruent = "incongruent", "Addresses and file offsets of shared memory differ modulo the \
                                  block size, so no superpage can map the block.";
    Userfaultfd = "userfaultfd", "The program handles page faults of this memory itself \
                                  (userfaultfd), so the kernel fills none of its pages.";
    StallTooLong = "stall_too_long", "Making a superpage took longer than the user allows a stall \
                                      to take; the host waits.";
    Unreachable = "unreachable", "The kernel does not let this user change that process.";
}

/// Counts of refusals, by reason.
#[derive(Clone, Debug)]
pub struct Refusals([u64; Refusal::ALL.len()]);

impl Default for Refusals {
    fn default() -> Self {
        Self([0; Refusal::ALL.len()])
    }
}

impl Refusals {
    /// Counts one refusal.
    pub fn count(&mut self, reason: Refusal) {
        self.0[reason as usize] += 1;
    }

    /// The reasons with nonzero counts, in the order of [`Refusal::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Refusal, u64)> + '_ {
        let counts = Refusal::ALL.iter().zip(&self.0);
        counts
            .filter(|(_, count)| **count > 0)
            .map(|(reason, count)| (*reason, *count))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_in_order_and_names_are_unique_snake_case() {
        for (at, reason) in Refusal::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, at);
            let name = reason.name();
            assert!(
                name.chars()
                    .all(|letter| letter.is_ascii_lowercase() || letter == '_')
            );
            assert!(
                Refusal::ALL[..at].iter().all(|other| other.name() != name),
                "{name}"
            );
            assert!(reason.sentence().ends_with('.'));
        }
    }
}
