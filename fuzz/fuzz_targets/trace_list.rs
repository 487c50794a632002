//! The target `trace_list`, for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| broadleaf_fuzz::trace_list::run(bytes));
