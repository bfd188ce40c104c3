//! Echo requests, and packets of our own in general.

use net::prelude::*;
use wire::checksum::{self, Sum};
use zerocopy::byteorder::network_endian::{U16, U64};

/// The time a request was sent, at the start of its data.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Sent(U64);

impl Sent {
    /// `now` in seconds on the router's clock.
    pub fn at(now: f64) -> Self {
        Self(U64::new(now.to_bits()))
    }
    /// The time, in seconds.
    pub fn seconds(&self) -> f64 {
        f64::from_bits(self.0.get())
    }
}

/// Bytes of ICMP before the data that the operator asked for.
const HEADERS: usize = size_of::<icmp4::Echo>() + size_of::<Sent>();
/// Data that fits into a packet of either version.
pub const MOST: usize = u16::MAX as usize - size_of::<ip4::Header>() - HEADERS;

/// Fields of the IP header of a packet of ours.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Source.
    pub src: IpAddr,
    /// The destination, of the same IP version.
    pub dst: IpAddr,
    /// TTL or hop limit.
    pub hops: u8,
    /// Identification, for packets that are cut on the way.
    pub id: u16,
}

impl Header {
    /// A packet with `message`, whose checksum, for now 0, is `at` bytes from its start.
    pub fn packet(&self, protocol: Protocol, mut message: Vec<u8>, at: usize) -> Vec<u8> {
        let len = message.len() as u16;
        let (mut packet, pseudo) = match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let (id, ttl) = (self.id.into(), self.hops);
                let total_len = size_of::<ip4::Header>() as u16 + len;
                let header = ip4::Header::new(src, dst, protocol, total_len);
                let header = ip4::Header { id, ttl, ..header }.with_checksum();
                let has_pseudo = protocol != Protocol::ICMP;
                let pseudo = checksum::ip4_pseudo(header.src, header.dst, protocol, len);
                (header.as_bytes().to_vec(), if has_pseudo { pseudo } else { Sum::ZERO })
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let mut header = ip6::Header::new(src, dst, protocol, len);
                header.hop_limit = self.hops;
                let pseudo = checksum::ip6_pseudo(header.src, header.dst, protocol, len.into());
                (header.as_bytes().to_vec(), pseudo)
            }
            _ => unreachable!("source and destination are of one family"),
        };
        // No sum at all would be zero in UDP; zero and this one are equal in other protocols.
        let sum = pseudo.add_bytes(&message).udp_checksum();
        message[at..at + size_of::<U16>()].copy_from_slice(sum.as_bytes());
        packet.append(&mut message);
        packet
    }
}

/// An echo request with `size` bytes of data behind the time, which [`stamp`] puts in.
pub fn echo_request(header: Header, id: u16, seq: u16, size: usize) -> Vec<u8> {
    let (protocol, kind) = match header.dst {
        IpAddr::V4(_) => (Protocol::ICMP, icmp4::Type::ECHO_REQUEST),
        // The header is the same in both versions.
        IpAddr::V6(_) => (Protocol::ICMP6, icmp4::Type(icmp6::Type::ECHO_REQUEST.0)),
    };
    let (id, seq) = (id.into(), seq.into());
    let echo = icmp4::Echo { icmp: icmp4::Header::new(kind, 0), id, seq };
    let mut message = [echo.as_bytes(), Sent::at(0.0).as_bytes()].concat();
    message.extend((0..size).map(|i| i as u8));
    header.packet(protocol, message, CHECKSUM)
}

/// Place of the checksum in ICMP.
const CHECKSUM: usize = 2;

/// Puts the time into the packet that [`echo_request`] made, of which `packet` has the headers.
pub fn stamp(packet: &mut [u8], now: f64) {
    let is_ip4 = packet.first().is_some_and(|first| first >> 4 == 4);
    let offset = if is_ip4 { size_of::<ip4::Header>() } else { size_of::<ip6::Header>() };
    let Some(message) = packet.get_mut(offset..) else { return };
    let Ok((echo, data)) = icmp4::Echo::mut_from_prefix(message) else { return };
    let Ok((time, _)) = Sent::mut_from_prefix(data) else { return };
    let new = Sent::at(now);
    let sum = checksum::update_bytes(echo.icmp.checksum, time.as_bytes(), new.as_bytes());
    (*time, echo.icmp.checksum) = (new, sum);
}
