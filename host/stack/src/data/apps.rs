//! Applications inside the daemon, as control attaches them: what they listen to and connect to.

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
use super::layer::Layer;
use super::listeners::{self, Listener};
use super::session::NONE;
use super::udp;
use super::worker::Worker;
use crate::control::{Backend, apps as names, backend, disable, enable, namespaces};

/// Bytes that a session keeps each way by default.
const FIFO: u32 = 64 << 10;
/// Bytes that it may keep at most.
const LARGEST: u32 = 1 << 30;
/// Connections that are being set up for a listener by default.
const BACKLOG: u32 = 4096;

/// Options of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// ID of its namespace; empty for the default one.
    pub namespace: String,
    /// The namespace's secret.
    pub secret: u64,
    /// Received bytes that a session keeps.
    pub rx_fifo: u32,
    /// Bytes to send that a session keeps.
    pub tx_fifo: u32,
    /// Whether its sessions are with applications of the same namespace.
    pub is_local: bool,
    /// Whether its sessions are with hosts.
    pub is_global: bool,
    /// Connections that are being set up for each of its listeners, on each thread.
    pub backlog: u32,
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
        }
    }
}

/// Makes the part of an application on a thread.
type Make = Rc<dyn Fn(usize) -> Box<dyn Application>>;

/// An application.
pub struct App {
    pub(super) namespace: u32,
    pub(super) options: Options,
    make: Make,
}

impl App {
    /// A new part, for a thread.
    pub fn part(&self, thread: usize) -> Box<dyn Application> {
        (self.make)(thread)
    }
}

/// Reasons why applications are refused something.
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
    /// a rule forbids {0}
    #[retval(-26)]
    Filtered(Endpoint),
    /// no free port for {0}
    #[retval(-9)]
    NoPort(Endpoint),
    /// {0} is no address of a host
    #[retval(-19)]
    NotAHost(Endpoint),
    /// UDP port {0} belongs to another feature
    #[retval(-15)]
    Taken(u16),
    /// a FIFO has 1 KB to 1 GB
    #[retval(-19)]
    BadFifo,
}

pub(super) fn app(router: &Router, index: u32) -> Result<&App, Error> {
    router.own::<Layer>().apps.get(&index).ok_or(Error::NoApp(index))
}

/// Attaches an application; its number. `make` makes its part on each thread, those there are and
/// those that come. The session layer is enabled, if it is not.
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

/// Detaches an application: its listeners end, its sessions are reset.
pub fn detach(router: &mut Router, index: u32) {
    let layer = router.own_mut::<Layer>();
    if layer.apps.remove(&index).is_none() {
        return;
    }
    let own = layer.listeners.current().iter().filter(|l| l.app == index);
    let own: Vec<_> = own.map(|listener| listener.index).collect();
    for listener in own {
        // It exists.
        let _ = unlisten(router, listener);
    }
    let stack = router.own::<Layer>().stack.clone();
    // What they hold is freed here, not on the threads.
    let gone = stack.ask(&mut router.engine, move |worker| worker.leave(index));
    if let Err(why) = gone {
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

/// The table of an application for an end point.
pub(super) fn table_of(
    router: &Router,
    namespace: u32,
    of: &Endpoint,
) -> Result<TableIndex, Error> {
    let version = IpVersion::from(of.address) as usize;
    let tables = namespaces::at(router, namespace)?.tables;
    tables[version].ok_or(Error::NoTable(*of))
}

/// Listens; the number of the listener. A listener for datagrams makes a session of each peer, or
/// is one session for all.
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
    };
    if layer.listeners.current().rival(&new).is_some() {
        return Err(Error::InUse(endpoint));
    }
    if endpoint.transport == Transport::Udp {
        take_port(router, endpoint.address, endpoint.port)?;
    }
    let layer = router.own_mut::<Layer>();
    layer.next_listener = layer.next_listener.wrapping_add(1) % NONE;
    let mut all = layer.listeners.current().clone();
    all.add(new);
    layer.listeners.publish(all);
    if endpoint.transport == Transport::Udp && !by_peer {
        let stack = layer.stack.clone();
        let made = stack.visit(&mut router.engine, move |worker| worker.open_listening(&new));
        if let Err(why) = made {
            router.log.class("session", "listen").error(why);
        }
    }
    Ok(new.index)
}

/// Ends a listener. Its sessions stay, but those that datagrams of all peers come to.
///
/// # Errors
/// [`Error::NoListener`].
pub fn unlisten(router: &mut Router, listener: u32) -> Result<(), Error> {
    let layer = router.own_mut::<Layer>();
    let mut all = layer.listeners.current().clone();
    let gone = all.remove(listener).ok_or(Error::NoListener(listener))?;
    layer.listeners.publish(all);
    if gone.endpoint.transport == Transport::Udp {
        let stack = layer.stack.clone();
        let closed =
            stack.visit(&mut router.engine, move |worker| worker.close_listening(listener));
        if let Err(why) = closed {
            router.log.class("session", "unlisten").error(why);
        }
        release_port(router, gone.endpoint.address.into(), gone.endpoint.port);
    }
    Ok(())
}

/// Moves the listeners of a namespace into the tables that it has now. Those without a table, or
/// where another one listens, end.
pub fn move_listeners(router: &mut Router, namespace: u32) {
    let Ok(of) = namespaces::at(router, namespace) else { return };
    let tables = of.tables;
    let table = |listener: &Listener| tables[IpVersion::from(listener.endpoint.address) as usize];
    let all = router.own::<Layer>().listeners.current().iter();
    let moved = all.filter(|l| l.namespace == namespace && table(l).map(|t| t.0) != Some(l.fib));
    let moved: Vec<_> = moved.copied().collect();
    for old in moved {
        let layer = router.own_mut::<Layer>();
        let mut all = layer.listeners.current().clone();
        all.remove(old.index);
        let new = table(&old).map(|table| Listener { fib: table.0, ..old });
        let Some(new) = new.filter(|new| all.rival(new).is_none()) else {
            let log = router.log.class("session", "namespace");
            log.warn(format_args!("{} has no place in another table: it ends", old.endpoint));
            // It exists.
            let _ = unlisten(router, old.index);
            continue;
        };
        all.add(new);
        layer.listeners.publish(all);
        if new.endpoint.transport == Transport::Udp && !new.by_peer {
            let stack = layer.stack.clone();
            let done = stack.visit(&mut router.engine, move |worker| {
                worker.close_listening(new.index);
                worker.open_listening(&new);
            });
            if let Err(why) = done {
                router.log.class("session", "namespace").error(why);
            }
        }
    }
}

fn udp_lookup(version: IpVersion) -> &'static str {
    [V4::NODES.udp_lookup, V6::NODES.udp_lookup][version as usize]
}

/// Directs the datagrams to a port to the stack.
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

/// One session or listener of a port has ended.
pub fn release_port(router: &mut Router, version: IpVersion, port: u16) {
    let ports = &mut router.own_mut::<Layer>().datagram_ports;
    let Some(uses) = ports.get_mut(&(version, port)) else { return };
    *uses -= 1;
    if *uses == 0 {
        ports.remove(&(version, port));
        // Only ours is taken back, which cannot fail.
        let _ = router.redispatch(udp_lookup(version), port, None);
    }
}

/// Results of `look` at the parts of an application of type `A`, on their threads.
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

/// The same, each with its thread.
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
