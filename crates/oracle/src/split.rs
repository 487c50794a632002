//! Splits visits. A trace may hold a run of references to one unit as one visit or as several,
//! without any effect on counts.

use broadleaf_trace::{Lead, Visit};

use crate::random::Rng;
use crate::{OwnedItem, Recording};

/// Splits the visits of `recording`, and its slices of visits, at random.
pub fn split(recording: &Recording, rng: &mut Rng) -> Recording {
    let mut items = Vec::new();
    for item in &recording.items {
        let OwnedItem::Visits(visits) = item else {
            items.push(item.clone());
            continue;
        };
        let mut slice = Vec::new();
        for &visit in visits {
            let mut rest = visit;
            while rng.one_in(2)
                && let Some((first, second)) = cut(rest, rng)
            {
                slice.push(first);
                rest = second;
            }
            slice.push(rest);
            if rng.one_in(4) {
                items.push(OwnedItem::Visits(std::mem::take(&mut slice)));
            }
        }
        if !slice.is_empty() {
            items.push(OwnedItem::Visits(slice));
        }
    }
    Recording {
        grain: recording.grain,
        items,
    }
}

/// Splits `visit` in two, or returns `None` if it is too short. The first visit gets the
/// instructions.
fn cut(visit: Visit, rng: &mut Rng) -> Option<(Visit, Visit)> {
    let has_lead = visit.lead != Lead::None;
    let references = visit.lookups();
    if visit.fetch || references < 2 {
        return None;
    }
    // The first visit takes references in order: the lead, the loads before the first store, that
    // store, the rest.
    let mut room = 1 + rng.below(references - 1) - u64::from(has_lead);
    let mut take = |available: u32| {
        let taken = room.min(u64::from(available));
        room -= taken;
        taken as u32
    };
    let loads_before_store = take(visit.loads_before_store);
    let first_store = take(visit.stores.min(1));
    let more_loads = if first_store == 1 {
        take(visit.loads - visit.loads_before_store)
    } else {
        0
    };
    let more_stores = if first_store == 1 {
        take(visit.stores - 1)
    } else {
        0
    };
    let first = Visit {
        loads: loads_before_store + more_loads,
        stores: first_store + more_stores,
        loads_before_store,
        ..visit
    };
    let (loads, stores) = (visit.loads - first.loads, visit.stores - first.stores);
    let second = Visit {
        loads,
        stores,
        loads_before_store: match (first_store, stores) {
            (_, 0) => loads,
            (0, _) => visit.loads_before_store - loads_before_store,
            // The order of the rest is unknown, so any order will do.
            _ => rng.below(u64::from(loads) + 1) as u32,
        },
        instructions: 0,
        lead: Lead::None,
        ..visit
    };
    Some((first, second))
}
