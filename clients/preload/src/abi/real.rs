//! The functions that the library's take the place of.
//!
//! Safety: a symbol of the C library has the type that its manual page says. Symbols are found
//! once, when the library is loaded, or by the first call before that.

use std::ffi::{CStr, c_int, c_uint, c_ulong, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::{iovec, mmsghdr, msghdr, size_t, socklen_t, ssize_t, timespec};

macro_rules! reals {
    ($(fn $name:ident($($arg:ident: $of:ty),*) -> $to:ty;)*) => {
        #[expect(non_camel_case_types, reason = "names of the C library")]
        #[derive(Clone, Copy)]
        enum Of { $($name),*, End }
        const NAMES: [&str; Of::End as usize] = [$(concat!(stringify!($name), "\0")),*];
        static FOUND: [AtomicPtr<c_void>; Of::End as usize] =
            [const { AtomicPtr::new(null_mut()) }; Of::End as usize];
        $(
            /// The C library's function.
            ///
            /// # Safety
            /// As its manual page says.
            #[inline]
            pub unsafe fn $name($($arg: $of),*) -> $to {
                let found = find(Of::$name);
                if found.is_null() {
                    super::sys::set_errno(libc::ENOSYS);
                    return -1;
                }
                type Call = unsafe extern "C-unwind" fn($($of),*) -> $to;
                // SAFETY: a symbol that is found has this type, by the module's contract.
                let call = unsafe { std::mem::transmute::<*mut c_void, Call>(found) };
                // SAFETY: by the contract of the function.
                unsafe { call($($arg),*) }
            }
        )*
    };
}

fn find(of: Of) -> *mut c_void {
    let found = FOUND[of as usize].load(Relaxed);
    if found.is_null() { look_up(of as usize) } else { found }
}

#[cold]
fn look_up(at: usize) -> *mut c_void {
    let name = CStr::from_bytes_with_nul(NAMES[at].as_bytes()).unwrap_or_default();
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    FOUND[at].store(found, Relaxed);
    found
}

/// Finds all functions.
pub fn resolve() {
    (0..NAMES.len()).for_each(|at| {
        look_up(at);
    });
}

reals! {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn bind(fd: c_int, to: *const c_void, len: socklen_t) -> c_int;
    fn listen(fd: c_int, backlog: c_int) -> c_int;
    fn connect(fd: c_int, to: *const c_void, len: socklen_t) -> c_int;
    fn accept4(fd: c_int, from: *mut c_void, len: *mut socklen_t, flags: c_int) -> c_int;
    fn getsockname(fd: c_int, to: *mut c_void, len: *mut socklen_t) -> c_int;
    fn getpeername(fd: c_int, to: *mut c_void, len: *mut socklen_t) -> c_int;
    fn getsockopt(fd: c_int, level: c_int, name: c_int, to: *mut c_void, len: *mut socklen_t)
        -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, from: *const c_void, len: socklen_t)
        -> c_int;
    fn shutdown(fd: c_int, how: c_int) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn dup(fd: c_int) -> c_int;
    fn dup2(fd: c_int, to: c_int) -> c_int;
    fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int;
    fn fcntl64(fd: c_int, command: c_int, argument: c_ulong) -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int;
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    fn epoll_ctl(set: c_int, op: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int;
    fn read(fd: c_int, to: *mut c_void, len: size_t) -> ssize_t;
    fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    fn write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t;
    fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    fn recvfrom(fd: c_int, to: *mut c_void, len: size_t, flags: c_int, from: *mut c_void,
        from_len: *mut socklen_t) -> ssize_t;
    fn recvmsg(fd: c_int, head: *mut msghdr, flags: c_int) -> ssize_t;
    fn recvmmsg(fd: c_int, all: *mut mmsghdr, count: c_uint, flags: c_int, time: *mut timespec)
        -> c_int;
    fn sendto(fd: c_int, from: *const c_void, len: size_t, flags: c_int, to: *const c_void,
        to_len: socklen_t) -> ssize_t;
    fn sendmsg(fd: c_int, head: *const msghdr, flags: c_int) -> ssize_t;
    fn sendmmsg(fd: c_int, all: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
}
