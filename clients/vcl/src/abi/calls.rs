//! C functions for applications, workers and sessions.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use rustix::event::epoll as kernel;

use super::super::attr::{self, op};
use super::super::io::{self, Read};
use super::super::state::lock;
use super::super::{Done, Errno, epoll, open};
use super::{Cfg, Endpoint, Poll, Ptr, Segment, export, fill, number, text, zero};
use lanes::settings::Config;

/// Result of a call that panicked.
const FAILED: c_int = -libc::EFAULT;
/// The highest protocol number.
const MOST_PROTO: u8 = 7;

thread_local! {
    /// Worker number of the thread.
    static WORKER: Cell<i32> = const { Cell::new(0) };
}

fn configured(cfg: &Cfg) -> Config {
    let mut config = Config::default();
    if let Some(socket) = text(Ptr(cfg.vpp_app_socket_api)) {
        config.socket = socket.into();
    }
    config.namespace = text(Ptr(cfg.namespace_id)).unwrap_or_default().to_owned();
    config.secret = cfg.namespace_secret;
    (config.is_local, config.is_global) = (cfg.app_scope_local != 0, cfg.app_scope_global != 0);
    for (to, from) in
        [(&mut config.rx_fifo, cfg.rx_fifo_size), (&mut config.tx_fifo, cfg.tx_fifo_size)]
    {
        *to = if from > 0 { from } else { *to };
    }
    for (to, from) in [
        (&mut config.app_timeout, cfg.app_timeout),
        (&mut config.session_timeout, cfg.session_timeout),
    ] {
        *to = if from > 0.0 { from } else { *to };
    }
    config.is_verbose = cfg.debug_level > 0;
    config
}

/// A file descriptor that is readable after the router's bell.
fn bell_set() -> Done<c_int> {
    use std::os::fd::AsRawFd;
    let mut guard = lock();
    if guard.outside.is_none() {
        let errno = |e: rustix::io::Errno| e.raw_os_error();
        let set = kernel::create(kernel::CreateFlags::CLOEXEC).map_err(errno)?;
        let link = guard.link()?;
        for (at, fd) in (0..).zip([&link.bell, &link.nudge, &link.socket]) {
            let data = kernel::EventData::new_u64(at);
            kernel::add(&set, &**fd, data, kernel::EventFlags::IN).map_err(errno)?;
        }
        guard.outside = Some(set);
        guard.pump();
    }
    guard.outside.as_ref().map(AsRawFd::as_raw_fd).ok_or(libc::EBADFD)
}

fn read(handle: u32, to: &mut [u8], flags: c_int) -> Done<(usize, Option<std::net::SocketAddr>)> {
    let how = Read {
        peeks: flags & libc::MSG_PEEK != 0,
        is_nonblocking: flags & libc::MSG_DONTWAIT != 0,
    };
    io::read(handle, to, how)
}

export! {
    /// Attaches the process to the router.
    fn vppcom_app_create(name: Ptr<c_char>) -> c_int = FAILED; {
        zero(lock().attach(text(name).unwrap_or("vcl"), Config::read()))
    }
    /// Attaches the process with the program's own settings.
    fn vppcom_app_create_with_config(cfg: Ptr<Cfg>) -> c_int = FAILED; {
        let Some(cfg) = cfg.get() else { return vppcom_app_create_unnamed() };
        let name = text(Ptr(cfg.app_name)).unwrap_or("vcl").to_owned();
        zero(lock().attach(&name, configured(&cfg)))
    }
    /// Detaches the process.
    fn vppcom_app_destroy() -> () = (); {
        lock().detach();
    }
    /// Registers the calling thread as a worker.
    fn vppcom_worker_register() -> c_int = FAILED; {
        let mut guard = lock();
        if let Err(why) = guard.link() {
            return -why;
        }
        WORKER.set(guard.workers.cast_signed());
        guard.workers += 1;
        0
    }
    /// Unregisters the calling thread.
    fn vppcom_worker_unregister() -> () = (); {
        WORKER.set(0);
    }
    /// Worker number of the thread; negative if the process is not attached.
    fn vppcom_worker_index() -> c_int = FAILED; {
        if lock().link.is_some() { WORKER.get() } else { -1 }
    }
    /// Sets the worker number of the thread.
    fn vppcom_worker_index_set(index: c_int) -> () = (); {
        WORKER.set(index);
    }
    /// A file descriptor that becomes readable when there are events.
    fn vppcom_worker_mqs_epfd() -> c_int = FAILED; {
        bell_set().unwrap_or_else(|why| -why)
    }
    /// The same descriptor, under the name of newer versions.
    fn vppcom_mq_epoll_fd() -> c_int = FAILED; {
        bell_set().unwrap_or_else(|why| -why)
    }
    /// Whether the connection to the router is lost.
    fn vppcom_worker_is_detached() -> c_int = FAILED; {
        let mut guard = lock();
        if let Some(link) = &mut guard.link {
            link.hear();
        }
        guard.link().is_err().into()
    }

    /// Creates a session and returns its handle.
    fn vppcom_session_create(proto: u8, is_nonblocking: u8) -> c_int = FAILED; {
        if proto > MOST_PROTO {
            return -libc::EINVAL;
        }
        number(open::create(proto, is_nonblocking != 0).map(|handle| handle as usize))
    }
    /// Shuts down one or both directions of a session.
    fn vppcom_session_shutdown(handle: u32, how: c_int) -> c_int = FAILED; {
        zero(open::shutdown(handle, how))
    }
    /// Closes a session.
    fn vppcom_session_close(handle: u32) -> c_int = FAILED; {
        zero(open::close(handle, false))
    }
    /// Resets a session.
    fn vppcom_session_terminate(handle: u32) -> c_int = FAILED; {
        zero(open::close(handle, true))
    }
    /// Binds a session to a local endpoint.
    fn vppcom_session_bind(handle: u32, ep: Ptr<Endpoint>) -> c_int = FAILED; {
        let local = ep.get().and_then(Endpoint::socket);
        zero(local.ok_or(libc::EINVAL).and_then(|local| open::bind(handle, local)))
    }
    /// Listens.
    fn vppcom_session_listen(handle: u32, _q_len: u32) -> c_int = FAILED; {
        zero(open::listen(handle))
    }
    /// Accepts a session from a listener.
    fn vppcom_session_accept(handle: u32, ep: Ptr<Endpoint>, flags: u32) -> c_int = FAILED; {
        let is_nonblocking = flags & libc::O_NONBLOCK.cast_unsigned() != 0;
        number(open::accept(handle, is_nonblocking).map(|(accepted, peer)| {
            fill(ep, peer);
            accepted as usize
        }))
    }
    /// Connects.
    fn vppcom_session_connect(handle: u32, ep: Ptr<Endpoint>) -> c_int = FAILED; {
        let peer = ep.get().and_then(Endpoint::socket);
        zero(peer.ok_or(libc::EINVAL).and_then(|peer| open::connect(handle, peer)))
    }
    /// Opens a stream of a session; no supported transport has streams.
    fn vppcom_session_stream_connect(_handle: u32, _parent: u32) -> c_int = FAILED; {
        -libc::EOPNOTSUPP
    }
    /// Reads.
    fn vppcom_session_read(handle: u32, to: Ptr<u8>, n: usize) -> c_int = FAILED; {
        number(read(handle, to.room(n), 0).map(|(n, _)| n))
    }
    /// Writes.
    fn vppcom_session_write(handle: u32, from: Ptr<u8>, n: usize) -> c_int = FAILED; {
        number(io::write(handle, from.bytes(n), None, false))
    }
    /// Writes all bytes or none.
    fn vppcom_session_write_msg(handle: u32, from: Ptr<u8>, n: usize) -> c_int = FAILED; {
        let has_room = attr::count(handle, op::GET_NWRITE).map(|room| room >= n);
        number(match has_room {
            Ok(false) => Err(libc::EAGAIN),
            Ok(true) => io::write(handle, from.bytes(n), None, false),
            Err(why) => Err(why),
        })
    }
    /// Reads, and returns the sender.
    fn vppcom_session_recvfrom(
        handle: u32, to: Ptr<u8>, n: u32, flags: c_int, ep: Ptr<Endpoint>
    ) -> c_int = FAILED; {
        number(read(handle, to.room(n as usize), flags).map(|(n, from)| {
            fill(ep, from);
            n
        }))
    }
    /// Writes to an endpoint.
    fn vppcom_session_sendto(
        handle: u32, from: Ptr<u8>, n: u32, flags: c_int, ep: Ptr<Endpoint>
    ) -> c_int = FAILED; {
        let to = ep.get().and_then(Endpoint::socket);
        let is_nonblocking = flags & libc::MSG_DONTWAIT != 0;
        let bytes = from.bytes(n as usize);
        number(match (io::write(handle, bytes, to, is_nonblocking), to) {
            // An unbound session is bound and connected.
            (Err(libc::ENOTCONN), Some(to)) => open::connect(handle, to)
                .and_then(|()| io::write(handle, bytes, None, is_nonblocking)),
            (done, _) => done,
        })
    }
    /// Returns received data in place.
    fn vppcom_session_read_segments(
        handle: u32, to: Ptr<Segment>, count: u32, most: u32
    ) -> c_int = FAILED; {
        number(io::pieces(handle, count as usize, most as usize).map(|pieces| {
            let mut total = 0;
            for (at, (data, len)) in pieces.into_iter().enumerate() {
                to.at(at).set(Segment { data, len: len as u32 });
                total += len;
            }
            total
        }))
    }
    /// Writes data from several buffers.
    fn vppcom_session_write_segments(
        handle: u32, from: Ptr<Segment>, count: u32
    ) -> c_int = FAILED; {
        let mut total = 0;
        for at in 0..count as usize {
            let Some(Segment { data, len }) = from.at(at).get() else { return -libc::EINVAL };
            match io::write(handle, Ptr(data).bytes(len as usize), None, total > 0) {
                Ok(n) if n == len as usize => total += n,
                Ok(n) => return number(Ok(total + n)),
                Err(_) if total > 0 => break,
                Err(why) => return -why,
            }
        }
        number(Ok(total))
    }
    /// Releases received data.
    fn vppcom_session_free_segments(handle: u32, n: u32) -> () = (); {
        io::forget(handle, n as usize);
    }
    /// Gets or sets an attribute.
    fn vppcom_session_attr(
        handle: u32, which: u32, buffer: Ptr<u8>, len: Ptr<u32>
    ) -> c_int = FAILED; {
        number(attribute(handle, which, buffer, len))
    }
    /// The index of a session.
    fn vppcom_session_index(handle: u32) -> c_int = FAILED; {
        handle.cast_signed()
    }
    /// The worker of a session: all workers share all sessions.
    fn vppcom_session_worker(_handle: u32) -> c_int = FAILED; {
        WORKER.get()
    }
    /// The error that ended a session.
    fn vppcom_session_get_error(handle: u32) -> c_int = FAILED; {
        match attr::error(handle) {
            Ok(why) | Err(why) => -why,
        }
    }
    /// Whether a session is a stream of another.
    fn vppcom_session_is_stream(_handle: u32) -> c_int = FAILED; {
        0
    }
    /// Whether streams can be opened on sessions of a listener.
    fn vppcom_session_is_connectable_listener(_handle: u32) -> c_int = FAILED; {
        0
    }
    /// The listener of an accepted session.
    fn vppcom_session_listener(handle: u32) -> c_int = FAILED; {
        let parent = lock().at(handle).and_then(|session| session.parent.ok_or(libc::EBADFD));
        number(parent.map(|parent| parent as usize))
    }
    /// Number of open sessions accepted by a listener.
    fn vppcom_session_n_accepted(handle: u32) -> c_int = FAILED; {
        let guard = lock();
        let own = guard.handles().filter(|(_, session)| session.parent == Some(handle));
        number(Ok(own.count()))
    }

    /// Creates an epoll set.
    fn vppcom_epoll_create() -> c_int = FAILED; {
        number(epoll::create().map(|handle| handle as usize))
    }
    /// Changes an epoll set.
    fn vppcom_epoll_ctl(
        set: u32, op: c_int, handle: u32, event: Ptr<libc::epoll_event>
    ) -> c_int = FAILED; {
        zero(epoll::control(set, op, handle, event.get().map(|event| (event.events, event.u64))))
    }
    /// Waits for events of an epoll set.
    fn vppcom_epoll_wait(
        set: u32, events: Ptr<libc::epoll_event>, most: c_int, time: f64
    ) -> c_int = FAILED; {
        let Ok(most) = usize::try_from(most) else { return -libc::EINVAL };
        let told = epoll::wait_for(set, most, seconds(time));
        number(told.map(|told| {
            for (at, one) in told.iter().enumerate() {
                events.at(at).set(libc::epoll_event { events: one.events, u64: one.data });
            }
            told.len()
        }))
    }
    /// Waits for events of some sessions.
    fn vppcom_poll(list: Ptr<Poll>, count: u32, time: f64) -> c_int = FAILED; {
        let all = (0..count as usize).filter_map(|at| list.at(at).get());
        let all: Vec<Poll> = all.collect();
        let wanted: Vec<(u32, u32)> =
            all.iter().map(|poll| (poll.sh, u32::from(poll.events.cast_unsigned()))).collect();
        let ready = epoll::wait_for_some(&wanted, libc::POLLNVAL as u32, time);
        let mut count = 0;
        for (at, (poll, bits)) in all.iter().zip(ready).enumerate() {
            list.at(at).set(Poll { revents: bits as i16, ..*poll });
            count += usize::from(bits != 0);
        }
        number(Ok(count))
    }
    /// Waits for events of some sessions, given as bit sets.
    fn vppcom_select(
        count: c_int, reads: Ptr<u64>, writes: Ptr<u64>, excepts: Ptr<u64>, time: f64
    ) -> c_int = FAILED; {
        number(select(count, [reads, writes, excepts], time))
    }
    /// Adds a certificate: not supported.
    fn vppcom_add_cert_key_pair(_pair: Ptr<u8>) -> c_int = FAILED; {
        -libc::EOPNOTSUPP
    }
    /// Deletes a certificate: not supported.
    fn vppcom_del_cert_key_pair(_index: u32) -> c_int = FAILED; {
        -libc::EOPNOTSUPP
    }
}

fn vppcom_app_create_unnamed() -> c_int {
    zero(lock().attach("vcl", Config::read()))
}

/// Converts the timeout of `vppcom_epoll_wait` from milliseconds; negative for no timeout.
fn seconds(time: f64) -> f64 {
    if time < 0.0 { time } else { time / 1000.0 }
}

fn select(count: c_int, sets: [Ptr<u64>; 3], time: f64) -> Done<usize> {
    let count = u32::try_from(count).map_err(|_| libc::EINVAL)?;
    const BITS: [i32; 3] = [libc::EPOLLIN, libc::EPOLLOUT, libc::EPOLLERR];
    let has = |set: Ptr<u64>, at: u32| {
        set.at(at as usize / 64).get().is_some_and(|word| word >> (at % 64) & 1 != 0)
    };
    let wanted = (0..count).filter_map(|at| {
        let bits = sets.iter().zip(BITS).filter(|(set, _)| !set.is_null() && has(**set, at));
        let events = bits.fold(0, |all, (_, bit)| all | bit.cast_unsigned());
        (events != 0).then_some((at, events))
    });
    let wanted: Vec<(u32, u32)> = wanted.collect();
    let ready = epoll::wait_for_some(&wanted, u32::MAX, time);
    if ready.contains(&u32::MAX) {
        return Err(libc::EBADFD);
    }
    for set in sets.iter().filter(|set| !set.is_null()) {
        (0..count.div_ceil(64)).for_each(|word| set.at(word as usize).set(0));
    }
    let mut found = 0;
    let failed = (libc::EPOLLERR | libc::EPOLLHUP).cast_unsigned();
    for ((at, events), bits) in wanted.iter().zip(ready) {
        // A failed session is readable and writable, and returns its error.
        let bits = if bits & failed != 0 { bits | events } else { bits };
        for (set, bit) in sets.iter().zip(BITS) {
            if events & bits & bit.cast_unsigned() != 0 {
                let word = set.at(*at as usize / 64);
                word.set(word.get().unwrap_or(0) | 1 << (at % 64));
                found += 1;
            }
        }
    }
    Ok(found)
}

fn attribute(handle: u32, which: u32, buffer: Ptr<u8>, len: Ptr<u32>) -> Done<usize> {
    let is_short = |least: usize| len.get().is_some_and(|len| (len as usize) < least);
    let needs = |least: usize| -> Result<(), Errno> {
        if buffer.is_null() || is_short(least) { Err(libc::EINVAL) } else { Ok(()) }
    };
    match which {
        op::GET_NREAD | op::GET_NWRITE | op::GET_NWRITEQ => attr::count(handle, which),
        op::GET_LCL_ADDR | op::GET_PEER_ADDR => {
            needs(size_of::<Endpoint>())?;
            fill(buffer.cast(), Some(attr::end(handle, which)?));
            len.set(size_of::<Endpoint>() as u32);
            Ok(0)
        }
        op::SET_LCL_ADDR => {
            needs(size_of::<Endpoint>())?;
            let end = buffer.cast::<Endpoint>().get().and_then(Endpoint::socket);
            attr::set_end(handle, end.ok_or(libc::EINVAL)?).map(|()| 0)
        }
        op::GET_COOKIE => {
            needs(8)?;
            buffer.cast::<u64>().set(attr::cookie(handle, None)?);
            Ok(0)
        }
        op::SET_COOKIE => {
            needs(8)?;
            attr::cookie(handle, buffer.cast::<u64>().get()).map(|_| 0)
        }
        op::SET_CONNECTED => attr::set_number(handle, which, 1).map(|()| 0),
        op::SET_DSCP => {
            needs(1)?;
            attr::set_number(handle, which, buffer.get().unwrap_or(0).into()).map(|()| 0)
        }
        // The other attributes are numbers, which are read or set.
        _ => match attr::number(handle, which) {
            Ok(value) => {
                needs(4)?;
                buffer.cast::<u32>().set(value);
                len.set(4);
                Ok(0)
            }
            Err(libc::EOPNOTSUPP) => {
                needs(4)?;
                let value = buffer.cast::<u32>().get().unwrap_or(0);
                attr::set_number(handle, which, value).map(|()| 0)
            }
            Err(why) => Err(why),
        },
    }
}
