//! Addresses and prefixes as messages have them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::IpVersion;

use super::super::field::{Alias, Field, Reader, Short};
use super::super::retval::Retval;
use super::super::schema::{Body, Declaration, FieldInfo, Preset, Type};
use super::IP_TYPES;
use crate::api::Record;
use crate::numbers;

numbers! {
    /// Address family.
    pub enum AddressFamily: u8 = "address_family" in "vnet/ip/ip_types.api" {
        IP4 = 0 => "ADDRESS_IP4",
        IP6 = 1 => "ADDRESS_IP6",
    }
    /// Place of a feature on the path of a packet.
    pub enum IpFeatureLocation: u8 = "ip_feature_location" in "vnet/ip/ip_types.api" {
        INPUT = 0 => "IP_API_FEATURE_INPUT",
        OUTPUT = 1 => "IP_API_FEATURE_OUTPUT",
        LOCAL = 2 => "IP_API_FEATURE_LOCAL",
        PUNT = 3 => "IP_API_FEATURE_PUNT",
        DROP = 4 => "IP_API_FEATURE_DROP",
    }
    /// Explicit congestion notification (RFC 3168).
    pub enum IpEcn: u8 = "ip_ecn" in "vnet/ip/ip_types.api" {
        NONE = 0 => "IP_API_ECN_NONE",
        ECT0 = 1 => "IP_API_ECN_ECT0",
        ECT1 = 2 => "IP_API_ECN_ECT1",
        CE = 3 => "IP_API_ECN_CE",
    }
    /// Differentiated services code points (RFC 2474).
    pub enum IpDscp: u8 = "ip_dscp" in "vnet/ip/ip_types.api" {
        CS0 = 0 => "IP_API_DSCP_CS0",
        CS1 = 8 => "IP_API_DSCP_CS1",
        AF11 = 10 => "IP_API_DSCP_AF11",
        AF12 = 12 => "IP_API_DSCP_AF12",
        AF13 = 14 => "IP_API_DSCP_AF13",
        CS2 = 16 => "IP_API_DSCP_CS2",
        AF21 = 18 => "IP_API_DSCP_AF21",
        AF22 = 20 => "IP_API_DSCP_AF22",
        AF23 = 22 => "IP_API_DSCP_AF23",
        CS3 = 24 => "IP_API_DSCP_CS3",
        AF31 = 26 => "IP_API_DSCP_AF31",
        AF32 = 28 => "IP_API_DSCP_AF32",
        AF33 = 30 => "IP_API_DSCP_AF33",
        CS4 = 32 => "IP_API_DSCP_CS4",
        AF41 = 34 => "IP_API_DSCP_AF41",
        AF42 = 36 => "IP_API_DSCP_AF42",
        AF43 = 38 => "IP_API_DSCP_AF43",
        CS5 = 40 => "IP_API_DSCP_CS5",
        EF = 46 => "IP_API_DSCP_EF",
        CS6 = 48 => "IP_API_DSCP_CS6",
        CS7 = 50 => "IP_API_DSCP_CS7",
    }
    /// IP protocols.
    pub enum IpProto: u8 = "ip_proto" in "vnet/ip/ip_types.api" {
        HOPOPT = 0 => "IP_API_PROTO_HOPOPT",
        ICMP = 1 => "IP_API_PROTO_ICMP",
        IGMP = 2 => "IP_API_PROTO_IGMP",
        TCP = 6 => "IP_API_PROTO_TCP",
        UDP = 17 => "IP_API_PROTO_UDP",
        GRE = 47 => "IP_API_PROTO_GRE",
        ESP = 50 => "IP_API_PROTO_ESP",
        AH = 51 => "IP_API_PROTO_AH",
        ICMP6 = 58 => "IP_API_PROTO_ICMP6",
        EIGRP = 88 => "IP_API_PROTO_EIGRP",
        OSPF = 89 => "IP_API_PROTO_OSPF",
        SCTP = 132 => "IP_API_PROTO_SCTP",
        RESERVED = 255 => "IP_API_PROTO_RESERVED",
    }
}

impl From<IpVersion> for AddressFamily {
    fn from(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => Self::IP4,
            IpVersion::V6 => Self::IP6,
        }
    }
}

impl TryFrom<AddressFamily> for IpVersion {
    type Error = Retval;
    fn try_from(family: AddressFamily) -> Result<Self, Retval> {
        match family {
            AddressFamily::IP4 => Ok(Self::V4),
            AddressFamily::IP6 => Ok(Self::V6),
            _ => Err(Retval::INVALID_ADDRESS_FAMILY),
        }
    }
}

/// The bytes of an address of either version; those of IPv4 come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AddressUnion(pub [u8; 16]);

impl AddressUnion {
    /// The bytes as an address of this version.
    ///
    /// # Errors
    /// -97 for an unknown version.
    pub fn read(self, family: AddressFamily) -> Result<IpAddr, Retval> {
        Ok(match family.try_into()? {
            IpVersion::V4 => self.ip4().into(),
            IpVersion::V6 => self.ip6().into(),
        })
    }

    /// The bytes as an IPv4 address.
    pub fn ip4(self) -> Ipv4Addr {
        let [a, b, c, d, ..] = self.0;
        Ipv4Addr::new(a, b, c, d)
    }

    /// The bytes as an IPv6 address.
    pub fn ip6(self) -> Ipv6Addr {
        self.0.into()
    }
}

impl From<IpAddr> for AddressUnion {
    fn from(addr: IpAddr) -> Self {
        let mut bytes = [0; 16];
        match addr {
            IpAddr::V4(addr) => bytes[..4].copy_from_slice(&addr.octets()),
            IpAddr::V6(addr) => bytes = addr.octets(),
        }
        Self(bytes)
    }
}

impl Field for AddressUnion {
    const TYPE: Type = Type::Named(&Declaration {
        name: "address_union",
        file: IP_TYPES,
        about: "",
        body: Body::Union(&[
            FieldInfo {
                options: &[("case", Preset::Word("ADDRESS_IP4"))],
                ..FieldInfo::one("ip4", Ipv4Addr::TYPE, "")
            },
            FieldInfo {
                options: &[("case", Preset::Word("ADDRESS_IP6"))],
                ..FieldInfo::one("ip6", Ipv6Addr::TYPE, "")
            },
        ]),
    });
    const SIZE: usize = 16;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        from.array().map(Self)
    }
}

/// An address of either version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct Address {
    /// address family
    pub af: AddressFamily,
    /// bytes
    #[discriminator("af")]
    pub un: AddressUnion,
}

impl Address {
    /// The address.
    ///
    /// # Errors
    /// -97 for an unknown version.
    pub fn native(self) -> Result<IpAddr, Retval> {
        self.un.read(self.af)
    }
}

impl From<IpAddr> for Address {
    fn from(addr: IpAddr) -> Self {
        let af = IpVersion::from(addr).into();
        Self { af, un: addr.into() }
    }
}

/// An address and prefix length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct Prefix {
    /// address
    pub address: Address,
    /// prefix length
    pub len: u8,
}

impl Prefix {
    /// The prefix with host bits as they came.
    ///
    /// # Errors
    /// -97 for an unknown version, -7 for more bits than the address has.
    pub fn native(self) -> Result<wire::Prefix, Retval> {
        wire::Prefix::new(self.address.native()?, self.len).map_err(|_| Retval::INVALID_VALUE)
    }
}

impl From<wire::Prefix> for Prefix {
    fn from(prefix: wire::Prefix) -> Self {
        Self { address: prefix.addr().into(), len: prefix.prefix_len() }
    }
}

/// An interface's address and how many of its bits are the network's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AddressWithPrefix(pub Prefix);

impl Alias for AddressWithPrefix {
    type Wire = Prefix;
    const NAME: &'static str = "address_with_prefix";
    const FILE: &'static str = IP_TYPES;

    fn to_wire(&self) -> Prefix {
        self.0
    }

    fn of_wire(prefix: Prefix) -> Self {
        Self(prefix)
    }
}

/// An IPv4 address and prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct Ip4Prefix {
    /// address
    pub address: Ipv4Addr,
    /// prefix length
    pub len: u8,
}

/// An IPv6 address and prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct Ip6Prefix {
    /// address
    pub address: Ipv6Addr,
    /// prefix length
    pub len: u8,
}

/// An interface's IPv4 address and how many of its bits are the network's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ip4AddressWithPrefix(pub Ip4Prefix);

impl Alias for Ip4AddressWithPrefix {
    type Wire = Ip4Prefix;
    const NAME: &'static str = "ip4_address_with_prefix";
    const FILE: &'static str = IP_TYPES;

    fn to_wire(&self) -> Ip4Prefix {
        self.0
    }

    fn of_wire(prefix: Ip4Prefix) -> Self {
        Self(prefix)
    }
}

/// An interface's IPv6 address and how many of its bits are the network's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ip6AddressWithPrefix(pub Ip6Prefix);

impl Alias for Ip6AddressWithPrefix {
    type Wire = Ip6Prefix;
    const NAME: &'static str = "ip6_address_with_prefix";
    const FILE: &'static str = IP_TYPES;

    fn to_wire(&self) -> Ip6Prefix {
        self.0
    }

    fn of_wire(prefix: Ip6Prefix) -> Self {
        Self(prefix)
    }
}

/// A multicast group and source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct Mprefix {
    /// address family of both
    pub af: AddressFamily,
    /// prefix length of the group; longer than a group address, it includes the source
    pub grp_address_length: u16,
    /// group address
    pub grp_address: AddressUnion,
    /// source address
    pub src_address: AddressUnion,
}
