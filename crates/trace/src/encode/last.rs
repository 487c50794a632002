//! The last access of a visit, which the next visit may lead with.

use crate::visit::{Lead, Visit};

/// Splits a visit into its last access, which must be of this kind, and the rest. Returns `None` if
/// the last access is of another kind.
pub(super) fn split_last(visit: &Visit, lead: Lead) -> Option<(Visit, Visit)> {
    let mut rest = *visit;
    let mut last = Visit {
        unit: visit.unit,
        ..Visit::default()
    };
    if lead == Lead::Store {
        last.stores = 1;
        rest.stores = visit.stores.checked_sub(1)?;
        // The only store comes last, so no load follows it.
        if rest.stores == 0 && visit.loads_before_store != visit.loads {
            return None;
        }
    } else {
        last.loads = 1;
        last.loads_before_store = 1;
        rest.loads = visit.loads.checked_sub(1)?;
        if visit.stores == 0 {
            rest.loads_before_store = rest.loads;
        } else if visit.loads_before_store > rest.loads {
            return None;
        }
    }
    if rest.accesses() == 0 {
        last.instructions = visit.instructions;
    }
    Some((rest, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(loads: u32, stores: u32, loads_before_store: u32) -> Visit {
        Visit {
            unit: 1,
            loads,
            stores,
            loads_before_store,
            instructions: 9,
            ..Visit::default()
        }
    }

    #[test]
    fn the_last_access_is_what_the_lead_says_or_nothing() {
        let split = |visit: Visit, lead| {
            split_last(&visit, lead).map(|(rest, last)| {
                assert_eq!(last.accesses(), 1);
                assert_eq!(
                    rest.instructions.min(9 * rest.accesses() as u32),
                    9 - last.instructions
                );
                (rest.loads, rest.stores, rest.loads_before_store)
            })
        };
        assert_eq!(split(visit(3, 0, 3), Lead::Load), Some((2, 0, 2)));
        assert_eq!(split(visit(1, 0, 1), Lead::Load), Some((0, 0, 0)));
        assert_eq!(split(visit(3, 0, 3), Lead::Store), None);
        assert_eq!(split(visit(3, 1, 3), Lead::Store), Some((3, 0, 3)));
        assert_eq!(split(visit(3, 1, 2), Lead::Store), None);
        assert_eq!(split(visit(3, 2, 2), Lead::Store), Some((3, 1, 2)));
        assert_eq!(split(visit(3, 1, 3), Lead::Load), None);
        assert_eq!(split(visit(3, 1, 2), Lead::Load), Some((2, 1, 2)));
        assert_eq!(split(visit(0, 1, 0), Lead::Load), None);
    }
}
