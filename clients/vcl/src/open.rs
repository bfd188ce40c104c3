//! Opening and closing of sessions: listen, connect, accept, close.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::time::Duration;

use lanes::lane::state;
use lanes::talk::{self, Message};

use super::session::{Kind, Pipe, Session, TCP, UDP};
use super::state::{Guard, State, lock};
use super::{Done, wait};

/// Milliseconds for which a close waits until the router has taken datagrams.
const PATIENCE: usize = 200;

/// Creates a session and returns its handle.
///
/// # Errors
/// `EBADFD` when the process is not attached, `ENOTSUP` for an unknown protocol.
pub fn create(proto: u8, is_nonblocking: bool) -> Done<u32> {
    if proto != TCP && proto != UDP {
        return Err(libc::ENOTSUP);
    }
    let mut guard = lock();
    guard.link().map_err(|_| libc::EBADFD)?;
    Ok(guard.add(Session::new(proto, is_nonblocking)))
}

/// Binds a session to a local endpoint. A datagram session then receives datagrams of all peers.
///
/// # Errors
/// The router's; `EINVAL` if it is already bound.
pub fn bind(handle: u32, local: SocketAddr) -> Done<()> {
    let mut guard = lock();
    let session = guard.at(handle)?;
    if !matches!(session.kind, Kind::Fresh) {
        return Err(libc::EINVAL);
    }
    session.local = Some(local);
    if session.is_udp() && !session.is_by_peer && local.port() != 0 {
        return start(guard, handle);
    }
    Ok(())
}

/// Listens.
///
/// # Errors
/// The router's; `EINVAL` if it is not bound.
pub fn listen(handle: u32) -> Done<()> {
    let mut guard = lock();
    let session = guard.at(handle)?;
    match session.kind {
        Kind::Fresh if session.local.is_some() => start(guard, handle),
        // It is listening already.
        Kind::Listening => Ok(()),
        Kind::Open if session.is_udp() => Ok(()),
        _ => Err(libc::EINVAL),
    }
}

/// Starts a listener for a session, or joins one of this process at the same endpoint.
fn start(guard: Guard, handle: u32) -> Done<()> {
    // One at a time: the next one may join it.
    let (mut guard, _) = wait::until(guard, None, |state| (!state.is_starting).then_some(()));
    let session = guard.at(handle)?;
    let (proto, local) = (session.proto, session.local.ok_or(libc::EINVAL)?);
    let is_datagrams = session.is_udp() && !session.is_by_peer;
    let kind = || if is_datagrams { Kind::Open } else { Kind::Listening };
    let is_same = |s: &Session| {
        s.listener.is_some() && s.proto == proto && s.local == Some(local) && s.shares.is_none()
    };
    let other = guard.handles().find(|(at, s)| *at != handle && is_same(s));
    if let Some((other, listener)) = other.map(|(at, s)| (at, s.listener)) {
        let session = guard.at(handle)?;
        (session.listener, session.kind) = (listener, kind());
        session.shares = is_datagrams.then_some(other);
        return Ok(());
    }
    let number = guard.name(handle);
    let request = Message {
        transport: proto,
        flags: if is_datagrams { 0 } else { talk::BY_PEER },
        number,
        end: local,
        ..Message::new(talk::LISTEN)
    };
    guard.is_starting = true;
    let (mut guard, answer) = ask(guard, request);
    guard.is_starting = false;
    guard.tell_others();
    // The session may have been closed meanwhile.
    let is_left = guard.words.as_ref().is_some_and(|words| words.contains_key(&number));
    match answer {
        Ok(listener) if is_left => {
            let session = guard.at(handle)?;
            (session.listener, session.kind) = (Some(listener.cast_unsigned()), kind());
            Ok(())
        }
        Ok(listener) => {
            let unlisten = Message { value: listener, ..Message::new(talk::UNLISTEN) };
            ask(guard, unlisten).1.and(Err(libc::EBADFD))
        }
        Err(why) => {
            guard.words.get_or_insert_default().remove(&number);
            Err(why)
        }
    }
}

/// Sends a request to the router and waits for the answer, without the lock.
fn ask(mut guard: Guard, request: Message) -> (Guard, Done<i32>) {
    let sent = guard.link().and_then(|link| Ok((link.request(request)?, link.patience)));
    let (token, patience) = match sent {
        Ok(sent) => sent,
        Err(why) => return (guard, Err(why)),
    };
    let answer = |state: &mut State| match &mut state.link {
        Some(link) => link.answer_to(token),
        None => Some(Err(libc::ENOTCONN)),
    };
    let (mut guard, answer) = wait::until(guard, wait::deadline(patience), answer);
    if let Some(link) = guard.link.as_mut().filter(|_| answer.is_none()) {
        link.forget(token);
    }
    (guard, answer.unwrap_or(Err(libc::ETIMEDOUT)))
}

/// Connects.
///
/// # Errors
/// `EINPROGRESS` for a nonblocking session, the router's error, and the reason of a failure.
pub fn connect(handle: u32, peer: SocketAddr) -> Done<()> {
    let mut guard = lock();
    let session = guard.at(handle)?;
    match session.kind {
        Kind::Fresh => {}
        Kind::Connecting => return Err(libc::EALREADY),
        Kind::Open if session.is_udp() => {
            session.peer = Some(peer);
            return Ok(());
        }
        Kind::Open => return Err(libc::EISCONN),
        _ => return Err(libc::EINVAL),
    }
    let (proto, is_nonblocking) = (session.proto, session.is_nonblocking);
    (session.kind, session.peer) = (Kind::Connecting, Some(peer));
    let number = guard.name(handle);
    let request = Message { transport: proto, number, end: peer, ..Message::new(talk::CONNECT) };
    let (mut guard, asked) = ask(guard, request);
    if let Err(why) = asked {
        // Neither connected nor closed meanwhile.
        if guard.words.get_or_insert_default().remove(&number).is_some()
            && let Ok(session) = guard.at(handle)
        {
            session.kind = Kind::Fresh;
        }
        return Err(why);
    }
    // A datagram session is connected with the router's next turn.
    if is_nonblocking && proto != UDP {
        return Err(libc::EINPROGRESS);
    }
    let patience = guard.config.as_ref().map_or(-1.0, |config| config.session_timeout);
    let done = wait::until(guard, wait::deadline(patience), |state| match state.at(handle) {
        Err(e) => Some(Err(e)),
        Ok(session) => match session.kind {
            Kind::Connecting => None,
            Kind::Failed(why) => Some(Err(why)),
            _ => Some(Ok(())),
        },
    });
    done.1.unwrap_or(Err(libc::ETIMEDOUT))
}

/// Accepts a session from a listener; returns its handle and its peer.
///
/// # Errors
/// `EAGAIN` if there is none, `EBADFD`.
pub fn accept(handle: u32, is_nonblocking: bool) -> Done<(u32, Option<SocketAddr>)> {
    let mut guard = lock();
    let listener = guard.at(handle)?;
    let may_block = !listener.is_nonblocking;
    let take = |state: &mut State| {
        let listener = match state.at(handle) {
            Ok(listener) if matches!(listener.kind, Kind::Listening) => listener,
            _ => return Some(Err(libc::EBADFD)),
        };
        let accepted = listener.accepted.pop_front()?;
        if !listener.accepted.is_empty() {
            // Each session is an edge, for programs that accept one at a time.
            listener.changes += 1;
            state.notify(handle);
        }
        let session = state.at(accepted);
        Some(session.map(|session| {
            session.is_nonblocking = is_nonblocking;
            (accepted, session.peer)
        }))
    };
    if !may_block {
        guard.pump();
        return take(&mut guard).unwrap_or(Err(libc::EAGAIN));
    }
    wait::until(guard, None, take).1.unwrap_or(Err(libc::EAGAIN))
}

/// Shuts down a direction: 0 for reading, 1 for writing, 2 for both.
///
/// # Errors
/// `ENOTCONN`, `EINVAL`.
pub fn shutdown(handle: u32, how: i32) -> Done<()> {
    let mut guard = lock();
    let (session, link) = guard.both(handle)?;
    if !(0..=2).contains(&how) {
        return Err(libc::EINVAL);
    }
    if !matches!(session.kind, Kind::Open) || session.is_udp() {
        return Err(libc::ENOTCONN);
    }
    session.is_deaf |= how != 1;
    if how != 0
        && let Some(pipe) = session.pipes.first_mut()
    {
        pipe.bits |= state::SHUT;
        pipe.publish(link);
        link.ends[pipe.lane].post(pipe.line)?;
    }
    Ok(())
}

/// Closes a session. Written data is still sent, unless `is_reset`.
///
/// # Errors
/// `EBADFD`.
pub fn close(handle: u32, is_reset: bool) -> Done<()> {
    if !is_reset {
        flush(handle);
    }
    let mut guard = lock();
    if let Some(listener) = end(&mut guard, handle, is_reset)? {
        let value = listener.cast_signed();
        // If the router is gone, there is no listener.
        let _ = ask(guard, Message { value, ..Message::new(talk::UNLISTEN) });
    }
    Ok(())
}

/// Waits until the router has taken written datagrams, which would be lost with their listener.
fn flush(handle: u32) {
    for _ in 0..PATIENCE {
        let mut guard = lock();
        let Ok((session, link)) = guard.both(handle) else { return };
        let is_bound = session.is_udp() && session.listener.is_some() && !link.is_dead;
        let mut pipes = session.pipes.iter_mut();
        let has_some = |pipe: &mut Pipe| pipe.space(link).is_ok() && !pipe.tx.is_empty();
        if !is_bound || !pipes.any(has_some) {
            return;
        }
        drop(guard);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends a session; returns the listener that nothing uses any longer.
fn end(guard: &mut State, handle: u32, is_reset: bool) -> Done<Option<u32>> {
    let gone = guard.remove(handle).ok_or(libc::EBADFD)?;
    guard.leave_sets(handle, &gone);
    // A request that is still pending no longer has a session.
    if let Some(words) = &mut guard.words {
        words.retain(|_, of| *of != handle);
    }
    for accepted in gone.accepted {
        // It exists: its handle was in the list.
        let _ = end(guard, accepted, true);
    }
    let heir = guard.handles().find(|(_, s)| s.shares == Some(handle)).map(|(at, _)| at);
    let is_listened = gone
        .listener
        .is_some_and(|listener| guard.handles().any(|(_, s)| s.listener == Some(listener)));
    if let Some(heir) = heir {
        bequeath(guard, handle, heir, gone.pipes);
    } else if let Some(link) = &mut guard.link {
        gone.pipes.into_iter().for_each(|pipe| pipe.close(link, is_reset));
    }
    Ok(gone.listener.filter(|_| !is_listened))
}

/// Hands the pipes of a session over to another one that shares them.
fn bequeath(guard: &mut State, from: u32, heir: u32, pipes: Vec<Pipe>) {
    let sharers: Vec<u32> =
        guard.handles().filter(|(_, s)| s.shares == Some(from)).map(|(at, _)| at).collect();
    for sharer in sharers {
        if let Some(session) = guard.find(sharer) {
            session.shares = (sharer != heir).then_some(heir);
        }
    }
    if let Some(link) = &mut guard.link {
        for pipe in &pipes {
            link.ends[pipe.lane].lines[pipe.line as usize].session = Some(heir);
        }
    }
    if let Some(session) = guard.find(heir) {
        session.pipes = pipes;
    }
}
