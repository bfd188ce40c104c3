//! The tests of this plugin by themselves.
#![allow(dead_code, reason = "tests of other plugins use it")]

#[path = "tests.rs"]
mod mpls;
#[path = "fast_path_tests.rs"]
mod mpls_fast_path;
