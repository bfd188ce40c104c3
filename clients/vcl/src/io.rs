//! Reading and writing.
#![forbid(unsafe_code)]

use std::net::SocketAddr;

use lanes::lane::state;
use lanes::talk;

use super::link::Link;
use super::session::{Kind, Pipe, Session};
use super::state::{State, lock};
use super::{Done, Errno, wait};

/// Options of a read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read {
    /// Whether the data is left in the FIFO.
    pub peeks: bool,
    /// Whether to return at once.
    pub is_nonblocking: bool,
}

/// The session that owns the pipes of a session.
pub fn resolve(state: &mut State, handle: u32) -> Done<u32> {
    let session = state.at(handle)?;
    Ok(session.shares.unwrap_or(handle))
}

/// Repeats `attempt` until its result is not `EAGAIN`, or runs it once for a nonblocking session.
fn blocking<T>(
    handle: u32,
    is_nonblocking: bool,
    mut attempt: impl FnMut(&mut Session, &mut Link) -> Done<T>,
) -> Done<T> {
    let mut guard = lock();
    let target = resolve(&mut guard, handle)?;
    let may_block = !(is_nonblocking || guard.at(handle)?.is_nonblocking);
    let mut once = |state: &mut State| {
        let (session, link) = match state.both(target) {
            Ok(both) => both,
            Err(e) => return Some(Err(e)),
        };
        match attempt(session, link) {
            Err(libc::EAGAIN) => None,
            done => Some(done),
        }
    };
    // Data that has already arrived can be read without checking the rings.
    if let Some(done) = once(&mut guard) {
        return done;
    }
    if !may_block {
        guard.pump();
        return once(&mut guard).unwrap_or(Err(libc::EAGAIN));
    }
    wait::until(guard, None, once).1.unwrap_or(Err(libc::EAGAIN))
}

/// Checks that a session can transfer data.
fn check(session: &mut Session) -> Result<(), Errno> {
    match session.kind {
        Kind::Open if !session.pipes.is_empty() => Ok(()),
        Kind::Open => Err(libc::EAGAIN),
        Kind::Failed(why) => Err(why),
        Kind::Connecting => Err(libc::EAGAIN),
        _ => Err(libc::ENOTCONN),
    }
}

/// Reads data, or one datagram, and returns its length and the sender; 0 at the end.
///
/// # Errors
/// `EAGAIN` if there is no data, `ENOTCONN`, and the error that ended the session.
pub fn read(handle: u32, to: &mut [u8], how: Read) -> Done<(usize, Option<SocketAddr>)> {
    blocking(handle, how.is_nonblocking, |session, link| {
        if session.is_deaf {
            return Ok((0, session.peer));
        }
        let failed = matches!(session.kind, Kind::Failed(_)) && !session.pipes.is_empty();
        if !failed {
            check(session)?;
        }
        for pipe in &mut session.pipes {
            let n = pipe.available(link)?;
            if n > 0 {
                return if pipe.is_datagrams {
                    receive(pipe, link, to, how.peeks)
                } else {
                    Ok((take(pipe, link, to, how.peeks)?, session.peer))
                };
            }
        }
        let Some(pipe) = session.pipes.first() else { return Err(libc::EAGAIN) };
        if pipe.said.has(state::FINISHED) {
            return Ok((0, session.peer));
        }
        match session.kind {
            Kind::Failed(why) => Err(why),
            _ if pipe.is_dead() => Err(i32::from(pipe.said.error).max(1)),
            _ => Err(libc::EAGAIN),
        }
    })
}

fn broken(_: lanes::Broken) -> Errno {
    libc::EPROTO
}

/// Announces that data was taken, if the router waits for it.
fn consumed(pipe: &mut Pipe, link: &mut Link, n: usize) -> Done<()> {
    let end = &mut link.ends[pipe.lane];
    pipe.rx.consume(&end.lane, pipe.line, n);
    if end.lane.state(pipe.line).has(state::WANTS_ROOM) {
        end.post(pipe.line)?;
    }
    Ok(())
}

fn take(pipe: &mut Pipe, link: &mut Link, to: &mut [u8], peeks: bool) -> Done<usize> {
    let lane = &link.ends[pipe.lane].lane;
    let n = pipe.rx.copy(lane, pipe.line, 0, to).map_err(broken)?;
    if !peeks {
        consumed(pipe, link, n)?;
    }
    Ok(n)
}

fn receive(
    pipe: &mut Pipe,
    link: &mut Link,
    to: &mut [u8],
    peeks: bool,
) -> Done<(usize, Option<SocketAddr>)> {
    let lane = &link.ends[pipe.lane].lane;
    let mut head = [0; talk::DATAGRAM];
    pipe.rx.copy(lane, pipe.line, 0, &mut head).map_err(broken)?;
    let (len, from) = talk::datagram_of(&head);
    let n = len.min(to.len());
    pipe.rx.copy(lane, pipe.line, head.len(), &mut to[..n]).map_err(broken)?;
    if !peeks {
        consumed(pipe, link, head.len() + len)?;
    }
    Ok((n, Some(from)))
}

/// Writes as much data as fits, or one datagram, to the peer or to the given endpoint.
///
/// # Errors
/// `EAGAIN` if there is no space, `EPIPE`, `ENOTCONN`, and the error that ended the session.
pub fn write(
    handle: u32,
    bytes: &[u8],
    to: Option<SocketAddr>,
    is_nonblocking: bool,
) -> Done<usize> {
    blocking(handle, is_nonblocking, |session, link| {
        check(session)?;
        let Some(pipe) = session.pipes.first_mut() else { return Err(libc::EAGAIN) };
        if pipe.is_dead() {
            return Err(i32::from(pipe.said.error).max(1));
        }
        if pipe.bits & (state::SHUT | state::CLOSE) != 0 {
            return Err(libc::EPIPE);
        }
        if bytes.is_empty() && !pipe.is_datagrams {
            return Ok(0);
        }
        if pipe.space(link)? == 0 {
            return Err(libc::EAGAIN);
        }
        let done = if pipe.is_datagrams {
            send(pipe, link, bytes, to.or(session.peer))?
        } else {
            put(pipe, link, bytes)?
        };
        link.ends[pipe.lane].post(pipe.line)?;
        Ok(done)
    })
}

fn put(pipe: &mut Pipe, link: &mut Link, bytes: &[u8]) -> Done<usize> {
    let end = &mut link.ends[pipe.lane];
    let mut n = pipe.tx.write(&mut end.lane, pipe.line, bytes).map_err(broken)?;
    if n == 0 {
        // Frees chunks of closed streams.
        end.sweep();
        n = pipe.tx.write(&mut end.lane, pipe.line, bytes).map_err(broken)?;
    }
    pipe.tx.publish(&end.lane, pipe.line);
    if n == 0 { Err(libc::ENOMEM) } else { Ok(n) }
}

fn send(pipe: &mut Pipe, link: &mut Link, bytes: &[u8], to: Option<SocketAddr>) -> Done<usize> {
    if bytes.len() > talk::LONGEST {
        return Err(libc::EMSGSIZE);
    }
    // Port 0 means the peer of the session.
    let to = to.unwrap_or_else(|| (std::net::Ipv4Addr::UNSPECIFIED, 0).into());
    let end = &mut link.ends[pipe.lane];
    let head = talk::datagram(bytes.len(), to);
    let mut done = pipe.tx.write(&mut end.lane, pipe.line, &head).map_err(broken)?;
    if done == head.len() {
        done += pipe.tx.write(&mut end.lane, pipe.line, bytes).map_err(broken)?;
    }
    if done < head.len() + bytes.len() {
        pipe.tx.rewind(&mut end.lane);
        return Err(libc::ENOMEM);
    }
    pipe.tx.publish(&end.lane, pipe.line);
    Ok(bytes.len())
}

/// Addresses and lengths of received data in place, at most `most` bytes.
///
/// # Errors
/// As [`read`].
pub fn pieces(handle: u32, count: usize, most: usize) -> Done<Vec<(*mut u8, usize)>> {
    blocking(handle, false, |session, link| {
        check(session)?;
        let Some(pipe) = session.pipes.first_mut() else { return Err(libc::EAGAIN) };
        if pipe.is_datagrams {
            return Err(libc::EOPNOTSUPP);
        }
        let available = pipe.available(link)?.min(most);
        if available == 0 {
            return if pipe.said.has(state::FINISHED) || pipe.is_dead() {
                Ok(Vec::new())
            } else {
                Err(libc::EAGAIN)
            };
        }
        let region = &link.ends[pipe.lane].lane.other;
        let (mut found, mut ahead) = (Vec::new(), 0);
        while found.len() < count && ahead < available {
            let piece = pipe.rx.piece(region, pipe.line, ahead).map_err(broken)?;
            let Some((chunk, offset, n)) = piece else { break };
            let n = n.min(available - ahead);
            found.push((region.address(chunk, offset), n));
            ahead += n;
        }
        Ok(found)
    })
}

/// Releases received data.
pub fn forget(handle: u32, n: usize) {
    let mut guard = lock();
    if let Ok((session, link)) = guard.both(handle)
        && let Some(pipe) = session.pipes.first_mut()
    {
        // If the router is gone, nothing waits for it.
        let _ = consumed(pipe, link, n);
    }
}
