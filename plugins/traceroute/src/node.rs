//! `ip4-traceroute-answer`, `ip6-traceroute-answer`: ICMP errors about probes of ours.

use net::prelude::*;
use ping::{AnswerFormat, Echoes};

use super::{Answer, Key};

/// A version whose ICMP errors quote packets.
pub trait Quotes: Echoes {
    /// Node name.
    const ANSWERS: &'static str;
    /// Protocol and payload of a quoted packet without options.
    fn quoted(packet: &[u8]) -> Option<(Protocol, &[u8])>;
}

impl Quotes for V4 {
    const ANSWERS: &'static str = "ip4-traceroute-answer";
    fn quoted(packet: &[u8]) -> Option<(Protocol, &[u8])> {
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        Some((header.protocol, packet.get(header.header_len()..)?))
    }
}

impl Quotes for V6 {
    const ANSWERS: &'static str = "ip6-traceroute-answer";
    fn quoted(packet: &[u8]) -> Option<(Protocol, &[u8])> {
        let (header, rest) = ip6::Header::ref_from_prefix(packet).ok()?;
        Some((header.next_header, rest))
    }
}

impl ping::Answer for Answer {
    type Key = Key;

    fn key(&self) -> Key {
        self.key
    }
}

impl<V: Quotes> AnswerFormat<V> for Answer {
    const NODE: &'static str = V::ANSWERS;

    fn read(p: &Buffer<'_>, at: f64) -> Option<Self> {
        // The header is as long in both versions.
        let (error, packet) = icmp4::Error::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
        let (key, seq) = V::quoted(packet).and_then(probe)?;
        let (from, _) = V::from(p)?;
        Some(Self { key, seq, from, error: Some((error.icmp.kind.0, error.icmp.code)), at })
    }
}

/// Key and number of the probe that a quoted packet is.
fn probe((protocol, message): (Protocol, &[u8])) -> Option<(Key, u16)> {
    if protocol == Protocol::UDP {
        let (header, _) = udp::Header::ref_from_prefix(message).ok()?;
        let key = Key { is_udp: true, id: header.src_port.get() };
        return Some((key, header.dst_port.get()));
    }
    let (echo, _) = icmp4::Echo::ref_from_prefix(message).ok()?;
    Some((Key { is_udp: false, id: echo.id.get() }, echo.seq.get()))
}
