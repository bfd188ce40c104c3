//! The ICMP error that a packet is dropped with.

use graph::Payload;
use wire::{icmp4, icmp6};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The ICMP error to send about the packet it travels with, whose current bytes start at the IP
/// header, unchanged since it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Problem {
    /// ICMP type, of the packet's family.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// Zero.
    pub pad: u16,
    /// MTU in bytes, or how many bytes after the start of the IP header it is wrong; host byte
    /// order.
    pub data: u32,
}

impl Payload for Problem {
    const NAME: &'static str = "icmp-problem";
}

impl Problem {
    /// About an IPv4 packet.
    pub const fn ip4(kind: icmp4::Type, code: u8, data: u32) -> Self {
        Self { kind: kind.0, code, pad: 0, data }
    }
    /// About an IPv4 packet that is longer than `mtu` bytes and must not be cut.
    pub fn too_big4(mtu: usize) -> Self {
        let code = icmp4::code::FRAGMENTATION_NEEDED;
        Self::ip4(icmp4::Type::DESTINATION_UNREACHABLE, code, mtu as u32)
    }
    /// About an IPv6 packet that is longer than `mtu` bytes; senders may send 1280 in any case.
    pub fn too_big6(mtu: usize) -> Self {
        Self::ip6(icmp6::Type::PACKET_TOO_BIG, 0, mtu.max(icmp6::LEAST_MTU) as u32)
    }
    /// About an IPv6 packet.
    pub const fn ip6(kind: icmp6::Type, code: u8, data: u32) -> Self {
        Self { kind: kind.0, code, pad: 0, data }
    }
}
