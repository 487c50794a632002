//! An entry of the cache of comparisons: a reader reads any file to its end, or refuses it.
//!
//! The check keeps a fuzzer out. The target therefore also reads the file with a valid check.

use std::io::Write;

use broadleaf_study::cache::read_whole;
use xxhash_rust::xxh3::xxh3_64;

/// The bytes of the check and of the magic, which end an entry.
const CHECK_AND_MAGIC: usize = 16;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    read(bytes);
    if let Some(covered) = bytes.len().checked_sub(CHECK_AND_MAGIC) {
        let mut bytes = bytes.to_vec();
        let check = xxh3_64(&bytes[..covered]).to_le_bytes();
        bytes[covered..covered + check.len()].copy_from_slice(&check);
        read(&bytes);
    }
}

/// Reads a file of these bytes.
fn read(bytes: &[u8]) {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("space for a few bytes");
    match read_whole(&file) {
        Ok(facts) => assert!(!facts.kind().is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
