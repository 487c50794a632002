//! Shared code of the fuzz targets that read traces.

use broadleaf_trace::{Event, Item, ReadOptions, Totals, TraceReader, Visit, VisitEnds};
use xxhash_rust::xxh3::xxh3_64;

/// The maximum number of items that a target reads. A trace of a few bytes can encode loops of any
/// length.
const MOST_PIECES: usize = 1 << 12;

/// Corrects the checks of a file.
///
/// Head and chunks have the same form: 16 bytes that end with the length of the body, the body, and
/// the check.
pub(crate) fn put_checks_right(bytes: &mut [u8]) {
    let mut rest = bytes;
    while rest.len() >= 24 {
        let length = u32::from_le_bytes([rest[12], rest[13], rest[14], rest[15]]) as usize;
        let Some(part) = length.checked_add(24).filter(|part| *part <= rest.len()) else {
            return;
        };
        let (whole, after) = rest.split_at_mut(part);
        let (checked, check) = whole.split_at_mut(part - 8);
        check.copy_from_slice(&xxh3_64(checked).to_le_bytes());
        rest = after;
    }
}

/// Appends a chunk of this kind to a file.
pub(crate) fn chunk(file: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let start = file.len();
    file.extend_from_slice(b"BLCK");
    file.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
    file.extend_from_slice(&(body.len() as u32).to_le_bytes());
    file.extend_from_slice(body);
    let check = xxh3_64(&file[start..]);
    file.extend_from_slice(&check.to_le_bytes());
}

/// Reads a trace with all options, and asserts the guarantees of the reader's interface.
pub(crate) fn read_in_every_manner(bytes: &[u8]) {
    let mut plain = None;
    for fetches in [true, false] {
        let strict = read(
            bytes,
            ReadOptions {
                keep_going: false,
                fetches,
                ends: VisitEnds::Units,
            },
        );
        let on = read(
            bytes,
            ReadOptions {
                keep_going: true,
                fetches,
                ends: VisitEnds::Units,
            },
        );
        if strict.whole {
            assert_eq!(on.places_lost, 0, "a trace without damage loses nothing");
            assert_eq!(
                strict.pieces, on.pieces,
                "keeping on changes nothing where there is no damage"
            );
        }
        // Visits that end elsewhere make the same references.
        let split = read(
            bytes,
            ReadOptions {
                keep_going: false,
                fetches,
                ends: VisitEnds::Executions,
            },
        );
        if strict.whole && split.whole {
            assert_eq!(strict.totals, split.totals, "references are the same");
        }
        plain = Some(strict);
    }
    // Without fetches, no visit is a fetch.
    let plain = plain.expect("read twice");
    assert!(
        !plain
            .pieces
            .iter()
            .any(|piece| matches!(piece, FuzzItem::Visit(visit) if visit.fetch))
    );
}

#[derive(Debug, PartialEq)]
enum FuzzItem {
    Visit(Visit),
    Event(Event),
}

struct FuzzReadResult {
    pieces: Vec<FuzzItem>,
    /// The trace was read to its end, without damage.
    whole: bool,
    places_lost: u64,
    totals: Totals,
}

fn read(bytes: &[u8], options: ReadOptions) -> FuzzReadResult {
    let mut found = FuzzReadResult {
        pieces: Vec::new(),
        whole: false,
        places_lost: 0,
        totals: Totals::default(),
    };
    let Ok(mut reader) = TraceReader::with_options(bytes, options) else {
        return found;
    };
    let mut accesses = 0;
    let mut items = 0;
    found.whole = loop {
        match reader.next_item() {
            Ok(Some(Item::Visits(visits))) => {
                for visit in visits {
                    hold(visit);
                    accesses += visit.accesses();
                }
                found
                    .pieces
                    .extend(visits.iter().copied().map(FuzzItem::Visit));
            }
            Ok(Some(Item::Event(event))) => found.pieces.push(FuzzItem::Event(event.clone())),
            Ok(None) => break true,
            Err(_) => break false,
        }
        items += 1;
        if found.pieces.len() > MOST_PIECES || items > MOST_PIECES {
            return found;
        }
    };
    if found.whole {
        assert_eq!(
            accesses,
            reader.totals().accesses(),
            "the totals are the sums of the visits"
        );
    } else {
        assert!(
            matches!(reader.next_item(), Ok(None)),
            "no item follows an error"
        );
    }
    found.places_lost = reader.lost().places;
    found.totals = reader.totals();
    found
}

/// Asserts the invariants of a visit.
fn hold(visit: &Visit) {
    assert!(visit.loads_before_store <= visit.loads, "{visit:?}");
    assert!(
        visit.stores > 0 || visit.loads_before_store == visit.loads,
        "{visit:?}"
    );
    assert!(!visit.fetch || visit.accesses() == 0, "{visit:?}");
}
