//! Tables that many threads read while one writes.

pub mod mtrie;
pub mod spans;
