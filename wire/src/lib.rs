//! Packet formats: bytes to types and back, without state or I/O.
//!
//! Every header is a `repr(C)` struct of bytes in network order with the derives of [`zerocopy`],
//! so it is read and written in place at any alignment: `ip4::Header::ref_from_prefix(bytes)`.
//! Numbers with assigned meanings ([`ethernet::EtherType`], [`ip::Protocol`], ICMP types) are
//! newtypes around the wire bytes with constants; unknown values are values, not errors.
//! Addresses are raw octets in the structs and `std::net` types in accessors.
#![forbid(unsafe_code)]

pub mod arp;
pub mod bfd;
pub mod bier;
pub mod cdp;
pub mod checksum;
pub mod dhcp;
pub mod dhcp6;
pub mod ethernet;
pub mod flow;
pub mod gtpu;
pub mod icmp;
pub mod icmp4;
pub mod icmp6;
pub mod igmp;
pub mod ip;
pub mod ip4;
pub mod ip6;
pub mod lacp;
pub mod lldp;
pub mod mac;
pub mod memif;
pub mod mld;
pub mod mpls;
pub mod nd;
mod number;
pub mod pppoe;
pub mod prefix;
pub mod print;
pub mod pvti;
pub mod siit;
pub mod srh;
pub mod tcp;
pub mod udp;
pub mod upper;
pub mod vhost_user;
pub mod virtio_net;
pub mod virtio_ring;
pub mod vlan;
pub mod vrrp;
pub mod wireguard;

pub use ip::{Dscp, IpVersion, Protocol};
pub use mac::MacAddr;
pub use prefix::{Ip4Prefix, Ip6Prefix, Prefix};
pub use zerocopy;

/// A format of fixed size that can be read from and written to a packet at any alignment.
pub trait Format:
    zerocopy::FromBytes
    + zerocopy::IntoBytes
    + zerocopy::KnownLayout
    + zerocopy::Immutable
    + zerocopy::Unaligned
{
}

impl<T> Format for T where
    T: zerocopy::FromBytes
        + zerocopy::IntoBytes
        + zerocopy::KnownLayout
        + zerocopy::Immutable
        + zerocopy::Unaligned
{
}
