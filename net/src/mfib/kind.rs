//! The two families of multicast: groups that every router listens to, and names.

use graph::Buffer;

use super::Mfib;
use super::table::MTables;
use crate::fib::{Headers, Ip4, Ip6};
use crate::ip::Version;
use crate::ip4::V4;
use crate::ip6::V6;

/// Names of the nodes of one family.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Finds the route.
    pub lookup: &'static str,
    /// Checks the receive interface.
    pub rpf: &'static str,
    /// Makes copies.
    pub replicate: &'static str,
}

/// IPv4 or IPv6, as multicast routing needs them.
pub trait Multicast: Headers {
    /// The version of IP.
    type Version: Version<Family = Self>;

    /// Names of its nodes.
    const NODES: Names;
    /// The route that every table has for groups without a better one: it drops.
    const ALL: (Self::Bits, u8);
    /// Groups that this router listens to on every interface with an address.
    const OURS: &'static [(Self::Bits, u8)];
    /// Whether packets to a group must stay on the link that they came by.
    fn is_of_link(group: Self::Bits) -> bool;
    /// The tables of this family.
    fn mtables(mfib: &Mfib) -> &MTables<Self>;
    /// The tables of this family.
    fn mtables_mut(mfib: &mut Mfib) -> &mut MTables<Self>;
    /// Source and group of a packet whose current bytes start at its IP header.
    #[inline(always)]
    fn flow(p: &Buffer<'_>) -> (Self::Bits, Self::Bits) {
        (Self::source(p), Self::destination(p))
    }
}

impl Multicast for Ip4 {
    type Version = V4;

    const NODES: Names = Names {
        lookup: "ip4-mfib-forward-lookup",
        rpf: "ip4-mfib-forward-rpf",
        replicate: "ip4-replicate",
    };
    const ALL: (u32, u8) = (0, 0);
    /// All systems, all routers (RFC 1112 section 4).
    const OURS: &'static [(u32, u8)] = &[(0xe000_0001, 32), (0xe000_0002, 32)];
    /// 224.0.0.0/24 (RFC 5771 section 4).
    #[inline(always)]
    fn is_of_link(group: u32) -> bool {
        group >> 8 == 0xe0_0000
    }
    fn mtables(mfib: &Mfib) -> &MTables<Self> {
        &mfib.ip4
    }
    fn mtables_mut(mfib: &mut Mfib) -> &mut MTables<Self> {
        &mut mfib.ip4
    }
}

impl Multicast for Ip6 {
    type Version = V6;

    const NODES: Names = Names {
        lookup: "ip6-mfib-forward-lookup",
        rpf: "ip6-mfib-forward-rpf",
        replicate: "ip6-replicate",
    };
    const ALL: (u128, u8) = (0xff00 << 112, 8);
    /// All nodes, all routers, MLDv2 reports, solicited nodes (RFC 4291 section 2.7.1, RFC 3810
    /// section 5.2.14).
    const OURS: &'static [(u128, u8)] = &[
        (0xff02 << 112 | 1, 128),
        (0xff02 << 112 | 2, 128),
        (0xff02 << 112 | 0x16, 128),
        (0xff02 << 112 | 0x1_ff00_0000, 104),
    ];
    /// Groups of one link (RFC 4291 section 2.7). What is narrower, or reserved, goes where a route
    /// says, as clients expect.
    #[inline(always)]
    fn is_of_link(group: u128) -> bool {
        const LINK: u128 = 2;
        group >> 112 & 0xf == LINK
    }
    fn mtables(mfib: &Mfib) -> &MTables<Self> {
        &mfib.ip6
    }
    fn mtables_mut(mfib: &mut Mfib) -> &mut MTables<Self> {
        &mut mfib.ip6
    }
}
