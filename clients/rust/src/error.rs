//! Errors of requests to a router.

use std::{fmt, io};

use crate::codec::Short;

/// Reasons why something asked of a router did not happen.
#[derive(Debug)]
pub enum Error {
    /// The connection failed; it cannot be used any more.
    Io(io::Error),
    /// The router has no such message (name and CRC).
    Unknown(&'static str),
    /// The router refused with this error number, which is negative.
    Refused(i32),
    /// The router sent something else than was asked for; the connection cannot be used any more.
    Nonsense(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Unknown(name) => write!(f, "the router has no message {name}"),
            Self::Refused(number) => write!(f, "the router refused: error {number}"),
            Self::Nonsense(name) => write!(f, "the router's {name} makes no sense"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Short> for Error {
    fn from(_: Short) -> Self {
        Self::Nonsense("message")
    }
}
