//! Opening of sockets, names, options.

use std::ffi::{c_int, c_void};

use libc::socklen_t;

use super::super::table::{self, Entry};
use super::super::{Next, open, options, router};
use super::{bytes, failed, guarded, instead, put, put_end, real, sys};

fn number(done: Result<c_int, i32>) -> c_int {
    done.unwrap_or_else(failed)
}

/// The entry of a new socket of this process, which only its own calls have changed.
fn entry(fd: c_int) -> Option<&'static Entry> {
    table::own(fd).or_else(|| router::know(fd))
}

/// Defines C functions, which return what their body does.
macro_rules! export {
    ($($(#[$about:meta])* fn $name:ident($($arg:ident: $of:ty),*) -> $to:ty $body:block)*) => {$(
        $(#[$about])*
        ///
        /// # Safety
        /// As the module's contract says.
        // SAFETY: it takes the place of the C library's function of the name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $of),*) -> $to $body
    )*};
}
pub(super) use export;

export! {
    /// socket(2).
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
        let made = guarded(|| Ok(open::socket(domain, kind, protocol)));
        match made {
            Ok(Some(made)) => number(made),
            // SAFETY: it has no pointers.
            _ => unsafe { real::socket(domain, kind, protocol) },
        }
    }
    /// bind(2).
    fn bind(fd: c_int, to: *const c_void, len: socklen_t) -> c_int {
        // SAFETY: the program's arguments, passed on.
        let real = || unsafe { real::bind(fd, to, len) };
        let Some(entry) = entry(fd) else { return real() };
        // SAFETY: an address of this length, by the module's contract.
        instead(|| open::bind(fd, entry, unsafe { bytes(to, len as usize) }), real)
    }
    /// listen(2).
    fn listen(fd: c_int, backlog: c_int) -> c_int {
        // SAFETY: it has no pointers.
        let real = || unsafe { real::listen(fd, backlog) };
        let Some(entry) = entry(fd) else { return real() };
        instead(|| open::listen(fd, entry, backlog), real)
    }
    /// connect(2).
    fn connect(fd: c_int, to: *const c_void, len: socklen_t) -> c_int {
        // SAFETY: the program's arguments, passed on.
        let real = || unsafe { real::connect(fd, to, len) };
        let Some(entry) = table::own(fd) else { return real() };
        // SAFETY: an address of this length, by the module's contract.
        instead(|| open::connect(fd, entry, unsafe { bytes(to, len as usize) }), real)
    }
    /// accept(2).
    fn accept(fd: c_int, from: *mut c_void, len: *mut socklen_t) -> c_int {
        // SAFETY: the program's arguments, passed on.
        unsafe { accept4(fd, from, len, 0) }
    }
    /// accept4(2).
    fn accept4(fd: c_int, from: *mut c_void, len: *mut socklen_t, flags: c_int) -> c_int {
        let Some(entry) = entry(fd) else {
            // SAFETY: the program's arguments, passed on.
            return unsafe { real::accept4(fd, from, len, flags) };
        };
        match guarded(|| open::accept(fd, entry, flags)) {
            Ok(new) => {
                if let Some(own) = table::own(new) {
                    // SAFETY: the program's room for an address, by the module's contract.
                    unsafe { put_end(own, own.peer(), from, len) }
                }
                new
            }
            Err(why) => failed(why),
        }
    }
    /// getsockname(2).
    fn getsockname(fd: c_int, to: *mut c_void, len: *mut socklen_t) -> c_int {
        let Some(entry) = entry(fd) else {
            // SAFETY: the program's arguments, passed on.
            return unsafe { real::getsockname(fd, to, len) };
        };
        // SAFETY: the program's room for an address, by the module's contract.
        unsafe { put_end(entry, open::local(entry), to, len) }
        0
    }
    /// getpeername(2).
    fn getpeername(fd: c_int, to: *mut c_void, len: *mut socklen_t) -> c_int {
        let Some(entry) = entry(fd) else {
            // SAFETY: the program's arguments, passed on.
            return unsafe { real::getpeername(fd, to, len) };
        };
        match guarded(|| open::peer(fd, entry)) {
            Ok(peer) => {
                // SAFETY: the program's room for an address, by the module's contract.
                unsafe { put_end(entry, peer, to, len) }
                0
            }
            Err(why) => failed(why),
        }
    }
    /// getsockopt(2).
    fn getsockopt(
        fd: c_int, level: c_int, name: c_int, to: *mut c_void, len: *mut socklen_t
    ) -> c_int {
        let got = entry(fd).map(|entry| guarded(|| options::get(fd, entry, level, name)));
        match got {
            // SAFETY: the program's arguments, passed on.
            None | Some(Ok(options::Value::Kernel)) => unsafe {
                real::getsockopt(fd, level, name, to, len)
            },
            Some(Ok(options::Value::Bytes(value))) => {
                // SAFETY: the program's room for a value, by the module's contract.
                unsafe { put(&value, to, len, false) }
                0
            }
            Some(Err(why)) => failed(why),
        }
    }
    /// setsockopt(2).
    fn setsockopt(
        fd: c_int, level: c_int, name: c_int, from: *const c_void, len: socklen_t
    ) -> c_int {
        // SAFETY: the program's arguments, passed on.
        let real = || unsafe { real::setsockopt(fd, level, name, from, len) };
        let Some(entry) = entry(fd) else { return real() };
        instead(
            || {
                // SAFETY: a value of this length, by the module's contract.
                let value = unsafe { bytes(from, len as usize) };
                let is_done = options::set(entry, level, name, value)?;
                Ok(if is_done { Next::Done } else { Next::Kernel })
            },
            real,
        )
    }
    /// shutdown(2).
    fn shutdown(fd: c_int, how: c_int) -> c_int {
        if let Some(entry) = entry(fd)
            && !guarded(|| Ok(open::shut(fd, entry, how))).unwrap_or(true)
        {
            return failed(libc::ENOTCONN);
        }
        // SAFETY: it has no pointers.
        unsafe { real::shutdown(fd, how) }
    }
    /// epoll_ctl(2): sets with sockets that are not open yet are noted, in case they become sockets
    /// of the kernel, and those with listeners, in case they listen again.
    fn epoll_ctl(set: c_int, op: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int {
        let may_change = |entry: &&Entry| {
            !entry.has(table::flag::OPEN) || entry.has(table::flag::LISTENS)
        };
        if let Some(entry) = table::own(fd).filter(may_change) {
            if op == libc::EPOLL_CTL_DEL || event.is_null() {
                entry.leave_epoll();
            } else {
                // SAFETY: not null, so it points to an event, by the module's contract.
                let event = unsafe { event.read_unaligned() };
                entry.set_epoll(set, event.events, event.u64);
            }
        }
        // SAFETY: the program's arguments, passed on.
        unsafe { real::epoll_ctl(set, op, fd, event) }
    }
}

/// The process's number, for a child that shares its parent's memory.
pub(super) fn is_ours() -> bool {
    table::is_ours(sys::pid())
}
