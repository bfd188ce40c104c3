//! `libvppcom`: sessions of the router's host stack for programs, with the C interface of VPP's
//! library of this name.
//!
//! A process attaches once, through an app socket, and shares memory with each thread of the
//! router (`lanes`). One [`State`](state::State) behind one lock has everything of the process; a
//! waiting thread releases the lock ([`wait`]). The C functions are in [`abi`], the only module
//! with unsafe code.

mod abi;
mod attr;
mod epoll;
mod io;
mod link;
mod open;
mod session;
mod state;
mod wait;

/// An error number (errno).
type Errno = i32;
/// Result of a call; C gets errors as negative numbers.
type Done<T> = Result<T, Errno>;
