//! `ping`: asks a host for an echo and waits for it (RFC 792, RFC 4443 section 4).
//!
//! The command's task has control inject echo requests at the lookup; each carries the time at
//! which it was put into the graph. Echoes reach [`Answers`], which reads the clock and tells
//! control, and control hands them to the task by the request's identifier.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod origin;
mod packet;
mod pending;
mod task;

use net::prelude::*;

pub use api::{PingFinishedEvent, WantPingFinishedEvents};
pub use cli::arg;
pub use node::Echoes;
pub use origin::{Error, Origin};
pub use packet::{Header, MOST, Sent, echo_request, stamp};
pub use pending::{Answer, AnswerFormat, Answers, PendingAnswers};
pub use task::{Echo, Statistics};

/// The command and the nodes that take echo replies.
pub const FEATURE: Feature = Feature {
    name: "ping",
    about: "Ping (ping)",
    origin: net::Origin::Plugin,
    default_enabled: true,
    requires: &["icmp"],
    register,
    configuration: Configuration::None("echo requests are sent once"),
};

/// An echo of a request of ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EchoReply {
    /// Identifier of the requests.
    pub id: u16,
    /// Number of the request.
    pub seq: u16,
    /// Address that answered.
    pub from: IpAddr,
    /// Hops it had left.
    pub ttl: u8,
    /// From the request's start to the echo's arrival, in seconds.
    pub seconds: f64,
}

impl Event for EchoReply {}

/// The commands in progress.
struct Pings {
    /// Echoes by the identifier of requests.
    echoes: PendingAnswers<EchoReply>,
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
            if !self.echoes.has(self.last) {
                break;
            }
        }
        self.echoes.begin(self.last);
        self.last
    }
}

/// Whether no echo is awaited.
pub fn is_idle(router: &Router) -> bool {
    router.own::<Pings>().echoes.is_empty()
}

/// An identifier for echo requests, whose echoes are kept until [`end`].
pub fn begin(router: &mut Router) -> u16 {
    router.own_mut::<Pings>().begin()
}

/// No more echo requests are sent with an identifier.
pub fn end(router: &mut Router, id: u16) {
    router.own_mut::<Pings>().echoes.end(id);
}

/// The next echo of a request with an identifier.
pub fn next(router: &mut Router, id: u16) -> Option<EchoReply> {
    router.own_mut::<Pings>().echoes.next(id)
}

/// Takes note of an echo that the data plane reported.
fn answered(router: &mut Router, reply: EchoReply) {
    router.own_mut::<Pings>().echoes.note(reply);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let echoes = PendingAnswers::default();
    echoes.add_node::<V4>(router).map_err(refuse)?;
    echoes.add_node::<V6>(router).map_err(refuse)?;
    router.icmp4_type(icmp4::Type::ECHO_REPLY, V4::REPLIES).map_err(refuse)?;
    router.icmp6_type(icmp6::Type::ECHO_REPLY, V6::REPLIES).map_err(refuse)?;
    router.events.handle(answered);
    router.insert(Pings { echoes, last: 0, in_background: HashMap::new(), last_key: 0 });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
