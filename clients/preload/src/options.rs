//! Options of sockets.
//!
//! Those of `SOL_SOCKET` are the Unix socket's own, except what it is. Those of TCP and IP are kept
//! and given back; the router has its own mind about them.
#![forbid(unsafe_code)]

use super::abi::sys;
use super::table::{Entry, SLOTS, flag};
use super::{Done, kernel, open};

/// Maximum segment size that programs see.
const MSS: u32 = 1448;
/// The state of an established connection in `struct tcp_info`.
const ESTABLISHED: u8 = 1;
/// Length of `struct tcp_info`.
const TCP_INFO: usize = 232;

/// Options whose value is kept: level, name, value at the beginning.
const KEPT: [(i32, i32, u32); SLOTS] = [
    (libc::IPPROTO_TCP, libc::TCP_NODELAY, 0),
    (libc::IPPROTO_TCP, libc::TCP_CORK, 0),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 7200),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 75),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 9),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 0),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1),
    (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 0),
    (libc::IPPROTO_IP, libc::IP_TOS, 0),
    (libc::IPPROTO_IP, libc::IP_TTL, 64),
    (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, 1),
    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, 0),
    (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, 64),
    (libc::IPPROTO_TCP, libc::TCP_SYNCNT, 6),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2, 60),
    (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, 0),
];

/// Options that are accepted, and change nothing.
const ACCEPTED: [(i32, i32); 11] = [
    (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
    (libc::IPPROTO_TCP, libc::TCP_CONGESTION),
    (libc::IPPROTO_TCP, libc::TCP_FASTOPEN),
    (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT),
    (libc::IPPROTO_IP, libc::IP_RECVERR),
    (libc::IPPROTO_IP, libc::IP_FREEBIND),
    (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT),
    (libc::IPPROTO_IP, libc::IP_RECVTOS),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
    (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
];

/// The value of an option.
pub enum Value {
    /// The Unix socket's own.
    Kernel,
    /// Bytes.
    Bytes(Vec<u8>),
}

fn slot(level: i32, name: i32) -> Option<usize> {
    KEPT.iter().position(|(of, option, _)| (*of, *option) == (level, name))
}

/// An option.
///
/// # Errors
/// `ENOPROTOOPT`.
pub fn get(fd: i32, entry: &Entry, level: i32, name: i32) -> Done<Value> {
    let number = |n: i32| Ok(Value::Bytes(n.to_ne_bytes().to_vec()));
    let is = |flags: u64| i32::from(entry.has(flags));
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_TYPE) => number(kernel::kinds(entry).1),
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => {
            number(if entry.has(flag::IP6) { libc::AF_INET6 } else { libc::AF_INET })
        }
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => {
            let is_stream = entry.has(flag::STREAM);
            number(if is_stream { libc::IPPROTO_TCP } else { libc::IPPROTO_UDP })
        }
        (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => number(is(flag::LISTENS)),
        (libc::SOL_SOCKET, libc::SO_REUSEPORT) => number(is(flag::SHARED)),
        (libc::SOL_SOCKET, libc::SO_ERROR) => match open::error(fd, entry) {
            Some(why) => number(why),
            None => Ok(Value::Kernel),
        },
        (libc::SOL_SOCKET, _) => Ok(Value::Kernel),
        (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) => number(is(flag::ONLY_IP6)),
        (libc::IPPROTO_IP, libc::IP_OPTIONS) => Ok(Value::Bytes(Vec::new())),
        (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => number(MSS.cast_signed()),
        (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => Ok(Value::Bytes(b"cubic\0".to_vec())),
        (libc::IPPROTO_TCP, libc::TCP_INFO) => {
            let mut info = vec![0; TCP_INFO];
            info[0] = if entry.has(flag::CONNECTED) { ESTABLISHED } else { 0 };
            // Segment sizes, sent and received.
            info[16..20].copy_from_slice(&MSS.to_ne_bytes());
            info[20..24].copy_from_slice(&MSS.to_ne_bytes());
            Ok(Value::Bytes(info))
        }
        _ => match slot(level, name) {
            Some(slot) => {
                // Values are kept as the difference from the first one.
                number(entry.value(slot).wrapping_add(KEPT[slot].2).cast_signed())
            }
            None if ACCEPTED.contains(&(level, name)) => number(0),
            None => Err(libc::ENOPROTOOPT),
        },
    }
}

/// Sets an option; false for one that is the Unix socket's own.
///
/// # Errors
/// `ENOPROTOOPT`, `EINVAL`.
pub fn set(entry: &Entry, level: i32, name: i32, value: &[u8]) -> Done<bool> {
    let number = || {
        let first = value.first_chunk::<4>().map(|bytes| i32::from_ne_bytes(*bytes));
        // Options of IP may be bytes.
        first.or_else(|| value.first().map(|byte| i32::from(*byte))).ok_or(libc::EINVAL)
    };
    let switch = |flags: u64| {
        let is_on = number()? != 0;
        entry.take(flags);
        entry.add(if is_on { flags } else { 0 });
        Ok(true)
    };
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_REUSEPORT) => switch(flag::SHARED),
        (libc::SOL_SOCKET, libc::SO_REUSEADDR) if entry.has(flag::DATAGRAM) => {
            switch(flag::SHARED).map(|_| false)
        }
        (libc::SOL_SOCKET, _) => Ok(false),
        (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) => {
            if entry.has(flag::BOUND | flag::OPEN) {
                Err(libc::EINVAL)
            } else {
                switch(flag::ONLY_IP6)
            }
        }
        _ if ACCEPTED.contains(&(level, name)) => Ok(true),
        _ => {
            let slot = slot(level, name).ok_or(libc::ENOPROTOOPT)?;
            entry.set_value(slot, number()?.cast_unsigned().wrapping_sub(KEPT[slot].2));
            Ok(true)
        }
    }
}

/// Gives a socket of the kernel the options that were set.
pub fn give(entry: &Entry, fd: i32) {
    let set = |level, name, value: u32| {
        // What cannot be set there had no meaning here.
        let _ = sys::set_option(fd, level, name, &value.to_ne_bytes());
    };
    for (slot, (level, name, first)) in KEPT.iter().enumerate() {
        if entry.value(slot) != 0 {
            set(*level, *name, entry.value(slot).wrapping_add(*first));
        }
    }
    if entry.has(flag::ONLY_IP6) {
        set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1);
    }
    if entry.has(flag::SHARED) {
        set(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1);
    }
}
