//! State that the nodes share: sessions, configuration, counters, reasons.

use infra::counter::{Counter, Rows};
use nat_log::{Ends, Record};
use net::prelude::*;
use sessions::{Affinity, Counted, Flow4, Flow6, Sessions, Table, tcp};
use translation::session;
pub use translation::session::{has_ports, note, outside_end};
use zerocopy::FromZeros;

/// Configuration of the nodes.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The address of the AFTR, if there is one.
    pub aftr: Option<Ipv6Addr>,
    /// The address of the B4, if that is our role and it has one.
    pub b4: Option<Ipv6Addr>,
    /// Addresses that hosts share.
    pub pool: Vec<Ipv4Addr>,
}

/// State of a session besides its flows.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(C)]
pub struct Data {
    /// TCP.
    pub tcp: tcp::State,
    rest: [u8; 7],
}

impl AsMut<tcp::State> for Data {
    fn as_mut(&mut self) -> &mut tcp::State {
        &mut self.tcp
    }
}

/// A session: an end of a host behind a B4, and its end outside, as flows without a far end.
pub type NatSession = Counted<Flow6, Flow4, Data>;
/// The sessions of a thread.
pub type NatTable = Table<Flow6, Flow4, Data>;
/// The B4s of a thread; the data is how many sessions there are.
pub type Elements = Table<Flow6, Flow6, u32>;

/// All sessions and B4s.
#[derive(Clone)]
pub struct All {
    /// Sessions.
    pub sessions: Sessions<Flow6, Flow4, Data>,
    /// B4s.
    pub elements: Sessions<Flow6, Flow6, u32>,
}

/// State that the nodes share.
#[derive(Clone)]
pub struct Core {
    /// Sessions.
    pub all: Reader<All>,
    /// Configuration.
    pub config: Reader<Config>,
    /// B4s and sessions, by thread.
    pub totals: [Rows<Counter>; 2],
}

impl Core {
    /// Says how many B4s and sessions a thread has.
    pub fn show_totals(&self, thread: usize, sessions: &NatTable, elements: &Elements) {
        let counts = [elements.usage().sessions, sessions.usage().sessions];
        session::show_totals(&self.totals, thread, &counts);
    }
}

/// A host's end behind a B4: the B4 is the source, the host the destination.
pub fn host_end(b4: Ipv6Addr, host: ([u8; 4], u16), protocol: Protocol) -> Flow6 {
    let mapped = Ipv4Addr::from(host.0).to_ipv6_mapped();
    Flow6::new((b4.octets(), host.1), (mapped.octets(), 0), protocol, 0)
}

/// The B4 of a session, and the host behind it with its port; `forward` is its flow.
pub fn host_of(forward: &Flow6) -> (Ipv6Addr, Ipv4Addr, u16) {
    let Flow6 { src, dst, src_port, .. } = *forward;
    let [.., a, b, c, d] = dst;
    (src.into(), Ipv4Addr::new(a, b, c, d), src_port)
}

/// A B4 as a flow.
pub fn element(b4: [u8; 16]) -> Flow6 {
    Flow6::new((b4, 0), ([0; 16], 0), Protocol(0), 0)
}

/// The hash that a B4 goes by.
#[inline(always)]
pub fn hash_of(b4: Ipv6Addr, seed: u64) -> u64 {
    element(b4.octets()).meeting(seed)
}

/// The way of packets to an end outside.
#[inline(always)]
pub fn affinity_of_end(end: ([u8; 4], u16), protocol: Protocol, seed: u64) -> Affinity {
    Affinity::of(outside_end(end, protocol).meeting(seed))
}

/// Notes the end of a session: a B4 goes with its last one.
pub fn ended(elements: &mut Elements, session: &NatSession) {
    let Some(at) = elements.find(&element(session.forward.src)) else { return };
    if let Some(count) = elements.data_mut(at) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            elements.remove(at);
        }
    }
}

/// The record of a session.
pub fn record(is_new: bool, session: &NatSession) -> Record {
    let (b4, host, port) = host_of(&session.forward);
    Record::Mapping(
        is_new,
        Ends {
            host: (IpAddr::V4(host), port),
            outside: (session.reverse.dst.into(), session.reverse.dst_port),
            protocol: session.reverse.protocol(),
            fib: 0,
            tunnel: Some(b4),
        },
    )
}

/// Drops and counters of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// valid in2out DS-Lite packets.
    #[name("valid in2out DS-Lite packets")]
    #[severity("info")]
    In2Out,
    /// valid out2in DS-Lite packets.
    #[name("valid out2in DS-Lite packets")]
    #[severity("info")]
    Out2In,
    /// valid CE encap DS-Lite packets.
    #[name("valid CE encap DS-Lite packets")]
    #[severity("info")]
    Encap,
    /// valid CE decap DS-Lite packets.
    #[name("valid CE decap DS-Lite packets")]
    #[severity("info")]
    Decap,
    /// no translation.
    #[name("no translation")]
    NoTranslation,
    /// bad ip6 protocol.
    #[name("bad ip6 protocol")]
    BadIp6Protocol,
    /// out of ports.
    #[name("out of ports")]
    OutOfPorts,
    /// unsupported protocol.
    #[name("unsupported protocol")]
    Protocol,
    /// unsupported icmp type.
    #[name("unsupported icmp type")]
    IcmpType,
    /// unknown.
    #[name("unknown")]
    Unknown,
}
