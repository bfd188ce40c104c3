//! Metadata slots of features: bits of the flags, and places in the second cache line.
//!
//! They are constants of the feature that has them, so that they cost the packet path nothing; that
//! no two features have the same is checked when they register
//! ([`Engine::claim`](crate::Engine::claim)).
#![forbid(unsafe_code)]

use std::marker::PhantomData;
use std::ops::Range;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::layout::{Flags, LINE};

/// Bits and bytes of a packet's metadata that are one feature's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Their values.
    pub name: &'static str,
    /// The bits.
    pub flags: Flags,
    /// The bytes of the second cache line.
    pub bytes: Range<usize>,
}

impl Claim {
    /// Bits without a place.
    pub const fn of(name: &'static str, flags: Flags) -> Self {
        Self { name, flags, bytes: 0..0 }
    }
    /// Whether both want the same bit or byte.
    pub fn collides(&self, other: &Self) -> bool {
        let (own, others) = (&self.bytes, &other.bytes);
        self.flags.has(other.flags) || own.start.max(others.start) < own.end.min(others.end)
    }
}

/// A place for a `T` in the second cache line, which means something with a flag only.
#[derive(Debug)]
pub struct Metadata<T> {
    name: &'static str,
    pub(super) at: usize,
    pub(super) flag: Flags,
    of: PhantomData<T>,
}

impl<T: FromBytes + IntoBytes + Immutable> Metadata<T> {
    /// The place `at` bytes from the start of the line, valid in packets with `flag`.
    ///
    /// # Panics
    /// When it is not within the line, or no place for a `T`.
    pub const fn new(name: &'static str, at: usize, flag: Flags) -> Self {
        assert!(at.is_multiple_of(align_of::<T>()), "a place is aligned for its type");
        assert!(at + size_of::<T>() <= LINE, "a place lies within the line");
        Self { name, at, flag, of: PhantomData }
    }
    /// Claim to the bit and the bytes of this place.
    pub const fn claim(&self) -> Claim {
        Claim { name: self.name, flags: self.flag, bytes: self.at..self.at + size_of::<T>() }
    }
}
