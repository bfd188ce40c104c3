//! IPv4 or IPv6 as a type parameter of the nodes that are the same for both.

use std::fmt::{Debug, Display};

use graph::arc::FeatureArc;
use graph::{Buffer, Reason};
use infra::counter::{Counter, Rows};
use wire::checksum::Sum;
use wire::{IpVersion, MacAddr, Protocol};

use super::balanced::Linked;
use super::reverse_path::SourceFamily;
use super::{V4, V6};
use crate::adjacency::Link;
use crate::drops::Problem;
use crate::fib::Family;
use crate::interface::Counters;

/// An IP version. Functions on packets take those whose current bytes start at the IP header.
pub trait Version: Linked + Debug {
    /// Reasons for drops in all nodes that check headers.
    type Error: Reason;
    /// Its addresses and what routes know of them.
    type Family: SourceFamily;

    /// The version itself: it has no state.
    const SELF: Self;
    /// The version as a value.
    const VERSION: IpVersion = IpVersion::six(matches!(Self::LINK, Link::Ip6));
    /// Its place in arrays of both versions: 0 for IPv4, 1 for IPv6.
    const INDEX: usize = Self::VERSION as usize;
    /// Names of its nodes.
    const NODES: Nodes;
    /// Features on what is received, to one receiver.
    const UNICAST_ARC: &'static FeatureArc;
    /// Features on what is dropped.
    const DROP_ARC: &'static FeatureArc;
    /// Features on what is given to control.
    const PUNT_ARC: &'static FeatureArc;
    /// Features on what is for this router.
    const LOCAL_ARC: &'static FeatureArc;
    /// Features on what is sent.
    const OUTPUT_ARC: &'static FeatureArc;

    /// Dropped for no reason that has a name of its own.
    const DROPPED: Self::Error;
    /// The last hop is used up.
    const EXPIRED: Self::Error;
    /// Too big for the link.
    const TOO_BIG: Self::Error;
    /// Protocol without a handler.
    const UNKNOWN_PROTOCOL: Self::Error;
    /// For us, but no route leads back to its source.
    const NO_WAY_BACK: Self::Error;
    /// For us, from an address of our own, forged.
    const SPOOFED: Self::Error;
    /// To a group, on an interface that its route accepts nothing from.
    const RPF_FAILURE: Self::Error;
    /// To a group, and would leave by its receive interface.
    const SAME_INTERFACE: Self::Error;
    /// The ICMP error for its sender when the last hop is used up.
    const EXPIRED_PROBLEM: Problem;
    /// The ICMP error for UDP ports without a listener.
    const PORT_PROBLEM: Problem;

    /// The node at whose counters packets for this router are refused; empty for the one that
    /// refuses them.
    const LOCAL_COUNTED_AT: &'static str;
    /// Whether the sender of a packet that is too big is shown what would have been sent, with a
    /// hop less, or what came.
    const QUOTES_AS_SENT: bool;

    /// The ICMP error for the sender of a packet that must stay on its link; `None` for nothing.
    const SCOPE_PROBLEM: Option<Problem>;

    /// The headers as text.
    fn print(bytes: &[u8], indent: usize) -> impl Display + '_;
    /// Counters of packets received, by interface.
    fn received(counters: &Counters) -> &Rows<Counter>;
    /// The destination of a packet that passes all checks of input and has nothing that is looked
    /// at there: as nearly all.
    fn plain(packet: &[u8]) -> Option<<Self::Family as Family>::Bits>;
    /// Hops left; `None` for a packet shorter than a header.
    fn hops_of(packet: &[u8]) -> Option<u8>;
    /// Takes one hop away; there is one.
    fn spend_hop_of(packet: &mut [u8]);
    /// [`Version::hops_of`] a packet.
    #[inline(always)]
    fn hops(p: &Buffer<'_>) -> Option<u8> {
        Self::hops_of(p.bytes())
    }
    /// [`Version::spend_hop_of`] a packet.
    #[inline(always)]
    fn spend_hop(p: &mut Buffer<'_>) {
        Self::spend_hop_of(p.bytes_mut());
    }
    /// The ICMP error for the sender of a packet that is too big for `mtu` bytes; `None` when it is
    /// to be cut.
    fn too_big_problem(p: &Buffer<'_>, mtu: u16) -> Option<Problem>;
    /// The layer 2 address of the group a packet is for.
    fn group_mac(p: &Buffer<'_>) -> MacAddr;
    /// Whether a packet is a part of one.
    fn is_fragment(p: &Buffer<'_>) -> bool;
    /// Whether a packet is certainly no part of one.
    fn is_whole(packet: &[u8]) -> bool;
    /// The upper layer of a packet for this router.
    ///
    /// # Errors
    /// Why it cannot be delivered.
    fn upper(p: &Buffer<'_>) -> Result<Upper, Self::Error>;
    /// Checks length and checksum of what it carries, as far as the protocol is known.
    ///
    /// # Errors
    /// What is wrong with it.
    fn verify(p: &Buffer<'_>, upper: &Upper) -> Result<(), Self::Error>;
    /// The source of a packet for this router that a route has to lead back to; `None` when none
    /// has to.
    fn source_to_check(p: &Buffer<'_>, upper: &Upper) -> Option<<Self::Family as Family>::Bits>;
    /// The ICMP error for protocols without a handler; `None` for no error.
    fn protocol_problem(p: &Buffer<'_>, upper: &Upper) -> Option<Problem>;
}

/// The upper layer of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// Protocol.
    pub protocol: Protocol,
    /// Its start, in bytes from the IP header.
    pub offset: usize,
    /// Its length in bytes.
    pub len: usize,
}

impl Upper {
    /// The header of the upper layer, when the first segment has all of it.
    #[inline(always)]
    pub fn header<'b, H: wire::Format>(&self, p: &'b Buffer<'_>) -> Option<&'b H> {
        H::ref_from_prefix(p.bytes().get(self.offset..)?).ok().map(|(h, _)| h)
    }
    /// Whether the checksum over the first `len` bytes is right, `pseudo` being the pseudo header's
    /// sum.
    pub fn is_sum_valid(&self, p: &Buffer<'_>, len: usize, pseudo: Sum) -> bool {
        let (mut skip, mut left, mut sum) = (self.offset, len, pseudo);
        for segment in p.segments() {
            let bytes = segment.get(skip..).unwrap_or(&[]);
            let bytes = &bytes[..bytes.len().min(left)];
            skip = skip.saturating_sub(segment.len());
            left -= bytes.len();
            sum = sum.add_bytes(bytes);
        }
        left == 0 && sum.is_valid()
    }
}

/// Names of the nodes of one version.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// Checks headers; reasons raised further on are counted there too, as clients know them.
    pub input: &'static str,
    /// Ends dropped packets.
    pub drop: &'static str,
    /// Gives packets to control.
    pub punt: &'static str,
    /// Drops received packets where the version is not enabled.
    pub not_enabled: &'static str,
    /// Finds where packets go.
    pub lookup: &'static str,
    /// Packets for this router.
    pub receive: &'static str,
    /// Packets for this router that something is wrong with.
    pub local: &'static str,
    /// Packets for this router after the features of their arc.
    pub local_end: &'static str,
    /// Puts fragments for this router together.
    pub reassemble: &'static str,
    /// Finds who listens on a UDP port.
    pub udp_lookup: &'static str,
    /// Passes packets to punted UDP ports to the node that is registered for those.
    pub udp_punt: &'static str,
    /// Finds the node of an ICMP type.
    pub icmp_input: &'static str,
    /// Tells senders what is wrong.
    pub icmp_error: &'static str,
    /// Puts the layer 2 header in front.
    pub rewrite: &'static str,
    /// Puts the layer 2 header of a group in front.
    pub rewrite_mcast: &'static str,
    /// Puts the headers of a tunnel in front.
    pub midchain: &'static str,
    /// Cuts packets into fragments.
    pub fragment: &'static str,
    /// Asks for the layer 2 address of a neighbour.
    pub resolve: &'static str,
    /// Asks for that of one known by an address of the other version.
    pub resolve_other: &'static str,
}

impl Nodes {
    /// Those of a version.
    pub const fn of(version: IpVersion) -> &'static Self {
        match version {
            IpVersion::V4 => &V4::NODES,
            IpVersion::V6 => &V6::NODES,
        }
    }
}
