//! The tests of this plugin by themselves.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "tests.rs"]
mod cnat;
