//! Address resolution for IPv4 over Ethernet (RFC 826).

use std::fmt;
use std::net::Ipv4Addr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::MacAddr;
use crate::ethernet::EtherType;

/// The 28-byte packet after the Ethernet header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Hardware type: [`ETHERNET`].
    pub hardware: U16,
    /// Protocol whose addresses are asked for: IPv4.
    pub protocol: EtherType,
    /// Length of a hardware address in bytes: 6.
    pub hardware_len: u8,
    /// Length of a protocol address in bytes: 4.
    pub protocol_len: u8,
    /// Request or reply.
    pub operation: Operation,
    /// Sender of the packet.
    pub sender: Peer,
    /// Peer that is asked, or answered.
    pub target: Peer,
}

/// [`Header::hardware`] of Ethernet.
pub const ETHERNET: u16 = 1;

/// One of the two pairs of addresses in the packet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Peer {
    /// Its MAC address; zero when it is what is asked for.
    pub mac: MacAddr,
    /// Its IPv4 address.
    pub ip: [u8; 4],
}

impl Peer {
    /// A pair of addresses.
    pub fn new(mac: MacAddr, ip: Ipv4Addr) -> Self {
        Self { mac, ip: ip.octets() }
    }

    /// Its IPv4 address.
    #[inline]
    pub fn addr(&self) -> Ipv4Addr {
        self.ip.into()
    }
}

impl Header {
    /// A request for `target`.
    pub fn request(sender: Peer, target: Ipv4Addr) -> Self {
        Self {
            hardware: ETHERNET.into(),
            protocol: EtherType::IP4,
            hardware_len: 6,
            protocol_len: 4,
            operation: Operation::REQUEST,
            sender,
            target: Peer::new(MacAddr::ZERO, target),
        }
    }

    /// Answers `self`: the address asked for is at `mac`.
    pub fn reply(&self, mac: MacAddr) -> Self {
        Self {
            operation: Operation::REPLY,
            sender: Peer { mac, ip: self.target.ip },
            target: self.sender,
            ..*self
        }
    }

    /// Whether types and lengths are those of IPv4 over Ethernet.
    #[inline]
    pub fn is_ethernet_ip4(&self) -> bool {
        self.hardware.get() == ETHERNET
            && self.protocol == EtherType::IP4
            && self.hardware_len == 6
            && self.protocol_len == 4
    }

    /// Whether the sender announces itself (RFC 5227 section 1.2).
    #[inline]
    pub fn is_gratuitous(&self) -> bool {
        self.sender.ip == self.target.ip
    }
}

/// Operation code.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct Operation([u8; 2]);

impl Operation {
    /// Asks for a hardware address.
    pub const REQUEST: Self = Self([0, 1]);
    /// Answers.
    pub const REPLY: Self = Self([0, 2]);

    /// Its number in host order.
    pub const fn get(self) -> u16 {
        u16::from_be_bytes(self.0)
    }
}

/// `request`, `reply`, else the number.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::REQUEST => f.write_str("request"),
            Self::REPLY => f.write_str("reply"),
            other => write!(f, "{:#x}", other.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_and_reply_bytes() {
        let sender = Peer::new(MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 2));
        let request = Header::request(sender, Ipv4Addr::new(10, 0, 0, 1));
        let bytes = request.as_bytes();
        assert_eq!(bytes[..8], [0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(bytes[8..18], [2, 0, 0, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(bytes[18..], [0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
        assert!(request.is_ethernet_ip4() && !request.is_gratuitous());

        let mac = MacAddr([2, 0, 0, 0, 0, 0xaa]);
        let reply = request.reply(mac);
        assert_eq!((reply.operation, reply.operation.get()), (Operation::REPLY, 2));
        assert_eq!(reply.sender, Peer::new(mac, Ipv4Addr::new(10, 0, 0, 1)));
        assert_eq!(reply.target, sender);
    }

    #[test]
    fn announcement_is_gratuitous() {
        let sender = Peer::new(MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 2));
        assert!(Header::request(sender, sender.addr()).is_gratuitous());
    }
}
