#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| pushmark_proto::fuzzing::bayeux::conversation(bytes));
