//! Tables that many threads read while one writes.

use std::fmt;

pub mod exact;
pub mod flows;
mod keys;
pub mod mtrie;
pub mod names;
pub mod numbers;
pub mod rules;
pub mod spans;
pub mod tags;
pub mod tally;

/// A table has no room for what was to be added; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table is full")
    }
}

impl std::error::Error for Full {}
