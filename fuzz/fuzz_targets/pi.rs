#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cleartune_fuzz::read_as("pi", bytes));
