//! A trace file: a reader reads any bytes to their end, or refuses them.
//!
//! Random bytes never have valid checks, so the target corrects the checks of the head and of each
//! chunk.
#![no_main]

use broadleaf_fuzz::put_checks_right;
use broadleaf_trace::MAGIC;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    broadleaf_fuzz::read_in_every_manner(bytes);
    if bytes.starts_with(&MAGIC) {
        let mut bytes = bytes.to_vec();
        put_checks_right(&mut bytes);
        broadleaf_fuzz::read_in_every_manner(&bytes);
    }
});
