//! Common parts of the kinds of NAT of IPv4 (RFC 3022, RFC 4787, RFC 5382, RFC 5508).
//!
//! * [`session`]: sessions, and how each packet changes them;
//! * [`mod@rewrite`] and [`mss`]: rewriting of packets; [`usual`]: the fast path for common ones;
//!   [`restore`]: restoring packets that ICMP errors quote;
//! * [`pool`], [`mapping`] and [`ports`]: outside addresses and ports of hosts;
//! * [`role`]: inside and outside interfaces; [`received`]: addresses that are the router's own;
//! * [`state`] and [`requests`]: the control thread's state of each kind of NAT, and its changes;
//! * [`users`]: the number of sessions of each host;
//! * [`workers`] and [`handoff`]: the threads with sessions, and handoff;
//! * [`commands`] and [`configuration`]: commands at words of a kind;
//! * [`words`] and [`numbers`]: parts of commands and messages.
#![forbid(unsafe_code)]

pub mod commands;
pub mod configuration;
mod ends;
pub mod error;
pub mod handoff;
pub mod mapping;
pub mod mapping_words;
pub mod messages;
pub mod mss;
pub mod numbers;
pub mod outside;
pub mod pool;
pub mod ports;
pub mod received;
pub mod requests;
pub mod restore;
pub mod rewrite;
pub mod role;
pub mod session;
pub mod state;
pub mod users;
pub mod usual;
pub mod words;
pub mod workers;

use graph::Claim;
use net::drops::Problem;
use net::ip::{ReversePath, ReversePaths};
use net::prelude::*;

/// Common parts of the kinds of NAT.
pub const FEATURE: Feature = Feature {
    name: "translation",
    about: "What kinds of NAT of IPv4 have in common",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "sessions"],
    register,
    configuration: Configuration::None("each kind of NAT has its own"),
};

/// Packets that were translated are not translated once more when they are sent.
pub const TRANSLATED: Flags = Flags::feature(4);
/// Packets that have been at a node in front of the one that translates them, and come there once
/// more along the arc.
pub const ARRIVED: Flags = Flags::feature(5);

/// The error for an IPv4 host whose packet finds no address and port, or no room for a session (RFC
/// 6888 REQ-8): host unreachable.
pub const NO_SESSION: Problem = Problem::ip4(icmp4::Type::DESTINATION_UNREACHABLE, 1, 0);
/// The same for a host of IPv6 (RFC 6146 section 3.5.1.1): address unreachable.
pub const NO_SESSION6: Problem = Problem::ip6(icmp6::Type::DESTINATION_UNREACHABLE, 3, 0);

/// The error for the sender of an IPv4 packet with an expired TTL (RFC 5508 section 4): by a node
/// that translates, about the packet as sent. The translated packet is for hosts on the other side
/// only.
pub const EXPIRED: Problem = Problem::ip4(icmp4::Type::TIME_EXCEEDED, icmp4::code::TTL_EXCEEDED, 0);

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.engine.claim(Claim::of("translation", TRANSLATED.with(ARRIVED))).map_err(refuse)
}

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

/// The interface outside, of several, that packets to an address leave over, by the first of these
/// tables that leads there.
pub fn leaves_over(
    paths: &ReversePaths<Ip4>,
    outside: &[u32],
    fibs: [u16; 2],
    dst: [u8; 4],
    epoch: Epoch<'_>,
) -> Option<u32> {
    let dst = u32::from_be_bytes(dst);
    let leads = |fib: u16, over: u32| paths.find(fib, dst, Some(over), epoch) == ReversePath::Away;
    match outside {
        [] => None,
        [only] => Some(*only),
        _ => fibs.iter().find_map(|fib| outside.iter().copied().find(|over| leads(*fib, *over))),
    }
}

/// The table in which packets to a far end are looked up: the only one outside, else that of the
/// host if it leads over an interface outside itself, else the first outside that leads there.
pub fn outside_fib(
    paths: &ReversePaths<Ip4>,
    (fibs, interfaces): (&[u16], &[u32]),
    fib: u16,
    dst: [u8; 4],
    epoch: Epoch<'_>,
) -> u16 {
    let leads = |table: u16, over: Option<u32>| {
        paths.find(table, u32::from_be_bytes(dst), over, epoch) == ReversePath::Away
    };
    match fibs {
        [only] => *only,
        _ if interfaces.iter().any(|over| leads(fib, Some(*over))) => fib,
        _ => fibs.iter().copied().find(|table| leads(*table, None)).unwrap_or(fib),
    }
}
