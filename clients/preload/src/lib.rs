//! `libvcl_ldpreload`: unmodified programs on the router's TCP and UDP.
//!
//! A socket of the program is a Unix socket with the router at its other end
//! (`lanes::socket`). So what a program does with a connection is done by the kernel: reading and
//! writing, waiting, duplicating, `fork`, `exec`, passing on. The library only does what is
//! different for Unix sockets: opening, names, options, and the headers of datagrams. It has no
//! locks, no threads, and no state but a table of what each descriptor is ([`table`]), which a
//! process can do without: sockets that it has inherited say it themselves.
//!
//! Without a router, and for addresses that [`policy`] leaves to it, a socket becomes one of the
//! kernel ([`kernel`]). The C functions are in [`abi`], the only module with unsafe code.

mod abi;
mod address;
mod kernel;
mod open;
mod options;
mod policy;
mod router;
mod table;

/// An error number (errno).
type Errno = i32;
/// Result of a call.
type Done<T> = Result<T, Errno>;

/// Result of a call that the kernel may have to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The call has been made.
    Done,
    /// The descriptor is one of the kernel: call it.
    Kernel,
}
