//! Minimising a failing case.

use broadleaf_trace::Lead;

use super::Script;
use crate::{OwnedItem, Recording};

/// Removes parts of `list`, larger parts first, while the rest still fails.
fn reduce<T: Clone>(mut list: Vec<T>, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut part = list.len().div_ceil(2);
    while part > 0 {
        let mut start = 0;
        while start < list.len() {
            let end = (start + part).min(list.len());
            let rest: Vec<T> = list[..start].iter().chain(&list[end..]).cloned().collect();
            if fails(&rest) {
                list = rest;
            } else {
                start = end;
            }
        }
        part /= 2;
    }
    list
}

/// The steps of `script` that the failure of its recording needs.
pub fn shrink(script: &Script, mut fails: impl FnMut(&Recording) -> bool) -> Script {
    let steps = reduce(script.steps.clone(), |steps| {
        fails(
            &Script {
                steps: steps.to_vec(),
                ..script.clone()
            }
            .recording(),
        )
    });
    Script {
        steps,
        ..script.clone()
    }
}

/// Removes the visits of `recording` that the failure does not need. Events and straddling accesses
/// stay.
pub fn thin(recording: &Recording, mut fails: impl FnMut(&Recording) -> bool) -> Recording {
    let mut atoms: Vec<OwnedItem> = Vec::new();
    for item in &recording.items {
        match item {
            OwnedItem::Event(_) => atoms.push(item.clone()),
            OwnedItem::Visits(visits) => {
                for visit in visits {
                    match atoms.last_mut() {
                        Some(OwnedItem::Visits(before)) if visit.lead != Lead::None => {
                            before.push(*visit)
                        }
                        _ => atoms.push(OwnedItem::Visits(vec![*visit])),
                    }
                }
            }
        }
    }
    let visits: Vec<usize> = (0..atoms.len())
        .filter(|&index| matches!(atoms[index], OwnedItem::Visits(_)))
        .collect();
    let keep = |kept: &[usize]| Recording {
        grain: recording.grain,
        items: (0..atoms.len())
            .filter(|index| matches!(atoms[*index], OwnedItem::Event(_)) || kept.contains(index))
            .map(|index| atoms[index].clone())
            .collect(),
    };
    joined(keep(&reduce(visits, |kept| fails(&keep(kept)))))
}

/// Joins adjacent slices of visits of `recording`.
fn joined(recording: Recording) -> Recording {
    let mut items: Vec<OwnedItem> = Vec::new();
    for item in recording.items {
        match (items.last_mut(), item) {
            (Some(OwnedItem::Visits(before)), OwnedItem::Visits(more)) => before.extend(more),
            (_, item) => items.push(item),
        }
    }
    Recording { items, ..recording }
}
