//! The tests of this plugin by themselves, with those whose packets they share.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "tests.rs"]
mod bier;
#[path = "../mpls/tests.rs"]
mod mpls;
