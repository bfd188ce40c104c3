//! The C functions that take the place of the C library's.
//!
//! Safety contract: the program passes arguments as the functions' manual pages say: pointers are
//! null where that is allowed, or point to values and buffers of the given lengths. Functions that
//! only move data pass them on to the C library, by the symbols that follow in the order of
//! libraries ([`real`]), with no value of their own alive: so a thread may be cancelled there. No
//! other function unwinds into C. All functions may be called from signal handlers, before the
//! constructor has run, and in a child of `vfork`.

mod data;
mod files;
mod packets;
mod real;
mod sockets;
pub mod sys;

use std::ffi::{c_int, c_void};

use super::table::{self, Entry};
use super::{Done, Next, address, router};

// SAFETY: the linker puts the address of a function without arguments among those that are called
// when the library is loaded.
#[unsafe(link_section = ".init_array")]
#[used]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    real::resolve();
    table::adopt(sys::pid());
    // SAFETY: the function has no arguments and touches atomic words only.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    // A panic would end the program.
    let _ = std::panic::catch_unwind(know_datagrams);
}

unsafe extern "C" fn forked() {
    table::adopt(sys::pid());
}

/// Looks for datagram sockets that were inherited over `exec`: calls that move their data have to
/// know them.
fn know_datagrams() {
    let Ok(all) = std::fs::read_dir("/proc/self/fd") else { return };
    let name =
        |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    let all: Vec<i32> = all.filter_map(name).filter_map(|name| name.parse().ok()).collect();
    all.into_iter().filter(|fd| *fd > 2 || is_socket(*fd)).for_each(|fd| {
        router::know(fd);
    });
}

fn is_socket(fd: c_int) -> bool {
    sys::option(fd, libc::SOL_SOCKET, libc::SO_TYPE, &mut [0; 4]).is_ok()
}

/// The bytes at an address; empty for null.
///
/// # Safety
/// They are there, and do not change while the result is used.
unsafe fn bytes<'a>(at: *const c_void, len: usize) -> &'a [u8] {
    if at.is_null() {
        return &[];
    }
    // SAFETY: by the contract of the function.
    unsafe { std::slice::from_raw_parts(at.cast(), len) }
}

/// Writes as much of a value as there is room for, and its length, unless the pointers are null.
///
/// # Safety
/// `len` is null, or points to the length of the room at `to`.
unsafe fn put(value: &[u8], to: *mut c_void, len: *mut libc::socklen_t, says_all: bool) {
    if to.is_null() || len.is_null() {
        return;
    }
    // SAFETY: by the contract of the function; a value never overlaps what a program passes.
    unsafe {
        let n = value.len().min(*len as usize);
        std::ptr::copy_nonoverlapping(value.as_ptr(), to.cast::<u8>(), n);
        *len = if says_all { value.len() } else { n } as libc::socklen_t;
    }
}

/// Writes an address as a program sees it.
///
/// # Safety
/// As [`put`].
unsafe fn put_end(
    entry: &Entry,
    end: std::net::SocketAddr,
    to: *mut c_void,
    len: *mut libc::socklen_t,
) {
    let (bytes, n) = address::encode(end, entry.has(table::flag::IP6));
    // SAFETY: by the contract of the function.
    unsafe { put(&bytes[..n], to, len, true) }
}

/// Sets errno to an error.
fn failed(why: i32) -> c_int {
    sys::set_errno(why);
    -1
}

/// Runs what the library does in place of a function: the result, or that of the function.
fn instead(work: impl FnOnce() -> Done<Next>, real: impl FnOnce() -> c_int) -> c_int {
    match guarded(work) {
        Ok(Next::Done) => 0,
        Ok(Next::Kernel) => real(),
        Err(why) => failed(why),
    }
}

/// The result of work that may panic.
fn guarded<T>(work: impl FnOnce() -> Done<T>) -> Done<T> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.unwrap_or(Err(libc::EIO))
}
