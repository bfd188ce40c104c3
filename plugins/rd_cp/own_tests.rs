//! The tests of this plugin by themselves, with those whose packets they share.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "../ra/tests.rs"]
mod ra;
#[path = "tests.rs"]
mod rd_cp;
