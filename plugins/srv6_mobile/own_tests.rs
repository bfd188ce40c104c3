//! The tests of this plugin by themselves, with those whose packets they share.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "../mpls/tests.rs"]
mod mpls;
#[path = "../srv6/tests.rs"]
mod srv6;
#[path = "tests.rs"]
mod srv6_mobile;
