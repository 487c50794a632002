//! What the targets that read traces share.

use broadleaf_trace::{Event, Item, ReadOptions, TraceReader, Visit};
use xxhash_rust::xxh3::xxh3_64;

/// A trace of a few bytes can stand for loops of any length: nobody reads more of it than this.
const MOST_PIECES: usize = 1 << 12;

/// Puts the checks of a file right.
///
/// Head and chunks alike: 16 bytes of which the last four are the length of the body, the body, and the check.
pub fn put_checks_right(bytes: &mut [u8]) {
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

/// A chunk of this kind, as a file has it, appended to one.
pub fn chunk(file: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let start = file.len();
    file.extend_from_slice(b"BLCK");
    file.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
    file.extend_from_slice(&(body.len() as u32).to_le_bytes());
    file.extend_from_slice(body);
    let check = xxh3_64(&file[start..]);
    file.extend_from_slice(&check.to_le_bytes());
}

/// Reads a trace in every manner, and holds what a reader may say to what its interface promises.
pub fn read_in_every_manner(bytes: &[u8]) {
    let mut plain = None;
    for fetches in [true, false] {
        let strict = read(
            bytes,
            ReadOptions {
                keep_going: false,
                fetches,
            },
        );
        let on = read(
            bytes,
            ReadOptions {
                keep_going: true,
                fetches,
            },
        );
        if strict.whole {
            assert_eq!(on.places_lost, 0, "a trace without damage loses nothing");
            assert_eq!(
                strict.pieces, on.pieces,
                "keeping on changes nothing where there is no damage"
            );
        }
        plain = Some(strict);
    }
    // Without fetches there are none, whatever the trace holds.
    let plain = plain.expect("read twice");
    assert!(
        !plain
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Visit(visit) if visit.fetch))
    );
}

#[derive(Debug, PartialEq)]
enum Piece {
    Visit(Visit),
    Event(Event),
}

struct Told {
    pieces: Vec<Piece>,
    /// Read to its end, without damage.
    whole: bool,
    places_lost: u64,
}

fn read(bytes: &[u8], options: ReadOptions) -> Told {
    let mut told = Told {
        pieces: Vec::new(),
        whole: false,
        places_lost: 0,
    };
    let Ok(mut reader) = TraceReader::with_options(bytes, options) else {
        return told;
    };
    let mut accesses = 0;
    let mut items = 0;
    told.whole = loop {
        match reader.next_item() {
            Ok(Some(Item::Visits(visits))) => {
                for visit in visits {
                    hold(visit);
                    accesses += visit.accesses();
                }
                told.pieces.extend(visits.iter().copied().map(Piece::Visit));
            }
            Ok(Some(Item::Event(event))) => told.pieces.push(Piece::Event(event.clone())),
            Ok(None) => break true,
            Err(_) => break false,
        }
        items += 1;
        if told.pieces.len() > MOST_PIECES || items > MOST_PIECES {
            return told;
        }
    };
    if told.whole {
        assert_eq!(
            accesses,
            reader.totals().accesses(),
            "the totals are those of what was read"
        );
    } else {
        assert!(
            matches!(reader.next_item(), Ok(None)),
            "there is nothing behind an error"
        );
    }
    told.places_lost = reader.lost().places;
    told
}

/// What every visit keeps.
fn hold(visit: &Visit) {
    assert!(visit.loads_before_store <= visit.loads, "{visit:?}");
    assert!(
        visit.stores > 0 || visit.loads_before_store == visit.loads,
        "{visit:?}"
    );
    assert!(!visit.fetch || visit.accesses() == 0, "{visit:?}");
}
