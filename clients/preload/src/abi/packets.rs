//! Datagrams of the program's sockets: packets with a header.
//!
//! Safety: the parts of a message that a program passes are readable, or writable, in their length,
//! by the contract of the module above; the kernel checks them besides.

use std::ffi::{c_int, c_void};
use std::net::SocketAddr;

use lanes::talk::{self, DATAGRAM};
use libc::{iovec, msghdr};

use super::super::table::{self, Entry, flag};
use super::super::{Done, Next, address, open};
use super::sys;

/// Parts of a datagram.
const PARTS: usize = 64;

/// A received datagram.
pub struct Received {
    /// Bytes that were copied.
    pub copied: usize,
    /// Its length.
    pub len: usize,
    /// The sender.
    pub from: SocketAddr,
}

/// The part of a message at an address.
pub fn part(at: *const c_void, len: usize) -> iovec {
    iovec { iov_base: at.cast_mut(), iov_len: len }
}

/// The parts of a message.
///
/// # Safety
/// It is a message of a program.
pub unsafe fn parts_of<'a>(head: *const msghdr) -> &'a [iovec] {
    // SAFETY: by the contract of the function; there are as many parts as it says.
    unsafe {
        let count = (*head).msg_iovlen;
        if count == 0 { &[] } else { std::slice::from_raw_parts((*head).msg_iov, count) }
    }
}

fn with_head(head: *const c_void, parts: &[iovec]) -> Done<([iovec; PARTS], usize)> {
    if parts.len() >= PARTS {
        return Err(libc::EMSGSIZE);
    }
    let mut all = [part(head, DATAGRAM); PARTS];
    all[1..=parts.len()].copy_from_slice(parts);
    Ok((all, parts.len() + 1))
}

/// Sends a datagram. `None` if the socket has become one of the kernel.
///
/// # Errors
/// As sendmsg(2).
pub fn send(
    fd: c_int,
    entry: &Entry,
    parts: &[iovec],
    to: &[u8],
    flags: c_int,
) -> Done<Option<usize>> {
    let to = if to.is_empty() { None } else { Some(address::parse(to).ok_or(libc::EAFNOSUPPORT)?) };
    if to.is_some_and(|to| to.port() == 0) {
        return Err(libc::EINVAL);
    }
    if to.is_none() && !entry.has(flag::CONNECTED) {
        return Err(libc::EDESTADDRREQ);
    }
    if open::open_datagrams(fd, entry, to)? == Next::Kernel {
        return Ok(None);
    }
    let len = parts.iter().fold(0usize, |all, part| all.saturating_add(part.iov_len));
    if len > talk::LONGEST {
        return Err(libc::EMSGSIZE);
    }
    let none = SocketAddr::from(([0; 4], 0));
    let head = talk::datagram(len, to.or(peer(entry)).unwrap_or(none));
    let (all, count) = with_head(head.as_ptr().cast(), parts)?;
    let sent = sys::send_parts(fd, &all[..count], flags & !libc::MSG_MORE | libc::MSG_NOSIGNAL);
    // The router has gone.
    sent.map_err(|why| if why == libc::EPIPE { libc::ENETDOWN } else { why })?;
    Ok(Some(len))
}

fn peer(entry: &Entry) -> Option<SocketAddr> {
    entry.has(flag::CONNECTED).then(|| entry.peer())
}

/// Receives a datagram.
///
/// # Errors
/// As recvmsg(2).
pub fn receive(fd: c_int, entry: &Entry, parts: &[iovec], flags: c_int) -> Done<Received> {
    if !entry.has(flag::OPEN) {
        open::open_datagrams(fd, entry, None)?;
    }
    loop {
        let mut head = [0; DATAGRAM];
        let (all, count) = with_head(head.as_mut_ptr().cast(), parts)?;
        let got = sys::receive_parts(fd, &all[..count], flags & !libc::MSG_TRUNC)?;
        if got == 0 {
            return Err(libc::ENETDOWN);
        }
        let (len, from) = talk::datagram_of(&head);
        // What came before it was connected is another's.
        if peer(entry).is_some_and(|peer| peer != from) {
            if flags & libc::MSG_PEEK != 0 {
                sys::receive(fd, &mut [0; 1], libc::MSG_DONTWAIT)?;
            }
            continue;
        }
        return Ok(Received { copied: got.saturating_sub(DATAGRAM), len, from });
    }
}

/// The length of the datagram that waits.
pub fn waiting(fd: c_int) -> Option<usize> {
    let mut head = [0; DATAGRAM];
    let got = sys::receive(fd, &mut head, libc::MSG_PEEK | libc::MSG_DONTWAIT).ok()?;
    (got == DATAGRAM).then(|| talk::datagram_of(&head).0)
}

/// The entry of a datagram socket.
pub fn datagrams(fd: c_int) -> Option<&'static Entry> {
    table::own(fd).filter(|entry| entry.has(flag::DATAGRAM))
}
