//! Values of entries, as control reads them.

use infra::counter::{Counter, Rows, VolumeCounter};

use super::names::NameVector;
use super::ring::RingMemory;
use super::vector::Vector;

/// Owner of the memory of an entry. Most are symlinks, so the others are elsewhere.
#[derive(Debug)]
pub(super) enum Content {
    Scalar,
    Gauge,
    Simple(Box<(Vector, Rows<Counter>)>),
    Combined(Box<(Vector, Rows<VolumeCounter>)>),
    Names(Box<NameVector>),
    Symlink { target: u32, column: u32 },
    Histogram(Box<(Vector, Rows<Counter>)>),
    Ring(Box<RingMemory>),
}

const _: () = assert!(size_of::<Content>() == 16);

impl Content {
    pub fn vector(&self) -> Option<&Vector> {
        match self {
            Self::Simple(both) | Self::Histogram(both) => Some(&both.0),
            Self::Combined(both) => Some(&both.0),
            _ => None,
        }
    }
    pub fn vector_mut(&mut self) -> Option<&mut Vector> {
        match self {
            Self::Simple(both) | Self::Histogram(both) => Some(&mut both.0),
            Self::Combined(both) => Some(&mut both.0),
            _ => None,
        }
    }
}

/// The value of an entry.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// A number.
    Scalar(u64),
    /// A gauge.
    Gauge(u64),
    /// Counters, and how many columns of them clients see.
    Simple(&'a Rows<Counter>, usize),
    /// Counters of packets and bytes, and how many columns of them clients see.
    Combined(&'a Rows<VolumeCounter>, usize),
    /// Names, by column of what they name.
    Names(Vec<Option<&'a str>>),
    /// A column of another entry, by name.
    Symlink(&'a str, u32),
    /// Counts by power of two: the smallest exponent, then a column for each.
    Histogram(&'a Rows<Counter>, usize),
    /// Entries in a ring: bytes of each, how many for each thread.
    Ring(u32, u32),
}
