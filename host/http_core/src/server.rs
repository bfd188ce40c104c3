//! The application that parses requests and writes the responses of a site.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use host_stack::{Application, Endpoint, Error, Failure, Options, SessionId, Stream};
use net::Router;

use crate::arrival::Arrival;
use crate::request::{MOST_HEAD, Method, Outcome, Refused, Request};
use crate::response::{Answer, Response, Ticket};

/// Answers requests on a data-plane thread; long work needs a [`Ticket`].
pub trait Site: Send + 'static {
    /// Answers a request; `now` is the router's clock in seconds.
    fn answer(&mut self, request: &Request<'_>, now: f64) -> Answer;
}

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Connections per thread; one host, or one IPv6 prefix of 64 bits, may have a quarter of them.
    pub connections: usize,
    /// Size of a request body in bytes.
    pub body: usize,
    /// Seconds for receiving a request, and for sending 16 KB of its response.
    pub request: f64,
    /// Seconds between two requests on a connection.
    pub idle: f64,
    /// Seconds for a deferred response.
    pub ticket: f64,
}

impl Limits {
    /// Size of the longest request in bytes.
    fn longest(&self) -> usize {
        MOST_HEAD + self.body
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 4096, body: 8192, request: 10.0, idle: 60.0, ticket: 30.0 }
    }
}

/// Number of hosts that can use up all connections.
const SHARES: usize = 4;
/// Seconds to wait for the client to close after the last response.
const LINGER: f64 = 2.0;
/// Bytes of a response that the client has to accept within the time of a request.
const PROGRESS: usize = 16 << 10;
/// Interval for polling a ticket in seconds.
const LOOK: f64 = 0.002;

/// Bytes of a receive FIFO beyond the longest request.
const SLACK: usize = 4096;

/// A server's application on one thread.
struct Server<S> {
    site: S,
    limits: Limits,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// Number of connections by host.
    hosts: HashMap<IpAddr, usize>,
    /// A request that is in several pieces.
    scratch: Vec<u8>,
}

/// A connection.
struct Connection {
    host: IpAddr,
    doing: Doing,
    /// Deadline of the current step.
    deadline: f64,
    /// Whether another request may follow the response.
    is_kept: bool,
    /// Whether the response has no body.
    is_head: bool,
    /// Whether the client has finished sending.
    is_finished: bool,
    arrival: Arrival,
}

enum Doing {
    /// Waiting for a request.
    Reading,
    /// Waiting for a deferred response.
    Waiting(Ticket),
    /// Writing a response: head, body, and number of bytes written so far.
    Writing(Vec<u8>, Arc<[u8]>, usize),
    /// The last response is written: received bytes are discarded until the client closes. Closing
    /// with unread bytes would reset the connection and could lose the response (RFC 9112 9.6).
    Draining,
}

/// Attaches a server that listens at an endpoint; returns the numbers of the application and of
/// the listener. `site` creates the site of each thread. The receive FIFO is made as large as the
/// longest request.
///
/// # Errors
/// See [`host_stack::serve`]; nothing has changed then.
pub fn serve<S: Site>(
    router: &mut Router,
    name: &str,
    mut options: Options,
    limits: Limits,
    at: Endpoint,
    site: impl Fn() -> S + 'static,
) -> Result<(u32, u32), Error> {
    // The size also bounds the window, which is advertised in units.
    let least = u32::try_from(limits.longest() + SLACK).unwrap_or(u32::MAX);
    options.rx_fifo = options.rx_fifo.max(least);
    host_stack::serve(router, name, options, at, move |_| Box::new(Server::new(site(), limits)))
}

impl<S: Site> Server<S> {
    /// Creates a server without connections.
    fn new(site: S, limits: Limits) -> Self {
        let (connections, free, hosts) = (Vec::new(), Vec::new(), HashMap::new());
        Self { site, limits, connections, free, hosts, scratch: vec![0; limits.longest()] }
    }

    fn open(&mut self, peer: IpAddr, deadline: f64) -> Option<usize> {
        let used = self.connections.len() - self.free.len();
        let (host, share) = (wire::ip::source_of(peer), self.limits.connections.div_ceil(SHARES));
        let own = self.hosts.get(&host).copied().unwrap_or(0);
        if used >= self.limits.connections || own >= share {
            return None;
        }
        self.hosts.insert(host, own + 1);
        let new = Connection {
            host,
            doing: Doing::Reading,
            deadline,
            is_kept: true,
            is_head: false,
            is_finished: false,
            arrival: Arrival::default(),
        };
        match self.free.pop() {
            Some(place) => {
                self.connections[place] = Some(new);
                Some(place)
            }
            None => {
                self.connections.push(Some(new));
                Some(self.connections.len() - 1)
            }
        }
    }

    fn forget(&mut self, data: u64) {
        let Some(place) = place(data) else { return };
        let Some(gone) = self.connections.get_mut(place).and_then(Option::take) else { return };
        self.free.push(place);
        match self.hosts.get_mut(&gone.host) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.hosts.remove(&gone.host)),
        }
    }

    fn close(&mut self, stream: &mut Stream<'_>) {
        self.forget(stream.data());
        stream.close();
    }

    /// Processes a connection as far as possible.
    fn advance(&mut self, stream: &mut Stream<'_>) {
        loop {
            let Some(connection) = at(&mut self.connections, stream.data()) else {
                return stream.reset();
            };
            let now = stream.now();
            let is_more = match &mut connection.doing {
                Doing::Reading => self.read(stream),
                Doing::Waiting(ticket) => match ticket.take() {
                    Some(response) => {
                        connection.respond(response, now + self.limits.request);
                        true
                    }
                    None if now >= connection.deadline => {
                        connection.respond(Response::status(504), now + self.limits.request);
                        true
                    }
                    None => {
                        stream.wake_in(LOOK);
                        false
                    }
                },
                Doing::Writing(head, body, at) => {
                    let before = *at / PROGRESS;
                    let is_done = write(stream, [head, body], at);
                    if *at / PROGRESS > before {
                        connection.deadline = now + self.limits.request;
                    }
                    match is_done {
                        true if connection.is_kept && !connection.is_finished => {
                            connection.doing = Doing::Reading;
                            connection.deadline = now + self.limits.idle;
                            stream.wake_in(self.limits.idle);
                            stream.readable() > 0
                        }
                        true if connection.is_finished => return self.close(stream),
                        true => {
                            stream.shut();
                            connection.doing = Doing::Draining;
                            connection.deadline = now + LINGER;
                            true
                        }
                        false if now >= connection.deadline => {
                            self.forget(stream.data());
                            return stream.reset();
                        }
                        false => {
                            stream.wake_in(connection.deadline - now);
                            false
                        }
                    }
                }
                Doing::Draining => {
                    stream.consume(stream.readable());
                    if connection.is_finished || now >= connection.deadline {
                        return self.close(stream);
                    }
                    stream.wake_in(connection.deadline - now);
                    false
                }
            };
            if !is_more {
                return;
            }
        }
    }

    /// Reads a request if it is complete; returns whether there is something to do now.
    fn read(&mut self, stream: &mut Stream<'_>) -> bool {
        let (now, limits) = (stream.now(), self.limits);
        let Some(connection) = at(&mut self.connections, stream.data()) else { return false };
        let (site, scratch) = (&mut self.site, &mut self.scratch[..]);
        let outcome = connection.arrival.advance(stream, limits.body, scratch, |request| {
            let is_head = request.method == Method::Head;
            (site.answer(request, now), request.is_kept, is_head)
        });
        match outcome {
            Outcome::Partial(_) if connection.is_finished || now >= connection.deadline => {
                connection.is_kept = false;
                if stream.readable() == 0 {
                    self.close(stream);
                    return false;
                }
                connection.respond(Response::status(408), now + limits.request);
                true
            }
            Outcome::Partial(_) => {
                let begun = now + limits.request;
                if stream.readable() > 0 && connection.deadline > begun {
                    connection.deadline = begun;
                }
                stream.wake_in(connection.deadline - now);
                false
            }
            Outcome::Refused(Refused(status)) => {
                connection.is_kept = false;
                connection.respond(Response::status(status), now + limits.request);
                true
            }
            Outcome::Complete(len, (answer, is_kept, is_head)) => {
                (connection.is_kept, connection.is_head) = (is_kept, is_head);
                match answer {
                    Answer::Now(response) => connection.respond(response, now + limits.request),
                    Answer::Later(ticket) => {
                        connection.doing = Doing::Waiting(ticket);
                        connection.deadline = now + limits.ticket;
                    }
                }
                connection.arrival = Arrival::default();
                stream.consume(len);
                true
            }
        }
    }
}

impl Connection {
    fn respond(&mut self, response: Response, deadline: f64) {
        let is_kept = self.is_kept && !self.is_finished;
        let head = response.head(is_kept).into_bytes();
        let body = if self.is_head { Arc::from([]) } else { response.body };
        self.doing = Doing::Writing(head, body, 0);
        self.deadline = deadline;
    }
}

/// Writes as much as fits into the buffer; returns whether everything is written.
fn write(stream: &mut Stream<'_>, parts: [&[u8]; 2], at: &mut usize) -> bool {
    let mut begin = 0;
    for part in parts {
        let from = at.saturating_sub(begin);
        if from < part.len() {
            let taken = stream.write(&part[from..]);
            *at += taken;
            if taken < part.len() - from {
                return false;
            }
        }
        begin += part.len();
    }
    true
}

fn place(data: u64) -> Option<usize> {
    usize::try_from(data).ok()?.checked_sub(1)
}

fn at(connections: &mut [Option<Connection>], data: u64) -> Option<&mut Connection> {
    connections.get_mut(place(data)?)?.as_mut()
}

impl<S: Site> Application for Server<S> {
    fn on_accept(&mut self, stream: &mut Stream<'_>) -> bool {
        let (peer, deadline) = (stream.ends().peer.ip(), stream.now() + self.limits.request);
        let Some(place) = self.open(peer, deadline) else { return false };
        stream.set_data(place as u64 + 1);
        stream.wake_in(self.limits.request);
        true
    }

    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        // Further requests wait until the response is written.
        if let Some(Connection { doing: Doing::Reading | Doing::Draining, .. }) =
            at(&mut self.connections, stream.data())
        {
            self.advance(stream);
        }
    }

    fn on_writable(&mut self, stream: &mut Stream<'_>) {
        self.advance(stream);
    }

    fn on_close(&mut self, stream: &mut Stream<'_>) {
        if let Some(connection) = at(&mut self.connections, stream.data()) {
            connection.is_finished = true;
        }
        self.advance(stream);
    }

    fn on_reset(&mut self, _: SessionId, data: u64, _: Failure) {
        self.forget(data);
    }

    fn on_timer(&mut self, stream: &mut Stream<'_>) {
        self.advance(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Site for Nothing {
        fn answer(&mut self, _: &Request<'_>, _: f64) -> Answer {
            Answer::Now(Response::status(404))
        }
    }

    #[test]
    fn one_host_gets_a_quarter_of_the_places() {
        let limits = Limits { connections: 8, ..Limits::default() };
        let mut server = Server::new(Nothing, limits);
        let open =
            |server: &mut Server<Nothing>, host: &str| server.open(host.parse().unwrap(), 1.0);
        for host in ["10.0.0.1", "2001:db8::1", "2001:db8:0:1::1"] {
            assert!(open(&mut server, host).is_some() && open(&mut server, host).is_some());
            assert_eq!(open(&mut server, host), None, "{host}");
        }
        assert_eq!(open(&mut server, "2001:db8::2"), None, "it has the prefix of another");
        server.forget(1);
        server.forget(1);
        assert_eq!(open(&mut server, "10.0.0.1"), Some(0));
        assert_eq!(open(&mut server, "10.0.0.1"), None);
        assert!(open(&mut server, "10.0.0.2").is_some() && open(&mut server, "10.0.0.3").is_some());
        assert_eq!(open(&mut server, "10.0.0.4"), None, "all are taken");
    }
}
