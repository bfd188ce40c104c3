//! `libvppcom`: sessions of the router's host stack for programs, with the C interface of the
//! original's library of this name.
//!
//! A process attaches once, through an app socket, and shares memory with each thread of the
//! router (`lanes`). All that the process has is in one [`State`](state::State) behind one lock; a
//! thread that waits gives it up ([`wait`]). The functions of C are in [`abi`], the only module
//! with unsafe code.

mod abi;
mod attr;
mod config;
mod epoll;
mod io;
mod link;
mod open;
mod session;
mod state;
mod wait;

/// A number of the kernel's errors.
type Errno = i32;
/// Results of calls; C gets errors as negative numbers.
type Done<T> = Result<T, Errno>;
