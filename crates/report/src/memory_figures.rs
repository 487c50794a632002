//! The figures of the second table, for memory that is modelled down to the frame.

use broadleaf_metrics::{CellResult, MemoryResult};

use crate::advice::page_bytes;
use crate::figure::{Figure, count};
use crate::number::{each, percent, size};

/// A figure of memory.
type Count = fn(&MemoryResult) -> u64;

/// Returns a figure of memory. It is zero without the frame-level model.
fn memory(result: &CellResult, of: Count) -> u64 {
    result.memory.as_ref().map_or(0, of)
}

/// Returns a column of pages, shown as a size. Fewer are better.
fn pages<'a>(heading: &'static str, leave_out_first: u8, of: Count) -> Figure<'a> {
    let bytes = move |result: &CellResult| memory(result, of) * page_bytes(result);
    Figure {
        heading,
        leave_out_first,
        rank: Some(Box::new(move |result| Some(bytes(result).cast_signed()))),
        text: Box::new(move |result, _| size(bytes(result))),
    }
}

/// Returns the columns of the second table. A figure that is zero in all `results` has no column.
pub(crate) fn memory_figures<'a>(results: &[&CellResult]) -> Vec<Figure<'a>> {
    let any = |of: Count| results.iter().any(|result| memory(result, of) > 0);
    let share = |result: &CellResult| {
        let peak = result.memory.as_ref().map(|memory| &memory.at_peak);
        peak.map_or(0.0, |peak| {
            peak.superpage_pages as f64 / peak.resident_pages as f64
        })
    };
    let mut figures = vec![
        count("faults", 1, |result| result.page_faults),
        count("write faults", 5, |result| {
            memory(result, |memory| memory.write_faults)
        }),
        count("fault cycles", 0, |result| {
            memory(result, |memory| memory.fault_cycles)
        }),
        count("worst fault", 2, |result| {
            memory(result, |memory| memory.worst_fault_cycles)
        }),
        Figure {
            heading: "in superpages",
            leave_out_first: 3,
            rank: None,
            text: Box::new(move |result, _| percent(share(result))),
        },
        pages("bloat", 2, |memory| memory.at_peak.bloat_pages),
    ];
    let moves: [(_, _, Count); 4] = [
        ("swapped out", 1, |memory| memory.swapped_out_pages),
        ("swapped in", 1, |memory| memory.swapped_in_pages),
        ("file reads", 4, |memory| memory.file_pages_read),
        ("file writes", 4, |memory| memory.file_pages_written),
    ];
    for (heading, leave_out_first, of) in moves {
        if any(of) {
            figures.push(pages(heading, leave_out_first, of));
        }
    }
    // If only walks cost cycles, the other table has the figure.
    if any(|memory| memory.bookkeeping_cycles + memory.copy_cycles) {
        let total = |result: &CellResult| Some(result.memory.as_ref()?.tlbmcpi?.total());
        figures.push(Figure {
            heading: "TLBMCPI",
            leave_out_first: 3,
            rank: Some(Box::new(move |result| {
                Some((total(result).unwrap_or(0.0) * 1e9) as i64)
            })),
            text: Box::new(move |result, _| total(result).map_or("-".to_owned(), each)),
        });
    }
    let times = |result: &CellResult| result.memory.as_ref()?.times_offline;
    if results.iter().any(|result| times(result).is_some()) {
        figures.push(Figure {
            heading: "x offline",
            leave_out_first: 3,
            rank: Some(Box::new(move |result| {
                Some(times(result).map_or(i64::MAX, |times| (times * 1e6) as i64))
            })),
            text: Box::new(move |result, _| {
                times(result).map_or("-".to_owned(), |it| format!("{it:.2}"))
            }),
        });
    }
    if any(|memory| memory.reservations) {
        let reservations = count("reservations", 7, |result| {
            memory(result, |memory| memory.reservations)
        });
        let broken = count("broken", 6, |result| {
            memory(result, |memory| memory.reservations_broken)
        });
        figures.extend([reservations, broken].map(|figure| Figure {
            rank: None,
            ..figure
        }));
    }
    figures
}
