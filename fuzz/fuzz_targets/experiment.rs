//! The target `experiment`, for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| broadleaf_fuzz::experiment::run(bytes));
