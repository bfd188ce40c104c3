//! Differences between IPv4 and IPv6.

use std::fmt::Debug;

use graph::arc::FeatureArc;
use net::prelude::*;
use sessions::Look;
use translation::rewrite::Ends;

use crate::session::{Both, Of};

/// A version whose packets are translated.
pub trait Translated: Version {
    /// Addresses.
    type Address: Look + Ends + Debug + Sync;
    /// Names of the nodes, by place.
    const NAMES: [&'static str; 6];
    /// Features on what is received.
    const ARC: &'static FeatureArc;
    /// The node that looks up routes.
    const LOOKUP: &'static str;
    /// Its sessions among those of both.
    fn of(all: &Both) -> &Of<Self::Address>;
    /// An address of the version; `None` for one of the other.
    fn address(addr: IpAddr) -> Option<Self::Address>;
    /// An address as all of the router know it.
    fn any(addr: Self::Address) -> IpAddr;
}

impl Translated for V4 {
    type Address = [u8; 4];
    const NAMES: [&'static str; 6] = [
        "cnat-lookup-ip4",
        "cnat-input-ip4",
        "cnat-snat-ip4",
        "cnat-snat-ip4-return",
        "ip4-cnat-tx",
        "ip4-cnat-return",
    ];
    const ARC: &'static FeatureArc = &IP4_UNICAST;
    const LOOKUP: &'static str = "ip4-lookup";
    fn of(all: &Both) -> &Of<[u8; 4]> {
        &all.v4
    }
    fn address(addr: IpAddr) -> Option<[u8; 4]> {
        match addr {
            IpAddr::V4(addr) => Some(addr.octets()),
            IpAddr::V6(_) => None,
        }
    }
    fn any(addr: [u8; 4]) -> IpAddr {
        Ipv4Addr::from(addr).into()
    }
}

impl Translated for V6 {
    type Address = [u8; 16];
    const NAMES: [&'static str; 6] = [
        "cnat-lookup-ip6",
        "cnat-input-ip6",
        "cnat-snat-ip6",
        "cnat-snat-ip6-return",
        "ip6-cnat-tx",
        "ip6-cnat-return",
    ];
    const ARC: &'static FeatureArc = &IP6_UNICAST;
    const LOOKUP: &'static str = "ip6-lookup";
    fn of(all: &Both) -> &Of<[u8; 16]> {
        &all.v6
    }
    fn address(addr: IpAddr) -> Option<[u8; 16]> {
        match addr {
            IpAddr::V6(addr) => Some(addr.octets()),
            IpAddr::V4(_) => None,
        }
    }
    fn any(addr: [u8; 16]) -> IpAddr {
        Ipv6Addr::from(addr).into()
    }
}
