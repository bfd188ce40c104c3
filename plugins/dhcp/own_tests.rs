//! The tests of this plugin by themselves.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "tests.rs"]
mod dhcp;
#[path = "tests6.rs"]
mod dhcp6;
#[path = "tests6_answers.rs"]
mod dhcp6_answers;
