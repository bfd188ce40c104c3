//! The binary API over a unix stream socket, in both directions: a header of 16 bytes (eight
//! without meaning, length as u32 big endian, four without meaning), then so many bytes of message.
//!
//! A connection begins with `sockclnt_create`; its reply lists all messages with their numbers.
//! Requests of a connection are answered in the order they come. Many may be sent without waiting:
//! they are decoded where they were read, and answers leave in as few writes as the socket takes.
//!
//! No client blocks others: requests are processed in slices of 2 ms, and while a client does not
//! read its replies, none of its requests are read.

mod connection;
mod handshake;
mod replay;
mod transport;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use rustix::process::{Resource, getrlimit};
use tokio::task::spawn_local;
use tokio::time::Instant;

use super::clients::Clients;
use super::registry::Api;
use super::work::Registries;
use crate::cli::Cli;
use crate::log::Logger;
use crate::session::{Listener, Stream};
use connection::Connection;

/// Most connections at a time; more are turned away.
const MAX_CONNECTIONS: usize = 16_384;

/// Most connections where this process may have so many files: the other sockets and interfaces
/// need some, too.
fn most_connections(files: Option<u64>) -> usize {
    let files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    MAX_CONNECTIONS.min(files / 4 * 3)
}

/// Answers any number of clients. Clones are the same server.
///
/// It lives on one thread, inside a `tokio::task::LocalSet`. The context is borrowed only while a
/// request or a slice of one is answered.
pub struct Server<C>(Rc<Shared<C>>);

struct Shared<C> {
    api: Rc<Api<C>>,
    cli: Rc<Cli<C>>,
    cx: Rc<RefCell<C>>,
    clients: Clients,
    log: Logger,
    connections: Cell<usize>,
    /// Most of them.
    most: usize,
}

impl<C> Clone for Server<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: 'static> Server<C> {
    /// A server without clients. `clients` is the context's; [`Api::finish`] must have been called
    /// with it.
    pub fn new(
        api: Rc<Api<C>>,
        cli: Rc<Cli<C>>,
        cx: Rc<RefCell<C>>,
        clients: Clients,
        log: Logger,
    ) -> Self {
        let connections = Cell::new(0);
        let most = most_connections(getrlimit(Resource::Nofile).current);
        Self(Rc::new(Shared { api, cli, cx, clients, log, connections, most }))
    }

    /// Accepts connections until the listener fails for good.
    pub async fn serve(&self, listener: Listener) -> io::Result<()> {
        spawn_local(replay::run(self.clone()));
        loop {
            let Stream::Unix(stream) = listener.accept().await? else { continue };
            let connections = &self.0.connections;
            if connections.get() == self.0.most {
                let most = self.0.most;
                self.0.log.warn(format_args!("more than {most} clients: one was rejected"));
                continue;
            }
            connections.set(connections.get() + 1);
            let server = self.clone();
            spawn_local(async move {
                Connection::new(&server, stream).run().await;
                let connections = &server.0.connections;
                connections.set(connections.get() - 1);
            });
        }
    }
}

impl<C> Shared<C> {
    fn around(&self) -> Registries<'_, C> {
        Registries { api: &self.api, cli: &self.cli, clients: &self.clients }
    }
}

#[allow(clippy::disallowed_methods, reason = "clients and their slices live in real time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
