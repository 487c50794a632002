//! A trace file: any bytes are read to their end or refused.
//!
//! Nothing gets past a checksum by chance, so the checks of the head and of each chunk are put right first.
#![no_main]

use broadleaf_trace::MAGIC;
use libfuzzer_sys::fuzz_target;
use xxhash_rust::xxh3::xxh3_64;

/// Head and chunks alike: 16 bytes of which the last four are the length of the body, the body, and the check.
fn put_checks_right(bytes: &mut [u8]) {
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

fuzz_target!(|bytes: &[u8]| {
    broadleaf_fuzz::read_in_every_manner(bytes);
    if bytes.starts_with(&MAGIC) {
        let mut bytes = bytes.to_vec();
        put_checks_right(&mut bytes);
        broadleaf_fuzz::read_in_every_manner(&bytes);
    }
});
