//! Attributes of sessions.
#![forbid(unsafe_code)]

use std::net::SocketAddr;

use super::session::{Kind, Session};
use super::state::lock;
use super::{Done, io};

/// Numbers of attributes that have an effect; others are only stored.
pub mod op {
    pub const GET_NREAD: u32 = 0;
    pub const GET_NWRITE: u32 = 1;
    pub const GET_FLAGS: u32 = 2;
    pub const SET_FLAGS: u32 = 3;
    pub const GET_LCL_ADDR: u32 = 4;
    pub const SET_LCL_ADDR: u32 = 5;
    pub const GET_PEER_ADDR: u32 = 6;
    pub const GET_PROTOCOL: u32 = 9;
    pub const GET_LISTEN: u32 = 10;
    pub const GET_ERROR: u32 = 11;
    pub const GET_TX_FIFO_LEN: u32 = 12;
    pub const GET_RX_FIFO_LEN: u32 = 14;
    pub const GET_REUSEADDR: u32 = 16;
    pub const GET_KEEPALIVE: u32 = 24;
    pub const GET_TCP_NODELAY: u32 = 26;
    pub const GET_TCP_KEEPIDLE: u32 = 28;
    pub const GET_TCP_KEEPINTVL: u32 = 30;
    pub const SET_TCP_KEEPINTVL: u32 = 31;
    pub const SET_TCP_USER_MSS: u32 = 33;
    pub const SET_CONNECTED: u32 = 34;
    pub const SET_VRF: u32 = 36;
    pub const GET_VRF: u32 = 37;
    pub const GET_DOMAIN: u32 = 38;
    pub const SET_DSCP: u32 = 40;
    pub const SET_IP_PKTINFO: u32 = 41;
    pub const GET_IP_PKTINFO: u32 = 42;
    pub const GET_NWRITEQ: u32 = 44;
    pub const GET_COOKIE: u32 = 46;
    pub const SET_COOKIE: u32 = 47;
}

/// The value of a numeric attribute.
///
/// # Errors
/// `EBADFD`, `ENOTSUP`.
pub fn number(handle: u32, which: u32) -> Done<u32> {
    let mut guard = lock();
    let fifo = guard.config.as_ref().map(|config| [config.tx_fifo, config.rx_fifo]);
    let session = guard.at(handle)?;
    let option = |key: u32, default: u32| session.options.get(&key).copied().unwrap_or(default);
    Ok(match which {
        op::GET_FLAGS => {
            let nonblocking = if session.is_nonblocking { libc::O_NONBLOCK } else { 0 };
            (libc::O_RDWR | nonblocking).cast_unsigned()
        }
        op::GET_PROTOCOL => session.proto.into(),
        op::GET_LISTEN => matches!(session.kind, Kind::Listening).into(),
        op::GET_ERROR => failure(session).cast_unsigned(),
        op::GET_TX_FIFO_LEN => option(which, fifo.unwrap_or_default()[0]),
        op::GET_RX_FIFO_LEN => option(which, fifo.unwrap_or_default()[1]),
        op::GET_DOMAIN => {
            let is_ip6 = session.local.or(session.peer).is_some_and(|end| end.is_ipv6());
            (if is_ip6 { libc::AF_INET6 } else { libc::AF_INET }).cast_unsigned()
        }
        op::GET_VRF => option(op::SET_VRF, 0),
        op::GET_IP_PKTINFO => option(op::SET_IP_PKTINFO, 0),
        _ if which.is_multiple_of(2)
            && (op::GET_REUSEADDR..op::SET_TCP_USER_MSS).contains(&which) =>
        {
            session.option(which)
        }
        _ => return Err(libc::EOPNOTSUPP),
    })
}

/// Sets a numeric attribute.
///
/// # Errors
/// `EBADFD`, `ENOTSUP`.
pub fn set_number(handle: u32, which: u32, value: u32) -> Done<()> {
    let mut guard = lock();
    let session = guard.at(handle)?;
    match which {
        op::SET_FLAGS => {
            session.is_nonblocking = value & libc::O_NONBLOCK.cast_unsigned() != 0;
        }
        op::SET_CONNECTED => session.is_by_peer = true,
        op::SET_VRF | op::SET_DSCP | op::SET_IP_PKTINFO => {
            session.options.insert(which, value);
        }
        // The numbers of set and get of the other attributes are adjacent.
        _ if which % 2 == 1 && (op::GET_TX_FIFO_LEN..=op::SET_TCP_USER_MSS).contains(&which) => {
            session.options.insert(which - 1, value);
            if (op::GET_KEEPALIVE..=op::SET_TCP_KEEPINTVL).contains(&which)
                && let Ok((session, link)) = guard.both(handle)
            {
                session.publish_options(link)?;
            }
        }
        _ => return Err(libc::EOPNOTSUPP),
    }
    Ok(())
}

fn failure(session: &Session) -> i32 {
    match session.kind {
        Kind::Failed(why) => why,
        _ => session.pipes.first().map_or(0, |pipe| pipe.said.error.into()),
    }
}

/// The error that ended a session; 0 if it has not ended.
///
/// # Errors
/// `EBADFD`.
pub fn error(handle: u32) -> Done<i32> {
    Ok(failure(lock().at(handle)?))
}

/// Number of readable bytes, free space for writing, or number of unsent bytes.
///
/// # Errors
/// `EBADFD`, and why the session has ended.
pub fn count(handle: u32, which: u32) -> Done<usize> {
    let mut guard = lock();
    guard.pump();
    let target = io::resolve(&mut guard, handle)?;
    if let Kind::Listening = guard.at(target)?.kind {
        return Ok(guard.at(target)?.accepted.len());
    }
    let (session, link) = guard.both(target)?;
    let Some(pipe) = session.pipes.first_mut() else { return Ok(0) };
    match which {
        op::GET_NREAD => pipe.available(link),
        op::GET_NWRITE => pipe.space(link),
        _ => {
            // Frees what the router has taken.
            pipe.space(link)?;
            Ok(pipe.tx.len())
        }
    }
}

/// The local or remote endpoint of a session.
///
/// # Errors
/// `EBADFD`, `ENOTCONN`.
pub fn end(handle: u32, which: u32) -> Done<SocketAddr> {
    let mut guard = lock();
    let session = guard.at(handle)?;
    let end = if which == op::GET_PEER_ADDR { session.peer } else { session.local };
    end.ok_or(libc::ENOTCONN)
}

/// Sets the local endpoint of a session.
///
/// # Errors
/// `EBADFD`.
pub fn set_end(handle: u32, local: SocketAddr) -> Done<()> {
    lock().at(handle)?.local = Some(local);
    Ok(())
}

/// The program's value of a session, after setting it if `new` is given.
///
/// # Errors
/// `EBADFD`.
pub fn cookie(handle: u32, new: Option<u64>) -> Done<u64> {
    let mut guard = lock();
    let session = guard.at(handle)?;
    session.cookie = new.unwrap_or(session.cookie);
    Ok(session.cookie)
}
