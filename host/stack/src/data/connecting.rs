//! Control-plane functions for outgoing sessions.

use std::net::{IpAddr, SocketAddr};

use infra::rcu::Participant;
use net::Router;
use net::fib::TableIndex;
use wire::{IpVersion, Protocol};

use super::apps::{App, Error, app, table_of, take_port};
use super::endpoint::{Endpoint, Transport};
use super::key::Key;
use super::layer::{Layer, post};
use super::session::Failure;
use super::version::unspecified;
use super::worker::Worker;
use crate::control::namespaces;
use crate::control::published::{Flow, Transport as Ruled, Verdict};

/// Number of ports tried for a datagram session.
const TRIES: usize = 64;

/// A connect request of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect {
    /// The remote endpoint.
    pub to: Endpoint,
    /// Opaque value for the session, or for [`Application::on_refused`].
    pub opaque: u64,
    /// The thread for the session; by default, threads are used in turn.
    pub thread: Option<usize>,
}

/// Starts to connect; the application is called on the session's thread.
///
/// # Errors
/// [`Error`], if the request fails at once.
pub fn connect(router: &mut Router, index: u32, request: Connect) -> Result<(), Error> {
    let App { namespace, options, .. } = app(router, index)?;
    let (namespace, options) = (*namespace, options.clone());
    let Connect { to, opaque, thread } = request;
    if to.address.is_unspecified() || to.address.is_multicast() || to.port == 0 {
        return Err(Error::NotAHost(to));
    }
    let threads = router.engine.data_threads();
    let layer = router.own_mut::<Layer>();
    layer.connects = layer.connects.wrapping_add(1);
    let next = threads.start + layer.connects % threads.len().max(1);
    let thread = thread.filter(|thread| threads.contains(thread)).unwrap_or(next);
    let of = Request { app: index, namespace, opaque, limits: [options.rx_fifo, options.tx_fifo] };
    if options.is_local {
        let found = layer.listeners.current().find_local(&to, namespace).copied();
        if let Some(listener) = found {
            judge_local(router, namespace, &to)?;
            post(router, thread, move |worker, _, _| worker.cut_through(&of, &listener, &to));
            return Ok(());
        }
    }
    if !options.is_global {
        return Err(Error::Refused(to));
    }
    let (table, local) = origin(router, namespace, &to)?;
    let port = if to.transport == Transport::Udp { take_some_port(router, &to, local)? } else { 0 };
    let request = Open { of, table, local, port, to };
    post(router, thread, move |worker, stack, epoch| {
        let listeners = stack.listeners(epoch);
        worker.open(&request, |local, hash| {
            listeners.has(to.transport, table.0, local) || stack.thread_of(hash, epoch).is_some()
        });
    });
    Ok(())
}

/// An application that requests a session.
#[derive(Clone, Copy)]
pub struct Request {
    /// Application.
    pub app: u32,
    /// Its namespace.
    pub namespace: u32,
    /// Its opaque value.
    pub opaque: u64,
    /// FIFO sizes in bytes, for each direction.
    pub limits: [u32; 2],
}

/// Parameters for opening a session on a thread.
#[derive(Clone, Copy)]
pub struct Open {
    /// The request.
    pub of: Request,
    /// Table.
    pub table: TableIndex,
    /// Local address.
    pub local: IpAddr,
    /// Local port; 0 if the thread is to choose one.
    pub port: u16,
    /// The peer.
    pub to: Endpoint,
}

impl Open {
    /// The session key for a local port.
    pub fn key(&self, port: u16) -> Key {
        let protocol = self.to.transport.protocol().unwrap_or(Protocol::TCP);
        let local = SocketAddr::new(self.local, port);
        Key::of(local, self.to.socket(), protocol, self.table.0)
    }
}

/// A transport in rules.
pub fn ruled(of: Transport) -> Ruled {
    if of == Transport::Udp { Ruled::Udp } else { Ruled::Tcp }
}

fn judge_local(router: &Router, namespace: u32, to: &Endpoint) -> Result<(), Error> {
    let me = Participant::join();
    let local = SocketAddr::new(unspecified(to.address), 0);
    let flow = Flow { transport: ruled(to.transport), local, remote: to.socket() };
    let policy = router.own::<Layer>().stack.policy();
    match policy.connecting_local(namespace, &flow, me.epoch()) {
        Verdict::Drop => Err(Error::Filtered(*to)),
        _ => Ok(()),
    }
}

/// Table and source address for a connection.
fn origin(
    router: &mut Router,
    namespace: u32,
    to: &Endpoint,
) -> Result<(TableIndex, IpAddr), Error> {
    let table = table_of(router, namespace, to)?;
    let interface = match namespaces::at(router, namespace)?.of.binding {
        namespaces::Binding::Interface(interface) => Some(interface),
        namespaces::Binding::Tables(_) => None,
    };
    let me = Participant::join();
    let layer = router.own::<Layer>();
    let policy = layer.stack.policy();
    let unknown = SocketAddr::new(unspecified(to.address), 0);
    let flow = Flow { transport: ruled(to.transport), local: unknown, remote: to.socket() };
    if policy.connecting(table, &flow, me.epoch()) == Verdict::Drop {
        return Err(Error::Filtered(*to));
    }
    let pool = policy.sources(to.address.into(), table, me.epoch());
    if let Some(local) = pool.get(layer.connects % pool.len().max(1)) {
        return Ok((table, *local));
    }
    let local = super::source::towards(router, to.address, table, interface);
    Ok((table, local.ok_or(Error::NoAddress(*to))?))
}

/// Chooses and registers a local port for a datagram session.
fn take_some_port(router: &mut Router, to: &Endpoint, local: IpAddr) -> Result<u16, Error> {
    let version = IpVersion::from(local);
    for _ in 0..TRIES {
        let layer = router.own_mut::<Layer>();
        let (used, seed) = (&layer.datagram_ports, layer.seed);
        let socket = SocketAddr::new(local, 0);
        let hash = Key::of(socket, to.socket(), Protocol::UDP, 0).hash(seed);
        let port = layer.ports.choose(hash, |port| !used.contains_key(&(version, port)));
        let port = port.ok_or(Error::NoPort(*to))?;
        if take_port(router, local, port).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::NoPort(*to))
}

/// Notifies an application that a connect request has failed.
pub fn refused(worker: &mut Worker, of: &Request, why: Failure) {
    if let Some(part) = worker.part_of(of.app)
        && let Some(object) = &mut worker.parts[part as usize].object
    {
        object.on_refused(of.opaque, why);
    }
}
