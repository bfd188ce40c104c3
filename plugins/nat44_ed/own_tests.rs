//! The tests of this plugin by themselves, with those whose packets they share.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "../cnat/tests.rs"]
mod cnat;
#[path = "../firewall/tests.rs"]
mod firewall;
#[path = "../firewall/second_opinion.rs"]
mod firewall_second_opinion;
#[path = "tests.rs"]
mod nat44_ed;
#[path = "fast_path_tests.rs"]
mod nat44_ed_fast_path;
#[path = "second_opinion.rs"]
mod nat44_ed_second_opinion;
#[path = "../translation/tests.rs"]
mod translation;
