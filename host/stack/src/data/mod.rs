//! The data path: connections, tables and ports of threads, nodes, and the interface for
//! applications inside the daemon.
//!
//! The control thread publishes listeners, namespaces and filters; a thread owns its sessions
//! ([`worker`]). An incoming connection belongs to the thread on which it arrives, an outgoing one
//! to the thread that opens it. Segments that arrive on other threads are handed over.

pub mod app;
pub mod apps;
pub mod connecting;
mod datagram;
mod deadlines;
pub mod endpoint;
mod fence;
mod fifo;
mod key;
mod layer;
mod listeners;
mod opening;
mod peers;
pub mod ports;
mod queue;
pub mod session;
mod shares;
pub mod show;
mod source;
mod stack;
mod statistics;
mod stream;
mod tcp;
mod transport;
mod udp;
mod version;
mod visit;
mod worker;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use control::feature::Refused;
use infra::rcu::Shared;
use infra::table::exact::Exact;
use net::{Parts, Router, refuse};

use crate::control::Hook;
use crate::control::namespaces::Change;

pub(crate) use layer::{follow_settings, turning};
pub use queue::Unfinished;

/// Capacity of the directory, for the sessions of all threads.
const DIRECTORY: usize = 1 << 20;

/// Registers nodes and state of the data path.
///
/// # Errors
/// The graph's.
pub(crate) fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let listeners = Shared::new(listeners::Listeners::default());
    let directory = Exact::new(DIRECTORY).map_err(refuse)?;
    let (threads, policy) = (router.engine.thread_rows(), crate::control::policy(router));
    let stack = stack::Stack::new(threads, listeners.reader(), directory.reader(), policy);
    tcp::add_nodes(router, &stack).map_err(refuse)?;
    udp::add_nodes(router, &stack).map_err(refuse)?;
    let (freed, unfinished) = (router.events.sender(), router.events.sender());
    let (stack_of, fenced) = (stack.clone(), router.events.sender());
    let queue = queue::Queue { stack: stack_of, freed, unfinished, fenced, has_told: false };
    let queue = router.engine.add_input(queue).map_err(refuse)?;
    let place = router.engine.index_of(tcp::OUTPUT[0]).expect("it was just added");
    let random = || RandomState::new().build_hasher().finish();
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&random().to_ne_bytes());
    secret[8..].copy_from_slice(&random().to_ne_bytes());
    router.insert(layer::Layer {
        stack,
        listeners,
        next_listener: 0,
        by_app: BTreeMap::new(),
        apps: BTreeMap::new(),
        datagram_ports: BTreeMap::new(),
        ports: ports::Ports::new(ports::Share { place: 0, of: 1 }),
        connects: 0,
        is_on: false,
        directory,
        queue,
        place,
        secret,
        seed: random(),
        failures: fence::Failures::default(),
    });
    router.events.handle(|router: &mut Router, queue::Freed(end)| {
        apps::release_port(router, end.ip().into(), end.port());
    });
    router.events.handle(|router: &mut Router, error: tcp::icmp::Misplaced| {
        layer::post(router, error.thread, move |worker, _, _| {
            worker.troubled(&error.key, error.seq, error.trouble);
        });
    });
    fence::register(router);
    statistics::register(router).map_err(refuse)?;
    router.addresses.observe(layer::follow_addresses);
    router.on_threads.push(layer::follow_threads);
    crate::control::follow(router, Hook { switch: layer::switch, namespace: follow_namespace });
    Ok(())
}

#[cfg(test)]
pub(crate) fn queued(router: &mut Router) -> usize {
    let stack = router.own::<layer::Layer>().stack.clone();
    let all = stack.ask(&mut router.engine, |worker| worker.queued()).unwrap();
    all.iter().map(|(_, queued)| queued).sum()
}

#[cfg(test)]
pub(crate) fn withdraw_all(router: &mut Router) {
    let stack = router.own::<layer::Layer>().stack.clone();
    stack.sweep(&mut router.engine, |worker, index| _ = worker.withdraw_at(index)).unwrap();
}

fn follow_namespace(router: &mut Router, index: u32, change: Change) {
    match change {
        Change::Added => {}
        Change::Moved => apps::move_listeners(router, index),
        Change::Deleting => apps::detach_all_of(router, index),
    }
}
