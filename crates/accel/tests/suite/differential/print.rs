//! Traces in lines.

use broadleaf_oracle::{OwnedItem, Recording};
use broadleaf_trace::Visit;
use std::fmt::Write as _;

/// A trace in lines; visits of one kind to units at equal distances are one line.
pub(super) fn print(recording: &Recording) -> String {
    let mut text = format!("{:?} grain\n", recording.grain);
    for item in &recording.items {
        match item {
            OwnedItem::Event(event) => {
                let _ = writeln!(text, "  {event:x?}");
            }
            OwnedItem::Visits(visits) => {
                let mut rest = visits.as_slice();
                while let [first, ..] = rest {
                    let distance = rest
                        .get(1)
                        .map_or(0, |second| second.unit.wrapping_sub(first.unit));
                    let follows = |pair: &[Visit]| {
                        pair[1]
                            == Visit {
                                unit: pair[0].unit.wrapping_add(distance),
                                ..pair[0]
                            }
                    };
                    let run = 1 + rest.windows(2).take_while(|pair| follows(pair)).count();
                    let _ = writeln!(
                        text,
                        "  {run} times from {:#x} by {distance:#x}: {:?} lead, {} loads ({} \
                         first), {} stores, fetch {}",
                        first.unit,
                        first.lead,
                        first.loads,
                        first.loads_before_store,
                        first.stores,
                        first.fetch
                    );
                    rest = &rest[run..];
                }
            }
        }
    }
    text
}
