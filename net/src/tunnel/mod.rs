//! Tunnels: what all kinds have in common.
//!
//! A tunnel is an interface with an [`Outer`] header. A kind of tunnel is a type that knows its own
//! header ([`Kind`]) and how to take it off ([`Decapsulate`]); addresses, instances, interfaces,
//! fields of the outer header, far ends and nodes are here.
//!
//! IP packets are sent over [mid-chain adjacencies](crate::adjacency::chain). Tunnels for Ethernet
//! frames have a transmit node that leads to the kind's [`Output`]. Received packets find their
//! tunnel in one table of [far ends](ends) that all kinds share. Tunnels to several far ends ask
//! the [TEIB](crate::teib) for them.
#![forbid(unsafe_code)]

pub mod api;
pub mod bypass;
mod carrier;
pub mod command;
mod ends;
mod fields;
mod flow;
mod input;
mod output;
mod sealed;
pub mod show;
mod state;
pub mod testing;

use std::net::IpAddr;

use control::feature::{Refusal, Refused};
use graph::Slot;
use wire::{MacAddr, Protocol};

use crate::adjacency::Link;
use crate::fib::TableIndex;
use crate::interface::{self, InterfaceIndex};
use crate::ip::Chain;
use crate::router::{Configuration, Feature, Origin, Parts, refuse};

pub use api::{EncapDecapFlags, TunnelMode};
pub use ends::{End, Ends, EndsReader, Tuple};
pub use fields::take_congestion;
pub use input::{By, Decapsulate, Input, InputCount, Opened, forget_outer};
pub use output::{CountsAsMost, Encapsulate, Output, OutputCount, Unsent};
pub use state::Tunnels;

/// Default hop limit of packets to a remote endpoint, over IPv4 and IPv6. One of the hops is the
/// hop that a packet spends here.
const HOP_LIMITS: [u8; 2] = [64, 65];
/// As [`Kind::HOP_LIMITS`], of kinds whose far ends may be anywhere.
pub const FAR: [u8; 2] = [254, 255];

/// Default MTU of a new tunnel.
pub const MTU: u32 = 9000;

/// By what packets to a tunnel's near end are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// IP protocols.
    Protocols(&'static [Protocol]),
    /// A UDP port.
    Port(u16),
}

/// The headers of a kind between the outer IP header and the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The protocol in the outer IP header.
    pub protocol: Protocol,
    /// The headers, from that of UDP on where there is one.
    pub bytes: Vec<u8>,
    /// A field of two bytes with the length of all that follows it and some more bytes: its place
    /// in `bytes`, and the place from which on bytes count.
    pub length: Option<(u8, u8)>,
    /// The place of a field of four bytes in `bytes` that numbers frames.
    pub sequence: Option<u8>,
    /// Whether the source port of UDP is that in `bytes`; else it stands for the flow.
    pub keeps_port: bool,
}

impl Behind {
    /// A UDP header with the headers that follow it.
    pub fn udp(port: u16, bytes: &[u8]) -> Self {
        let udp = wire::udp::Header::new(port, port, 0);
        let bytes = [zerocopy::IntoBytes::as_bytes(&udp), bytes].concat();
        Self { bytes, ..Self::nothing(Protocol::UDP) }
    }
    /// Nothing but what the outer header announces.
    pub fn nothing(protocol: Protocol) -> Self {
        let (length, sequence) = (None, None);
        Self { protocol, bytes: Vec::new(), length, sequence, keeps_port: false }
    }
}

/// The headers in front of packets.
pub enum Front {
    /// The outer header, and what the kind has after it.
    Usual,
    /// This, or nothing: the packets are dropped.
    Own(Option<Chain>),
}

/// A look at packets from any far end.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// Whether what is carried may come from a far end, given the number.
    pub check: fn(carried: &[u8], remote: u128, number: u64) -> bool,
    /// A number of the kind's choice.
    pub number: u64,
}

/// A kind of tunnel.
pub trait Kind: Clone + 'static {
    /// First part of the names of its interfaces; the instance follows.
    const PREFIX: &'static str;
    /// Hardware class of its interfaces.
    const HARDWARE: &'static str;
    /// Node that takes packets from far ends, over IPv4 and IPv6.
    const INPUT: [&'static str; 2];
    /// Default hop limit of packets to the remote endpoint, over IPv4 and IPv6.
    const HOP_LIMITS: [u8; 2] = HOP_LIMITS;
    /// Whether its interfaces are up from the start.
    const STARTS_UP: bool = false;

    /// By what packets from far ends are known.
    fn carrier(&self) -> Carrier;
    /// Key that tells apart tunnels between the same addresses.
    fn key(&self) -> u64;
    /// Whether Ethernet frames are carried, and the address of the interface then.
    fn mac(&self, instance: u32) -> Option<MacAddr>;
    /// The headers after the outer one; `None` where the packet cannot be carried.
    fn behind(&self, carried: Link) -> Option<Behind>;
    /// First part of the name of its interface.
    fn prefix(&self) -> &'static str {
        Self::PREFIX
    }
    /// MTU of the tunnel when it is new.
    fn mtu(&self) -> u32 {
        MTU
    }
    /// Kind of carried packets, where headers do not say.
    fn carries(&self) -> Option<Link> {
        None
    }
    /// Headers in front of packets to a next hop, for kinds that find far ends by themselves.
    fn front(&self, outer: &Outer, link: Link, next_hop: IpAddr) -> Front {
        let _ = (outer, link, next_hop);
        Front::Usual
    }
    /// Check on packets, for tunnels that take them from any far end.
    fn guard(&self) -> Option<Guard> {
        None
    }
    /// The node that sends Ethernet frames, for kinds that do.
    fn output(&self, outer: Link) -> Option<&'static str> {
        let _ = outer;
        None
    }
    /// Next node of received packets, an edge of the input node; `None` for that of their kind.
    fn next(&self) -> Option<Slot> {
        None
    }
}

/// The far end that a command names, unspecified for several.
///
/// # Errors
/// None, or one although there are several.
pub fn far_end(src: IpAddr, dst: Option<IpAddr>, is_multipoint: bool) -> Result<IpAddr, Error> {
    match (dst, is_multipoint) {
        (None, true) => Ok(Link::of(src).unspecified()),
        (Some(dst), false) if !dst.is_unspecified() => Ok(dst),
        (dst, _) => Err(Error::Destination(dst.unwrap_or_else(|| Link::of(src).unspecified()))),
    }
}

/// The Ethernet address of interfaces of tunnels for routed packets.
pub const L3_MAC: MacAddr = MacAddr([0xd0, 0x0b, 0xee, 0xd0, 0, 0]);

/// An Ethernet address for the interface of a tunnel, locally administered.
pub fn made_mac<K: Kind>(instance: u32) -> MacAddr {
    let kind = K::PREFIX.bytes().fold(0, |sum: u8, letter| sum.rotate_left(1) ^ letter);
    let [a, b, c, d] = instance.to_be_bytes();
    MacAddr([0x02, kind, a, b, c, d])
}

/// The edge of an input node that a message names.
pub fn decap_next(number: u32) -> Option<Slot> {
    Some(Slot(number)).filter(|slot| slot.0 != u32::MAX)
}

/// The number of such an edge in a message.
pub fn next_number(next: Option<Slot>) -> u32 {
    next.map_or(u32::MAX, |slot| slot.0)
}

/// Number in messages for no interface.
pub fn no_interface() -> InterfaceIndex {
    InterfaceIndex(u32::MAX)
}

/// The outer header of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Local address.
    pub src: IpAddr,
    /// Remote address; unspecified if there are several.
    pub dst: IpAddr,
    /// The interface that a multicast group at the far end is reached by.
    pub group_over: Option<InterfaceIndex>,
    /// Table.
    pub table: TableIndex,
    /// Fields copied from and to carried packets.
    pub flags: EncapDecapFlags,
    /// Code point, where it is not copied.
    pub dscp: u8,
    /// Hops; 0 for those of the kind.
    pub hop_limit: u8,
}

impl Outer {
    /// Between two addresses, nothing special.
    pub fn new(src: IpAddr, dst: IpAddr, table: TableIndex) -> Self {
        let flags = EncapDecapFlags::NONE;
        Self { src, dst, group_over: None, table, flags, dscp: 0, hop_limit: 0 }
    }
    /// Family of the header.
    pub fn link(&self) -> Link {
        Link::of(self.src)
    }
    /// All headers in front of packets to a far end, of a kind without its own.
    pub fn plain(&self, dst: IpAddr, protocol: Protocol, carried: Link) -> Chain {
        self.chain(dst, HOP_LIMITS, carried, &Behind::nothing(protocol))
    }
    /// Whether there are several far ends, which the TEIB knows.
    pub fn is_multipoint(&self) -> bool {
        self.dst.is_unspecified()
    }
}

/// A tunnel of a kind.
#[derive(Clone, Debug)]
pub struct Tunnel<K> {
    /// Number in the name of its interface.
    pub instance: u32,
    /// Interface.
    pub interface: InterfaceIndex,
    /// The outer header.
    pub outer: Outer,
    /// Further state of the kind.
    pub kind: K,
}

/// Reasons why a tunnel is not made or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// source and destination have different address families
    #[retval(INVALID_VALUE)]
    Families,
    /// source and destination are the same
    #[retval(SAME_SRC_DST)]
    SameAddresses,
    /// {0} cannot be the source of a tunnel
    #[retval(INVALID_SRC_ADDRESS)]
    Source(IpAddr),
    /// {0} cannot be the destination of this tunnel
    #[retval(INVALID_DST_ADDRESS)]
    Destination(IpAddr),
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the tunnel exists
    #[retval(TUNNEL_EXISTS)]
    Exists,
    /// no such tunnel
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// the interface is not such a tunnel
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// instance {0} is in use
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// no interface given for multicast group {0}
    #[retval(INVALID_SW_IF_INDEX)]
    NoGroupInterface(IpAddr),
    /// {0}
    #[retval(UDP_PORT_TAKEN)]
    Taken(crate::ip::Error),
    /// {0}
    #[retval(LIMIT_EXCEEDED)]
    Interface(interface::Error),
    /// no such next node of the tunnel's input
    #[retval(INVALID_VALUE)]
    NoNext,
}

/// The mechanism that tunnels share.
pub const FEATURE: Feature = Feature {
    name: "tunnel",
    about: "What tunnels share: far ends, outer headers",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "icmp"],
    register,
    configuration: Configuration::None("its tunnels are those of the kinds"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(state::Common::new().map_err(refuse)?);
    parts.router.interfaces.observe(state::changed);
    Ok(())
}
