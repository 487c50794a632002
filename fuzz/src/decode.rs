//! A trace file: a reader reads any bytes to their end, or refuses them.
//!
//! Random bytes never have valid checks, so the target corrects the checks of the head and of each
//! chunk.

use crate::traces::put_checks_right;
use broadleaf_trace::MAGIC;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    crate::traces::read_in_every_manner(bytes);
    if bytes.starts_with(&MAGIC) {
        let mut bytes = bytes.to_vec();
        put_checks_right(&mut bytes);
        crate::traces::read_in_every_manner(&bytes);
    }
}
