//! Folding single accesses into visits.

use crate::{Grain, Lead, Visit};

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataAccess {
    /// A load.
    Load,
    /// A store.
    Store,
}

/// Folds a stream of accesses, with the instructions between them, into visits in their exact
/// order.
///
/// The visit that still grows is held back until an access to another unit, [`Fold::cut`] or
/// [`Fold::finish`] ends it. A stream either counts instructions ([`Fold::instruction`]) or says
/// where they are fetched ([`Fold::fetch`]), not both.
#[derive(Clone, Debug)]
pub struct Fold {
    shift: u8,
    open: Option<Visit>,
    /// Instructions that began since the last access.
    pending: u32,
}

impl Fold {
    /// A fold without accesses, whose visits name units of this grain.
    pub const fn new(grain: Grain) -> Self {
        Self {
            shift: grain.shift(),
            open: None,
            pending: 0,
        }
    }

    /// One more instruction began.
    #[inline]
    pub const fn instruction(&mut self) {
        // More than 2^32 instructions without one reference between them saturate: 60 gigabytes of
        // Lackey text.
        self.pending = self.pending.saturating_add(1);
    }

    /// That many more instructions began.
    #[inline]
    pub const fn instructions(&mut self, count: u32) {
        self.pending = self.pending.saturating_add(count);
    }

    /// An instruction was fetched whose first byte is at `address`. The visit that it ends is
    /// appended to `out`.
    #[inline]
    pub fn fetch(&mut self, address: u64, out: &mut Vec<Visit>) {
        let unit = address >> self.shift;
        match &mut self.open {
            Some(visit) if visit.fetch && visit.unit == unit && visit.instructions < u32::MAX => {
                visit.instructions += 1;
            }
            open => out.extend(open.replace(Visit {
                unit,
                instructions: 1,
                fetch: true,
                ..Visit::default()
            })),
        }
    }

    /// One access to the bytes `first..=last`. Visits that it ends are appended to `out`.
    ///
    /// An access that reaches into further units counts in the first and makes a visit with a lead
    /// for each of the others, lowest address first.
    #[inline]
    pub fn access(&mut self, access: DataAccess, first: u64, last: u64, out: &mut Vec<Visit>) {
        let (unit, end) = (first >> self.shift, last >> self.shift);
        match &mut self.open {
            Some(visit) if end == unit && takes(visit, unit, self.pending) => {
                visit.instructions += std::mem::take(&mut self.pending);
                count(visit, access);
            }
            _ => self.other_access(access, unit, end, out),
        }
    }

    /// An access that is not within the unit of the visit that grows. Apart from the common case,
    /// which is short enough to be inlined.
    #[inline(never)]
    fn other_access(&mut self, access: DataAccess, unit: u64, end: u64, out: &mut Vec<Visit>) {
        let instructions = std::mem::take(&mut self.pending);
        match &mut self.open {
            Some(visit) if takes(visit, unit, instructions) => {
                visit.instructions += instructions;
                count(visit, access);
            }
            open => {
                let mut visit = Visit {
                    unit,
                    instructions,
                    ..Visit::default()
                };
                count(&mut visit, access);
                if let Some(ended) = open.replace(visit) {
                    out.push(ended);
                }
            }
        }
        if end != unit {
            self.straddle(access, unit, end, out);
        }
    }

    /// The rest of an access that began in `unit` and reaches to `end`.
    #[cold]
    fn straddle(&mut self, access: DataAccess, unit: u64, end: u64, out: &mut Vec<Visit>) {
        let lead = match access {
            DataAccess::Load => Lead::Load,
            DataAccess::Store => Lead::Store,
        };
        for further in unit + 1..=end {
            out.extend(self.open.replace(Visit {
                unit: further,
                lead,
                ..Visit::default()
            }));
        }
    }

    /// Ends the visit that still grows: an event follows, or the end. Instructions after its last
    /// access count with it. Without an access they are a visit of their own, so that none is lost.
    pub fn cut(&mut self, out: &mut Vec<Visit>) {
        let visits = out.len();
        self.finish(out);
        let instructions = std::mem::take(&mut self.pending);
        if out.len() == visits && instructions > 0 {
            out.push(Visit {
                instructions,
                ..Visit::default()
            });
        }
    }

    /// Ends the last visit. Instructions after its last access count with it. Instructions of a
    /// stream without any access make no visit.
    pub fn finish(&mut self, out: &mut Vec<Visit>) {
        if let Some(mut visit) = self.open.take() {
            visit.instructions = visit
                .instructions
                .saturating_add(std::mem::take(&mut self.pending));
            out.push(visit);
        }
    }
}

/// Returns true if a visit is one of data in this unit, and one more access and that many
/// instructions fit its 32-bit counts.
#[inline]
const fn takes(visit: &Visit, unit: u64, instructions: u32) -> bool {
    visit.unit == unit
        && !visit.fetch
        && visit.loads < u32::MAX
        && visit.stores < u32::MAX
        && visit.instructions.checked_add(instructions).is_some()
}

#[inline]
const fn count(visit: &mut Visit, access: DataAccess) {
    match access {
        DataAccess::Load => {
            visit.loads += 1;
            if visit.stores == 0 {
                visit.loads_before_store = visit.loads;
            }
        }
        DataAccess::Store => visit.stores += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(accesses: &[(DataAccess, u64, u64)]) -> Vec<Visit> {
        let mut fold = Fold::new(Grain::Page);
        let mut out = Vec::new();
        for &(access, first, size) in accesses {
            fold.instruction();
            fold.access(access, first, first + size - 1, &mut out);
        }
        fold.finish(&mut out);
        out
    }

    #[test]
    fn a_run_is_one_visit_that_remembers_where_its_first_store_stood() {
        let visits = fold(&[
            (DataAccess::Load, 0x1000, 8),
            (DataAccess::Load, 0x1ff8, 8),
            (DataAccess::Store, 0x1004, 4),
            (DataAccess::Load, 0x1000, 1),
            (DataAccess::Load, 0x2000, 1),
        ]);
        let first = Visit {
            unit: 1,
            loads: 3,
            stores: 1,
            loads_before_store: 2,
            instructions: 4,
            ..Visit::default()
        };
        let second = Visit {
            unit: 2,
            loads: 1,
            loads_before_store: 1,
            instructions: 1,
            ..Visit::default()
        };
        assert_eq!(visits, [first, second]);
    }

    #[test]
    fn a_straddling_access_counts_once_and_leads_each_further_unit() {
        let visits = fold(&[
            (DataAccess::Store, 0x1ffc, 0x1008),
            (DataAccess::Load, 0x3004, 4),
        ]);
        let first = Visit {
            unit: 1,
            stores: 1,
            instructions: 1,
            ..Visit::default()
        };
        let second = Visit {
            unit: 2,
            lead: Lead::Store,
            ..Visit::default()
        };
        let third = Visit {
            unit: 3,
            loads: 1,
            loads_before_store: 1,
            instructions: 1,
            lead: Lead::Store,
            ..Visit::default()
        };
        assert_eq!(visits, [first, second, third]);
    }

    #[test]
    fn an_access_that_ends_on_a_unit_s_last_byte_does_not_straddle() {
        assert_eq!(fold(&[(DataAccess::Load, 0x1ff8, 8)]).len(), 1);
        assert_eq!(fold(&[(DataAccess::Load, 0x1ff8, 9)]).len(), 2);
    }

    #[test]
    fn fetches_are_visits_of_their_own_in_order() {
        let mut fold = Fold::new(Grain::Page);
        let mut out = Vec::new();
        for address in [0x1000, 0x1003, 0x2000] {
            fold.fetch(address, &mut out);
        }
        fold.access(DataAccess::Store, 0x2000, 0x2007, &mut out);
        fold.fetch(0x2004, &mut out);
        fold.finish(&mut out);
        let fetch = |unit, instructions| Visit {
            unit,
            instructions,
            fetch: true,
            ..Visit::default()
        };
        let store = Visit {
            unit: 2,
            stores: 1,
            ..Visit::default()
        };
        assert_eq!(out, [fetch(1, 2), fetch(2, 1), store, fetch(2, 1)]);
    }

    #[test]
    fn instructions_without_an_access_are_a_visit_of_their_own() {
        let mut fold = Fold::new(Grain::Page);
        let mut out = Vec::new();
        fold.access(DataAccess::Load, 0x1000, 0x1000, &mut out);
        fold.cut(&mut out);
        fold.instruction();
        fold.cut(&mut out);
        fold.cut(&mut out);
        assert_eq!(out.len(), 2);
        assert_eq!((out[1].accesses(), out[1].instructions), (0, 1));
    }

    /// A run of instructions counts as its instructions one by one, also past a visit's limit.
    #[test]
    fn many_instructions_are_as_many_as_one_by_one() {
        let mut fold = Fold::new(Grain::Page);
        let mut out = Vec::new();
        fold.instruction();
        fold.instructions(2);
        fold.access(DataAccess::Load, 0, 0, &mut out);
        fold.instructions(u32::MAX);
        fold.instructions(1);
        fold.access(DataAccess::Load, 0, 0, &mut out);
        fold.finish(&mut out);
        let counts: Vec<u32> = out.iter().map(|visit| visit.instructions).collect();
        assert_eq!(counts, [3, u32::MAX]);
    }

    #[test]
    fn a_full_visit_is_split() {
        let mut fold = Fold::new(Grain::Page);
        let mut out = Vec::new();
        fold.open = Some(Visit {
            unit: 1,
            loads: u32::MAX,
            loads_before_store: u32::MAX,
            ..Visit::default()
        });
        fold.access(DataAccess::Load, 0x1000, 0x1000, &mut out);
        fold.finish(&mut out);
        assert_eq!(out.len(), 2);
        assert_eq!(
            out.iter().map(Visit::accesses).sum::<u64>(),
            u64::from(u32::MAX) + 1
        );
    }

    #[test]
    fn instructions_after_the_last_access_count_with_the_last_visit() {
        let mut fold = Fold::new(Grain::Page);
        let mut out = Vec::new();
        fold.access(DataAccess::Load, 0, 0, &mut out);
        fold.instruction();
        fold.instruction();
        fold.finish(&mut out);
        assert_eq!(out[0].instructions, 2);
    }
}
