//! The layout of the segment. All numbers are in the machine's byte order.
//!
//! | word of the first page | |
//! |---|---|
//! | 0 | version, 2 |
//! | 1 | address of the segment in this process; a pointer is an address here |
//! | 2 | epoch, from 1 |
//! | 3 | 1 while the layout changes |
//! | 4 | pointer to the directory |
//! | 5 | zero for good: some clients take another value for an old version |
//!
//! A *vector* is a pointer to its first element; the word before that has the number of elements in
//! its lower half. The directory is a vector of entries of 144 bytes: type (32 bits) and padding, a
//! word whose meaning depends on the type, a name of 128 bytes that ends with a zero.

/// Version of the layout.
pub const VERSION: u64 = 2;

/// Words of the header.
pub mod header {
    /// [`VERSION`](super::VERSION).
    pub const VERSION: usize = 0;
    /// Address of the segment.
    pub const BASE: usize = 1;
    /// Number of the layout.
    pub const EPOCH: usize = 2;
    /// Whether the layout is changing.
    pub const IN_PROGRESS: usize = 3;
    /// Pointer to the directory.
    pub const DIRECTORY: usize = 4;
}

/// Words of a directory entry.
pub const ENTRY: usize = 144 / 8;
/// Word of an entry with its value.
pub const ENTRY_VALUE: usize = 1;
/// First word of an entry's name.
pub const ENTRY_NAME: usize = 2;
/// Longest name in bytes, the zero at its end left out.
pub const NAME_LEN: usize = 127;

/// Words before the first element of a vector, the last of which has its length. A whole line, so
/// that elements of different threads are never in one.
pub const LEAD: usize = 8;

/// Types of directory entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A number.
    Scalar = 1,
    /// Vector by thread of vectors of numbers.
    Simple = 2,
    /// Vector by thread of vectors of packets and bytes.
    Combined = 3,
    /// Vector of pointers to vectors of bytes, zero for none.
    Names = 4,
    /// No entry; its value is the next such.
    Empty = 5,
    /// An entry (lower half) and a column of it (upper half).
    Symlink = 6,
    /// Vector by thread of vectors of numbers: the smallest exponent, then counts.
    Histogram = 7,
    /// Pointer to a ring's description.
    Ring = 8,
    /// A gauge.
    Gauge = 9,
}
