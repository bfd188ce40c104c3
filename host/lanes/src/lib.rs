//! Memory shared between the router and a program: sessions, their streams, and bells for wakeups.
//!
//! A *lane* is a pair of regions between one thread of the router and a program. The router writes
//! region D, the program region A, and each side can only read the other's region ([`region`]).
//! Both regions have a line for each session; changes are announced by the line's number in a ring
//! ([`lane`]). Data is in chunks of the writer's region, found by its position in the stream
//! ([`stream`]).
//!
//! Programs that share no memory have a Unix socket for each session ([`socket`]).

pub mod bell;
pub mod lane;
mod map;
pub mod options;
pub mod region;
pub mod settings;
pub mod socket;
pub mod stream;
pub mod talk;

#[cfg(test)]
mod tests;

use std::fmt;

/// The other side has written invalid values.
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
