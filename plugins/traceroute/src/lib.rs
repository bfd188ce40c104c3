//! `traceroute`: the routers on the path to a host (RFC 1812 section 5.3.1, RFC 4443 section
//! 3.3).
//!
//! The command's task sends probes with increasing hop limits: UDP to ports without a listener, or
//! echo requests. Answers are ICMP errors that quote the probe, which reach
//! [`Answers`](ping::Answers); it reports them to control, which finds the task by the probe's
//! source. Echo replies reach the plugin `ping`. ICMP errors are taken only while a traceroute is
//! in progress.
#![forbid(unsafe_code)]

mod cli;
mod node;
mod probe;
mod task;

use net::ip;
use net::prelude::*;
use node::Quotes;
use ping::PendingAnswers;

/// The command and the nodes that take ICMP errors about its probes.
pub const FEATURE: Feature = Feature {
    name: "traceroute",
    about: "The routers on the path to a host",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["icmp", "ping"],
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

/// The key that tells the probes of one command from those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// UDP, else ICMP.
    pub is_udp: bool,
    /// The source port, or the identifier of echo requests.
    pub id: u16,
}

/// The answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Key of the probe.
    pub key: Key,
    /// Number of the probe: the destination port, or the number of an echo request.
    pub seq: u16,
    /// Address that answered.
    pub from: IpAddr,
    /// Type and code of the ICMP error; `None` for an echo.
    pub error: Option<(u8, u8)>,
    /// Time of arrival, in seconds on the router's clock.
    pub at: f64,
}

impl Event for Answer {}

/// The commands in progress: answers by what their probes are known by.
struct Traces(PendingAnswers<Answer>);

/// Collects answers about probes from now on.
///
/// # Errors
/// When others take ICMP errors.
fn begin(router: &mut Router, key: Key) -> Result<(), ip::Error> {
    if is_idle(router)
        && let Err(why) = take_errors(router, true)
    {
        take_errors(router, false).ok();
        return Err(why);
    }
    router.own_mut::<Traces>().0.begin(key);
    Ok(())
}

/// No longer collects answers.
fn end(router: &mut Router, key: Key) {
    router.own_mut::<Traces>().0.end(key);
    if is_idle(router) {
        // To nodes that others have taken nothing is given back.
        take_errors(router, false).ok();
    }
}

fn take_errors(router: &mut Router, is_on: bool) -> Result<(), ip::Error> {
    for kind in ERRORS4 {
        let node = is_on.then_some(V4::ANSWERS);
        router.redispatch(V4::NODES.icmp_input, kind.0.into(), node)?;
    }
    for kind in ERRORS6 {
        let node = is_on.then_some(V6::ANSWERS);
        router.redispatch(V6::NODES.icmp_input, kind.0.into(), node)?;
    }
    Ok(())
}

/// Whether no traceroute is in progress.
pub fn is_idle(router: &Router) -> bool {
    router.own::<Traces>().0.is_empty()
}

/// Takes note of an answer that the data plane reported.
fn answered(router: &mut Router, answer: Answer) {
    router.own_mut::<Traces>().0.note(answer);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let answers = PendingAnswers::default();
    answers.add_node::<V4>(router).map_err(refuse)?;
    answers.add_node::<V6>(router).map_err(refuse)?;
    router.events.handle(answered);
    router.insert(Traces(answers));
    cli::register(&mut parts.cli);
    Ok(())
}
