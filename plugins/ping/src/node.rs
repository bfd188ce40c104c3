//! `ip4-icmp-echo-reply`, `ip6-icmp-echo-reply`: echoes of requests of ours.

use net::prelude::*;

use super::EchoReply;
use super::packet::Sent;
use super::pending::{Answer, AnswerFormat};

/// A version with echo packets.
pub trait Echoes: Version {
    /// Node name.
    const REPLIES: &'static str;
    /// Source of a packet, and the hops it has left.
    fn from(p: &Buffer<'_>) -> Option<(IpAddr, u8)>;
}

impl Echoes for V4 {
    const REPLIES: &'static str = "ip4-icmp-echo-reply";
    fn from(p: &Buffer<'_>) -> Option<(IpAddr, u8)> {
        p.header::<ip4::Header>().map(|ip| (ip.src_addr().into(), ip.ttl))
    }
}

impl Echoes for V6 {
    const REPLIES: &'static str = "ip6-icmp-echo-reply";
    fn from(p: &Buffer<'_>) -> Option<(IpAddr, u8)> {
        p.header::<ip6::Header>().map(|ip| (ip.src_addr().into(), ip.hop_limit))
    }
}

impl Answer for EchoReply {
    type Key = u16;

    fn key(&self) -> u16 {
        self.id
    }
}

impl<V: Echoes> AnswerFormat<V> for EchoReply {
    const NODE: &'static str = V::REPLIES;

    fn read(p: &Buffer<'_>, now: f64) -> Option<Self> {
        // The header is the same in both versions.
        let (echo, rest) = icmp4::Echo::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
        let (sent, _) = Sent::ref_from_prefix(rest).ok()?;
        let (from, ttl) = V::from(p)?;
        let seconds = (now - sent.seconds()).max(0.0);
        Some(Self { id: echo.id.get(), seq: echo.seq.get(), from, ttl, seconds })
    }
}
