//! Calls that move data. Those of streams are the kernel's: the library only looks at them while a
//! connection is being opened, and when it has ended.

use std::ffi::{c_int, c_uint, c_void};

use libc::{iovec, mmsghdr, msghdr, size_t, socklen_t, ssize_t, timespec};

use super::super::open;
use super::super::table::{self, Entry, flag};
use super::packets::{self, Received, datagrams, part, parts_of};
use super::sockets::export;
use super::{bytes, failed, guarded, put_end, real};

/// Whether a call may go to the kernel at once.
#[inline]
fn is_plain(fd: c_int) -> bool {
    table::flags(fd) & flag::CARE == 0
}

/// Prepares a stream for a call of the kernel; false with an error.
#[cold]
fn prepared(fd: c_int) -> bool {
    let Some(entry) = table::own(fd) else { return true };
    match guarded(|| open::prepare(fd, entry)) {
        Ok(()) => true,
        Err(why) => {
            failed(why);
            false
        }
    }
}

/// The result of a read: a reset for the end of a connection that had one.
#[inline]
fn read_result(fd: c_int, got: ssize_t, len: size_t) -> ssize_t {
    if got == 0 && len > 0 && table::flags(fd) & flag::STREAM != 0 { ended(fd) } else { got }
}

#[cold]
fn ended(fd: c_int) -> ssize_t {
    let is_reset = table::own(fd).is_some_and(|entry| open::is_reset(fd, entry));
    if is_reset { failed(libc::ECONNRESET) as ssize_t } else { 0 }
}

fn count(done: Result<usize, i32>) -> ssize_t {
    done.map_or_else(|why| failed(why) as ssize_t, |n| n as ssize_t)
}

/// Sends a datagram, or calls the kernel.
fn send_packet(
    fd: c_int,
    entry: &Entry,
    parts: &[iovec],
    (to, flags): (&[u8], c_int),
    real: impl FnOnce() -> ssize_t,
) -> ssize_t {
    match guarded(|| packets::send(fd, entry, parts, to, flags)) {
        Ok(Some(n)) => n as ssize_t,
        Ok(None) => real(),
        Err(why) => failed(why) as ssize_t,
    }
}

fn receive_packet(
    fd: c_int,
    entry: &Entry,
    parts: &[iovec],
    flags: c_int,
) -> Result<Received, i32> {
    guarded(|| packets::receive(fd, entry, parts, flags))
}

fn len_of(received: &Received, flags: c_int) -> usize {
    if flags & libc::MSG_TRUNC != 0 { received.len } else { received.copied }
}

/// Receives a datagram as a message.
///
/// # Safety
/// It is a message of a program.
unsafe fn receive_message(
    fd: c_int,
    entry: &Entry,
    head: *mut msghdr,
    flags: c_int,
) -> Result<usize, i32> {
    // SAFETY: by the contract of the function.
    let received = receive_packet(fd, entry, unsafe { parts_of(head) }, flags)?;
    // SAFETY: as above; its address and its length are the program's room for one.
    unsafe {
        let mut len = (*head).msg_namelen;
        put_end(entry, received.from, (*head).msg_name, &raw mut len);
        (*head).msg_namelen = if (*head).msg_name.is_null() { 0 } else { len };
        (*head).msg_controllen = 0;
        (*head).msg_flags = if received.len > received.copied { libc::MSG_TRUNC } else { 0 };
    }
    Ok(len_of(&received, flags))
}

/// Sends a message as a datagram.
///
/// # Safety
/// It is a message of a program.
unsafe fn send_message(fd: c_int, entry: &Entry, head: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: by the contract of the function.
    unsafe {
        let to = bytes((*head).msg_name, (*head).msg_namelen as usize);
        let real = || real::sendmsg(fd, head, flags);
        send_packet(fd, entry, parts_of(head), (to, flags), real)
    }
}

export! {
    /// read(2).
    fn read(fd: c_int, to: *mut c_void, len: size_t) -> ssize_t {
        if !is_plain(fd) {
            if let Some(entry) = datagrams(fd) {
                return count(receive_packet(fd, entry, &[part(to, len)], 0).map(|r| r.copied));
            }
            if !prepared(fd) {
                return -1;
            }
        }
        // SAFETY: the program's arguments, passed on.
        read_result(fd, unsafe { real::read(fd, to, len) }, len)
    }
    /// readv(2).
    fn readv(fd: c_int, parts: *const iovec, n: c_int) -> ssize_t {
        if !is_plain(fd) {
            if let Some(entry) = datagrams(fd) {
                let head = message(parts, n);
                // SAFETY: the program's parts, by the module's contract.
                let parts = unsafe { parts_of(&raw const head) };
                return count(receive_packet(fd, entry, parts, 0).map(|r| r.copied));
            }
            if !prepared(fd) {
                return -1;
            }
        }
        // SAFETY: the program's arguments, passed on.
        read_result(fd, unsafe { real::readv(fd, parts, n) }, 1)
    }
    /// write(2).
    fn write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t {
        // SAFETY: the program's arguments, passed on.
        let real = || unsafe { real::write(fd, from, len) };
        if !is_plain(fd) {
            if let Some(entry) = datagrams(fd) {
                return send_packet(fd, entry, &[part(from, len)], (&[], 0), real);
            }
            if !prepared(fd) {
                return -1;
            }
        }
        real()
    }
    /// writev(2).
    fn writev(fd: c_int, parts: *const iovec, n: c_int) -> ssize_t {
        // SAFETY: the program's arguments, passed on.
        let real = || unsafe { real::writev(fd, parts, n) };
        if !is_plain(fd) {
            if let Some(entry) = datagrams(fd) {
                let head = message(parts, n);
                // SAFETY: the program's parts, by the module's contract.
                let parts = unsafe { parts_of(&raw const head) };
                return send_packet(fd, entry, parts, (&[], 0), real);
            }
            if !prepared(fd) {
                return -1;
            }
        }
        real()
    }
    /// recv(2).
    fn recv(fd: c_int, to: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
        // SAFETY: the program's arguments, passed on.
        unsafe { recvfrom(fd, to, len, flags, std::ptr::null_mut(), std::ptr::null_mut()) }
    }
    /// recvfrom(2).
    fn recvfrom(
        fd: c_int, to: *mut c_void, len: size_t, flags: c_int, from: *mut c_void,
        from_len: *mut socklen_t
    ) -> ssize_t {
        if table::flags(fd) & (flag::CARE | flag::STREAM) == 0 {
            // SAFETY: the program's arguments, passed on.
            return unsafe { real::recvfrom(fd, to, len, flags, from, from_len) };
        }
        if let Some(entry) = datagrams(fd) {
            let received = receive_packet(fd, entry, &[part(to, len)], flags);
            return count(received.map(|received| {
                // SAFETY: the program's room for an address, by the module's contract.
                unsafe { put_end(entry, received.from, from, from_len) }
                len_of(&received, flags)
            }));
        }
        if !is_plain(fd) && !prepared(fd) {
            return -1;
        }
        if !from_len.is_null() && !from.is_null() {
            // SAFETY: not null, so it points to a length. A stream's peer is not said here.
            unsafe { *from_len = 0 }
        }
        let none = std::ptr::null_mut();
        // SAFETY: the program's arguments, passed on, and no room for an address.
        let got = unsafe { real::recvfrom(fd, to, len, flags, none, none.cast()) };
        read_result(fd, got, len)
    }
    /// recvmsg(2).
    fn recvmsg(fd: c_int, head: *mut msghdr, flags: c_int) -> ssize_t {
        if !is_plain(fd) {
            if let Some(entry) = datagrams(fd) {
                // SAFETY: a message of the program, by the module's contract.
                return count(unsafe { receive_message(fd, entry, head, flags) });
            }
            if !prepared(fd) {
                return -1;
            }
        }
        // SAFETY: the program's arguments, passed on.
        let got = unsafe { real::recvmsg(fd, head, flags) };
        if got >= 0 && table::flags(fd) & flag::STREAM != 0 {
            // SAFETY: the kernel has written to it.
            unsafe { (*head).msg_namelen = 0 }
        }
        read_result(fd, got, 1)
    }
    /// recvmmsg(2).
    fn recvmmsg(
        fd: c_int, all: *mut mmsghdr, most: c_uint, flags: c_int, time: *mut timespec
    ) -> c_int {
        let Some(entry) = datagrams(fd) else {
            // SAFETY: the program's arguments, passed on.
            return unsafe { real::recvmmsg(fd, all, most, flags, time) };
        };
        let (mut done, mut flags) = (0, flags);
        while done < most {
            let at = all.wrapping_add(done as usize);
            // SAFETY: there are as many messages as the program says.
            match unsafe { receive_message(fd, entry, &raw mut (*at).msg_hdr, flags) } {
                // SAFETY: as above.
                Ok(n) => unsafe { (*at).msg_len = n as c_uint },
                Err(why) if done == 0 => return failed(why),
                Err(_) => break,
            }
            done += 1;
            // Those that follow are taken if they are there.
            if flags & libc::MSG_WAITFORONE != 0 {
                flags |= libc::MSG_DONTWAIT;
            }
        }
        done.cast_signed()
    }
    /// send(2).
    fn send(fd: c_int, from: *const c_void, len: size_t, flags: c_int) -> ssize_t {
        // SAFETY: the program's arguments, passed on.
        unsafe { sendto(fd, from, len, flags, std::ptr::null(), 0) }
    }
    /// sendto(2).
    fn sendto(
        fd: c_int, from: *const c_void, len: size_t, flags: c_int, to: *const c_void,
        to_len: socklen_t
    ) -> ssize_t {
        // SAFETY: the program's arguments, passed on.
        let real = || unsafe { real::sendto(fd, from, len, flags, to, to_len) };
        if table::flags(fd) & (flag::CARE | flag::STREAM) == 0 {
            return real();
        }
        if let Some(entry) = datagrams(fd) {
            // SAFETY: an address of this length, by the module's contract.
            let to = unsafe { bytes(to, to_len as usize) };
            return send_packet(fd, entry, &[part(from, len)], (to, flags), real);
        }
        if !is_plain(fd) && !prepared(fd) {
            return -1;
        }
        // SAFETY: the program's arguments, passed on, without the address, which is ignored.
        unsafe { real::sendto(fd, from, len, flags, std::ptr::null(), 0) }
    }
    /// sendmsg(2).
    fn sendmsg(fd: c_int, head: *const msghdr, flags: c_int) -> ssize_t {
        if !is_plain(fd) {
            if let Some(entry) = datagrams(fd) {
                // SAFETY: a message of the program, by the module's contract.
                return unsafe { send_message(fd, entry, head, flags) };
            }
            if !prepared(fd) {
                return -1;
            }
        }
        // SAFETY: the program's arguments, passed on.
        unsafe { real::sendmsg(fd, head, flags) }
    }
    /// sendmmsg(2).
    fn sendmmsg(fd: c_int, all: *mut mmsghdr, most: c_uint, flags: c_int) -> c_int {
        let Some(entry) = datagrams(fd) else {
            // SAFETY: the program's arguments, passed on.
            return unsafe { real::sendmmsg(fd, all, most, flags) };
        };
        let mut done = 0;
        while done < most {
            let at = all.wrapping_add(done as usize);
            // SAFETY: there are as many messages as the program says.
            let sent = unsafe { send_message(fd, entry, &raw const (*at).msg_hdr, flags) };
            if sent < 0 {
                return if done == 0 { -1 } else { done.cast_signed() };
            }
            // SAFETY: as above.
            unsafe { (*at).msg_len = sent as c_uint }
            done += 1;
        }
        done.cast_signed()
    }
    /// read(2), of programs compiled with checks.
    fn __read_chk(fd: c_int, to: *mut c_void, len: size_t, room: size_t) -> ssize_t {
        assert_room(len, room);
        // SAFETY: the program's arguments, passed on.
        unsafe { read(fd, to, len) }
    }
    /// recv(2), of programs compiled with checks.
    fn __recv_chk(fd: c_int, to: *mut c_void, len: size_t, room: size_t, flags: c_int) -> ssize_t {
        assert_room(len, room);
        // SAFETY: the program's arguments, passed on.
        unsafe { recv(fd, to, len, flags) }
    }
    /// recvfrom(2), of programs compiled with checks.
    fn __recvfrom_chk(
        fd: c_int, to: *mut c_void, len: size_t, room: size_t, flags: c_int, from: *mut c_void,
        from_len: *mut socklen_t
    ) -> ssize_t {
        assert_room(len, room);
        // SAFETY: the program's arguments, passed on.
        unsafe { recvfrom(fd, to, len, flags, from, from_len) }
    }
}

/// Ends a program that would write beyond its buffer, as the C library does.
fn assert_room(len: size_t, room: size_t) {
    if len > room {
        super::sys::say("*** buffer overflow detected ***: terminated\n");
        std::process::abort();
    }
}

/// A message of parts.
fn message(parts: *const iovec, n: c_int) -> msghdr {
    msghdr {
        msg_name: std::ptr::null_mut(),
        msg_namelen: 0,
        msg_iov: parts.cast_mut(),
        msg_iovlen: n.max(0) as _,
        msg_control: std::ptr::null_mut(),
        msg_controllen: 0,
        msg_flags: 0,
    }
}
