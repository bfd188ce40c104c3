//! Matches of flow rules as messages have them: one structure for each kind of packet.

use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::types::IpProto;
use control::api::{Field, Overlay, Record, Retval, Union};
use wire::MacAddr;

use crate::flow::{Match, Tunnel};

control::numbers! {
    /// Kinds of packets.
    pub enum FlowType: u32 = "flow_type" in "vnet/flow/flow_types.api" {
        ETHERNET = 1 => "FLOW_TYPE_ETHERNET",
        IP4 = 2 => "FLOW_TYPE_IP4",
        IP6 = 3 => "FLOW_TYPE_IP6",
        IP4_L2TPV3OIP = 4 => "FLOW_TYPE_IP4_L2TPV3OIP",
        IP4_IPSEC_ESP = 5 => "FLOW_TYPE_IP4_IPSEC_ESP",
        IP4_IPSEC_AH = 6 => "FLOW_TYPE_IP4_IPSEC_AH",
        IP4_N_TUPLE = 7 => "FLOW_TYPE_IP4_N_TUPLE",
        IP6_N_TUPLE = 8 => "FLOW_TYPE_IP6_N_TUPLE",
        IP4_N_TUPLE_TAGGED = 9 => "FLOW_TYPE_IP4_N_TUPLE_TAGGED",
        IP6_N_TUPLE_TAGGED = 10 => "FLOW_TYPE_IP6_N_TUPLE_TAGGED",
        IP4_VXLAN = 11 => "FLOW_TYPE_IP4_VXLAN",
        IP6_VXLAN = 12 => "FLOW_TYPE_IP6_VXLAN",
        IP4_GTPC = 13 => "FLOW_TYPE_IP4_GTPC",
        IP4_GTPU = 14 => "FLOW_TYPE_IP4_GTPU",
    }
    /// Kinds of packets.
    pub enum FlowTypeV2: u32 = "flow_type_v2" in "vnet/flow/flow_types.api" {
        ETHERNET = 1 => "FLOW_TYPE_ETHERNET_V2",
        IP4 = 2 => "FLOW_TYPE_IP4_V2",
        IP6 = 3 => "FLOW_TYPE_IP6_V2",
        IP4_L2TPV3OIP = 4 => "FLOW_TYPE_IP4_L2TPV3OIP_V2",
        IP4_IPSEC_ESP = 5 => "FLOW_TYPE_IP4_IPSEC_ESP_V2",
        IP4_IPSEC_AH = 6 => "FLOW_TYPE_IP4_IPSEC_AH_V2",
        IP4_N_TUPLE = 7 => "FLOW_TYPE_IP4_N_TUPLE_V2",
        IP6_N_TUPLE = 8 => "FLOW_TYPE_IP6_N_TUPLE_V2",
        IP4_N_TUPLE_TAGGED = 9 => "FLOW_TYPE_IP4_N_TUPLE_TAGGED_V2",
        IP6_N_TUPLE_TAGGED = 10 => "FLOW_TYPE_IP6_N_TUPLE_TAGGED_V2",
        IP4_VXLAN = 11 => "FLOW_TYPE_IP4_VXLAN_V2",
        IP6_VXLAN = 12 => "FLOW_TYPE_IP6_VXLAN_V2",
        IP4_GTPC = 13 => "FLOW_TYPE_IP4_GTPC_V2",
        IP4_GTPU = 14 => "FLOW_TYPE_IP4_GTPU_V2",
        GENERIC = 15 => "FLOW_TYPE_GENERIC_V2",
    }
    /// Actions on packets.
    pub enum FlowAction: u32 = "flow_action" in "vnet/flow/flow_types.api" {
        COUNT = 1 => "FLOW_ACTION_COUNT",
        MARK = 2 => "FLOW_ACTION_MARK",
        BUFFER_ADVANCE = 4 => "FLOW_ACTION_BUFFER_ADVANCE",
        REDIRECT_TO_NODE = 8 => "FLOW_ACTION_REDIRECT_TO_NODE",
        REDIRECT_TO_QUEUE = 16 => "FLOW_ACTION_REDIRECT_TO_QUEUE",
        DROP = 64 => "FLOW_ACTION_DROP",
    }
    /// Actions on packets.
    pub enum FlowActionV2: u32 = "flow_action_v2" in "vnet/flow/flow_types.api" {
        COUNT = 1 => "FLOW_ACTION_COUNT_V2",
        MARK = 2 => "FLOW_ACTION_MARK_V2",
        BUFFER_ADVANCE = 4 => "FLOW_ACTION_BUFFER_ADVANCE_V2",
        REDIRECT_TO_NODE = 8 => "FLOW_ACTION_REDIRECT_TO_NODE_V2",
        REDIRECT_TO_QUEUE = 16 => "FLOW_ACTION_REDIRECT_TO_QUEUE_V2",
        RSS = 32 => "FLOW_ACTION_RSS_V2",
        DROP = 64 => "FLOW_ACTION_DROP_V2",
    }
    /// RSS hash function.
    pub enum RssFunction: u32 = "rss_function" in "vnet/flow/flow_types.api" {
        DEFAULT = 0 => "RSS_FUNC_DEFAULT",
        TOEPLITZ = 1 => "RSS_FUNC_TOEPLITZ",
        SIMPLE_XOR = 2 => "RSS_FUNC_SIMPLE_XOR",
        SYMMETRIC_TOEPLITZ = 3 => "RSS_FUNC_SYMMETRIC_TOEPLITZ",
    }
}

/// An address and a mask.
#[derive(Clone, Copy, Debug, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct Ip4AddressAndMask {
    /// the address
    pub addr: Ipv4Addr,
    /// prefix length
    pub mask: Ipv4Addr,
}

/// An address and a mask.
#[derive(Clone, Copy, Debug, Record)]
#[file("vnet/ip/ip_types.api")]
pub struct Ip6AddressAndMask {
    /// the address
    pub addr: Ipv6Addr,
    /// prefix length
    pub mask: Ipv6Addr,
}

/// A port and a mask.
#[derive(Clone, Copy, Debug, Record)]
#[file("vnet/flow/flow_types.api")]
pub struct IpPortAndMask {
    /// port
    pub port: u16,
    /// prefix length
    pub mask: u16,
}

/// A protocol.
#[derive(Clone, Copy, Debug, Record)]
#[file("vnet/flow/flow_types.api")]
pub struct IpProtAndMask {
    /// protocol
    pub prot: IpProto,
    /// mask: all bits or none
    pub mask: u8,
}

/// Bytes and a mask.
#[derive(Clone, Debug, Record)]
#[file("vnet/flow/flow_types.api")]
pub struct GenericPattern {
    /// pattern, in hexadecimal
    pub spec: [u8; 1024],
    /// mask, in hexadecimal
    pub mask: [u8; 1024],
}

/// A structure of what a rule looks for.
trait Arm {
    /// Its matches.
    fn matches(&self) -> Result<Vec<Match>, Retval>;
}

/// Matches for any packet of IP: none where no bit counts.
macro_rules! base {
    ($arm:expr) => {{
        let mut found = Vec::new();
        if $arm.src_addr.mask.to_bits() != 0 {
            found.push(Match::Src($arm.src_addr.addr.into(), $arm.src_addr.mask.into()));
        }
        if $arm.dst_addr.mask.to_bits() != 0 {
            found.push(Match::Dst($arm.dst_addr.addr.into(), $arm.dst_addr.mask.into()));
        }
        if $arm.protocol.mask != 0 {
            found.push(Match::Proto($arm.protocol.prot.0));
        }
        found
    }};
}

/// Declares structures for packets of IP: addresses and protocol, then fields of their own, and the
/// header whose number one of these is.
macro_rules! arms {
    ($($(#[doc = $doc:literal])* $name:ident: $address:ty
        $(, [$src:ident $dst:ident])? $(=> $tunnel:ident $number:ident)?;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Record)]
        #[file("vnet/flow/flow_types.api")]
        pub struct $name {
            /// ignored
            pub foo: i32,
            /// source address
            pub src_addr: $address,
            /// destination address
            pub dst_addr: $address,
            /// protocol
            pub protocol: IpProtAndMask,
            $(/// source port
            pub $src: IpPortAndMask,
            /// destination port
            pub $dst: IpPortAndMask,)?
            $(/// number in the header behind
            pub $number: u32,)?
        }

        impl Arm for $name {
            fn matches(&self) -> Result<Vec<Match>, Retval> {
                #[allow(unused_mut, reason = "some have nothing of their own")]
                let mut found = base!(self);
                $(if self.$src.mask != 0 {
                    found.push(Match::SrcPort(self.$src.port, self.$src.mask));
                }
                if self.$dst.mask != 0 {
                    found.push(Match::DstPort(self.$dst.port, self.$dst.mask));
                })?
                $(found.push(Match::Number(Tunnel::$tunnel, self.$number));)?
                Ok(found)
            }
        }
    )*};
}

arms! {
    /// IPv4 packets.
    FlowIp4: Ip4AddressAndMask;
    /// IPv6 packets.
    FlowIp6: Ip6AddressAndMask;
    /// IPv4 5-tuple.
    FlowIp4NTuple: Ip4AddressAndMask, [src_port dst_port];
    /// IPv6 5-tuple.
    FlowIp6NTuple: Ip6AddressAndMask, [src_port dst_port];
    /// VLAN-tagged IPv4 5-tuple.
    FlowIp4NTupleTagged: Ip4AddressAndMask, [src_port dst_port];
    /// VLAN-tagged IPv6 5-tuple.
    FlowIp6NTupleTagged: Ip6AddressAndMask, [src_port dst_port];
    /// L2TPv3 packets.
    FlowIp4L2tpv3oip: Ip4AddressAndMask => Session session_id;
    /// ESP packets.
    FlowIp4IpsecEsp: Ip4AddressAndMask => Spi spi;
    /// AH packets.
    FlowIp4IpsecAh: Ip4AddressAndMask => Spi spi;
    /// VXLAN over IPv4.
    FlowIp4Vxlan: Ip4AddressAndMask, [src_port dst_port] => Vxlan vni;
    /// VXLAN over IPv6.
    FlowIp6Vxlan: Ip6AddressAndMask, [src_port dst_port] => Vxlan vni;
    /// GTP-C packets.
    FlowIp4Gtpc: Ip4AddressAndMask, [src_port dst_port] => Gtpc teid;
    /// GTP-U packets.
    FlowIp4Gtpu: Ip4AddressAndMask, [src_port dst_port] => Gtpu teid;
}

/// Frames.
#[derive(Clone, Debug, Record)]
#[file("vnet/flow/flow_types.api")]
pub struct FlowEthernet {
    /// ignored
    pub foo: i32,
    /// source address
    pub src_addr: MacAddr,
    /// destination address
    pub dst_addr: MacAddr,
    /// type
    #[name("type")]
    pub kind: u16,
}

impl Arm for FlowEthernet {
    fn matches(&self) -> Result<Vec<Match>, Retval> {
        Ok(vec![Match::Ethernet(self.src_addr, self.dst_addr, self.kind)])
    }
}

/// Frames that start with given bytes.
#[derive(Clone, Debug, Record)]
#[file("vnet/flow/flow_types.api")]
pub struct FlowGeneric {
    /// ignored
    pub foo: i32,
    /// the bytes
    pub pattern: GenericPattern,
}

impl Arm for FlowGeneric {
    fn matches(&self) -> Result<Vec<Match>, Retval> {
        let read = |digits: &[u8]| {
            let digits = digits.split(|byte| *byte == 0).next().unwrap_or_default();
            let text = std::str::from_utf8(digits).ok()?;
            crate::flow::rule::hex(text)
        };
        let pair = read(&self.pattern.spec).zip(read(&self.pattern.mask));
        let (spec, mask) = pair.ok_or(Retval::INVALID_VALUE)?;
        if spec.len() != mask.len() {
            return Err(Retval::INVALID_VALUE);
        }
        Ok(vec![Match::Bytes(spec, mask)])
    }
}

/// Match of a rule.
#[derive(Union, Clone, Debug)]
pub enum Flow {
    /// Frames.
    #[case("FLOW_TYPE_ETHERNET")]
    Ethernet(FlowEthernet),
    /// IPv4.
    #[case("FLOW_TYPE_IP4")]
    Ip4(FlowIp4),
    /// IPv6.
    #[case("FLOW_TYPE_IP6")]
    Ip6(FlowIp6),
    /// L2TPv3.
    #[case("FLOW_TYPE_IP4_L2TPV3OIP")]
    Ip4L2tpv3oip(FlowIp4L2tpv3oip),
    /// ESP.
    #[case("FLOW_TYPE_IP4_IPSEC_ESP")]
    Ip4IpsecEsp(FlowIp4IpsecEsp),
    /// AH.
    #[case("FLOW_TYPE_IP4_IPSEC_AH")]
    Ip4IpsecAh(FlowIp4IpsecAh),
    /// IPv4 5-tuple.
    #[case("FLOW_TYPE_IP4_N_TUPLE")]
    Ip4NTuple(FlowIp4NTuple),
    /// IPv6 5-tuple.
    #[case("FLOW_TYPE_IP6_N_TUPLE")]
    Ip6NTuple(FlowIp6NTuple),
    /// VLAN-tagged IPv4 5-tuple.
    #[case("FLOW_TYPE_IP4_N_TUPLE_TAGGED")]
    Ip4NTupleTagged(FlowIp4NTupleTagged),
    /// VLAN-tagged IPv6 5-tuple.
    #[case("FLOW_TYPE_IP6_N_TUPLE_TAGGED")]
    Ip6NTupleTagged(FlowIp6NTupleTagged),
    /// VXLAN over IPv4.
    #[case("FLOW_TYPE_IP4_VXLAN")]
    Ip4Vxlan(FlowIp4Vxlan),
    /// VXLAN over IPv6.
    #[case("FLOW_TYPE_IP6_VXLAN")]
    Ip6Vxlan(FlowIp6Vxlan),
    /// GTP-C.
    #[case("FLOW_TYPE_IP4_GTPC")]
    Ip4Gtpc(FlowIp4Gtpc),
    /// GTP-U.
    #[case("FLOW_TYPE_IP4_GTPU")]
    Ip4Gtpu(FlowIp4Gtpu),
}

/// Match of a rule.
#[derive(Union, Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "read once, and dropped")]
pub enum FlowV2 {
    /// Frames.
    #[case("FLOW_TYPE_ETHERNET_V2")]
    Ethernet(FlowEthernet),
    /// IPv4.
    #[case("FLOW_TYPE_IP4_V2")]
    Ip4(FlowIp4),
    /// IPv6.
    #[case("FLOW_TYPE_IP6_V2")]
    Ip6(FlowIp6),
    /// L2TPv3.
    #[case("FLOW_TYPE_IP4_L2TPV3OIP_V2")]
    Ip4L2tpv3oip(FlowIp4L2tpv3oip),
    /// ESP.
    #[case("FLOW_TYPE_IP4_IPSEC_ESP_V2")]
    Ip4IpsecEsp(FlowIp4IpsecEsp),
    /// AH.
    #[case("FLOW_TYPE_IP4_IPSEC_AH_V2")]
    Ip4IpsecAh(FlowIp4IpsecAh),
    /// IPv4 5-tuple.
    #[case("FLOW_TYPE_IP4_N_TUPLE_V2")]
    Ip4NTuple(FlowIp4NTuple),
    /// IPv6 5-tuple.
    #[case("FLOW_TYPE_IP6_N_TUPLE_V2")]
    Ip6NTuple(FlowIp6NTuple),
    /// VLAN-tagged IPv4 5-tuple.
    #[case("FLOW_TYPE_IP4_N_TUPLE_TAGGED_V2")]
    Ip4NTupleTagged(FlowIp4NTupleTagged),
    /// VLAN-tagged IPv6 5-tuple.
    #[case("FLOW_TYPE_IP6_N_TUPLE_TAGGED_V2")]
    Ip6NTupleTagged(FlowIp6NTupleTagged),
    /// VXLAN over IPv4.
    #[case("FLOW_TYPE_IP4_VXLAN_V2")]
    Ip4Vxlan(FlowIp4Vxlan),
    /// VXLAN over IPv6.
    #[case("FLOW_TYPE_IP6_VXLAN_V2")]
    Ip6Vxlan(FlowIp6Vxlan),
    /// GTP-C.
    #[case("FLOW_TYPE_IP4_GTPC_V2")]
    Ip4Gtpc(FlowIp4Gtpc),
    /// GTP-U.
    #[case("FLOW_TYPE_IP4_GTPU_V2")]
    Ip4Gtpu(FlowIp4Gtpu),
    /// Bytes.
    #[case("FLOW_TYPE_GENERIC_V2")]
    Generic(FlowGeneric),
}

/// Matches of a rule of this kind.
pub(super) fn matches<U: Union>(kind: u32, flow: &Overlay<U>) -> Result<Vec<Match>, Retval> {
    fn read<U: Union, A: Arm + Field>(flow: &Overlay<U>) -> Result<Vec<Match>, Retval> {
        flow.read::<A>().map_err(|_| Retval::INVALID_VALUE)?.matches()
    }
    match FlowTypeV2(kind) {
        FlowTypeV2::ETHERNET => read::<U, FlowEthernet>(flow),
        FlowTypeV2::IP4 => read::<U, FlowIp4>(flow),
        FlowTypeV2::IP6 => read::<U, FlowIp6>(flow),
        FlowTypeV2::IP4_L2TPV3OIP => read::<U, FlowIp4L2tpv3oip>(flow),
        FlowTypeV2::IP4_IPSEC_ESP => read::<U, FlowIp4IpsecEsp>(flow),
        FlowTypeV2::IP4_IPSEC_AH => read::<U, FlowIp4IpsecAh>(flow),
        FlowTypeV2::IP4_N_TUPLE => read::<U, FlowIp4NTuple>(flow),
        FlowTypeV2::IP6_N_TUPLE => read::<U, FlowIp6NTuple>(flow),
        FlowTypeV2::IP4_N_TUPLE_TAGGED => read::<U, FlowIp4NTupleTagged>(flow),
        FlowTypeV2::IP6_N_TUPLE_TAGGED => read::<U, FlowIp6NTupleTagged>(flow),
        FlowTypeV2::IP4_VXLAN => read::<U, FlowIp4Vxlan>(flow),
        FlowTypeV2::IP6_VXLAN => read::<U, FlowIp6Vxlan>(flow),
        FlowTypeV2::IP4_GTPC => read::<U, FlowIp4Gtpc>(flow),
        FlowTypeV2::IP4_GTPU => read::<U, FlowIp4Gtpu>(flow),
        FlowTypeV2::GENERIC => read::<U, FlowGeneric>(flow),
        _ => Err(Retval::INVALID_VALUE),
    }
}
