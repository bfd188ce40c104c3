//! Neighbour discovery messages and their options (RFC 4861 section 4).

use std::net::Ipv6Addr;

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::MacAddr;
use crate::icmp6::{Header, Type};

/// Neighbor solicitation: 24 bytes before the options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NeighborSolicitation {
    /// Type [`Type::NEIGHBOR_SOLICITATION`], code 0.
    pub icmp: Header,
    /// Zero.
    pub reserved: U32,
    /// The address asked for.
    pub target: [u8; 16],
}

impl NeighborSolicitation {
    /// A message without checksum.
    pub fn new(target: Ipv6Addr) -> Self {
        let icmp = Header::new(Type::NEIGHBOR_SOLICITATION, 0);
        Self { icmp, reserved: U32::ZERO, target: target.octets() }
    }

    /// The address asked for.
    #[inline]
    pub fn target_addr(&self) -> Ipv6Addr {
        self.target.into()
    }
}

/// Neighbor advertisement: 24 bytes before the options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NeighborAdvertisement {
    /// Type [`Type::NEIGHBOR_ADVERTISEMENT`], code 0.
    pub icmp: Header,
    /// [`ROUTER`], [`SOLICITED`], [`OVERRIDE`].
    pub flags: U32,
    /// Target address.
    pub target: [u8; 16],
}

/// Bit of [`NeighborAdvertisement::flags`]: the sender is a router.
pub const ROUTER: u32 = 1 << 31;
/// Bit of [`NeighborAdvertisement::flags`]: answers a solicitation.
pub const SOLICITED: u32 = 1 << 30;
/// Bit of [`NeighborAdvertisement::flags`]: replaces a link-layer address known already.
pub const OVERRIDE: u32 = 1 << 29;

impl NeighborAdvertisement {
    /// A message without checksum.
    pub fn new(target: Ipv6Addr, flags: u32) -> Self {
        let icmp = Header::new(Type::NEIGHBOR_ADVERTISEMENT, 0);
        Self { icmp, flags: flags.into(), target: target.octets() }
    }

    /// Target address.
    #[inline]
    pub fn target_addr(&self) -> Ipv6Addr {
        self.target.into()
    }
}

/// Asks routers to advertise: 8 bytes before the options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RouterSolicitation {
    /// Type [`Type::ROUTER_SOLICITATION`], code 0.
    pub icmp: Header,
    /// Zero.
    pub reserved: U32,
}

/// A router tells hosts what to use: 16 bytes before the options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RouterAdvertisement {
    /// Type [`Type::ROUTER_ADVERTISEMENT`], code 0.
    pub icmp: Header,
    /// Hop limit to use; 0 leaves it to the host.
    pub hop_limit: u8,
    /// [`MANAGED`], [`OTHER_CONFIG`], router preference in bits 0x18 (RFC 4191).
    pub flags: u8,
    /// Seconds for which the sender is a default router; 0: it is none.
    pub router_lifetime: U16,
    /// Milliseconds for which a neighbour counts as reachable; 0 leaves it to the host.
    pub reachable_time: U32,
    /// Milliseconds between solicitations; 0 leaves it to the host.
    pub retrans_timer: U32,
}

/// Bit of [`RouterAdvertisement::flags`]: addresses come from DHCPv6.
pub const MANAGED: u8 = 0x80;
/// Bit of [`RouterAdvertisement::flags`]: other configuration comes from DHCPv6.
pub const OTHER_CONFIG: u8 = 0x40;

/// A link-layer address of Ethernet: 8 bytes (RFC 4861 section 4.6.1, RFC 2464 section 6).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LinkLayer {
    kind: u8,
    len: u8,
    mac: MacAddr,
}

impl LinkLayer {
    /// The sender's address: for solicitations and router advertisements.
    pub fn source(mac: MacAddr) -> Self {
        Self { kind: SOURCE_LINK_LAYER, len: 1, mac }
    }

    /// The target's address: for neighbour advertisements and redirects.
    pub fn target(mac: MacAddr) -> Self {
        Self { kind: TARGET_LINK_LAYER, len: 1, mac }
    }
}

/// A prefix that is on the link or for address configuration: 32 bytes (section 4.6.2).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct PrefixInformation {
    kind: u8,
    len: u8,
    /// Bits of the prefix that count; above 128 it is malformed.
    pub prefix_len: u8,
    /// [`ON_LINK`], [`AUTONOMOUS`].
    pub flags: u8,
    /// Seconds for which the prefix is on the link; all ones: forever.
    pub valid_lifetime: U32,
    /// Seconds for which addresses made from it are preferred; all ones: forever.
    pub preferred_lifetime: U32,
    reserved: U32,
    /// Prefix.
    pub prefix: [u8; 16],
}

/// Bit of [`PrefixInformation::flags`]: the prefix is on the link.
pub const ON_LINK: u8 = 0x80;
/// Bit of [`PrefixInformation::flags`]: hosts may make addresses from it.
pub const AUTONOMOUS: u8 = 0x40;

impl PrefixInformation {
    /// An option; both lifetimes in seconds.
    pub fn new(prefix: crate::Ip6Prefix, flags: u8, valid: u32, preferred: u32) -> Self {
        Self {
            kind: PREFIX_INFORMATION,
            len: 4,
            prefix_len: prefix.prefix_len(),
            flags,
            valid_lifetime: valid.into(),
            preferred_lifetime: preferred.into(),
            reserved: U32::ZERO,
            prefix: prefix.network().addr().octets(),
        }
    }
}

/// The MTU of the link: 8 bytes (section 4.6.4).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Mtu {
    kind: u8,
    len: u8,
    reserved: U16,
    mtu: U32,
}

impl Mtu {
    /// An option; `mtu` in bytes.
    pub fn new(mtu: u32) -> Self {
        Self { kind: MTU, len: 1, reserved: U16::ZERO, mtu: mtu.into() }
    }
}

const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;
const PREFIX_INFORMATION: u8 = 3;
const MTU: u8 = 5;

/// One option of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NdOption<'a> {
    /// The sender's link-layer address.
    SourceLinkLayer(MacAddr),
    /// The target's link-layer address.
    TargetLinkLayer(MacAddr),
    /// A prefix.
    Prefix(&'a PrefixInformation),
    /// The MTU of the link in bytes.
    Mtu(u32),
    /// An option not known here, or known with another length.
    Other {
        /// Option type.
        kind: u8,
        /// Bytes after type and length.
        body: &'a [u8],
    },
}

/// An option has length zero or is longer than the message, which then must be dropped (RFC 4861
/// section 4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The options in `bytes`, which follow one of the messages above. Ends after an error.
pub fn options(bytes: &[u8]) -> Options<'_> {
    Options { rest: bytes }
}

/// Iterator of [`options`].
#[derive(Clone, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<NdOption<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let len = self.rest.get(1).map_or(0, |&len| usize::from(len) * 8);
        if len == 0 || len > self.rest.len() {
            self.rest = &[];
            return Some(Err(Malformed));
        }
        let (option, rest) = self.rest.split_at(len);
        self.rest = rest;
        Some(Ok(decode(option)))
    }
}

fn decode(option: &[u8]) -> NdOption<'_> {
    let known = match option[0] {
        SOURCE_LINK_LAYER => {
            LinkLayer::ref_from_bytes(option).map(|o| NdOption::SourceLinkLayer(o.mac)).ok()
        }
        TARGET_LINK_LAYER => {
            LinkLayer::ref_from_bytes(option).map(|o| NdOption::TargetLinkLayer(o.mac)).ok()
        }
        PREFIX_INFORMATION => PrefixInformation::ref_from_bytes(option).map(NdOption::Prefix).ok(),
        MTU => Mtu::ref_from_bytes(option).map(|o| NdOption::Mtu(o.mtu.get())).ok(),
        _ => None,
    };
    known.unwrap_or(NdOption::Other { kind: option[0], body: &option[2..] })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    #[test]
    fn sizes_are_those_of_the_rfc() {
        assert_eq!(size_of::<NeighborSolicitation>(), 24);
        assert_eq!(size_of::<NeighborAdvertisement>(), 24);
        assert_eq!(size_of::<RouterSolicitation>(), 8);
        assert_eq!(size_of::<RouterAdvertisement>(), 16);
        assert_eq!(size_of::<PrefixInformation>(), 32);
        let advertisement = NeighborAdvertisement::new(Ipv6Addr::LOCALHOST, SOLICITED | OVERRIDE);
        assert_eq!(advertisement.as_bytes()[..8], [136, 0, 0, 0, 0x60, 0, 0, 0]);
    }

    #[test]
    fn options_of_a_router_advertisement() {
        let prefix = "2001:db8:1::9/64".parse().unwrap();
        let prefix = PrefixInformation::new(prefix, ON_LINK | AUTONOMOUS, 2_592_000, 604_800);
        let source = LinkLayer::source(MAC);
        let mtu = Mtu::new(1500);
        let other = [25, 1, 0, 0, 0, 0, 0, 1];
        let bytes = [source.as_bytes(), mtu.as_bytes(), prefix.as_bytes(), &other].concat();
        assert_eq!(bytes[..8], [1, 1, 2, 0, 0, 0, 0, 1]);
        assert_eq!(bytes[16..20], [3, 4, 64, 0xc0]);

        let options: Result<Vec<_>, _> = options(&bytes).collect();
        assert_eq!(
            options.unwrap(),
            [
                NdOption::SourceLinkLayer(MAC),
                NdOption::Mtu(1500),
                NdOption::Prefix(&prefix),
                NdOption::Other { kind: 25, body: &other[2..] },
            ]
        );
        assert_eq!(Ipv6Addr::from(prefix.prefix).to_string(), "2001:db8:1::");
    }

    #[test]
    fn target_of_another_length_is_not_a_mac() {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&[2, 2]);
        let other = NdOption::Other { kind: 2, body: &[0; 14] };
        assert_eq!(options(&bytes).collect::<Vec<_>>(), [Ok(other)]);
        let target = LinkLayer::target(MAC);
        let known = Ok(NdOption::TargetLinkLayer(MAC));
        assert_eq!(options(target.as_bytes()).collect::<Vec<_>>(), [known]);
    }

    #[test]
    fn broken_lengths_end_the_list() {
        let mtu = Mtu::new(1280);
        let zero = [mtu.as_bytes(), &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
        let expected = [Ok(NdOption::Mtu(1280)), Err(Malformed)];
        assert_eq!(options(&zero).collect::<Vec<_>>(), expected);
        assert_eq!(options(&[1, 2, 0, 0, 0, 0, 0, 0]).last(), Some(Err(Malformed)));
        assert_eq!(options(&[1]).last(), Some(Err(Malformed)));
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(0..6u8, 0..120)) {
            prop_assert!(options(&bytes).count() <= bytes.len() / 8 + 1);
        }
    }
}
