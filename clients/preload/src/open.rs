//! Opening of sockets: bind, listen, connect, accept, names.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use lanes::socket::{ANSWER, Answer, FILLING, TO_PEER, VERB};
use lanes::talk::{self, Message};

use super::abi::sys;
use super::router::{self, Failed, ask, ask_soon, request, settings};
use super::table::{self, Entry, flag};
use super::{Done, Next, address, kernel};

/// Ports that are chosen for programs that ask for none.
const PORTS: std::ops::Range<u16> = 32_768..60_999;
/// Ports that are tried.
const TRIES: usize = 64;
/// Milliseconds until a program gets the error after its router has gone.
const PAUSE: u32 = 100;
/// The bits of a kind of socket that are no flags.
const KIND: i32 = 0xf;

/// Creates a socket; `None` if it is to be one of the kernel.
pub fn socket(domain: i32, kind: i32, protocol: i32) -> Option<Done<i32>> {
    let is_ip6 = domain == libc::AF_INET6;
    if !is_ip6 && domain != libc::AF_INET {
        return None;
    }
    let (of, own) = match (kind & KIND, protocol) {
        (libc::SOCK_STREAM, 0 | libc::IPPROTO_TCP | libc::IPPROTO_MPTCP) => {
            (flag::STREAM, libc::SOCK_STREAM)
        }
        (libc::SOCK_DGRAM, 0 | libc::IPPROTO_UDP) if settings().has_datagrams() => {
            (flag::DATAGRAM, libc::SOCK_SEQPACKET)
        }
        _ => return None,
    };
    if !router::is_there() {
        return None;
    }
    let fd = match sys::socket(libc::AF_UNIX, own | kind & !KIND, 0) {
        Ok(fd) => fd,
        Err(why) => return Some(Err(why)),
    };
    let Some(entry) = table::at(fd) else {
        sys::close(fd);
        return None;
    };
    entry.begin(of | if is_ip6 { flag::IP6 } else { 0 });
    Some(Ok(fd))
}

fn chosen_port() -> u16 {
    PORTS.start + (sys::random() % u64::from(PORTS.end - PORTS.start)) as u16
}

/// Makes the descriptor one of the kernel.
fn to_kernel(fd: i32, entry: &Entry) -> Done<Next> {
    kernel::give(fd, entry).map(|()| Next::Kernel)
}

/// Binds a socket.
///
/// # Errors
/// `EINVAL`, `EAFNOSUPPORT`, the router's.
pub fn bind(fd: i32, entry: &Entry, to: &[u8]) -> Done<Next> {
    if entry.has(flag::BOUND | flag::OPEN) {
        return Err(libc::EINVAL);
    }
    let is_any = address::family(to) == Some(libc::AF_UNSPEC);
    let local = if is_any { Some(address::any(false)) } else { address::parse(to) };
    let local = local.ok_or(libc::EAFNOSUPPORT)?;
    if !entry.has(flag::IP6) && local.is_ipv6() {
        return Err(libc::EAFNOSUPPORT);
    }
    if local.ip().is_multicast() || settings().policy.is_kernels(entry.has(flag::DATAGRAM), local) {
        return to_kernel(fd, entry);
    }
    entry.set_local(local);
    entry.add(flag::BOUND);
    if local.port() == 0 {
        entry.add(flag::CHOSEN);
        entry.set_local(SocketAddr::new(local.ip(), chosen_port()));
    }
    if entry.has(flag::STREAM) {
        return Ok(Next::Done);
    }
    serve(fd, entry, 0).inspect_err(|_| {
        entry.take(flag::BOUND);
    })
}

/// Flags of a request for the local endpoint.
fn serving(entry: &Entry) -> u8 {
    let local = entry.local();
    let is_dual = local.ip().is_unspecified()
        && local.is_ipv6()
        && entry.has(flag::IP6)
        && !entry.has(flag::ONLY_IP6);
    let dual = if is_dual { talk::DUAL } else { 0 };
    dual | if entry.has(flag::SHARED) { talk::SHARED } else { 0 }
}

/// Asks the router for the local endpoint.
fn serve(fd: i32, entry: &Entry, backlog: u32) -> Done<Next> {
    let local = entry.local();
    for left in (0..TRIES).rev() {
        let flags = serving(entry);
        let wanted = Message { flags, token: backlog, ..request(talk::SERVE, entry.local()) };
        match ask_soon(fd, entry, wanted) {
            Ok(_) => break,
            Err(Failed::Missing) => return to_kernel(fd, entry),
            Err(Failed::Because(libc::EADDRINUSE)) if entry.has(flag::CHOSEN) && left > 0 => {
                kernel::renew(fd, entry)?;
                entry.set_local(SocketAddr::new(local.ip(), chosen_port()));
            }
            Err(Failed::Because(why)) => {
                kernel::renew(fd, entry)?;
                return Err(why);
            }
        }
    }
    entry.add(flag::OPEN);
    if entry.has(flag::STREAM) {
        entry.add(flag::LISTENS);
    } else {
        entry.leave_epoll();
    }
    router::name(fd, entry);
    Ok(Next::Done)
}

/// Listens.
///
/// # Errors
/// `EINVAL`, the router's.
pub fn listen(fd: i32, entry: &Entry, backlog: i32) -> Done<Next> {
    if entry.has(flag::DATAGRAM) {
        return Err(libc::EOPNOTSUPP);
    }
    if entry.has(flag::LISTENS) {
        return Ok(Next::Done);
    }
    if entry.has(flag::CONNECTED | flag::CONNECTING) {
        return Err(libc::EINVAL);
    }
    if !entry.has(flag::BOUND) {
        let (bytes, len) = address::encode(address::any(entry.has(flag::IP6)), false);
        bind(fd, entry, &bytes[..len])?;
    }
    serve(fd, entry, backlog.max(0).unsigned_abs())
}

/// Connects.
///
/// # Errors
/// As connect(2).
pub fn connect(fd: i32, entry: &Entry, to: &[u8]) -> Done<Next> {
    if entry.has(flag::CONNECTING) {
        settle(fd, entry)?;
    }
    if address::family(to) == Some(libc::AF_UNSPEC) {
        return if entry.has(flag::OPEN) { Err(libc::EOPNOTSUPP) } else { Ok(Next::Done) };
    }
    let peer = address::parse(to).ok_or(libc::EAFNOSUPPORT)?;
    if !entry.has(flag::IP6) && peer.is_ipv6() {
        return Err(libc::EAFNOSUPPORT);
    }
    if entry.has(flag::STREAM) && entry.has(flag::OPEN) {
        return Err(libc::EISCONN);
    }
    if entry.has(flag::FAILED) {
        match entry.take_error() {
            0 => kernel::renew(fd, entry)?,
            why => return Err(why),
        }
    }
    if entry.has(flag::OPEN) {
        return connect_bound(fd, entry, peer);
    }
    connect_new(fd, entry, peer)
}

fn connect_new(fd: i32, entry: &Entry, peer: SocketAddr) -> Done<Next> {
    let is_udp = entry.has(flag::DATAGRAM);
    if peer.ip().is_multicast() || settings().policy.is_kernels(is_udp, peer) {
        return to_kernel(fd, entry);
    }
    // As the kernel does.
    let local: IpAddr = Ipv4Addr::LOCALHOST.into();
    let peer = if peer.ip().is_unspecified() { SocketAddr::new(local, peer.port()) } else { peer };
    entry.set_peer(peer);
    let wanted = request(talk::REACH, peer);
    if is_udp || peer.ip().is_loopback() {
        let done = ask_soon(fd, entry, wanted);
        return match done {
            Ok(answer) => {
                opened(fd, entry, &answer);
                Ok(Next::Done)
            }
            Err(Failed::Missing) => to_kernel(fd, entry),
            // Nothing listens there through the router.
            Err(Failed::Because(_)) if peer.ip().is_loopback() => {
                kernel::connect(fd, entry, peer).map(|()| Next::Done)
            }
            Err(Failed::Because(why)) => {
                kernel::renew(fd, entry)?;
                Err(why)
            }
        };
    }
    let is_nonblocking = sys::control(fd, libc::F_GETFL, 0)? & libc::O_NONBLOCK != 0;
    let filling = if is_nonblocking { filling(fd) } else { 0 };
    match ask(fd, entry, wanted, filling) {
        Ok(()) => entry.add(flag::CONNECTING),
        Err(Failed::Missing) => return to_kernel(fd, entry),
        Err(Failed::Because(why)) => {
            kernel::renew(fd, entry)?;
            return Err(why);
        }
    }
    if is_nonblocking {
        return Err(libc::EINPROGRESS);
    }
    let answer = router::answer(fd, true);
    // After a signal it goes on by itself.
    if answer != Err(libc::EINTR) {
        finish(fd, entry, answer)?;
        return if entry.has(flag::FAILED) { Err(entry.take_error()) } else { Ok(Next::Done) };
    }
    Err(libc::EINTR)
}

/// Bytes that make a socket unwritable until they are read.
fn filling(fd: i32) -> usize {
    let mut value = [0; 4];
    let got = sys::option(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, &mut value);
    let size = got.map_or(0, |_| i32::from_ne_bytes(value).max(0)) as usize;
    // A quarter of the buffer is enough.
    FILLING.min(size / 4 + size / 64)
}

/// Connects a datagram socket that is bound.
fn connect_bound(fd: i32, entry: &Entry, peer: SocketAddr) -> Done<Next> {
    let mut head = talk::datagram(0, peer);
    head[VERB] = TO_PEER;
    if !entry.has(flag::CONNECTED) {
        sys::send(fd, &head, libc::MSG_NOSIGNAL)?;
    }
    entry.set_peer(peer);
    entry.add(flag::CONNECTED);
    Ok(Next::Done)
}

fn opened(fd: i32, entry: &Entry, answer: &Answer) {
    entry.set_local(answer.local);
    entry.set_peer(answer.peer);
    entry.leave_epoll();
    entry.take(flag::CONNECTING);
    entry.add(flag::OPEN | flag::CONNECTED | flag::BOUND);
    router::name(fd, entry);
}

fn finish(fd: i32, entry: &Entry, answer: Done<Answer>) -> Done<()> {
    match answer {
        Ok(answer) => opened(fd, entry, &answer),
        Err(libc::EAGAIN) => return Err(libc::EALREADY),
        Err(libc::EINTR) => return Err(libc::EINTR),
        Err(why) => entry.fail(why),
    }
    Ok(())
}

/// Checks whether a connecting socket has become connected, or has failed.
///
/// # Errors
/// `EALREADY` if neither.
pub fn settle(fd: i32, entry: &Entry) -> Done<()> {
    if !entry.has(flag::CONNECTING) {
        return Ok(());
    }
    finish(fd, entry, router::answer(fd, false))
}

/// Prepares a socket for moving data.
///
/// # Errors
/// `EAGAIN` while it connects, and why it could not.
pub fn prepare(fd: i32, entry: &Entry) -> Done<()> {
    if entry.has(flag::CONNECTING) {
        settle(fd, entry).map_err(|_| libc::EAGAIN)?;
    }
    match entry.take_error() {
        0 => Ok(()),
        why => Err(why),
    }
}

/// The error of a socket, once.
pub fn error(fd: i32, entry: &Entry) -> Option<i32> {
    if entry.has(flag::CONNECTING) && settle(fd, entry).is_err() {
        return Some(0);
    }
    entry.has(flag::FAILED).then(|| entry.take_error())
}

/// Accepts a connection; its descriptor.
///
/// # Errors
/// As accept(2).
pub fn accept(fd: i32, entry: &Entry, flags: i32) -> Done<i32> {
    if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 || !entry.has(flag::LISTENS) {
        return Err(libc::EINVAL);
    }
    let mut bytes = [0; ANSWER];
    let closes = if flags & libc::SOCK_CLOEXEC != 0 { libc::MSG_CMSG_CLOEXEC } else { 0 };
    let (len, file) = match sys::receive_file(fd, &mut bytes, closes) {
        // The router has gone.
        Ok((0, _)) | Err(libc::EINVAL | libc::ENOTCONN) => return Err(listen_again(fd, entry)),
        done => done?,
    };
    let answer = Answer::parse(&bytes).filter(|_| len == ANSWER);
    // There was no descriptor left for it otherwise.
    let new = file.ok_or(libc::EMFILE)?;
    let (Some(answer), Some(own)) = (answer, table::at(new)) else {
        // The router closes its end of one that no program has.
        sys::close(new);
        return Err(libc::EMFILE);
    };
    if flags & libc::SOCK_NONBLOCK != 0 {
        sys::control(new, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK)?;
    }
    own.begin(flag::STREAM | entry.flags() & flag::IP6);
    opened(new, own, &answer);
    Ok(new)
}

/// Listens again after the router has gone, if there is one: a transient error for the program.
fn listen_again(fd: i32, entry: &Entry) -> i32 {
    // Programs try again at once.
    let _ = sys::poll(-1, 0, Some(PAUSE));
    if kernel::renew(fd, entry).is_ok() {
        entry.add(flag::SHARED);
        let wanted = Message { flags: serving(entry), ..request(talk::SERVE, entry.local()) };
        if ask_soon(fd, entry, wanted).is_ok() {
            entry.add(flag::OPEN);
            router::name(fd, entry);
        } else {
            let _ = kernel::renew(fd, entry);
        }
    }
    libc::ECONNABORTED
}

/// The local endpoint as a program sees it.
pub fn local(entry: &Entry) -> SocketAddr {
    if entry.has(flag::BOUND) { entry.local() } else { address::any(entry.has(flag::IP6)) }
}

/// The peer.
///
/// # Errors
/// `ENOTCONN`.
pub fn peer(fd: i32, entry: &Entry) -> Done<SocketAddr> {
    if entry.has(flag::CONNECTING) {
        settle(fd, entry).map_err(|_| libc::ENOTCONN)?;
    }
    if entry.has(flag::CONNECTED) { Ok(entry.peer()) } else { Err(libc::ENOTCONN) }
}

/// Opens a datagram socket that is not bound, for datagrams to and from one peer.
///
/// # Errors
/// The router's.
pub fn open_datagrams(fd: i32, entry: &Entry, to: Option<SocketAddr>) -> Done<Next> {
    let is_other = entry.has(flag::LOOSE) && to.is_some_and(|to| to != entry.peer());
    if entry.has(flag::OPEN) && !is_other {
        return Ok(Next::Done);
    }
    let Some(to) = to else {
        let (bytes, len) = address::encode(address::any(entry.has(flag::IP6)), false);
        return bind(fd, entry, &bytes[..len]);
    };
    if is_other {
        kernel::renew(fd, entry)?;
    }
    let ip = to.ip();
    if ip.is_multicast() || ip.is_loopback() || settings().policy.is_kernels(true, to) {
        return to_kernel(fd, entry);
    }
    match ask_soon(fd, entry, request(talk::REACH, to)) {
        Ok(answer) => {
            opened(fd, entry, &answer);
            entry.take(flag::CONNECTED);
            entry.add(flag::LOOSE);
            Ok(Next::Done)
        }
        Err(Failed::Missing) => to_kernel(fd, entry),
        Err(Failed::Because(why)) => {
            kernel::renew(fd, entry)?;
            Err(why)
        }
    }
}

/// Whether the end of a stream's data is that of a connection that was reset, once.
pub fn is_reset(fd: i32, entry: &Entry) -> bool {
    let is_open = entry.has(flag::OPEN) && !entry.has(flag::SHUT | flag::RESET | flag::LISTENS);
    let events = if is_open { sys::poll(fd, libc::POLLIN, Some(0)).unwrap_or(0) } else { 0 };
    let is_reset = events & libc::POLLHUP != 0;
    if is_reset {
        entry.add(flag::RESET);
    }
    is_reset
}

/// Notes a shutdown; false if the socket has no connection.
pub fn shut(fd: i32, entry: &Entry, how: i32) -> bool {
    let _ = settle(fd, entry);
    let is_open = entry.has(flag::CONNECTED | flag::LISTENS);
    if is_open && how != libc::SHUT_RD {
        entry.add(flag::SHUT);
    }
    is_open
}
