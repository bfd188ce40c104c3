//! `traceroute`: which routers are on the way to a host (RFC 1812 section 5.3.1, RFC 4443 section
//! 3.3).
//!
//! The command's task sends probes that may go ever farther: UDP to ports that nobody listens on,
//! or echo requests. What comes back are ICMP errors that quote the probe, which reach
//! [`Answers`](crate::ping::Answers); it tells control, and control hands them to the task by what
//! the probe was sent from. Echoes come by way of `ping`. As long as no traceroute is in progress
//! nobody takes ICMP errors.
#![forbid(unsafe_code)]

mod cli;
mod node;
mod probe;
mod task;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use control::feature::Refused;
use wire::{icmp4, icmp6};

use crate::events::Event;
use crate::ip::{self, V4, V6, Version};
use crate::ping::Awaited;
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};
use node::Quotes;

/// The command and the nodes that take ICMP errors about its probes.
pub const FEATURE: Feature = Feature {
    name: "traceroute",
    about: "The way that packets of our own take",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["icmp"],
    register,
    configuration: Configuration::None("probes are sent once"),
};

/// ICMP errors that are answers.
const ERRORS4: [icmp4::Type; 3] = [
    icmp4::Type::DESTINATION_UNREACHABLE,
    icmp4::Type::TIME_EXCEEDED,
    icmp4::Type::PARAMETER_PROBLEM,
];
const ERRORS6: [icmp6::Type; 4] = [
    icmp6::Type::DESTINATION_UNREACHABLE,
    icmp6::Type::PACKET_TOO_BIG,
    icmp6::Type::TIME_EXCEEDED,
    icmp6::Type::PARAMETER_PROBLEM,
];

/// What tells the probes of one command from those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// UDP, else ICMP.
    pub is_udp: bool,
    /// The source port, or the identifier of echo requests.
    pub id: u16,
}

/// What came back about a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Whose probe.
    pub key: Key,
    /// Which one: the destination port, or the number of an echo request.
    pub seq: u16,
    /// Who answered.
    pub from: IpAddr,
    /// Type and code of the ICMP error; `None` for an echo.
    pub error: Option<(u8, u8)>,
    /// When it came, in seconds on the router's clock.
    pub at: f64,
}

impl Event for Answer {}

/// The commands in progress: answers by what their probes are known by.
struct Traces(Awaited<Answer>);

impl Router {
    /// Collects answers about probes from now on.
    ///
    /// # Errors
    /// When others take ICMP errors.
    fn begin_trace(&mut self, key: Key) -> Result<(), ip::Error> {
        if self.traces().is_empty()
            && let Err(why) = self.take_errors(true)
        {
            self.take_errors(false).ok();
            return Err(why);
        }
        self.traces().begin(key);
        Ok(())
    }
    /// No longer collects answers.
    fn end_trace(&mut self, key: Key) {
        self.traces().end(key);
        if self.traces().is_empty() {
            // Nobody to take them: there is nothing that could be refused.
            self.take_errors(false).ok();
        }
    }
    fn take_errors(&mut self, is_on: bool) -> Result<(), ip::Error> {
        for kind in ERRORS4 {
            let node = is_on.then_some(V4::ANSWERS);
            self.redispatch(V4::NODES.icmp_input, kind.0.into(), node)?;
        }
        for kind in ERRORS6 {
            let node = is_on.then_some(V6::ANSWERS);
            self.redispatch(V6::NODES.icmp_input, kind.0.into(), node)?;
        }
        Ok(())
    }
    fn next_answer(&mut self, key: Key) -> Option<Answer> {
        self.traces().next(key)
    }
    fn traces(&mut self) -> &mut Awaited<Answer> {
        &mut self.own_mut::<Traces>().0
    }
}

/// Takes note of an answer that the data plane reported.
fn answered(router: &mut Router, answer: Answer) {
    if let Some(Traces(answers)) = router.state_mut() {
        answers.note(answer);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let answers = Awaited::new();
    answers.add_node::<V4>(router).map_err(refuse)?;
    answers.add_node::<V6>(router).map_err(refuse)?;
    router.events.handle(answered);
    router.insert(Traces(answers));
    cli::register(&mut parts.cli);
    Ok(())
}
