//! Memory that the router shares with a program: sessions, their streams, and bells.
//!
//! A *lane* is a pair of regions between one thread of the router and a program. The router writes
//! region D, the program region A, and each can only read the other's ([`region`]). Both have a
//! line for each session; a change is announced by the line's number in a ring ([`lane`]). Bytes
//! are in chunks of the writer's region, found by their position in the stream ([`stream`]).

pub mod lane;
mod map;
pub mod region;
pub mod stream;
pub mod talk;

#[cfg(test)]
mod tests;

use std::fmt;

/// The other side has written what cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other side violated the shared memory protocol")
    }
}

impl std::error::Error for Broken {}

impl From<Broken> for std::io::Error {
    fn from(broken: Broken) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, broken)
    }
}
