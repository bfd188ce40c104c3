//! `ping`: asks a host for an echo and waits for it (RFC 792, RFC 4443 section 4).
//!
//! The command's task has control inject echo requests at the lookup; each carries the time at
//! which it was put into the graph. Echoes reach [`Replies`], which reads the clock and tells
//! control, and control hands them to the task by the request's identifier.

mod api;
mod cli;
mod node;
mod origin;
mod packet;
mod task;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use control::feature::Refused;
use infra::rcu::Shared;
use wire::{icmp4, icmp6};

use crate::ip::{V4, V6};
use crate::router::{Feature, Parts, Router, refuse};

pub(crate) use cli::arg;
pub use node::{Echoes, Replies};
pub(crate) use origin::Origin;
pub(crate) use packet::{Way, echo_request, stamp};

/// The command and the nodes that take echo replies.
pub const FEATURE: Feature =
    Feature { name: "ping", about: "Echo requests of our own", default_enabled: true, register };

/// Echoes that wait for a task to look at them.
const MOST_WAITING: usize = 1024;

/// An echo of a request of ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EchoReply {
    /// Whose request.
    pub id: u16,
    /// Which one.
    pub seq: u16,
    /// Who answered.
    pub from: IpAddr,
    /// Hops it had left.
    pub ttl: u8,
    /// From the request's start to the echo's arrival, in seconds.
    pub seconds: f64,
}

/// The commands in progress.
struct Pings {
    /// Identifiers of requests, for the nodes.
    ids: Shared<Vec<u16>>,
    /// Echoes by identifier.
    waiting: HashMap<u16, VecDeque<EchoReply>>,
    last: u16,
    /// Pings that API clients wait for.
    in_background: HashMap<u64, api::Waiting>,
    last_key: u64,
}

impl Pings {
    /// An identifier for one more command.
    fn begin(&mut self) -> u16 {
        loop {
            self.last = self.last.wrapping_add(1);
            if !self.waiting.contains_key(&self.last) {
                break;
            }
        }
        self.waiting.insert(self.last, VecDeque::new());
        self.publish();
        self.last
    }
    /// A command is over.
    fn end(&mut self, id: u16) {
        self.waiting.remove(&id);
        self.publish();
    }
    /// The next echo for a command.
    fn next(&mut self, id: u16) -> Option<EchoReply> {
        self.waiting.get_mut(&id)?.pop_front()
    }
    fn publish(&mut self) {
        self.ids.publish(self.waiting.keys().copied().collect());
    }
}

/// An identifier for echo requests, whose echoes are kept until [`end`].
pub(crate) fn begin(router: &mut Router) -> u16 {
    router.state_mut::<Pings>().expect("the feature put its state in").begin()
}

/// No more echo requests are sent with an identifier.
pub(crate) fn end(router: &mut Router, id: u16) {
    router.state_mut::<Pings>().expect("the feature put its state in").end(id);
}

/// The next echo of a request with an identifier.
pub(crate) fn next(router: &mut Router, id: u16) -> Option<EchoReply> {
    router.state_mut::<Pings>()?.next(id)
}

/// Takes note of an echo that the data plane reported.
pub fn answered(router: &mut Router, reply: EchoReply) {
    let pings = router.state_mut::<Pings>();
    if let Some(waiting) = pings.and_then(|p| p.waiting.get_mut(&reply.id))
        && waiting.len() < MOST_WAITING
    {
        waiting.push_back(reply);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let ids = Shared::new(Vec::new());
    let replies4 = Replies::<V4>::new(ids.reader(), router.events.sender());
    let replies6 = Replies::<V6>::new(ids.reader(), router.events.sender());
    router.engine.add(replies4).map_err(refuse)?;
    router.engine.add(replies6).map_err(refuse)?;
    router.icmp4_type(icmp4::Type::ECHO_REPLY, node::name::<V4>()).map_err(refuse)?;
    router.icmp6_type(icmp6::Type::ECHO_REPLY, node::name::<V6>()).map_err(refuse)?;
    let (waiting, in_background) = (HashMap::new(), HashMap::new());
    router.insert(Pings { ids, waiting, last: 0, in_background, last_key: 0 });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
