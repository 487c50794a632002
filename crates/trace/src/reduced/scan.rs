//! The demands of a chunk's events on a reader, found without decoding the chunk's visits.

use super::columns::{EVENT, VISITS, unpack_column};
use crate::compress::Unpacker;
use crate::event_scan::EventScan;
use crate::varint::Cursor;

/// The number of numbers in an item of visits: see `Columns::put_visits`.
const NUMBERS_OF_VISITS: usize = 5;

/// Scans the events of a chunk, given its body. Undecodable events count as none here; the reader
/// of the chunk refuses the chunk.
pub(super) fn scan(body: &[u8], unpacker: &mut Unpacker, script: &mut Vec<u8>) -> EventScan {
    let mut scan = EventScan::default();
    let mut from = Cursor::new(body);
    // The script is the first column.
    let column = from.number().and_then(|raw| Ok((raw, from.prefixed()?)));
    if let Ok((raw, stored)) = column
        && unpack_column(raw, stored, unpacker, script).is_ok()
    {
        let mut from = Cursor::new(script);
        while !from.is_empty() && scan_piece(&mut from, &mut scan).is_ok() {}
    }
    scan
}

/// Scans an item of a script.
fn scan_piece(from: &mut Cursor<'_>, scan: &mut EventScan) -> Result<(), &'static str> {
    match from.number()? {
        VISITS => {
            for _ in 0..NUMBERS_OF_VISITS {
                from.number()?;
            }
        }
        EVENT => {
            let kind = from.byte()?;
            scan.add(kind, from.prefixed()?);
        }
        _ => {
            from.number()?;
        }
    }
    Ok(())
}
