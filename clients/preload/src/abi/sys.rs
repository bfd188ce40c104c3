//! System calls that do not go by the C library's functions, which the library itself replaces.
//!
//! Safety: each function passes a number, pointers into slices or values of its own with their
//! lengths, and descriptors, of which the kernel checks all.

use std::ffi::c_long;

use super::super::{Done, Errno};

/// Longest name of a socket.
pub const NAME: usize = 128;

fn call(number: c_long, arguments: [usize; 6]) -> Done<usize> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: callers are in this module and pass what the call of this number takes; pointers are
    // those of slices and values that live until it returns.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 { Err(errno()) } else { Ok(result as usize) }
}

/// The error of the last call.
pub fn errno() -> Errno {
    // SAFETY: the function returns the address of a number of this thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the error of the last call.
pub fn set_errno(why: Errno) {
    // SAFETY: as above, and there are no references to it.
    unsafe { *libc::__errno_location() = why }
}

/// Creates a socket.
pub fn socket(domain: i32, kind: i32, protocol: i32) -> Done<i32> {
    let arguments = [domain as usize, kind as usize, protocol as usize, 0, 0, 0];
    call(libc::SYS_socket, arguments).map(|fd| fd as i32)
}

/// Connects a socket.
pub fn connect(fd: i32, to: &[u8]) -> Done<()> {
    let arguments = [fd as usize, to.as_ptr() as usize, to.len(), 0, 0, 0];
    call(libc::SYS_connect, arguments).map(drop)
}

/// Binds a socket.
pub fn bind(fd: i32, to: &[u8]) -> Done<()> {
    call(libc::SYS_bind, [fd as usize, to.as_ptr() as usize, to.len(), 0, 0, 0]).map(drop)
}

/// The name of a socket.
pub fn name(fd: i32, to: &mut [u8; NAME]) -> Done<usize> {
    let mut len = NAME as libc::socklen_t;
    let len_at = &raw mut len as usize;
    call(libc::SYS_getsockname, [fd as usize, to.as_mut_ptr() as usize, len_at, 0, 0, 0])?;
    Ok((len as usize).min(NAME))
}

/// Sends bytes.
pub fn send(fd: i32, bytes: &[u8], flags: i32) -> Done<usize> {
    let arguments = [fd as usize, bytes.as_ptr() as usize, bytes.len(), flags as usize, 0, 0];
    call(libc::SYS_sendto, arguments)
}

/// Receives bytes.
pub fn receive(fd: i32, to: &mut [u8], flags: i32) -> Done<usize> {
    let arguments = [fd as usize, to.as_mut_ptr() as usize, to.len(), flags as usize, 0, 0];
    call(libc::SYS_recvfrom, arguments)
}

/// Receives bytes, and a descriptor if there is one.
pub fn receive_file(fd: i32, to: &mut [u8], flags: i32) -> Done<(usize, Option<i32>)> {
    // Room for the header and one descriptor; the kernel drops others.
    let mut space = [0u64; 3];
    let mut part = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let head = libc::msghdr {
        msg_name: std::ptr::null_mut(),
        msg_namelen: 0,
        msg_iov: &raw mut part,
        msg_iovlen: 1,
        msg_control: space.as_mut_ptr().cast(),
        msg_controllen: 20 as _,
        msg_flags: 0,
    };
    let got =
        call(libc::SYS_recvmsg, [fd as usize, &raw const head as usize, flags as usize, 0, 0, 0])?;
    let kind = (libc::SOL_SOCKET as u64) | (libc::SCM_RIGHTS as u64) << 32;
    let has_file = space[0] == 20 && space[1] == kind;
    Ok((got, has_file.then_some(space[2] as u32 as i32)))
}

/// Sends a packet of several parts.
pub fn send_parts(fd: i32, parts: &[libc::iovec], flags: i32) -> Done<usize> {
    let head = message(parts);
    call(libc::SYS_sendmsg, [fd as usize, &raw const head as usize, flags as usize, 0, 0, 0])
}

/// Receives a packet into several parts.
pub fn receive_parts(fd: i32, parts: &[libc::iovec], flags: i32) -> Done<usize> {
    let head = message(parts);
    call(libc::SYS_recvmsg, [fd as usize, &raw const head as usize, flags as usize, 0, 0, 0])
}

fn message(parts: &[libc::iovec]) -> libc::msghdr {
    libc::msghdr {
        msg_name: std::ptr::null_mut(),
        msg_namelen: 0,
        msg_iov: parts.as_ptr().cast_mut(),
        msg_iovlen: parts.len() as _,
        msg_control: std::ptr::null_mut(),
        msg_controllen: 0,
        msg_flags: 0,
    }
}

/// Waits for a descriptor for some milliseconds, or forever; the events that there are.
pub fn poll(fd: i32, events: i16, milliseconds: Option<u32>) -> Done<i16> {
    let mut set = libc::pollfd { fd, events, revents: 0 };
    let wait = milliseconds.unwrap_or(0);
    let time =
        libc::timespec { tv_sec: (wait / 1000).into(), tv_nsec: (wait % 1000 * 1_000_000).into() };
    let time = if milliseconds.is_some() { &raw const time as usize } else { 0 };
    call(libc::SYS_ppoll, [&raw mut set as usize, 1, time, 0, 0, 0])?;
    Ok(set.revents)
}

/// Makes a descriptor a copy of another one.
pub fn replace(old: i32, new: i32, flags: i32) -> Done<()> {
    let arguments = [old as usize, new as usize, flags as usize, 0, 0, 0];
    call(libc::SYS_dup3, arguments).map(drop)
}

/// Closes a descriptor.
pub fn close(fd: i32) {
    // It is closed whatever the result.
    let _ = call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
}

/// Gets or sets flags of a descriptor.
pub fn control(fd: i32, command: i32, argument: i32) -> Done<i32> {
    let arguments = [fd as usize, command as usize, argument as usize, 0, 0, 0];
    call(libc::SYS_fcntl, arguments).map(|value| value as i32)
}

/// An option of a socket.
pub fn option(fd: i32, level: i32, name: i32, to: &mut [u8]) -> Done<usize> {
    let mut len = to.len() as libc::socklen_t;
    let (at, len_at) = (to.as_mut_ptr() as usize, &raw mut len as usize);
    call(libc::SYS_getsockopt, [fd as usize, level as usize, name as usize, at, len_at, 0])?;
    Ok((len as usize).min(to.len()))
}

/// Sets an option of a socket.
pub fn set_option(fd: i32, level: i32, name: i32, value: &[u8]) -> Done<()> {
    let (at, len) = (value.as_ptr() as usize, value.len());
    let arguments = [fd as usize, level as usize, name as usize, at, len, 0];
    call(libc::SYS_setsockopt, arguments).map(drop)
}

/// Adds a descriptor to an epoll set.
pub fn add_to_epoll(set: i32, fd: i32, events: u32, data: u64) -> Done<()> {
    let event = libc::epoll_event { events, u64: data };
    let at = &raw const event as usize;
    let arguments = [set as usize, libc::EPOLL_CTL_ADD as usize, fd as usize, at, 0, 0];
    call(libc::SYS_epoll_ctl, arguments).map(drop)
}

/// The process.
pub fn pid() -> u32 {
    call(libc::SYS_getpid, [0; 6]).map_or(0, |pid| pid as u32)
}

/// A random number.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    // It cannot fail for 8 bytes once the system has started; zeros are as good as any.
    let _ = call(libc::SYS_getrandom, [bytes.as_mut_ptr() as usize, 8, 0, 0, 0, 0]);
    u64::from_ne_bytes(bytes)
}

/// Seconds since the system has started.
pub fn seconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let at = &raw mut time as usize;
    let clock = libc::CLOCK_MONOTONIC_COARSE as usize;
    let _ = call(libc::SYS_clock_gettime, [clock, at, 0, 0, 0, 0]);
    time.tv_sec.cast_unsigned()
}

/// Writes a line to standard error.
pub fn say(line: &str) {
    // A program without one needs none.
    let _ = call(libc::SYS_write, [2, line.as_ptr() as usize, line.len(), 0, 0, 0]);
}
