//! What kinds of NAT of IPv4 have in common (RFC 3022, RFC 4787, RFC 5382, RFC 5508).
//!
//! * [`session`]: what a session is, and what becomes of it with each packet;
//! * [`mod@rewrite`] and [`mss`]: packets that are changed;
//! * [`users`]: how many sessions each host has;
//! * [`handoff`]: the way to the thread that has a session;
//! * [`words`] and [`numbers`]: what commands and messages are made of.
#![forbid(unsafe_code)]

pub mod handoff;
pub mod mss;
pub mod numbers;
pub mod rewrite;
pub mod session;
pub mod users;
pub mod words;

use std::net::Ipv4Addr;

use control::feature::Refused;
use infra::rcu::Epoch;
use net::fib::Ip4;
use net::ip::{ReversePath, ReversePaths};
use net::{Configuration, Feature, InterfaceIndex, Origin, Parts, Router};
use wire::Prefix;

/// What kinds of NAT have in common.
pub const FEATURE: Feature = Feature {
    name: "translation",
    about: "What kinds of NAT of IPv4 have in common",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "sessions"],
    register: |_: &mut Parts| -> Result<(), Refused> { Ok(()) },
    configuration: Configuration::None("each kind of NAT has its own"),
};

/// The first port that packets get.
pub const FIRST_PORT: u16 = 1024;

/// The first address of an interface.
pub fn address_of(router: &Router, interface: InterfaceIndex) -> Option<Ipv4Addr> {
    router.addresses.of(interface).iter().find_map(|prefix| match prefix {
        Prefix::Ip4(prefix) => Some(prefix.addr()),
        Prefix::Ip6(_) => None,
    })
}

/// Whether packets from inside to an address are to be translated: what is for this router or does
/// not go over an interface outside is not.
pub fn leads_outside(
    paths: &ReversePaths<Ip4>,
    outside: &[u32],
    fib: u16,
    dst: [u8; 4],
    epoch: Epoch<'_>,
) -> bool {
    let dst = u32::from_be_bytes(dst);
    match paths.find(fib, dst, None, epoch) {
        ReversePath::Here | ReversePath::Proxied => false,
        ReversePath::Nowhere => true,
        ReversePath::Away => {
            outside.iter().any(|over| paths.find(fib, dst, Some(*over), epoch) == ReversePath::Away)
        }
    }
}
