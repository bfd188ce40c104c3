//! Descriptors that become sockets of the kernel, and other replacements.
#![forbid(unsafe_code)]

use std::net::SocketAddr;

use super::abi::sys;
use super::table::{Entry, flag};
use super::{Done, address, options};

/// Options of SOL_SOCKET that a new socket of the kernel gets.
const KEPT: [i32; 7] = [
    libc::SO_REUSEADDR,
    libc::SO_KEEPALIVE,
    libc::SO_BROADCAST,
    libc::SO_LINGER,
    libc::SO_OOBINLINE,
    libc::SO_RCVTIMEO,
    libc::SO_SNDTIMEO,
];

/// Puts a socket in the place of another one, with its flags, options and epoll set.
fn put(fd: i32, entry: &Entry, new: i32) -> Done<()> {
    let flags = sys::control(fd, libc::F_GETFL, 0)?;
    sys::control(new, libc::F_SETFL, flags)?;
    for name in KEPT {
        let mut value = [0; 16];
        if let Ok(len) = sys::option(fd, libc::SOL_SOCKET, name, &mut value) {
            // What cannot be set there had no meaning here.
            let _ = sys::set_option(new, libc::SOL_SOCKET, name, &value[..len]);
        }
    }
    let closes = sys::control(fd, libc::F_GETFD, 0)? & libc::FD_CLOEXEC != 0;
    sys::replace(new, fd, if closes { libc::O_CLOEXEC } else { 0 })?;
    if let Some((set, events, data)) = entry.epoll() {
        // The set may be closed.
        let _ = sys::add_to_epoll(set, fd, events, data);
    }
    Ok(())
}

fn replace(fd: i32, entry: &Entry, new: Done<i32>) -> Done<()> {
    let new = new?;
    let done = put(fd, entry, new);
    sys::close(new);
    done
}

/// The kinds of a socket for `socket()`: of Unix, and of the Internet.
pub fn kinds(entry: &Entry) -> (i32, i32) {
    if entry.has(flag::STREAM) {
        (libc::SOCK_STREAM, libc::SOCK_STREAM)
    } else {
        (libc::SOCK_SEQPACKET, libc::SOCK_DGRAM)
    }
}

/// Creates a socket of the kernel, bound as the program has asked.
fn make(entry: &Entry) -> Done<i32> {
    let is_ip6 = entry.has(flag::IP6);
    let family = if is_ip6 { libc::AF_INET6 } else { libc::AF_INET };
    let new = sys::socket(family, kinds(entry).1 | libc::SOCK_CLOEXEC, 0)?;
    options::give(entry, new);
    if entry.has(flag::BOUND) {
        let mut local = entry.local();
        if entry.has(flag::CHOSEN) {
            local.set_port(0);
        }
        let (bytes, len) = address::encode(local, is_ip6);
        if let Err(why) = sys::bind(new, &bytes[..len]) {
            sys::close(new);
            return Err(why);
        }
    }
    Ok(new)
}

/// Makes a descriptor a socket of the kernel, bound as the program has asked.
///
/// # Errors
/// The kernel's.
pub fn give(fd: i32, entry: &Entry) -> Done<()> {
    replace(fd, entry, make(entry))?;
    entry.end();
    Ok(())
}

/// The same for a connected socket. One that is refused stays a socket of the library.
///
/// # Errors
/// As connect(2).
pub fn connect(fd: i32, entry: &Entry, peer: SocketAddr) -> Done<()> {
    let new = make(entry)?;
    let flags = sys::control(fd, libc::F_GETFL, 0)?;
    let (bytes, len) = address::encode(peer, entry.has(flag::IP6));
    let set = sys::control(new, libc::F_SETFL, flags);
    let done = set.and_then(|_| sys::connect(new, &bytes[..len]));
    if done.is_ok() || done == Err(libc::EINPROGRESS) {
        replace(fd, entry, Ok(new))?;
        entry.end();
    } else {
        sys::close(new);
        renew(fd, entry)?;
    }
    done
}

/// Makes a descriptor a new socket, after its request has failed.
///
/// # Errors
/// The kernel's.
pub fn renew(fd: i32, entry: &Entry) -> Done<()> {
    let new = sys::socket(libc::AF_UNIX, kinds(entry).0 | libc::SOCK_CLOEXEC, 0);
    replace(fd, entry, new)?;
    entry.take(flag::FAILED | flag::OPEN | flag::SHUT | flag::CONNECTED | flag::CONNECTING);
    entry.take_error();
    Ok(())
}
