//! The tests of this plugin by themselves, with those whose packets they share.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "../cnat/tests.rs"]
mod cnat;
#[path = "../nat44_ed/tests.rs"]
mod nat44_ed;
#[path = "tests.rs"]
mod nat44_ei;
#[path = "request_tests.rs"]
mod nat44_requests;
#[path = "../translation/tests.rs"]
mod translation;
