//! The tests of this plugin by themselves, with those whose packets they share.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "../cnat/tests.rs"]
mod cnat;
#[path = "tests.rs"]
mod firewall;
#[path = "second_opinion.rs"]
mod firewall_second_opinion;
#[path = "../nat44_ed/tests.rs"]
mod nat44_ed;
#[path = "../translation/tests.rs"]
mod translation;
