#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| slackwater_fuzz::targets::market_reply(data));
