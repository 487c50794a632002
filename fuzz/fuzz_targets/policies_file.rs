//! The target `policies_file`, for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| broadleaf_fuzz::policies_file::run(bytes));
