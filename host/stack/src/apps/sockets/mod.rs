//! Sockets of programs that share no memory (`lanes::socket`): for the preload library.
//!
//! A connection at an app socket becomes a socket with its first message. All sockets of a
//! namespace and scope belong to one application, whose parts ([`part`]) copy between sessions and
//! sockets on the threads. Control only opens and closes.

mod doors;
mod flow;
mod link;
mod part;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use lanes::socket::Answer;
use lanes::talk::{self, Message};
use net::Router;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::process::{Resource, getrlimit};

use super::errno::of_error;
use super::requests::{endpoint, wake};
use super::{PROCESS, programs, programs_mut};
use crate::control::namespaces;
use crate::data::apps::{self, Error, Options};
use crate::data::connecting::{self, Connect};
use crate::data::endpoint::{Endpoint, Transport};
use link::{Closer, Door, Socket};
use part::{Common, Sockets, Waiting};

/// Bytes that wait in the router for a program to read, and to be acknowledged.
const FIFO: u32 = 1 << 20;
/// EADDRINUSE, EINVAL, EPERM.
const IN_USE: u32 = 98;
const INVALID: u32 = 22;
/// Most sockets, where the kernel sets no limit to descriptors.
const MOST: usize = 1 << 20;

/// Sockets by namespace and scope.
#[derive(Default)]
pub(super) struct Groups {
    all: BTreeMap<(u32, u8), Group>,
    common: Option<Common>,
    /// The last number of a request.
    opaque: u64,
    /// The last number of a door.
    door: u32,
}

/// The sockets of a namespace and scope.
struct Group {
    app: u32,
    parts: Rc<RefCell<Vec<Watched>>>,
    doors: Vec<Opened>,
}

/// A part's epoll descriptor, and its thread.
struct Watched {
    thread: usize,
    poll: Arc<OwnedFd>,
}

/// An open door.
struct Opened {
    door: Arc<Door>,
    ends: Vec<Endpoint>,
    uid: u32,
    is_shared: bool,
}

/// A request to become a socket.
pub(super) struct Request<'m> {
    /// The namespace of the app socket.
    pub namespace: u32,
    /// The message.
    pub message: &'m Message,
    /// The user.
    pub uid: u32,
}

/// The group that a request is for, created with its first socket.
fn enter(router: &mut Router, request: &Request<'_>) -> Result<(u32, u8), Error> {
    let own = namespaces::at(router, request.namespace)?.of.id.clone();
    let message = request.message;
    let namespace = if message.namespace.is_empty() { own } else { message.namespace.clone() };
    let index = namespaces::admitted(router, &namespace, message.number)?;
    let scope = message.flags & (talk::LOCAL | talk::GLOBAL);
    // A session within a namespace is a stream: datagrams go by the network.
    let is_global = scope == 0 || message.transport == 1;
    let key = (index, if is_global { talk::GLOBAL } else { scope });
    if programs(router).sockets.all.contains_key(&key) {
        return Ok(key);
    }
    let common = common(router)?;
    let options = Options {
        namespace,
        secret: message.number,
        rx_fifo: FIFO,
        tx_fifo: FIFO,
        is_local: key.1 & talk::LOCAL != 0,
        is_global: key.1 & talk::GLOBAL != 0,
        ..Options::default()
    };
    let parts = Rc::new(RefCell::new(Vec::new()));
    let to = Rc::clone(&parts);
    let made = epoll::create(epoll::CreateFlags::CLOEXEC);
    let spare = RefCell::new(Some(made.map_err(|_| Error::TooManyListeners)?));
    let make = move |thread| -> Box<dyn crate::data::app::Application> {
        let mut all = to.borrow_mut();
        let first = spare.borrow_mut().take();
        let made = first.map_or_else(|| epoll::create(epoll::CreateFlags::CLOEXEC), Ok);
        // Without a descriptor of its own it hears another part's events, and ignores them.
        let poll = match (made, all.first()) {
            (Ok(poll), _) => Arc::new(poll),
            (Err(_), Some(Watched { poll, .. })) => Arc::clone(poll),
            (Err(_), None) => unreachable!("the first part has the spare descriptor"),
        };
        all.push(Watched { thread, poll: Arc::clone(&poll) });
        Box::new(Sockets::new(all.len() - 1, poll, common.clone()))
    };
    let name = format!("sockets-{index}-{}", key.1);
    let app = apps::attach(router, &name, options, make)?;
    let group = Group { app, parts, doors: Vec::new() };
    programs_mut(router).sockets.all.insert(key, group);
    follow_threads(router);
    Ok(key)
}

/// The common state of all parts.
fn common(router: &mut Router) -> Result<Common, Error> {
    if let Some(common) = &programs(router).sockets.common {
        return Ok(common.clone());
    }
    let no_memory = |_| Error::TooManyListeners;
    let alarm = Arc::new(super::admission::bell().map_err(no_memory)?);
    let limit = getrlimit(Resource::Nofile).current.map_or(MOST, |n| n as usize);
    let closer = Closer::start().map_err(no_memory)?;
    let common =
        Common { alarm, closer, ticket: Arc::default(), most: MOST.min(limit - limit / 4) };
    // Doors of programs that have ended stay otherwise.
    let _ = router.processes.watch(PROCESS, common.alarm.as_fd());
    programs_mut(router).sockets.common = Some(common.clone());
    Ok(common)
}

/// Makes a connection of a program a socket, and answers it, now or when it is connected.
///
/// # Errors
/// Why it cannot be one; the connection is not used then.
pub(super) fn open(
    router: &mut Router,
    request: &Request<'_>,
    connection: impl FnOnce() -> Option<OwnedFd>,
) -> Result<(), Result<Error, u32>> {
    let key = enter(router, request).map_err(Ok)?;
    let Groups { common, .. } = &programs(router).sockets;
    let Common { closer, ticket, most, .. } = common.clone().ok_or(Err(INVALID))?;
    if Arc::strong_count(&ticket) > most {
        return Err(Ok(Error::TooManyListeners));
    }
    if request.message.kind == talk::REACH {
        let to = endpoint(request.message).ok_or(Err(INVALID))?;
        let socket = Socket::new(connection().ok_or(Err(INVALID))?, closer, ticket);
        reach(router, key, to, request.message.token, socket);
        return Ok(());
    }
    let ends = ends_of(request.message).ok_or(Err(INVALID))?;
    // A program that closes a socket may bind another one at once.
    end_closed(router);
    let listeners = listen(router, key, request, &ends)?;
    let Some(connection) = connection() else {
        apps::unlisten_all(router, &listeners);
        return Err(Err(INVALID));
    };
    let socket = Socket::new(connection, closer, ticket);
    serve(router, key, request, (ends, listeners), socket);
    Ok(())
}

/// The endpoints of a door.
fn ends_of(message: &Message) -> Option<Vec<Endpoint>> {
    let end = endpoint(message).filter(|end| end.port != 0)?;
    if message.flags & talk::DUAL == 0 {
        return Some(vec![end]);
    }
    let both = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
    Some(both.map(|address| Endpoint { address, ..end }).into())
}

/// Starts the listeners of a door, or finds those of another one that shares them.
fn listen(
    router: &mut Router,
    key: (u32, u8),
    request: &Request<'_>,
    ends: &[Endpoint],
) -> Result<Vec<u32>, Result<Error, u32>> {
    let is_shared = request.message.flags & talk::SHARED != 0;
    let group = programs(router).sockets.all.get(&key).ok_or(Err(INVALID))?;
    let app = group.app;
    if let Some(other) = group.doors.iter().find(|of| of.ends == ends) {
        let is_one = is_shared && other.is_shared && other.uid == request.uid;
        return if is_one { Ok(other.door.listeners.clone()) } else { Err(Err(IN_USE)) };
    }
    let mut listeners = Vec::new();
    for end in ends {
        let by_peer = end.transport != Transport::Udp;
        match apps::listen(router, app, *end, by_peer) {
            Ok(listener) => listeners.push(listener),
            // A namespace may have a table of one version only.
            Err(Error::NoTable(_)) if ends.len() > 1 => {}
            Err(why) => {
                apps::unlisten_all(router, &listeners);
                return Err(Ok(why));
            }
        }
    }
    if listeners.is_empty() { Err(Err(INVALID)) } else { Ok(listeners) }
}

fn serve(
    router: &mut Router,
    key: (u32, u8),
    request: &Request<'_>,
    (ends, listeners): (Vec<Endpoint>, Vec<u32>),
    socket: Socket,
) {
    let groups = &mut programs_mut(router).sockets;
    groups.door = groups.door.wrapping_add(1);
    let is_udp = request.message.transport == 1;
    let door = Door { number: groups.door, socket, listeners, is_udp, peer: OnceLock::new() };
    let door = Arc::new(door);
    let Some(group) = groups.all.get_mut(&key) else { return };
    let app = group.app;
    group.doors.push(Opened {
        door: Arc::clone(&door),
        ends,
        uid: request.uid,
        is_shared: request.message.flags & talk::SHARED != 0,
    });
    let opening = Arc::clone(&door);
    // A thread that does not answer refuses what comes there.
    let _ = apps::ask_parts(router, app, move |part: &mut Sockets| part.open_door(&opening));
    let end = request.message.end;
    // A program that is gone has closed it.
    link::write(door.socket.fd(), &Answer { error: 0, local: end, peer: end }.to_bytes());
}

fn reach(router: &mut Router, key: (u32, u8), to: Endpoint, filling: u32, socket: Socket) {
    let threads = router.engine.data_threads();
    let groups = &mut programs_mut(router).sockets;
    groups.opaque += 1;
    let opaque = groups.opaque;
    let Some(app) = groups.all.get(&key).map(|group| group.app) else { return };
    let thread = threads.start + opaque as usize % threads.len().max(1);
    let waiting = Waiting { socket, filling: filling as usize };
    apps::tell_part(router, thread, app, move |part: &mut Sockets| part.wait(opaque, waiting));
    let request = Connect { to, opaque, thread: Some(thread) };
    if let Err(why) = connecting::connect(router, app, request) {
        let error = of_error(&why).unsigned_abs();
        apps::tell_part(router, thread, app, move |part: &mut Sockets| part.fail(opaque, error));
    }
    wake(router);
}

/// Ends doors that programs have closed, after a ring.
pub(super) fn sweep(router: &mut Router) {
    let groups = &programs(router).sockets;
    let Some(common) = &groups.common else { return };
    if rustix::io::read(&*common.alarm, &mut [0; 8]).is_ok() {
        end_closed(router);
    }
}

fn end_closed(router: &mut Router) {
    let groups = &programs(router).sockets;
    let keys: Vec<_> = groups.all.keys().copied().collect();
    for key in keys {
        let Some(group) = programs_mut(router).sockets.all.get_mut(&key) else { continue };
        let app = group.app;
        let gone: Vec<_> = group.doors.extract_if(.., |of| is_closed(&of.door)).collect();
        let left: Vec<u32> = group.doors.iter().flat_map(|of| of.door.listeners.clone()).collect();
        for Opened { door, .. } in gone {
            let own = door.listeners.iter().filter(|listener| !left.contains(listener));
            let own: Vec<u32> = own.copied().collect();
            apps::unlisten_all(router, &own);
            let shut = move |part: &mut Sockets| part.shut_door(&door);
            // A thread that does not answer keeps it until it ends.
            let _ = apps::ask_parts(router, app, shut);
        }
        wake(router);
    }
}

fn is_closed(door: &Door) -> bool {
    let fd = door.socket.fd();
    let mut set = [PollFd::new(&fd, PollFlags::empty())];
    let seen = poll(&mut set, Some(&Timespec::default()));
    seen.is_ok() && set[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Detaches the sockets of a namespace, or all.
pub(super) fn end(router: &mut Router, namespace: Option<u32>) {
    let all = &mut programs_mut(router).sockets.all;
    let is_of = |key: &(u32, u8)| namespace.is_none_or(|namespace| namespace == key.0);
    let gone: Vec<_> = all.extract_if(.., |key, _| is_of(key)).collect();
    for (_, group) in gone {
        for part in group.parts.borrow().iter() {
            // The thread may have ended.
            let _ = router.engine.unwatch(part.thread, part.poll.as_fd());
        }
        apps::detach(router, group.app);
    }
}

/// Makes the parts wake their threads, and adds all doors to new ones.
pub(super) fn follow_threads(router: &mut Router) {
    let node = crate::data::turning(router);
    let groups = std::mem::take(&mut programs_mut(router).sockets.all);
    for group in groups.values() {
        let places = apps::ask_places(router, group.app, |part: &mut Sockets| part.number);
        let mut parts = group.parts.borrow_mut();
        for (thread, number) in places.unwrap_or_default() {
            let Some(part) = parts.get_mut(number) else { continue };
            let _ = router.engine.unwatch(part.thread, part.poll.as_fd());
            part.thread = thread;
            // Without it, the thread looks only while it is awake.
            let _ = router.engine.watch_rings(thread, node, part.poll.as_fd());
        }
        drop(parts);
        for Opened { door, .. } in &group.doors {
            let door = Arc::clone(door);
            // As above.
            let _ = apps::ask_parts(router, group.app, move |part: &mut Sockets| {
                part.open_door(&door);
            });
        }
    }
    programs_mut(router).sockets.all = groups;
}
