//! Tunnels that carry IP packets in IP packets (RFC 2003, RFC 2473, RFC 4213).
#![forbid(unsafe_code)]

mod api;
mod cli;
mod sixrd;

use net::prelude::*;
use net::tunnel::{Behind, By, Carrier, Decapsulate, Front, Guard, Kind, MTU, Opened, Outer};

pub use api::*;
pub use sixrd::SixRd;

/// MPLS in IP (RFC 4023).
const MPLS_IN_IP: Protocol = Protocol(137);

/// The kind of tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipip {
    /// Rule by which far ends are found in the addresses of packets, if they are.
    pub sixrd: Option<SixRd>,
}

impl Kind for Ipip {
    const PREFIX: &'static str = "ipip";
    const HARDWARE: &'static str = "IPIP";
    const INPUT: [&'static str; 2] = ["ipip4-input", "ipip6-input"];

    fn carrier(&self) -> Carrier {
        Carrier::Protocols(&[Protocol::IP4, Protocol::IP6, MPLS_IN_IP])
    }
    fn key(&self) -> u64 {
        0
    }
    fn mac(&self, _: u32) -> Option<MacAddr> {
        None
    }
    fn behind(&self, carried: Link) -> Option<Behind> {
        let protocol = match carried {
            Link::Ip4 => Protocol::IP4,
            Link::Ip6 => Protocol::IP6,
            Link::Mpls => MPLS_IN_IP,
            Link::Ethernet => return None,
        };
        Some(Behind::nothing(protocol))
    }
    fn prefix(&self) -> &'static str {
        if self.sixrd.is_some() { sixrd::PREFIX } else { Self::PREFIX }
    }
    fn mtu(&self) -> u32 {
        if self.sixrd.is_some() { sixrd::MTU } else { MTU }
    }
    fn front(&self, outer: &Outer, link: Link, next_hop: IpAddr) -> Front {
        self.sixrd.map_or(Front::Usual, |rule| Front::Own(rule.chain(outer, link, next_hop)))
    }
    fn guard(&self) -> Option<Guard> {
        self.sixrd.map(SixRd::guard)
    }
}

/// Drops of the input nodes.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// no tunnel.
    #[name("no tunnel")]
    NoTunnel,
    /// bad protocol.
    #[name("bad protocol")]
    BadProtocol,
    /// fragmented outer packet.
    #[name("fragmented outer packet")]
    Fragmented,
}

/// Counters of the input nodes.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets decapsulated.
    #[name("packets decapsulated")]
    Decapsulated,
}

impl Decapsulate for Ipip {
    type Error = Error;
    type Count = Count;
    const NO_TUNNEL: Error = Error::NoTunnel;
    const DECAPSULATED: Count = Count::Decapsulated;

    #[inline(always)]
    fn open(_: &[u8], by: By) -> Result<Opened, Error> {
        let carried = match by.protocol {
            Protocol::IP4 => Link::Ip4,
            Protocol::IP6 => Link::Ip6,
            MPLS_IN_IP => Link::Mpls,
            _ => return Err(Error::BadProtocol),
        };
        Ok(Opened { key: 0, len: 0, carried })
    }
}

/// IP in IP tunnels.
pub const FEATURE: Feature = Feature {
    name: "ipip",
    about: "IP in IP tunnels",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["tunnel", "teib"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.add_tunnel_kind::<Ipip>().map_err(refuse)?;
    cli::register(&mut parts.cli);
    sixrd::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
