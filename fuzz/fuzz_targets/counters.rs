//! The target `counters`, for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| broadleaf_fuzz::counters::run(bytes));
