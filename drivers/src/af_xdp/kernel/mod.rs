//! Unsafe code: memory and rings shared with the kernel (AF_XDP), and bpf(2).
//!
//! Safety contract:
//! * A [`Umem`] owns its mapping and lives as long as any ring of its socket. A frame of it is the
//!   kernel's from the moment its address was put into the fill or transmit ring until the address
//!   comes back out of the receive or completion ring; bytes of it are touched only in between.
//!   Addresses that come back are checked against the memory.
//! * A [`Ring`] owns its mapping. Of its two indices one is written here and the other by the
//!   kernel, both atomically; entries are read and written only between them, at places that the
//!   size of the ring, a power of 2, masks.
//! * Each request of bpf(2) passes a plain struct by pointer with its size, and pointers in it to
//!   what lives until the call returns.

mod program;
mod ring;
mod socket;
mod umem;

pub use program::Program;
pub use socket::{Mode, Opened, Options, Refused, Rx, Tx, open};
