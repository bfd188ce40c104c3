//! Control-plane functions for applications: attach, listen and detach.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use control::feature::Refusal;
use graph::NoAnswer;
use net::Router;
use net::fib::TableIndex;
use net::ip::{V4, V6, Version};
use wire::IpVersion;

use super::app::Application;
use super::endpoint::{BadEndpoint, Endpoint, Transport};
use super::layer::{Layer, post};
use super::listeners::{self, Listener};
use super::session::NONE;
use super::udp;
use super::worker::Worker;
use crate::control::{Backend, apps as names, backend, disable, enable, namespaces};

/// Default FIFO size of a session in bytes, for each direction.
const FIFO: u32 = 64 << 10;
/// Largest FIFO size in bytes.
const LARGEST: u32 = 1 << 30;
/// Default backlog of a listener.
const BACKLOG: u32 = 4096;
/// Peers with a session of a listener by default.
const PEERS: u32 = 1 << 14;

/// Options of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// ID of its namespace; empty for the default one.
    pub namespace: String,
    /// Secret of the namespace.
    pub secret: u64,
    /// Size of a session's receive FIFO in bytes.
    pub rx_fifo: u32,
    /// Size of a session's transmit FIFO in bytes.
    pub tx_fifo: u32,
    /// Whether sessions with applications of the same namespace are allowed.
    pub is_local: bool,
    /// Whether sessions with hosts are allowed.
    pub is_global: bool,
    /// Limit of half-open connections for each of its listeners, on each thread.
    pub backlog: u32,
    /// Peers that have a session of datagrams at each of its listeners, on each thread.
    pub peers: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: String::new(),
            secret: 0,
            rx_fifo: FIFO,
            tx_fifo: FIFO,
            is_local: true,
            is_global: true,
            backlog: BACKLOG,
            peers: PEERS,
        }
    }
}

/// Creates the part of an application on a thread.
type Make = Rc<dyn Fn(usize) -> Box<dyn Application>>;

/// An application.
pub struct App {
    pub(super) namespace: u32,
    pub(super) options: Options,
    make: Make,
}

impl App {
    /// Creates a part for a thread.
    pub fn part(&self, thread: usize) -> Box<dyn Application> {
        (self.make)(thread)
    }
}

/// Reasons for refusing requests of applications.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// {0}
    #[from]
    Control(crate::control::Error),
    /// {0}
    #[from]
    Endpoint(BadEndpoint),
    /// no application {0}
    #[retval(-13)]
    NoApp(u32),
    /// the namespace has no table for {0}
    #[retval(-19)]
    NoTable(Endpoint),
    /// {0} is in use
    #[retval(-15)]
    InUse(Endpoint),
    /// at most 65536 listeners
    #[retval(-4)]
    TooManyListeners,
    /// no listener {0}
    #[retval(-11)]
    NoListener(u32),
    /// no source address or no route for {0}
    #[retval(-8)]
    NoAddress(Endpoint),
    /// nothing listens on {0} in the namespace
    #[retval(-2)]
    Refused(Endpoint),
    /// {0} is forbidden by a rule
    #[retval(-26)]
    Filtered(Endpoint),
    /// no free port for {0}
    #[retval(-9)]
    NoPort(Endpoint),
    /// {0} is not the address of a host
    #[retval(-19)]
    NotAHost(Endpoint),
    /// UDP port {0} belongs to another feature
    #[retval(-15)]
    Taken(u16),
    /// {0}
    #[retval(-4)]
    Kernel(String),
    /// the size of a FIFO must be 1 KB to 1 GB
    #[retval(-19)]
    BadFifo,
}

pub(super) fn app(router: &Router, index: u32) -> Result<&App, Error> {
    router.own::<Layer>().apps.get(&index).ok_or(Error::NoApp(index))
}

/// Attaches an application and returns its number. `make` creates its part on each thread, now and
/// for threads added later. Enables the session layer if it is disabled.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn attach(
    router: &mut Router,
    name: &str,
    options: Options,
    make: impl Fn(usize) -> Box<dyn Application> + 'static,
) -> Result<u32, Error> {
    if ![options.rx_fifo, options.tx_fifo].iter().all(|n| (1024..=LARGEST).contains(n)) {
        return Err(Error::BadFifo);
    }
    let was_off = backend(router).is_none();
    if was_off {
        enable(router, Backend::RuleTable)?;
    }
    let entered = namespaces::admitted(router, &options.namespace, options.secret)
        .and_then(|namespace| Ok((namespace, names::add(router, name, namespace)?)));
    if was_off && entered.is_err() {
        disable(router);
    }
    let (namespace, index) = entered?;
    let parts: Vec<_> = router.engine.data_threads().map(|t| (t, make(t))).collect();
    let layer = router.own_mut::<Layer>();
    layer.apps.insert(index, App { namespace, options, make: Rc::new(make) });
    let (parts, stack) = (Arc::new(Mutex::new(parts)), layer.stack.clone());
    let enter = move |worker: &mut Worker| {
        let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = parts.iter().position(|(thread, _)| *thread == worker.thread) {
            worker.enter(index, parts.swap_remove(at).1);
        }
    };
    if let Err(why) = stack.visit(&mut router.engine, enter) {
        router.log.class("session", "attach").error(why);
    }
    Ok(index)
}

/// Attaches an application with a listener; returns the number of both.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn serve(
    router: &mut Router,
    name: &str,
    options: Options,
    at: Endpoint,
    make: impl Fn(usize) -> Box<dyn Application> + 'static,
) -> Result<(u32, u32), Error> {
    let was_off = backend(router).is_none();
    let app = attach(router, name, options, make)?;
    let listener = listen(router, app, at, true).inspect_err(|_| match was_off {
        true => disable(router),
        false => detach(router, app),
    })?;
    Ok((app, listener))
}

/// Detaches an application: its listeners end, its sessions are reset.
pub fn detach(router: &mut Router, index: u32) {
    let layer = router.own_mut::<Layer>();
    if layer.apps.remove(&index).is_none() {
        return;
    }
    let own = layer.by_app.iter().filter(|((app, _), _)| *app == index);
    let own: Vec<_> = own.flat_map(|(_, own)| own).copied().collect();
    unlisten_all(router, &own);
    let stack = router.own::<Layer>().stack.clone();
    // The parts are dropped here, not on the data-plane threads.
    let gone = stack.ask(&mut router.engine, move |worker| worker.leave(index));
    let leave = move |worker: &mut Worker, at: u32| worker.leave_at(at, index);
    if let Err(why) = gone.and_then(|_| stack.sweep(&mut router.engine, leave)) {
        router.log.class("session", "detach").error(why);
    }
    names::remove(router, index);
}

/// Detaches the applications of a namespace.
pub fn detach_all_of(router: &mut Router, namespace: u32) {
    let layer = router.own::<Layer>();
    let of = layer.apps.iter().filter(|(_, app)| app.namespace == namespace);
    let of: Vec<_> = of.map(|(index, _)| *index).collect();
    of.into_iter().for_each(|index| detach(router, index));
}

/// The routing table of an application for an endpoint.
pub(super) fn table_of(
    router: &Router,
    namespace: u32,
    of: &Endpoint,
) -> Result<TableIndex, Error> {
    let version = IpVersion::from(of.address) as usize;
    let tables = namespaces::at(router, namespace)?.tables;
    tables[version].ok_or(Error::NoTable(*of))
}

/// Starts listening and returns the number of the listener. A datagram listener has one session
/// for each peer, or one for all peers.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn listen(
    router: &mut Router,
    index: u32,
    endpoint: Endpoint,
    by_peer: bool,
) -> Result<u32, Error> {
    let App { namespace, options, .. } = app(router, index)?;
    let (namespace, options) = (*namespace, options.clone());
    let table = table_of(router, namespace, &endpoint)?;
    let layer = router.own::<Layer>();
    if layer.listeners.current().count() >= listeners::MOST {
        return Err(Error::TooManyListeners);
    }
    let new = Listener {
        index: layer.next_listener,
        app: index,
        namespace,
        endpoint,
        fib: table.0,
        is_global: options.is_global,
        is_local: options.is_local,
        by_peer,
        rx_limit: options.rx_fifo,
        tx_limit: options.tx_fifo,
        backlog: options.backlog,
        peers: options.peers,
    };
    if layer.listeners.current().rival(&new).is_some() {
        return Err(Error::InUse(endpoint));
    }
    if endpoint.transport == Transport::Udp {
        take_port(router, endpoint.address, endpoint.port)?;
    }
    let layer = router.own_mut::<Layer>();
    layer.next_listener = layer.next_listener.wrapping_add(1) % NONE;
    layer.by_app.entry((index, endpoint.transport)).or_default().insert(new.index);
    let mut all = layer.listeners.current().clone();
    all.add(new);
    layer.listeners.publish(all);
    if endpoint.transport == Transport::Udp && !by_peer {
        let stack = layer.stack.clone();
        let open = move |worker: &mut Worker| worker.open_listening(&new, u64::MAX);
        let made = stack.visit(&mut router.engine, open);
        if let Err(why) = made {
            router.log.class("session", "listen").error(why);
        }
    }
    Ok(new.index)
}

/// Removes a listener. Its sessions continue, except the one for datagrams of all peers.
///
/// # Errors
/// [`Error::NoListener`].
pub fn unlisten(router: &mut Router, listener: u32) -> Result<(), Error> {
    match unlisten_all(router, &[listener]) {
        0 => Err(Error::NoListener(listener)),
        _ => Ok(()),
    }
}

/// Removes several listeners with one update; returns the number that existed.
pub fn unlisten_all(router: &mut Router, listeners: &[u32]) -> usize {
    let Layer { listeners: published, by_app, stack, .. } = router.own_mut::<Layer>();
    let (mut all, mut gone) = (published.current().clone(), Vec::new());
    for index in listeners {
        let Some(listener) = all.at(*index).copied() else { continue };
        let of = (listener.app, listener.endpoint.transport);
        let own = by_app.entry(of).or_default();
        own.remove(index);
        all.remove(*index, own.first().copied());
        if own.is_empty() {
            by_app.remove(&of);
        }
        gone.push(listener);
    }
    if gone.is_empty() {
        return 0;
    }
    published.publish(all);
    let count = gone.len();
    gone.retain(|listener| listener.endpoint.transport == Transport::Udp);
    if !gone.is_empty() {
        let (stack, closed) = (stack.clone(), gone.clone());
        let close = move |worker: &mut Worker| {
            closed.iter().for_each(|listener| worker.close_listening(listener.index));
        };
        if let Err(why) = stack.visit(&mut router.engine, close) {
            router.log.class("session", "unlisten").error(why);
        }
    }
    for listener in gone {
        release_port(router, listener.endpoint.address.into(), listener.endpoint.port);
    }
    count
}

/// Moves the listeners of a namespace to its new tables. Listeners without a table, or in conflict
/// with another one, are removed.
pub fn move_listeners(router: &mut Router, namespace: u32) {
    let Ok(of) = namespaces::at(router, namespace) else { return };
    let tables = of.tables;
    let table = |listener: &Listener| tables[IpVersion::from(listener.endpoint.address) as usize];
    let layer = router.own_mut::<Layer>();
    let mut all = layer.listeners.current().clone();
    let moved = all.iter().filter(|l| l.namespace == namespace);
    let moved = moved.filter(|l| table(l).map(|t| t.0) != Some(l.fib));
    let moved: Vec<_> = moved.copied().collect();
    let (mut ending, mut moving) = (Vec::new(), Vec::new());
    for old in moved {
        all.remove(old.index, Some(old.index));
        let new = table(&old).map(|table| Listener { fib: table.0, ..old });
        match new.filter(|new| all.rival(new).is_none()) {
            Some(new) => {
                all.add(new);
                moving.push(new);
            }
            None => {
                all.add(old);
                ending.push(old);
            }
        }
    }
    layer.listeners.publish(all);
    moving.retain(|new| new.endpoint.transport == Transport::Udp && !new.by_peer);
    if !moving.is_empty() {
        let stack = layer.stack.clone();
        let done = stack.visit(&mut router.engine, move |worker| {
            moving.iter().for_each(|new| worker.move_listening(new));
        });
        if let Err(why) = done {
            router.log.class("session", "namespace").error(why);
        }
    }
    let log = router.log.class("session", "namespace");
    for old in &ending {
        log.warn(format_args!("{} cannot be moved to the new table: removed", old.endpoint));
    }
    let ending: Vec<_> = ending.iter().map(|old| old.index).collect();
    unlisten_all(router, &ending);
}

fn udp_lookup(version: IpVersion) -> &'static str {
    [V4::NODES.udp_lookup, V6::NODES.udp_lookup][version as usize]
}

/// Registers a UDP port for the stack.
pub(super) fn take_port(router: &mut Router, address: IpAddr, port: u16) -> Result<(), Error> {
    let version = IpVersion::from(address);
    let uses = router.own::<Layer>().datagram_ports.get(&(version, port)).copied().unwrap_or(0);
    if uses == 0 {
        let input = udp::INPUT[version as usize];
        let done = router.redispatch(udp_lookup(version), port, Some(input));
        done.map_err(|_| Error::Taken(port))?;
    }
    router.own_mut::<Layer>().datagram_ports.insert((version, port), uses + 1);
    Ok(())
}

/// Releases one reference to a UDP port.
pub fn release_port(router: &mut Router, version: IpVersion, port: u16) {
    let ports = &mut router.own_mut::<Layer>().datagram_ports;
    let Some(uses) = ports.get_mut(&(version, port)) else { return };
    *uses -= 1;
    if *uses == 0 {
        ports.remove(&(version, port));
        // Removing our own registration cannot fail.
        let _ = router.redispatch(udp_lookup(version), port, None);
    }
}

/// Runs `tell` on the part of an application on a thread, without waiting for it.
pub fn tell_part<A: Application>(
    router: &mut Router,
    thread: usize,
    index: u32,
    tell: impl FnOnce(&mut A) + Send + 'static,
) {
    post(router, thread, move |worker, _, _| {
        let part = worker.part_of(index).and_then(|at| worker.parts.get_mut(at as usize));
        let object = part.and_then(|part| part.object.as_mut());
        let object = object.and_then(|object| (&mut **object as &mut dyn Any).downcast_mut());
        if let Some(object) = object {
            tell(object);
        }
    });
}

/// Runs `look` on the parts of an application of type `A`, on their threads, and returns the
/// results.
///
/// # Errors
/// When a thread does not answer.
pub fn ask_parts<A: Application, T: Send + 'static>(
    router: &mut Router,
    index: u32,
    look: impl Fn(&mut A) -> T + Clone + Send + 'static,
) -> Result<Vec<T>, NoAnswer> {
    let all = ask_places(router, index, look)?;
    Ok(all.into_iter().map(|(_, found)| found).collect())
}

/// The same, with thread numbers.
///
/// # Errors
/// When a thread does not answer.
pub fn ask_places<A: Application, T: Send + 'static>(
    router: &mut Router,
    index: u32,
    look: impl Fn(&mut A) -> T + Clone + Send + 'static,
) -> Result<Vec<(usize, T)>, NoAnswer> {
    let stack = router.own::<Layer>().stack.clone();
    let all = stack.ask(&mut router.engine, move |worker| {
        let parts = worker.parts.iter_mut().filter(|part| part.app == index);
        let objects = parts.filter_map(|part| {
            let object: &mut dyn Any = &mut **part.object.as_mut()?;
            object.downcast_mut::<A>()
        });
        objects.map(&look).collect::<Vec<_>>()
    })?;
    let places = |(thread, found): (usize, Vec<T>)| found.into_iter().map(move |f| (thread, f));
    Ok(all.into_iter().flat_map(places).collect())
}
