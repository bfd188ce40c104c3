//! Errors of changes to the segment.

use std::fmt;

/// Reasons why the segment cannot be changed as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An entry of this name is there.
    NameInUse(String),
    /// Longer than 127 bytes, or not ASCII.
    BadName(String),
    /// No entry has this name, or it is of another type.
    Unknown(String),
    /// It would take more memory than the configuration allows: bytes wanted, bytes left.
    Full(u64, u64),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameInUse(name) => write!(f, "statistics `{name}' exist"),
            Self::BadName(name) => write!(f, "`{name}' is not a valid name for statistics"),
            Self::Unknown(name) => write!(f, "no statistics `{name}'"),
            Self::Full(wanted, left) => write!(
                f,
                "statistics segment is full: {wanted} bytes wanted, {left} left \
                 (statseg {{ size }})"
            ),
        }
    }
}

impl std::error::Error for Error {}
