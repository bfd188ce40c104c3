# Written by `cargo run -p bindings -- python`: change the declarations, not this.
"""Messages of the binary API and their types."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import ClassVar

from .codec import (
    Array, Bytes, Counted, Counter, F64, Ip4, Ip6, Mac, Message, Number, Numbers, Record, Text,
    Union, VarText, BOOL, I8, I16, I32, I64, U8, U16, U32, U64,
)


class AddressFamily(IntEnum):
    ADDRESS_IP4 = 0
    ADDRESS_IP6 = 1


AddressUnion = Union("AddressUnion", 16, (("ip4", Ip4()), ("ip6", Ip6()), ))

@dataclass
class Address(Record):
    af: AddressFamily | int = 0
    un: bytes = b""
    LAYOUT: ClassVar = (
        ("af", Numbers(U8, AddressFamily)),
        ("un", AddressUnion),
    )


@dataclass
class Prefix(Record):
    address: Address = field(default_factory=Address)
    len: int = 0
    LAYOUT: ClassVar = (
        ("address", Address),
        ("len", U8),
    )


class AfPacketFlags(IntEnum):
    AF_PACKET_API_FLAG_QDISC_BYPASS = 1
    AF_PACKET_API_FLAG_CKSUM_GSO = 2
    AF_PACKET_API_FLAG_VERSION_2 = 8


class AfPacketMode(IntEnum):
    AF_PACKET_API_MODE_ETHERNET = 1
    AF_PACKET_API_MODE_IP = 2


@dataclass
class FibMplsLabel(Record):
    is_uniform: int = 0
    label: int = 0
    ttl: int = 0
    exp: int = 0
    LAYOUT: ClassVar = (
        ("is_uniform", U8),
        ("label", U32),
        ("ttl", U8),
        ("exp", U8),
    )


class FibPathType(IntEnum):
    FIB_API_PATH_TYPE_NORMAL = 0
    FIB_API_PATH_TYPE_LOCAL = 1
    FIB_API_PATH_TYPE_DROP = 2
    FIB_API_PATH_TYPE_UDP_ENCAP = 3
    FIB_API_PATH_TYPE_BIER_IMP = 4
    FIB_API_PATH_TYPE_ICMP_UNREACH = 5
    FIB_API_PATH_TYPE_ICMP_PROHIBIT = 6
    FIB_API_PATH_TYPE_SOURCE_LOOKUP = 7
    FIB_API_PATH_TYPE_DVR = 8
    FIB_API_PATH_TYPE_INTERFACE_RX = 9
    FIB_API_PATH_TYPE_CLASSIFY = 10


class FibPathFlags(IntEnum):
    FIB_API_PATH_FLAG_NONE = 0
    FIB_API_PATH_FLAG_RESOLVE_VIA_ATTACHED = 1
    FIB_API_PATH_FLAG_RESOLVE_VIA_HOST = 2
    FIB_API_PATH_FLAG_POP_PW_CW = 4


class FibPathNhProto(IntEnum):
    FIB_API_PATH_NH_PROTO_IP4 = 0
    FIB_API_PATH_NH_PROTO_IP6 = 1
    FIB_API_PATH_NH_PROTO_MPLS = 2
    FIB_API_PATH_NH_PROTO_ETHERNET = 3
    FIB_API_PATH_NH_PROTO_BIER = 4


@dataclass
class FibPathNh(Record):
    address: bytes = b""
    via_label: int = 0
    obj_id: int = 0
    classify_table_index: int = 0
    LAYOUT: ClassVar = (
        ("address", AddressUnion),
        ("via_label", U32),
        ("obj_id", U32),
        ("classify_table_index", U32),
    )


@dataclass
class FibPath(Record):
    sw_if_index: int = 0
    table_id: int = 0
    rpf_id: int = 0
    weight: int = 0
    preference: int = 0
    type: FibPathType | int = 0
    flags: FibPathFlags | int = 0
    proto: FibPathNhProto | int = 0
    nh: FibPathNh = field(default_factory=FibPathNh)
    n_labels: int = 0
    label_stack: list[FibMplsLabel] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("table_id", U32),
        ("rpf_id", U32),
        ("weight", U8),
        ("preference", U8),
        ("type", Numbers(U32, FibPathType)),
        ("flags", Numbers(U32, FibPathFlags)),
        ("proto", Numbers(U32, FibPathNhProto)),
        ("nh", FibPathNh),
        ("n_labels", U8),
        ("label_stack", Array(FibMplsLabel, 16)),
    )


@dataclass
class FibSource(Record):
    priority: int = 0
    id: int = 0
    name: str = ""
    LAYOUT: ClassVar = (
        ("priority", U8),
        ("id", U8),
        ("name", Text(64)),
    )


class IfStatusFlags(IntEnum):
    IF_STATUS_API_FLAG_ADMIN_UP = 1
    IF_STATUS_API_FLAG_LINK_UP = 2


class IfType(IntEnum):
    IF_API_TYPE_HARDWARE = 0
    IF_API_TYPE_SUB = 1
    IF_API_TYPE_P2P = 2
    IF_API_TYPE_PIPE = 3


@dataclass
class Ip4Prefix(Record):
    address: str = "0.0.0.0"
    len: int = 0
    LAYOUT: ClassVar = (
        ("address", Ip4()),
        ("len", U8),
    )


@dataclass
class Ip6Prefix(Record):
    address: str = "::"
    len: int = 0
    LAYOUT: ClassVar = (
        ("address", Ip6()),
        ("len", U8),
    )


class Ip6DadState(IntEnum):
    IP6_DAD_STATE_IDLE = 0
    IP6_DAD_STATE_TENTATIVE = 1
    IP6_DAD_STATE_PREFERRED = 2
    IP6_DAD_STATE_DUPLICATE = 3


@dataclass
class Ip6RaPrefixInfo(Record):
    prefix: Prefix = field(default_factory=Prefix)
    flags: int = 0
    valid_time: int = 0
    preferred_time: int = 0
    LAYOUT: ClassVar = (
        ("prefix", Prefix),
        ("flags", U8),
        ("valid_time", U32),
        ("preferred_time", U32),
    )


@dataclass
class Ip6ndRaPrefix(Record):
    prefix: Prefix = field(default_factory=Prefix)
    onlink_flag: bool = False
    autonomous_flag: bool = False
    val_lifetime: int = 0
    pref_lifetime: int = 0
    valid_lifetime_expires: float = 0.0
    pref_lifetime_expires: float = 0.0
    decrement_lifetime_flag: bool = False
    no_advertise: bool = False
    LAYOUT: ClassVar = (
        ("prefix", Prefix),
        ("onlink_flag", BOOL),
        ("autonomous_flag", BOOL),
        ("val_lifetime", U32),
        ("pref_lifetime", U32),
        ("valid_lifetime_expires", F64),
        ("pref_lifetime_expires", F64),
        ("decrement_lifetime_flag", BOOL),
        ("no_advertise", BOOL),
    )


class IpFlowHashConfig(IntFlag):
    IP_API_FLOW_HASH_SRC_IP = 1
    IP_API_FLOW_HASH_DST_IP = 2
    IP_API_FLOW_HASH_SRC_PORT = 4
    IP_API_FLOW_HASH_DST_PORT = 8
    IP_API_FLOW_HASH_PROTO = 16
    IP_API_FLOW_HASH_REVERSE = 32
    IP_API_FLOW_HASH_SYMETRIC = 64
    IP_API_FLOW_HASH_FLOW_LABEL = 128


class IpFlowHashConfigV2(IntFlag):
    IP_API_V2_FLOW_HASH_SRC_IP = 1
    IP_API_V2_FLOW_HASH_DST_IP = 2
    IP_API_V2_FLOW_HASH_SRC_PORT = 4
    IP_API_V2_FLOW_HASH_DST_PORT = 8
    IP_API_V2_FLOW_HASH_PROTO = 16
    IP_API_V2_FLOW_HASH_REVERSE = 32
    IP_API_V2_FLOW_HASH_SYMETRIC = 64
    IP_API_V2_FLOW_HASH_FLOW_LABEL = 128
    IP_API_V2_FLOW_HASH_GTPV1_TEID = 256


class MfibEntryFlags(IntEnum):
    MFIB_API_ENTRY_FLAG_NONE = 0
    MFIB_API_ENTRY_FLAG_SIGNAL = 1
    MFIB_API_ENTRY_FLAG_DROP = 2
    MFIB_API_ENTRY_FLAG_CONNECTED = 4
    MFIB_API_ENTRY_FLAG_ACCEPT_ALL_ITF = 8


@dataclass
class Mprefix(Record):
    af: AddressFamily | int = 0
    grp_address_length: int = 0
    grp_address: bytes = b""
    src_address: bytes = b""
    LAYOUT: ClassVar = (
        ("af", Numbers(U8, AddressFamily)),
        ("grp_address_length", U16),
        ("grp_address", AddressUnion),
        ("src_address", AddressUnion),
    )


class MfibItfFlags(IntEnum):
    MFIB_API_ITF_FLAG_NONE = 0
    MFIB_API_ITF_FLAG_NEGATE_SIGNAL = 1
    MFIB_API_ITF_FLAG_ACCEPT = 2
    MFIB_API_ITF_FLAG_FORWARD = 4
    MFIB_API_ITF_FLAG_SIGNAL_PRESENT = 8
    MFIB_API_ITF_FLAG_DONT_PRESERVE = 16


@dataclass
class MfibPath(Record):
    itf_flags: MfibItfFlags | int = 0
    path: FibPath = field(default_factory=FibPath)
    LAYOUT: ClassVar = (
        ("itf_flags", Numbers(U32, MfibItfFlags)),
        ("path", FibPath),
    )


@dataclass
class IpMroute(Record):
    table_id: int = 0
    entry_flags: MfibEntryFlags | int = 0
    rpf_id: int = 0
    prefix: Mprefix = field(default_factory=Mprefix)
    paths: list[MfibPath] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("entry_flags", Numbers(U32, MfibEntryFlags)),
        ("rpf_id", U32),
        ("prefix", Mprefix),
        ("n_paths", Counter(U8, "paths")),
        ("paths", Counted(MfibPath, "n_paths")),
    )


class IpNeighborFlags(IntEnum):
    IP_API_NEIGHBOR_FLAG_NONE = 0
    IP_API_NEIGHBOR_FLAG_STATIC = 1
    IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY = 2


@dataclass
class IpNeighbor(Record):
    sw_if_index: int = 0
    flags: IpNeighborFlags | int = 0
    mac_address: str = "00:00:00:00:00:00"
    ip_address: Address = field(default_factory=Address)
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("flags", Numbers(U8, IpNeighborFlags)),
        ("mac_address", Mac()),
        ("ip_address", Address),
    )


class IpNeighborEventFlags(IntEnum):
    IP_NEIGHBOR_API_EVENT_FLAG_ADDED = 1
    IP_NEIGHBOR_API_EVENT_FLAG_REMOVED = 2


@dataclass
class IpPathMtu(Record):
    client_index: int = 0
    context: int = 0
    table_id: int = 0
    nh: Address = field(default_factory=Address)
    path_mtu: int = 0
    LAYOUT: ClassVar = (
        ("client_index", U32),
        ("context", U32),
        ("table_id", U32),
        ("nh", Address),
        ("path_mtu", U16),
    )


class IpProto(IntEnum):
    IP_API_PROTO_HOPOPT = 0
    IP_API_PROTO_ICMP = 1
    IP_API_PROTO_IGMP = 2
    IP_API_PROTO_TCP = 6
    IP_API_PROTO_UDP = 17
    IP_API_PROTO_GRE = 47
    IP_API_PROTO_ESP = 50
    IP_API_PROTO_AH = 51
    IP_API_PROTO_ICMP6 = 58
    IP_API_PROTO_EIGRP = 88
    IP_API_PROTO_OSPF = 89
    IP_API_PROTO_SCTP = 132
    IP_API_PROTO_RESERVED = 255


class IpReassType(IntEnum):
    IP_REASS_TYPE_FULL = 0
    IP_REASS_TYPE_SHALLOW_VIRTUAL = 1


@dataclass
class IpRoute(Record):
    table_id: int = 0
    stats_index: int = 0
    prefix: Prefix = field(default_factory=Prefix)
    paths: list[FibPath] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("stats_index", U32),
        ("prefix", Prefix),
        ("n_paths", Counter(U8, "paths")),
        ("paths", Counted(FibPath, "n_paths")),
    )


@dataclass
class IpRouteV2(Record):
    table_id: int = 0
    stats_index: int = 0
    prefix: Prefix = field(default_factory=Prefix)
    src: int = 0
    paths: list[FibPath] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("stats_index", U32),
        ("prefix", Prefix),
        ("n_paths", Counter(U8, "paths")),
        ("src", U8),
        ("paths", Counted(FibPath, "n_paths")),
    )


@dataclass
class IpTable(Record):
    table_id: int = 0
    is_ip6: bool = False
    name: str = ""
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("is_ip6", BOOL),
        ("name", Text(64)),
    )


class LinkDuplex(IntEnum):
    LINK_DUPLEX_API_UNKNOWN = 0
    LINK_DUPLEX_API_HALF = 1
    LINK_DUPLEX_API_FULL = 2


class LogLevel(IntEnum):
    VPE_API_LOG_LEVEL_EMERG = 0
    VPE_API_LOG_LEVEL_ALERT = 1
    VPE_API_LOG_LEVEL_CRIT = 2
    VPE_API_LOG_LEVEL_ERR = 3
    VPE_API_LOG_LEVEL_WARNING = 4
    VPE_API_LOG_LEVEL_NOTICE = 5
    VPE_API_LOG_LEVEL_INFO = 6
    VPE_API_LOG_LEVEL_DEBUG = 7
    VPE_API_LOG_LEVEL_DISABLED = 8


@dataclass
class MessageTableEntry(Record):
    index: int = 0
    name: str = ""
    LAYOUT: ClassVar = (
        ("index", U16),
        ("name", Text(64)),
    )


@dataclass
class ModuleVersion(Record):
    major: int = 0
    minor: int = 0
    patch: int = 0
    name: str = ""
    LAYOUT: ClassVar = (
        ("major", U32),
        ("minor", U32),
        ("patch", U32),
        ("name", Text(64)),
    )


class MssClampDir(IntFlag):
    MSS_CLAMP_DIR_NONE = 0
    MSS_CLAMP_DIR_RX = 1
    MSS_CLAMP_DIR_TX = 2


class PgInterfaceFlags(IntEnum):
    PG_API_FLAG_NONE = 0
    PG_API_FLAG_CSUM_OFFLOAD = 1
    PG_API_FLAG_GSO = 2
    PG_API_FLAG_GRO_COALESCE = 4


class PgInterfaceMode(IntEnum):
    PG_API_MODE_ETHERNET = 0
    PG_API_MODE_IP4 = 1
    PG_API_MODE_IP6 = 2


@dataclass
class ProxyArp(Record):
    table_id: int = 0
    low: str = "0.0.0.0"
    hi: str = "0.0.0.0"
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("low", Ip4()),
        ("hi", Ip4()),
    )


class PuntType(IntEnum):
    PUNT_API_TYPE_L4 = 0
    PUNT_API_TYPE_IP_PROTO = 1
    PUNT_API_TYPE_EXCEPTION = 2


@dataclass
class PuntException(Record):
    id: int = 0
    LAYOUT: ClassVar = (
        ("id", U32),
    )


@dataclass
class PuntL4(Record):
    af: AddressFamily | int = 0
    protocol: IpProto | int = 0
    port: int = 0
    LAYOUT: ClassVar = (
        ("af", Numbers(U8, AddressFamily)),
        ("protocol", Numbers(U8, IpProto)),
        ("port", U16),
    )


@dataclass
class PuntIpProto(Record):
    af: AddressFamily | int = 0
    protocol: IpProto | int = 0
    LAYOUT: ClassVar = (
        ("af", Numbers(U8, AddressFamily)),
        ("protocol", Numbers(U8, IpProto)),
    )


PuntUnion = Union("PuntUnion", 4, (("exception", PuntException), ("l4", PuntL4), ("ip_proto", PuntIpProto), ))

@dataclass
class Punt(Record):
    type: PuntType | int = 0
    punt: bytes = b""
    LAYOUT: ClassVar = (
        ("type", Numbers(U32, PuntType)),
        ("punt", PuntUnion),
    )


@dataclass
class PuntRedirect(Record):
    rx_sw_if_index: int = 0
    tx_sw_if_index: int = 0
    nh: Address = field(default_factory=Address)
    LAYOUT: ClassVar = (
        ("rx_sw_if_index", U32),
        ("tx_sw_if_index", U32),
        ("nh", Address),
    )


class RxMode(IntEnum):
    RX_MODE_API_UNKNOWN = 0
    RX_MODE_API_POLLING = 1
    RX_MODE_API_INTERRUPT = 2
    RX_MODE_API_ADAPTIVE = 3
    RX_MODE_API_DEFAULT = 4


class SubIfFlags(IntEnum):
    SUB_IF_API_FLAG_NO_TAGS = 1
    SUB_IF_API_FLAG_ONE_TAG = 2
    SUB_IF_API_FLAG_TWO_TAGS = 4
    SUB_IF_API_FLAG_DOT1AD = 8
    SUB_IF_API_FLAG_EXACT_MATCH = 16
    SUB_IF_API_FLAG_DEFAULT = 32
    SUB_IF_API_FLAG_OUTER_VLAN_ID_ANY = 64
    SUB_IF_API_FLAG_INNER_VLAN_ID_ANY = 128
    SUB_IF_API_FLAG_MASK_VNET = 254
    SUB_IF_API_FLAG_DOT1AH = 256


class TapFlags(IntEnum):
    TAP_API_FLAG_GSO = 1
    TAP_API_FLAG_CSUM_OFFLOAD = 2
    TAP_API_FLAG_PERSIST = 4
    TAP_API_FLAG_ATTACH = 8
    TAP_API_FLAG_TUN = 16
    TAP_API_FLAG_GRO_COALESCE = 32
    TAP_API_FLAG_PACKED = 64
    TAP_API_FLAG_IN_ORDER = 128
    TAP_API_FLAG_CONSISTENT_QP = 256


@dataclass
class ThreadData(Record):
    id: int = 0
    name: str = ""
    type: str = ""
    pid: int = 0
    cpu_id: int = 0
    core: int = 0
    cpu_socket: int = 0
    LAYOUT: ClassVar = (
        ("id", U32),
        ("name", Text(64)),
        ("type", Text(64)),
        ("pid", U32),
        ("cpu_id", U32),
        ("core", U32),
        ("cpu_socket", U32),
    )


class TraceFilterFlag(IntEnum):
    TRACE_FF_NONE = 0
    TRACE_FF_INCLUDE_NODE = 1
    TRACE_FF_EXCLUDE_NODE = 2
    TRACE_FF_INCLUDE_CLASSIFIER = 3
    TRACE_FF_EXCLUDE_CLASSIFIER = 4


class UrpfMode(IntEnum):
    URPF_API_MODE_OFF = 0
    URPF_API_MODE_LOOSE = 1
    URPF_API_MODE_STRICT = 2


@dataclass
class ProxyArpAddDel(Message):
    """Answer ARP requests for a range of addresses, or no longer"""

    NAME: ClassVar = "proxy_arp_add_del"
    CRC: ClassVar = "1823c3e7"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "proxy_arp_add_del_reply"
    ROWS: ClassVar = None
    is_add: bool = False
    proxy: ProxyArp = field(default_factory=ProxyArp)
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("proxy", ProxyArp),
    )


@dataclass
class ProxyArpAddDelReply(Message):
    """"""

    NAME: ClassVar = "proxy_arp_add_del_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class ProxyArpDump(Message):
    """Show the ranges that are answered for"""

    NAME: ClassVar = "proxy_arp_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "proxy_arp_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class ProxyArpDetails(Message):
    """A range that is answered for"""

    NAME: ClassVar = "proxy_arp_details"
    CRC: ClassVar = "5b948673"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    proxy: ProxyArp = field(default_factory=ProxyArp)
    LAYOUT: ClassVar = (
        ("proxy", ProxyArp),
    )


@dataclass
class ProxyArpIntfcEnableDisable(Message):
    """Answer for these ranges on an interface, or no longer"""

    NAME: ClassVar = "proxy_arp_intfc_enable_disable"
    CRC: ClassVar = "ae6cfcfb"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "proxy_arp_intfc_enable_disable_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    enable: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("enable", BOOL),
    )


@dataclass
class ProxyArpIntfcEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "proxy_arp_intfc_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class ProxyArpIntfcDump(Message):
    """Show the interfaces where ranges are answered for"""

    NAME: ClassVar = "proxy_arp_intfc_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "proxy_arp_intfc_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class ProxyArpIntfcDetails(Message):
    """An interface where ranges are answered for"""

    NAME: ClassVar = "proxy_arp_intfc_details"
    CRC: ClassVar = "f6458e5f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class FeatureEnableDisable(Message):
    """Switch a feature on or off on an interface"""

    NAME: ClassVar = "feature_enable_disable"
    CRC: ClassVar = "7531c862"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "feature_enable_disable_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    enable: bool = False
    arc_name: str = ""
    feature_name: str = ""
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("enable", BOOL),
        ("arc_name", Text(64)),
        ("feature_name", Text(64)),
    )


@dataclass
class FeatureEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "feature_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class FeatureIsEnabled(Message):
    """Ask whether a feature is on"""

    NAME: ClassVar = "feature_is_enabled"
    CRC: ClassVar = "55db09e2"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "feature_is_enabled_reply"
    ROWS: ClassVar = None
    arc_name: str = ""
    feature_name: str = ""
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("arc_name", Text(64)),
        ("feature_name", Text(64)),
        ("sw_if_index", U32),
    )


@dataclass
class FeatureIsEnabledReply(Message):
    """Whether a feature is on"""

    NAME: ClassVar = "feature_is_enabled_reply"
    CRC: ClassVar = "03f284b5"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    is_enabled: bool = False
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("is_enabled", BOOL),
    )


@dataclass
class FibSourceAdd(Message):
    """Make a source"""

    NAME: ClassVar = "fib_source_add"
    CRC: ClassVar = "b3ac2aec"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "fib_source_add_reply"
    ROWS: ClassVar = None
    src: FibSource = field(default_factory=FibSource)
    LAYOUT: ClassVar = (
        ("src", FibSource),
    )


@dataclass
class FibSourceAddReply(Message):
    """The source is there"""

    NAME: ClassVar = "fib_source_add_reply"
    CRC: ClassVar = "604fd6f1"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    id: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("id", U8),
    )


@dataclass
class FibSourceDump(Message):
    """List all sources"""

    NAME: ClassVar = "fib_source_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "fib_source_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class FibSourceDetails(Message):
    """A source"""

    NAME: ClassVar = "fib_source_details"
    CRC: ClassVar = "8668acdb"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    src: FibSource = field(default_factory=FibSource)
    LAYOUT: ClassVar = (
        ("src", FibSource),
    )


@dataclass
class FeatureGsoEnableDisable(Message):
    """Have big packets cut before an interface sends them, where its device does not"""

    NAME: ClassVar = "feature_gso_enable_disable"
    CRC: ClassVar = "5501adee"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "feature_gso_enable_disable_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    enable_disable: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("enable_disable", BOOL),
    )


@dataclass
class FeatureGsoEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "feature_gso_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceDump(Message):
    """Ask for interfaces"""

    NAME: ClassVar = "sw_interface_dump"
    CRC: ClassVar = "aa610c27"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "sw_interface_details"
    sw_if_index: int = 4294967295
    name_filter_valid: bool = False
    name_filter: str = ""
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("name_filter_valid", BOOL),
        ("name_filter", VarText()),
    )


@dataclass
class SwInterfaceDetails(Message):
    """An interface"""

    NAME: ClassVar = "sw_interface_details"
    CRC: ClassVar = "6c221fc7"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    sup_sw_if_index: int = 0
    l2_address: str = "00:00:00:00:00:00"
    flags: IfStatusFlags | int = 0
    type: IfType | int = 0
    link_duplex: LinkDuplex | int = 0
    link_speed: int = 0
    link_mtu: int = 0
    mtu: list[int] = field(default_factory=list)
    sub_id: int = 0
    sub_number_of_tags: int = 0
    sub_outer_vlan_id: int = 0
    sub_inner_vlan_id: int = 0
    sub_if_flags: SubIfFlags | int = 0
    vtr_op: int = 0
    vtr_push_dot1q: int = 0
    vtr_tag1: int = 0
    vtr_tag2: int = 0
    outer_tag: int = 0
    b_dmac: str = "00:00:00:00:00:00"
    b_smac: str = "00:00:00:00:00:00"
    b_vlanid: int = 0
    i_sid: int = 0
    interface_name: str = ""
    interface_dev_type: str = ""
    tag: str = ""
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("sup_sw_if_index", U32),
        ("l2_address", Mac()),
        ("flags", Numbers(U32, IfStatusFlags)),
        ("type", Numbers(U32, IfType)),
        ("link_duplex", Numbers(U32, LinkDuplex)),
        ("link_speed", U32),
        ("link_mtu", U16),
        ("mtu", Array(U32, 4)),
        ("sub_id", U32),
        ("sub_number_of_tags", U8),
        ("sub_outer_vlan_id", U16),
        ("sub_inner_vlan_id", U16),
        ("sub_if_flags", Numbers(U32, SubIfFlags)),
        ("vtr_op", U32),
        ("vtr_push_dot1q", U32),
        ("vtr_tag1", U32),
        ("vtr_tag2", U32),
        ("outer_tag", U16),
        ("b_dmac", Mac()),
        ("b_smac", Mac()),
        ("b_vlanid", U16),
        ("i_sid", U32),
        ("interface_name", Text(64)),
        ("interface_dev_type", Text(64)),
        ("tag", Text(64)),
    )


@dataclass
class SwInterfaceSetFlags(Message):
    """Switch an interface on or off"""

    NAME: ClassVar = "sw_interface_set_flags"
    CRC: ClassVar = "f5aec1b8"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_flags_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    flags: IfStatusFlags | int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("flags", Numbers(U32, IfStatusFlags)),
    )


@dataclass
class SwInterfaceSetFlagsReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_flags_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetPromisc(Message):
    """Have an interface take frames for any address"""

    NAME: ClassVar = "sw_interface_set_promisc"
    CRC: ClassVar = "d40860d4"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_promisc_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    promisc_on: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("promisc_on", BOOL),
    )


@dataclass
class SwInterfaceSetPromiscReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_promisc_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class HwInterfaceSetMtu(Message):
    """Set what the device carries"""

    NAME: ClassVar = "hw_interface_set_mtu"
    CRC: ClassVar = "e6746899"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "hw_interface_set_mtu_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    mtu: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("mtu", U16),
    )


@dataclass
class HwInterfaceSetMtuReply(Message):
    """"""

    NAME: ClassVar = "hw_interface_set_mtu_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetMtu(Message):
    """Set the MTUs"""

    NAME: ClassVar = "sw_interface_set_mtu"
    CRC: ClassVar = "5cbe85e5"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_mtu_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    mtu: list[int] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("mtu", Array(U32, 4)),
    )


@dataclass
class SwInterfaceSetMtuReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_mtu_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceClearStats(Message):
    """Start counters anew"""

    NAME: ClassVar = "sw_interface_clear_stats"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_clear_stats_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class SwInterfaceClearStatsReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_clear_stats_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceTagAddDel(Message):
    """Call an interface something"""

    NAME: ClassVar = "sw_interface_tag_add_del"
    CRC: ClassVar = "426f8bc1"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_tag_add_del_reply"
    ROWS: ClassVar = None
    is_add: bool = False
    sw_if_index: int = 0
    tag: str = ""
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("sw_if_index", U32),
        ("tag", Text(64)),
    )


@dataclass
class SwInterfaceTagAddDelReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_tag_add_del_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetInterfaceName(Message):
    """Give an interface another name"""

    NAME: ClassVar = "sw_interface_set_interface_name"
    CRC: ClassVar = "45a1d548"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_interface_name_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    name: str = ""
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("name", Text(64)),
    )


@dataclass
class SwInterfaceSetInterfaceNameReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_interface_name_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class InterfaceNameRenumber(Message):
    """Give an interface another number in its name"""

    NAME: ClassVar = "interface_name_renumber"
    CRC: ClassVar = "2b8858b8"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "interface_name_renumber_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    new_show_dev_instance: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("new_show_dev_instance", U32),
    )


@dataclass
class InterfaceNameRenumberReply(Message):
    """"""

    NAME: ClassVar = "interface_name_renumber_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceAddDelMacAddress(Message):
    """Have an interface take frames for one address more"""

    NAME: ClassVar = "sw_interface_add_del_mac_address"
    CRC: ClassVar = "638bb9f4"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_add_del_mac_address_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    addr: str = "00:00:00:00:00:00"
    is_add: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("addr", Mac()),
        ("is_add", U8),
    )


@dataclass
class SwInterfaceAddDelMacAddressReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_add_del_mac_address_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetMacAddress(Message):
    """Set the address of an interface"""

    NAME: ClassVar = "sw_interface_set_mac_address"
    CRC: ClassVar = "c536e7eb"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_mac_address_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    mac_address: str = "00:00:00:00:00:00"
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("mac_address", Mac()),
    )


@dataclass
class SwInterfaceSetMacAddressReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_mac_address_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceGetMacAddress(Message):
    """Ask for the address of an interface"""

    NAME: ClassVar = "sw_interface_get_mac_address"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_get_mac_address_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class SwInterfaceGetMacAddressReply(Message):
    """The address"""

    NAME: ClassVar = "sw_interface_get_mac_address_reply"
    CRC: ClassVar = "40ef2c08"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    mac_address: str = "00:00:00:00:00:00"
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("mac_address", Mac()),
    )


@dataclass
class SwInterfaceSetLinkSpeed(Message):
    """Say what the link carries"""

    NAME: ClassVar = "sw_interface_set_link_speed"
    CRC: ClassVar = "2f0867fa"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_link_speed_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    link_speed: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("link_speed", U32),
    )


@dataclass
class SwInterfaceSetLinkSpeedReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_link_speed_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceGetSpeedCapa(Message):
    """Ask which speeds a link can have"""

    NAME: ClassVar = "sw_interface_get_speed_capa"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_get_speed_capa_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class SwInterfaceGetSpeedCapaReply(Message):
    """The speeds"""

    NAME: ClassVar = "sw_interface_get_speed_capa_reply"
    CRC: ClassVar = "20b21417"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    speeds: list[int] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("count", Counter(U32, "speeds")),
        ("speeds", Counted(U32, "count")),
    )


@dataclass
class SwInterfaceSetRxMode(Message):
    """Set when the receive queues of an interface are looked at"""

    NAME: ClassVar = "sw_interface_set_rx_mode"
    CRC: ClassVar = "b04d1cfe"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_rx_mode_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    queue_id_valid: bool = False
    queue_id: int = 0
    mode: RxMode | int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("queue_id_valid", BOOL),
        ("queue_id", U32),
        ("mode", Numbers(U32, RxMode)),
    )


@dataclass
class SwInterfaceSetRxModeReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_rx_mode_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetRxPlacement(Message):
    """Have a thread serve a receive queue"""

    NAME: ClassVar = "sw_interface_set_rx_placement"
    CRC: ClassVar = "db65f3c9"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_rx_placement_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    queue_id: int = 0
    worker_id: int = 0
    is_main: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("queue_id", U32),
        ("worker_id", U32),
        ("is_main", BOOL),
    )


@dataclass
class SwInterfaceSetRxPlacementReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_rx_placement_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetDefaultRxMode(Message):
    """Set when the receive queues of interfaces to come are looked at"""

    NAME: ClassVar = "sw_interface_set_default_rx_mode"
    CRC: ClassVar = "776b4837"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_default_rx_mode_reply"
    ROWS: ClassVar = None
    mode: RxMode | int = 0
    LAYOUT: ClassVar = (
        ("mode", Numbers(U32, RxMode)),
    )


@dataclass
class SwInterfaceSetDefaultRxModeReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_default_rx_mode_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceGetDefaultRxMode(Message):
    """Ask for it"""

    NAME: ClassVar = "sw_interface_get_default_rx_mode"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_get_default_rx_mode_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class SwInterfaceGetDefaultRxModeReply(Message):
    """When the receive queues of interfaces to come are looked at"""

    NAME: ClassVar = "sw_interface_get_default_rx_mode_reply"
    CRC: ClassVar = "2339da5a"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    mode: RxMode | int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("mode", Numbers(U32, RxMode)),
    )


@dataclass
class SwInterfaceRxPlacementDump(Message):
    """Ask which threads serve which receive queues"""

    NAME: ClassVar = "sw_interface_rx_placement_dump"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "sw_interface_rx_placement_details"
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class SwInterfaceRxPlacementDetails(Message):
    """A receive queue"""

    NAME: ClassVar = "sw_interface_rx_placement_details"
    CRC: ClassVar = "9e44a7ce"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    queue_id: int = 0
    worker_id: int = 0
    mode: RxMode | int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("queue_id", U32),
        ("worker_id", U32),
        ("mode", Numbers(U32, RxMode)),
    )


@dataclass
class SwInterfaceAddressReplaceBegin(Message):
    """From now on note which addresses are set again"""

    NAME: ClassVar = "sw_interface_address_replace_begin"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_address_replace_begin_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class SwInterfaceAddressReplaceBeginReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_address_replace_begin_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceAddressReplaceEnd(Message):
    """Take away those that were not set again since"""

    NAME: ClassVar = "sw_interface_address_replace_end"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_address_replace_end_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class SwInterfaceAddressReplaceEndReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_address_replace_end_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceAddDelAddress(Message):
    """Give an interface an address or take one away"""

    NAME: ClassVar = "sw_interface_add_del_address"
    CRC: ClassVar = "5463d73b"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_add_del_address_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    is_add: bool = False
    del_all: bool = False
    prefix: Prefix = field(default_factory=Prefix)
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("is_add", BOOL),
        ("del_all", BOOL),
        ("prefix", Prefix),
    )


@dataclass
class SwInterfaceAddDelAddressReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_add_del_address_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetUnnumbered(Message):
    """Have an interface use the addresses of another one"""

    NAME: ClassVar = "sw_interface_set_unnumbered"
    CRC: ClassVar = "154a6439"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_unnumbered_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    unnumbered_sw_if_index: int = 0
    is_add: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("unnumbered_sw_if_index", U32),
        ("is_add", BOOL),
    )


@dataclass
class SwInterfaceSetUnnumberedReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_unnumbered_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceSetTable(Message):
    """Have an interface look up in another table"""

    NAME: ClassVar = "sw_interface_set_table"
    CRC: ClassVar = "df42a577"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_set_table_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    is_ipv6: bool = False
    vrf_id: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("is_ipv6", BOOL),
        ("vrf_id", U32),
    )


@dataclass
class SwInterfaceSetTableReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_set_table_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceGetTable(Message):
    """Ask which table an interface looks up in"""

    NAME: ClassVar = "sw_interface_get_table"
    CRC: ClassVar = "2d033de4"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_get_table_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    is_ipv6: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("is_ipv6", BOOL),
    )


@dataclass
class SwInterfaceGetTableReply(Message):
    """The table"""

    NAME: ClassVar = "sw_interface_get_table_reply"
    CRC: ClassVar = "a6eb0109"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    vrf_id: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("vrf_id", U32),
    )


@dataclass
class CreateSubif(Message):
    """Make a sub-interface"""

    NAME: ClassVar = "create_subif"
    CRC: ClassVar = "790ca755"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "create_subif_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    sub_id: int = 0
    sub_if_flags: SubIfFlags | int = 0
    outer_vlan_id: int = 0
    inner_vlan_id: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("sub_id", U32),
        ("sub_if_flags", Numbers(U32, SubIfFlags)),
        ("outer_vlan_id", U16),
        ("inner_vlan_id", U16),
    )


@dataclass
class CreateSubifReply(Message):
    """It is made"""

    NAME: ClassVar = "create_subif_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class CreateVlanSubif(Message):
    """Make a sub-interface for one VLAN"""

    NAME: ClassVar = "create_vlan_subif"
    CRC: ClassVar = "af34ac8b"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "create_vlan_subif_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    vlan_id: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("vlan_id", U32),
    )


@dataclass
class CreateVlanSubifReply(Message):
    """It is made"""

    NAME: ClassVar = "create_vlan_subif_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class DeleteSubif(Message):
    """Delete a sub-interface"""

    NAME: ClassVar = "delete_subif"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "delete_subif_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class DeleteSubifReply(Message):
    """"""

    NAME: ClassVar = "delete_subif_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class WantInterfaceEvents(Message):
    """Register for events of interfaces"""

    NAME: ClassVar = "want_interface_events"
    CRC: ClassVar = "476f5a08"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "want_interface_events_reply"
    ROWS: ClassVar = None
    enable_disable: int = 0
    pid: int = 0
    LAYOUT: ClassVar = (
        ("enable_disable", U32),
        ("pid", U32),
    )


@dataclass
class WantInterfaceEventsReply(Message):
    """"""

    NAME: ClassVar = "want_interface_events_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceEvent(Message):
    """An interface has changed"""

    NAME: ClassVar = "sw_interface_event"
    CRC: ClassVar = "2d3d95a7"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    client_index: int = 0
    pid: int = 0
    sw_if_index: int = 0
    flags: IfStatusFlags | int = 0
    deleted: bool = False
    LAYOUT: ClassVar = (
        ("client_index", U32),
        ("pid", U32),
        ("sw_if_index", U32),
        ("flags", Numbers(U32, IfStatusFlags)),
        ("deleted", BOOL),
    )


@dataclass
class CollectDetailedInterfaceStats(Message):
    """Count what an interface carries by kind of destination"""

    NAME: ClassVar = "collect_detailed_interface_stats"
    CRC: ClassVar = "5501adee"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "collect_detailed_interface_stats_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    enable_disable: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("enable_disable", BOOL),
    )


@dataclass
class CollectDetailedInterfaceStatsReply(Message):
    """"""

    NAME: ClassVar = "collect_detailed_interface_stats_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class CreateLoopback(Message):
    """Make a loopback"""

    NAME: ClassVar = "create_loopback"
    CRC: ClassVar = "42bb5d22"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "create_loopback_reply"
    ROWS: ClassVar = None
    mac_address: str = "00:00:00:00:00:00"
    LAYOUT: ClassVar = (
        ("mac_address", Mac()),
    )


@dataclass
class CreateLoopbackReply(Message):
    """It is made"""

    NAME: ClassVar = "create_loopback_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class CreateLoopbackInstance(Message):
    """Make a loopback of a certain number"""

    NAME: ClassVar = "create_loopback_instance"
    CRC: ClassVar = "d36a3ee2"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "create_loopback_instance_reply"
    ROWS: ClassVar = None
    mac_address: str = "00:00:00:00:00:00"
    is_specified: bool = False
    user_instance: int = 0
    LAYOUT: ClassVar = (
        ("mac_address", Mac()),
        ("is_specified", BOOL),
        ("user_instance", U32),
    )


@dataclass
class CreateLoopbackInstanceReply(Message):
    """It is made"""

    NAME: ClassVar = "create_loopback_instance_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class DeleteLoopback(Message):
    """Delete a loopback"""

    NAME: ClassVar = "delete_loopback"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "delete_loopback_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class DeleteLoopbackReply(Message):
    """"""

    NAME: ClassVar = "delete_loopback_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpTableAddDel(Message):
    """Add or delete a table"""

    NAME: ClassVar = "ip_table_add_del"
    CRC: ClassVar = "0ffdaec0"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_table_add_del_reply"
    ROWS: ClassVar = None
    is_add: bool = True
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("table", IpTable),
    )


@dataclass
class IpTableAddDelReply(Message):
    """"""

    NAME: ClassVar = "ip_table_add_del_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpTableAddDelV2(Message):
    """Add or delete a table"""

    NAME: ClassVar = "ip_table_add_del_v2"
    CRC: ClassVar = "14e5081f"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_table_add_del_v2_reply"
    ROWS: ClassVar = None
    table: IpTable = field(default_factory=IpTable)
    create_mfib: bool = True
    is_add: bool = True
    LAYOUT: ClassVar = (
        ("table", IpTable),
        ("create_mfib", BOOL),
        ("is_add", BOOL),
    )


@dataclass
class IpTableAddDelV2Reply(Message):
    """"""

    NAME: ClassVar = "ip_table_add_del_v2_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpTableAllocate(Message):
    """Add a table that is not there yet"""

    NAME: ClassVar = "ip_table_allocate"
    CRC: ClassVar = "b9d2e09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_table_allocate_reply"
    ROWS: ClassVar = None
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpTableAllocateReply(Message):
    """The table that was added"""

    NAME: ClassVar = "ip_table_allocate_reply"
    CRC: ClassVar = "1728303a"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("table", IpTable),
    )


@dataclass
class IpTableDump(Message):
    """List all tables"""

    NAME: ClassVar = "ip_table_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip_table_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class IpTableDetails(Message):
    """A table"""

    NAME: ClassVar = "ip_table_details"
    CRC: ClassVar = "c79fca0f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpTableReplaceBegin(Message):
    """Begin to replace all routes that clients put into a table"""

    NAME: ClassVar = "ip_table_replace_begin"
    CRC: ClassVar = "b9d2e09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_table_replace_begin_reply"
    ROWS: ClassVar = None
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpTableReplaceBeginReply(Message):
    """"""

    NAME: ClassVar = "ip_table_replace_begin_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpTableReplaceEnd(Message):
    """End it: routes that were not given anew go"""

    NAME: ClassVar = "ip_table_replace_end"
    CRC: ClassVar = "b9d2e09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_table_replace_end_reply"
    ROWS: ClassVar = None
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpTableReplaceEndReply(Message):
    """"""

    NAME: ClassVar = "ip_table_replace_end_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpTableFlush(Message):
    """Take all routes that clients put into a table out"""

    NAME: ClassVar = "ip_table_flush"
    CRC: ClassVar = "b9d2e09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_table_flush_reply"
    ROWS: ClassVar = None
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpTableFlushReply(Message):
    """"""

    NAME: ClassVar = "ip_table_flush_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpRouteAddDel(Message):
    """Add or delete a route, or paths of one"""

    NAME: ClassVar = "ip_route_add_del"
    CRC: ClassVar = "b8ecfe0d"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_route_add_del_reply"
    ROWS: ClassVar = None
    is_add: bool = True
    is_multipath: bool = False
    route: IpRoute = field(default_factory=IpRoute)
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("is_multipath", BOOL),
        ("route", IpRoute),
    )


@dataclass
class IpRouteAddDelReply(Message):
    """The route as it is now"""

    NAME: ClassVar = "ip_route_add_del_reply"
    CRC: ClassVar = "1992deab"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    stats_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("stats_index", U32),
    )


@dataclass
class IpRouteAddDelV2(Message):
    """Add or delete a route of a source, or paths of one"""

    NAME: ClassVar = "ip_route_add_del_v2"
    CRC: ClassVar = "521ef330"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_route_add_del_v2_reply"
    ROWS: ClassVar = None
    is_add: bool = True
    is_multipath: bool = False
    route: IpRouteV2 = field(default_factory=IpRouteV2)
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("is_multipath", BOOL),
        ("route", IpRouteV2),
    )


@dataclass
class IpRouteAddDelV2Reply(Message):
    """The route as it is now"""

    NAME: ClassVar = "ip_route_add_del_v2_reply"
    CRC: ClassVar = "1992deab"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    stats_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("stats_index", U32),
    )


@dataclass
class IpRouteDump(Message):
    """List the routes of a table"""

    NAME: ClassVar = "ip_route_dump"
    CRC: ClassVar = "b9d2e09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip_route_details"
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpRouteDetails(Message):
    """A route"""

    NAME: ClassVar = "ip_route_details"
    CRC: ClassVar = "bda8f315"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    route: IpRoute = field(default_factory=IpRoute)
    LAYOUT: ClassVar = (
        ("route", IpRoute),
    )


@dataclass
class IpRouteV2Dump(Message):
    """List the routes of a table that a source has"""

    NAME: ClassVar = "ip_route_v2_dump"
    CRC: ClassVar = "d16f72e6"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip_route_v2_details"
    src: int = 0
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("src", U8),
        ("table", IpTable),
    )


@dataclass
class IpRouteV2Details(Message):
    """A route"""

    NAME: ClassVar = "ip_route_v2_details"
    CRC: ClassVar = "b09aa6c0"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    route: IpRouteV2 = field(default_factory=IpRouteV2)
    LAYOUT: ClassVar = (
        ("route", IpRouteV2),
    )


@dataclass
class IpRouteLookup(Message):
    """Look a route up"""

    NAME: ClassVar = "ip_route_lookup"
    CRC: ClassVar = "710d6471"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_route_lookup_reply"
    ROWS: ClassVar = None
    table_id: int = 0
    exact: int = 0
    prefix: Prefix = field(default_factory=Prefix)
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("exact", U8),
        ("prefix", Prefix),
    )


@dataclass
class IpRouteLookupReply(Message):
    """The route found"""

    NAME: ClassVar = "ip_route_lookup_reply"
    CRC: ClassVar = "5d8febcb"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    route: IpRoute = field(default_factory=IpRoute)
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("route", IpRoute),
    )


@dataclass
class IpRouteLookupV2(Message):
    """Look a route up"""

    NAME: ClassVar = "ip_route_lookup_v2"
    CRC: ClassVar = "710d6471"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_route_lookup_v2_reply"
    ROWS: ClassVar = None
    table_id: int = 0
    exact: int = 0
    prefix: Prefix = field(default_factory=Prefix)
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("exact", U8),
        ("prefix", Prefix),
    )


@dataclass
class IpRouteLookupV2Reply(Message):
    """The route found"""

    NAME: ClassVar = "ip_route_lookup_v2_reply"
    CRC: ClassVar = "84cc9e03"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    route: IpRouteV2 = field(default_factory=IpRouteV2)
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("route", IpRouteV2),
    )


@dataclass
class SetIpFlowHash(Message):
    """Set what of packets counts for the flow hash of a table"""

    NAME: ClassVar = "set_ip_flow_hash"
    CRC: ClassVar = "084ee09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "set_ip_flow_hash_reply"
    ROWS: ClassVar = None
    vrf_id: int = 0
    is_ipv6: bool = False
    src: bool = False
    dst: bool = False
    sport: bool = False
    dport: bool = False
    proto: bool = False
    reverse: bool = False
    symmetric: bool = False
    LAYOUT: ClassVar = (
        ("vrf_id", U32),
        ("is_ipv6", BOOL),
        ("src", BOOL),
        ("dst", BOOL),
        ("sport", BOOL),
        ("dport", BOOL),
        ("proto", BOOL),
        ("reverse", BOOL),
        ("symmetric", BOOL),
    )


@dataclass
class SetIpFlowHashReply(Message):
    """It is set"""

    NAME: ClassVar = "set_ip_flow_hash_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SetIpFlowHashV2(Message):
    """Set what of packets counts for the flow hash of a table"""

    NAME: ClassVar = "set_ip_flow_hash_v2"
    CRC: ClassVar = "6d132100"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "set_ip_flow_hash_v2_reply"
    ROWS: ClassVar = None
    table_id: int = 0
    af: AddressFamily | int = 0
    flow_hash_config: IpFlowHashConfig | int = 0
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("af", Numbers(U8, AddressFamily)),
        ("flow_hash_config", Numbers(U32, IpFlowHashConfig)),
    )


@dataclass
class SetIpFlowHashV2Reply(Message):
    """"""

    NAME: ClassVar = "set_ip_flow_hash_v2_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SetIpFlowHashV3(Message):
    """Set what of packets counts for the flow hash of a table"""

    NAME: ClassVar = "set_ip_flow_hash_v3"
    CRC: ClassVar = "b7876e07"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "set_ip_flow_hash_v3_reply"
    ROWS: ClassVar = None
    table_id: int = 0
    af: AddressFamily | int = 0
    flow_hash_config: IpFlowHashConfigV2 | int = 0
    LAYOUT: ClassVar = (
        ("table_id", U32),
        ("af", Numbers(U8, AddressFamily)),
        ("flow_hash_config", Numbers(U32, IpFlowHashConfigV2)),
    )


@dataclass
class SetIpFlowHashV3Reply(Message):
    """It is set"""

    NAME: ClassVar = "set_ip_flow_hash_v3_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SetIpFlowHashRouterId(Message):
    """Set the number that makes this router's choices differ from those of others"""

    NAME: ClassVar = "set_ip_flow_hash_router_id"
    CRC: ClassVar = "03e4f48e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "set_ip_flow_hash_router_id_reply"
    ROWS: ClassVar = None
    router_id: int = 0
    LAYOUT: ClassVar = (
        ("router_id", U32),
    )


@dataclass
class SetIpFlowHashRouterIdReply(Message):
    """"""

    NAME: ClassVar = "set_ip_flow_hash_router_id_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpMtableDump(Message):
    """List all multicast tables"""

    NAME: ClassVar = "ip_mtable_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip_mtable_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class IpMtableDetails(Message):
    """A multicast table"""

    NAME: ClassVar = "ip_mtable_details"
    CRC: ClassVar = "b9d2e09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpMrouteAddDel(Message):
    """Add or delete a multicast route, or paths of one"""

    NAME: ClassVar = "ip_mroute_add_del"
    CRC: ClassVar = "0dd7e790"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_mroute_add_del_reply"
    ROWS: ClassVar = None
    is_add: bool = True
    is_multipath: bool = False
    route: IpMroute = field(default_factory=IpMroute)
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("is_multipath", BOOL),
        ("route", IpMroute),
    )


@dataclass
class IpMrouteAddDelReply(Message):
    """The route as it is now"""

    NAME: ClassVar = "ip_mroute_add_del_reply"
    CRC: ClassVar = "1992deab"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    stats_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("stats_index", U32),
    )


@dataclass
class IpMrouteDump(Message):
    """List the multicast routes of a table"""

    NAME: ClassVar = "ip_mroute_dump"
    CRC: ClassVar = "b9d2e09e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip_mroute_details"
    table: IpTable = field(default_factory=IpTable)
    LAYOUT: ClassVar = (
        ("table", IpTable),
    )


@dataclass
class IpMrouteDetails(Message):
    """A multicast route"""

    NAME: ClassVar = "ip_mroute_details"
    CRC: ClassVar = "c5cb23fc"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    route: IpMroute = field(default_factory=IpMroute)
    LAYOUT: ClassVar = (
        ("route", IpMroute),
    )


@dataclass
class MfibSignalDump(Message):
    """Take the packets that routes and interfaces signalled"""

    NAME: ClassVar = "mfib_signal_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "mfib_signal_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class MfibSignalDetails(Message):
    """A packet that was signalled"""

    NAME: ClassVar = "mfib_signal_details"
    CRC: ClassVar = "6f4a4cfb"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    table_id: int = 0
    prefix: Mprefix = field(default_factory=Mprefix)
    ip_packet_len: int = 0
    ip_packet_data: bytes = b""
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("table_id", U32),
        ("prefix", Mprefix),
        ("ip_packet_len", U16),
        ("ip_packet_data", Bytes(256)),
    )


@dataclass
class IpReassemblySet(Message):
    """Set the limits of reassembly"""

    NAME: ClassVar = "ip_reassembly_set"
    CRC: ClassVar = "16467d25"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_reassembly_set_reply"
    ROWS: ClassVar = None
    timeout_ms: int = 0
    max_reassemblies: int = 0
    max_reassembly_length: int = 0
    expire_walk_interval_ms: int = 0
    is_ip6: bool = False
    type: IpReassType | int = 0
    LAYOUT: ClassVar = (
        ("timeout_ms", U32),
        ("max_reassemblies", U32),
        ("max_reassembly_length", U32),
        ("expire_walk_interval_ms", U32),
        ("is_ip6", BOOL),
        ("type", Numbers(U32, IpReassType)),
    )


@dataclass
class IpReassemblySetReply(Message):
    """"""

    NAME: ClassVar = "ip_reassembly_set_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpReassemblyGet(Message):
    """Ask for the limits of reassembly"""

    NAME: ClassVar = "ip_reassembly_get"
    CRC: ClassVar = "ea13ff63"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_reassembly_get_reply"
    ROWS: ClassVar = None
    is_ip6: bool = False
    type: IpReassType | int = 0
    LAYOUT: ClassVar = (
        ("is_ip6", BOOL),
        ("type", Numbers(U32, IpReassType)),
    )


@dataclass
class IpReassemblyGetReply(Message):
    """The limits of reassembly"""

    NAME: ClassVar = "ip_reassembly_get_reply"
    CRC: ClassVar = "d5eb8d34"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    timeout_ms: int = 0
    max_reassemblies: int = 0
    max_reassembly_length: int = 0
    expire_walk_interval_ms: int = 0
    is_ip6: bool = False
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("timeout_ms", U32),
        ("max_reassemblies", U32),
        ("max_reassembly_length", U32),
        ("expire_walk_interval_ms", U32),
        ("is_ip6", BOOL),
    )


@dataclass
class IpReassemblyEnableDisable(Message):
    """Switch reassembly on an interface on or off, for each version"""

    NAME: ClassVar = "ip_reassembly_enable_disable"
    CRC: ClassVar = "eb77968d"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_reassembly_enable_disable_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    enable_ip4: bool = False
    enable_ip6: bool = False
    type: IpReassType | int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("enable_ip4", BOOL),
        ("enable_ip6", BOOL),
        ("type", Numbers(U32, IpReassType)),
    )


@dataclass
class IpReassemblyEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "ip_reassembly_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpLocalReassEnableDisable(Message):
    """Switch reassembly of packets for the router itself on or off, for each version"""

    NAME: ClassVar = "ip_local_reass_enable_disable"
    CRC: ClassVar = "34e2ccc4"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_local_reass_enable_disable_reply"
    ROWS: ClassVar = None
    enable_ip4: bool = False
    enable_ip6: bool = False
    LAYOUT: ClassVar = (
        ("enable_ip4", BOOL),
        ("enable_ip6", BOOL),
    )


@dataclass
class IpLocalReassEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "ip_local_reass_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpLocalReassGet(Message):
    """Ask whether packets for the router itself are put together"""

    NAME: ClassVar = "ip_local_reass_get"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_local_reass_get_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class IpLocalReassGetReply(Message):
    """Whether packets for the router itself are put together"""

    NAME: ClassVar = "ip_local_reass_get_reply"
    CRC: ClassVar = "3e93a702"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    ip4_is_enabled: bool = False
    ip6_is_enabled: bool = False
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("ip4_is_enabled", BOOL),
        ("ip6_is_enabled", BOOL),
    )


@dataclass
class IpPathMtuUpdate(Message):
    """Set how long packets to a host may be"""

    NAME: ClassVar = "ip_path_mtu_update"
    CRC: ClassVar = "10bbe5cb"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_path_mtu_update_reply"
    ROWS: ClassVar = None
    pmtu: IpPathMtu = field(default_factory=IpPathMtu)
    LAYOUT: ClassVar = (
        ("pmtu", IpPathMtu),
    )


@dataclass
class IpPathMtuUpdateReply(Message):
    """"""

    NAME: ClassVar = "ip_path_mtu_update_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpPathMtuGet(Message):
    """Ask how long packets to hosts may be"""

    NAME: ClassVar = "ip_path_mtu_get"
    CRC: ClassVar = "f75ba505"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_path_mtu_get_reply"
    ROWS: ClassVar = "ip_path_mtu_details"
    cursor: int = 0
    LAYOUT: ClassVar = (
        ("cursor", U32),
    )


@dataclass
class IpPathMtuDetails(Message):
    """How long packets to a host may be"""

    NAME: ClassVar = "ip_path_mtu_details"
    CRC: ClassVar = "ac9539a7"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    pmtu: IpPathMtu = field(default_factory=IpPathMtu)
    LAYOUT: ClassVar = (
        ("pmtu", IpPathMtu),
    )


@dataclass
class IpPathMtuGetReply(Message):
    """The end of an answer"""

    NAME: ClassVar = "ip_path_mtu_get_reply"
    CRC: ClassVar = "53b48f5d"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    cursor: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("cursor", U32),
    )


@dataclass
class IpPathMtuReplaceBegin(Message):
    """Begin to replace all path MTUs"""

    NAME: ClassVar = "ip_path_mtu_replace_begin"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_path_mtu_replace_begin_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class IpPathMtuReplaceBeginReply(Message):
    """"""

    NAME: ClassVar = "ip_path_mtu_replace_begin_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpPathMtuReplaceEnd(Message):
    """End it: those not set since then go"""

    NAME: ClassVar = "ip_path_mtu_replace_end"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_path_mtu_replace_end_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class IpPathMtuReplaceEndReply(Message):
    """"""

    NAME: ClassVar = "ip_path_mtu_replace_end_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpPuntRedirect(Message):
    """Set where punted packets go"""

    NAME: ClassVar = "ip_punt_redirect"
    CRC: ClassVar = "6580f635"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_punt_redirect_reply"
    ROWS: ClassVar = None
    punt: PuntRedirect = field(default_factory=PuntRedirect)
    is_add: bool = True
    LAYOUT: ClassVar = (
        ("punt", PuntRedirect),
        ("is_add", BOOL),
    )


@dataclass
class IpPuntRedirectReply(Message):
    """"""

    NAME: ClassVar = "ip_punt_redirect_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpPuntRedirectDump(Message):
    """Ask where punted packets go"""

    NAME: ClassVar = "ip_punt_redirect_dump"
    CRC: ClassVar = "2d033de4"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip_punt_redirect_details"
    sw_if_index: int = 0
    is_ipv6: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("is_ipv6", BOOL),
    )


@dataclass
class IpPuntRedirectDetails(Message):
    """Where punted packets go"""

    NAME: ClassVar = "ip_punt_redirect_details"
    CRC: ClassVar = "2cef63e7"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    punt: PuntRedirect = field(default_factory=PuntRedirect)
    LAYOUT: ClassVar = (
        ("punt", PuntRedirect),
    )


@dataclass
class Ip6DadEnableDisable(Message):
    """Ask whether somebody else has an address before it is used, or no longer"""

    NAME: ClassVar = "ip6_dad_enable_disable"
    CRC: ClassVar = "557ed29b"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip6_dad_enable_disable_reply"
    ROWS: ClassVar = None
    enable: bool = True
    dad_transmits: int = 1
    dad_retransmit_delay: float = 1.0
    LAYOUT: ClassVar = (
        ("enable", BOOL),
        ("dad_transmits", U8),
        ("dad_retransmit_delay", F64),
    )


@dataclass
class Ip6DadEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "ip6_dad_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class Ip6DadDump(Message):
    """Show how it is asked"""

    NAME: ClassVar = "ip6_dad_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip6_dad_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class Ip6DadDetails(Message):
    """How it is asked"""

    NAME: ClassVar = "ip6_dad_details"
    CRC: ClassVar = "f6971ec4"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    enabled: bool = False
    dad_transmits: int = 0
    dad_retransmit_delay: float = 0.0
    LAYOUT: ClassVar = (
        ("enabled", BOOL),
        ("dad_transmits", U8),
        ("dad_retransmit_delay", F64),
    )


@dataclass
class WantIp6DadEvents(Message):
    """Register for what becomes of addresses"""

    NAME: ClassVar = "want_ip6_dad_events"
    CRC: ClassVar = "c5e2af94"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "want_ip6_dad_events_reply"
    ROWS: ClassVar = None
    enable_disable: bool = False
    pid: int = 0
    LAYOUT: ClassVar = (
        ("enable_disable", BOOL),
        ("pid", U32),
    )


@dataclass
class WantIp6DadEventsReply(Message):
    """"""

    NAME: ClassVar = "want_ip6_dad_events_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class Ip6DadEvent(Message):
    """It is known whether an address is ours"""

    NAME: ClassVar = "ip6_dad_event"
    CRC: ClassVar = "d6037980"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    client_index: int = 0
    pid: int = 0
    state: Ip6DadState | int = 0
    sw_if_index: int = 0
    address: str = "::"
    dad_count: int = 0
    dad_transmits: int = 0
    LAYOUT: ClassVar = (
        ("client_index", U32),
        ("pid", U32),
        ("state", Numbers(U8, Ip6DadState)),
        ("sw_if_index", U32),
        ("address", Ip6()),
        ("dad_count", U8),
        ("dad_transmits", U8),
    )


@dataclass
class Ip6ndProxyEnableDisable(Message):
    """Answer all solicitations on an interface, or no longer"""

    NAME: ClassVar = "ip6nd_proxy_enable_disable"
    CRC: ClassVar = "7daa1e3a"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip6nd_proxy_enable_disable_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    is_enable: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("is_enable", BOOL),
    )


@dataclass
class Ip6ndProxyEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "ip6nd_proxy_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class Ip6ndProxyAddDel(Message):
    """Answer for a host behind an interface, or no longer"""

    NAME: ClassVar = "ip6nd_proxy_add_del"
    CRC: ClassVar = "c2e4a686"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip6nd_proxy_add_del_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    is_add: bool = False
    ip: str = "::"
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("is_add", BOOL),
        ("ip", Ip6()),
    )


@dataclass
class Ip6ndProxyAddDelReply(Message):
    """"""

    NAME: ClassVar = "ip6nd_proxy_add_del_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class Ip6ndProxyDump(Message):
    """Show the hosts that are answered for"""

    NAME: ClassVar = "ip6nd_proxy_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip6nd_proxy_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class Ip6ndProxyDetails(Message):
    """A host that is answered for"""

    NAME: ClassVar = "ip6nd_proxy_details"
    CRC: ClassVar = "30b9ff4a"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    ip: str = "::"
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("ip", Ip6()),
    )


@dataclass
class SwInterfaceIp6ndRaConfig(Message):
    """Set how an interface advertises: what is not 0 is set, or taken back"""

    NAME: ClassVar = "sw_interface_ip6nd_ra_config"
    CRC: ClassVar = "3eb00b1c"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_ip6nd_ra_config_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    suppress: int = 0
    managed: int = 0
    other: int = 0
    ll_option: int = 0
    send_unicast: int = 0
    cease: int = 0
    is_no: bool = False
    default_router: int = 0
    max_interval: int = 0
    min_interval: int = 0
    lifetime: int = 0
    initial_count: int = 0
    initial_interval: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("suppress", U8),
        ("managed", U8),
        ("other", U8),
        ("ll_option", U8),
        ("send_unicast", U8),
        ("cease", U8),
        ("is_no", BOOL),
        ("default_router", U8),
        ("max_interval", U32),
        ("min_interval", U32),
        ("lifetime", U32),
        ("initial_count", U32),
        ("initial_interval", U32),
    )


@dataclass
class SwInterfaceIp6ndRaConfigReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_ip6nd_ra_config_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceIp6ndRaPrefix(Message):
    """Set a prefix that is advertised"""

    NAME: ClassVar = "sw_interface_ip6nd_ra_prefix"
    CRC: ClassVar = "82cc1b28"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sw_interface_ip6nd_ra_prefix_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    prefix: Prefix = field(default_factory=Prefix)
    use_default: bool = False
    no_advertise: bool = False
    off_link: bool = False
    no_autoconfig: bool = False
    no_onlink: bool = False
    is_no: bool = False
    val_lifetime: int = 0
    pref_lifetime: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("prefix", Prefix),
        ("use_default", BOOL),
        ("no_advertise", BOOL),
        ("off_link", BOOL),
        ("no_autoconfig", BOOL),
        ("no_onlink", BOOL),
        ("is_no", BOOL),
        ("val_lifetime", U32),
        ("pref_lifetime", U32),
    )


@dataclass
class SwInterfaceIp6ndRaPrefixReply(Message):
    """"""

    NAME: ClassVar = "sw_interface_ip6nd_ra_prefix_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceIp6ndRaDump(Message):
    """Show how interfaces advertise"""

    NAME: ClassVar = "sw_interface_ip6nd_ra_dump"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "sw_interface_ip6nd_ra_details"
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class SwInterfaceIp6ndRaDetails(Message):
    """How an interface advertises"""

    NAME: ClassVar = "sw_interface_ip6nd_ra_details"
    CRC: ClassVar = "d3198de5"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    cur_hop_limit: int = 0
    adv_managed_flag: bool = False
    adv_other_flag: bool = False
    adv_router_lifetime: int = 0
    adv_neighbor_reachable_time: int = 0
    adv_retransmit_interval: int = 0
    adv_link_mtu: int = 0
    send_radv: bool = False
    cease_radv: bool = False
    send_unicast: bool = False
    adv_link_layer_address: bool = False
    max_radv_interval: float = 0.0
    min_radv_interval: float = 0.0
    last_radv_time: float = 0.0
    last_multicast_time: float = 0.0
    next_multicast_time: float = 0.0
    initial_adverts_count: int = 0
    initial_adverts_interval: float = 0.0
    initial_adverts_sent: bool = False
    n_advertisements_sent: int = 0
    n_solicitations_rcvd: int = 0
    n_solicitations_dropped: int = 0
    prefixes: list[Ip6ndRaPrefix] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("cur_hop_limit", U8),
        ("adv_managed_flag", BOOL),
        ("adv_other_flag", BOOL),
        ("adv_router_lifetime", U16),
        ("adv_neighbor_reachable_time", U32),
        ("adv_retransmit_interval", U32),
        ("adv_link_mtu", U32),
        ("send_radv", BOOL),
        ("cease_radv", BOOL),
        ("send_unicast", BOOL),
        ("adv_link_layer_address", BOOL),
        ("max_radv_interval", F64),
        ("min_radv_interval", F64),
        ("last_radv_time", F64),
        ("last_multicast_time", F64),
        ("next_multicast_time", F64),
        ("initial_adverts_count", U32),
        ("initial_adverts_interval", F64),
        ("initial_adverts_sent", BOOL),
        ("n_advertisements_sent", U32),
        ("n_solicitations_rcvd", U32),
        ("n_solicitations_dropped", U32),
        ("n_prefixes", Counter(U32, "prefixes")),
        ("prefixes", Counted(Ip6ndRaPrefix, "n_prefixes")),
    )


@dataclass
class Ip6ndSendRouterSolicitation(Message):
    """Look for routers on an interface. All bounds: 0 for none"""

    NAME: ClassVar = "ip6nd_send_router_solicitation"
    CRC: ClassVar = "e5de609c"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip6nd_send_router_solicitation_reply"
    ROWS: ClassVar = None
    irt: int = 0
    mrt: int = 0
    mrc: int = 0
    mrd: int = 0
    sw_if_index: int = 0
    stop: bool = False
    LAYOUT: ClassVar = (
        ("irt", U32),
        ("mrt", U32),
        ("mrc", U32),
        ("mrd", U32),
        ("sw_if_index", U32),
        ("stop", BOOL),
    )


@dataclass
class Ip6ndSendRouterSolicitationReply(Message):
    """"""

    NAME: ClassVar = "ip6nd_send_router_solicitation_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class WantIp6RaEvents(Message):
    """Register for what other routers say"""

    NAME: ClassVar = "want_ip6_ra_events"
    CRC: ClassVar = "3ec6d6c2"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "want_ip6_ra_events_reply"
    ROWS: ClassVar = None
    enable: bool = False
    pid: int = 0
    LAYOUT: ClassVar = (
        ("enable", BOOL),
        ("pid", U32),
    )


@dataclass
class WantIp6RaEventsReply(Message):
    """"""

    NAME: ClassVar = "want_ip6_ra_events_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class Ip6RaEvent(Message):
    """Another router advertised itself"""

    NAME: ClassVar = "ip6_ra_event"
    CRC: ClassVar = "0364c1c5"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    client_index: int = 0
    pid: int = 0
    sw_if_index: int = 0
    router_addr: str = "::"
    current_hop_limit: int = 0
    flags: int = 0
    router_lifetime_in_sec: int = 0
    neighbor_reachable_time_in_msec: int = 0
    time_in_msec_between_retransmitted_neighbor_solicitations: int = 0
    prefixes: list[Ip6RaPrefixInfo] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("client_index", U32),
        ("pid", U32),
        ("sw_if_index", U32),
        ("router_addr", Ip6()),
        ("current_hop_limit", U8),
        ("flags", U8),
        ("router_lifetime_in_sec", U16),
        ("neighbor_reachable_time_in_msec", U32),
        ("time_in_msec_between_retransmitted_neighbor_solicitations", U32),
        ("n_prefixes", Counter(U32, "prefixes")),
        ("prefixes", Counted(Ip6RaPrefixInfo, "n_prefixes")),
    )


@dataclass
class IpNeighborAddDel(Message):
    """Set or remove a neighbor"""

    NAME: ClassVar = "ip_neighbor_add_del"
    CRC: ClassVar = "0607c257"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_neighbor_add_del_reply"
    ROWS: ClassVar = None
    is_add: bool = False
    neighbor: IpNeighbor = field(default_factory=IpNeighbor)
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("neighbor", IpNeighbor),
    )


@dataclass
class IpNeighborAddDelReply(Message):
    """The neighbor is set or removed"""

    NAME: ClassVar = "ip_neighbor_add_del_reply"
    CRC: ClassVar = "1992deab"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    stats_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("stats_index", U32),
    )


@dataclass
class IpNeighborDump(Message):
    """Show the neighbors of one family"""

    NAME: ClassVar = "ip_neighbor_dump"
    CRC: ClassVar = "d817a484"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "ip_neighbor_details"
    sw_if_index: int = 4294967295
    af: AddressFamily | int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("af", Numbers(U8, AddressFamily)),
    )


@dataclass
class IpNeighborDetails(Message):
    """A neighbor"""

    NAME: ClassVar = "ip_neighbor_details"
    CRC: ClassVar = "e29d79f0"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    age: float = 0.0
    neighbor: IpNeighbor = field(default_factory=IpNeighbor)
    LAYOUT: ClassVar = (
        ("age", F64),
        ("neighbor", IpNeighbor),
    )


@dataclass
class IpNeighborConfig(Message):
    """Set the bounds of the neighbor table"""

    NAME: ClassVar = "ip_neighbor_config"
    CRC: ClassVar = "f4a5cf44"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_neighbor_config_reply"
    ROWS: ClassVar = None
    af: AddressFamily | int = 0
    max_number: int = 0
    max_age: int = 0
    recycle: bool = False
    LAYOUT: ClassVar = (
        ("af", Numbers(U8, AddressFamily)),
        ("max_number", U32),
        ("max_age", U32),
        ("recycle", BOOL),
    )


@dataclass
class IpNeighborConfigReply(Message):
    """"""

    NAME: ClassVar = "ip_neighbor_config_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpNeighborConfigGet(Message):
    """Ask for the bounds of the neighbor table"""

    NAME: ClassVar = "ip_neighbor_config_get"
    CRC: ClassVar = "a5db7bf7"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_neighbor_config_get_reply"
    ROWS: ClassVar = None
    af: AddressFamily | int = 0
    LAYOUT: ClassVar = (
        ("af", Numbers(U8, AddressFamily)),
    )


@dataclass
class IpNeighborConfigGetReply(Message):
    """The bounds of the neighbor table"""

    NAME: ClassVar = "ip_neighbor_config_get_reply"
    CRC: ClassVar = "798e6fdd"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    af: AddressFamily | int = 0
    max_number: int = 0
    max_age: int = 0
    recycle: bool = False
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("af", Numbers(U8, AddressFamily)),
        ("max_number", U32),
        ("max_age", U32),
        ("recycle", BOOL),
    )


@dataclass
class IpNeighborReplaceBegin(Message):
    """Begin to set all neighbors anew"""

    NAME: ClassVar = "ip_neighbor_replace_begin"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_neighbor_replace_begin_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class IpNeighborReplaceBeginReply(Message):
    """"""

    NAME: ClassVar = "ip_neighbor_replace_begin_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpNeighborReplaceEnd(Message):
    """Forget the neighbors that were not set since"""

    NAME: ClassVar = "ip_neighbor_replace_end"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_neighbor_replace_end_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class IpNeighborReplaceEndReply(Message):
    """"""

    NAME: ClassVar = "ip_neighbor_replace_end_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpNeighborFlush(Message):
    """Forget all neighbors of one family"""

    NAME: ClassVar = "ip_neighbor_flush"
    CRC: ClassVar = "16aa35d2"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip_neighbor_flush_reply"
    ROWS: ClassVar = None
    af: AddressFamily | int = 0
    sw_if_index: int = 4294967295
    LAYOUT: ClassVar = (
        ("af", Numbers(U8, AddressFamily)),
        ("sw_if_index", U32),
    )


@dataclass
class IpNeighborFlushReply(Message):
    """"""

    NAME: ClassVar = "ip_neighbor_flush_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class WantIpNeighborEvents(Message):
    """Register for news of neighbors that become known"""

    NAME: ClassVar = "want_ip_neighbor_events"
    CRC: ClassVar = "73e70a86"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "want_ip_neighbor_events_reply"
    ROWS: ClassVar = None
    enable: bool = False
    pid: int = 0
    ip: Address = field(default_factory=Address)
    sw_if_index: int = 4294967295
    LAYOUT: ClassVar = (
        ("enable", BOOL),
        ("pid", U32),
        ("ip", Address),
        ("sw_if_index", U32),
    )


@dataclass
class WantIpNeighborEventsReply(Message):
    """News come"""

    NAME: ClassVar = "want_ip_neighbor_events_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpNeighborEvent(Message):
    """A neighbor became known"""

    NAME: ClassVar = "ip_neighbor_event"
    CRC: ClassVar = "bdb092b2"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    client_index: int = 0
    pid: int = 0
    neighbor: IpNeighbor = field(default_factory=IpNeighbor)
    LAYOUT: ClassVar = (
        ("client_index", U32),
        ("pid", U32),
        ("neighbor", IpNeighbor),
    )


@dataclass
class WantIpNeighborEventsV2(Message):
    """Register for news of neighbors"""

    NAME: ClassVar = "want_ip_neighbor_events_v2"
    CRC: ClassVar = "73e70a86"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "want_ip_neighbor_events_v2_reply"
    ROWS: ClassVar = None
    enable: bool = False
    pid: int = 0
    ip: Address = field(default_factory=Address)
    sw_if_index: int = 4294967295
    LAYOUT: ClassVar = (
        ("enable", BOOL),
        ("pid", U32),
        ("ip", Address),
        ("sw_if_index", U32),
    )


@dataclass
class WantIpNeighborEventsV2Reply(Message):
    """"""

    NAME: ClassVar = "want_ip_neighbor_events_v2_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class IpNeighborEventV2(Message):
    """A neighbor became known, or is no longer"""

    NAME: ClassVar = "ip_neighbor_event_v2"
    CRC: ClassVar = "c1d53dc0"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    client_index: int = 0
    pid: int = 0
    flags: IpNeighborEventFlags | int = 0
    neighbor: IpNeighbor = field(default_factory=IpNeighbor)
    LAYOUT: ClassVar = (
        ("client_index", U32),
        ("pid", U32),
        ("flags", Numbers(U32, IpNeighborEventFlags)),
        ("neighbor", IpNeighbor),
    )


@dataclass
class MemclntCreate(Message):
    """Connect through shared memory"""

    NAME: ClassVar = "memclnt_create"
    CRC: ClassVar = "9c5e1c2f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    ctx_quota: int = 0
    input_queue: int = 0
    name: str = ""
    api_versions: list[int] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("ctx_quota", I32),
        ("input_queue", U64),
        ("name", Text(64)),
        ("api_versions", Array(U32, 8)),
    )


@dataclass
class MemclntCreateReply(Message):
    """Refused: there is no shared memory"""

    NAME: ClassVar = "memclnt_create_reply"
    CRC: ClassVar = "42ec4560"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    response: int = 0
    handle: int = 0
    index: int = 0
    message_table: int = 0
    LAYOUT: ClassVar = (
        ("response", I32),
        ("handle", U64),
        ("index", U32),
        ("message_table", U64),
    )


@dataclass
class MemclntDelete(Message):
    """Leave shared memory"""

    NAME: ClassVar = "memclnt_delete"
    CRC: ClassVar = "7e1c04e3"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    index: int = 0
    handle: int = 0
    do_cleanup: bool = False
    LAYOUT: ClassVar = (
        ("index", U32),
        ("handle", U64),
        ("do_cleanup", BOOL),
    )


@dataclass
class MemclntDeleteReply(Message):
    """Refused: there is no shared memory"""

    NAME: ClassVar = "memclnt_delete_reply"
    CRC: ClassVar = "3d3b6312"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    response: int = 0
    handle: int = 0
    LAYOUT: ClassVar = (
        ("response", I32),
        ("handle", U64),
    )


@dataclass
class RxThreadExit(Message):
    """A message between threads of a client"""

    NAME: ClassVar = "rx_thread_exit"
    CRC: ClassVar = "c3a3a452"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    dummy: int = 0
    LAYOUT: ClassVar = (
        ("dummy", U8),
    )


@dataclass
class MemclntRxThreadSuspend(Message):
    """A message between threads of a client"""

    NAME: ClassVar = "memclnt_rx_thread_suspend"
    CRC: ClassVar = "c3a3a452"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    dummy: int = 0
    LAYOUT: ClassVar = (
        ("dummy", U8),
    )


@dataclass
class MemclntReadTimeout(Message):
    """A message between threads of a client"""

    NAME: ClassVar = "memclnt_read_timeout"
    CRC: ClassVar = "c3a3a452"
    HEAD: ClassVar = 0
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    dummy: int = 0
    LAYOUT: ClassVar = (
        ("dummy", U8),
    )


@dataclass
class RpcCall(Message):
    """Call a function by its address: refused"""

    NAME: ClassVar = "rpc_call"
    CRC: ClassVar = "7e8a2c95"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "rpc_call_reply"
    ROWS: ClassVar = None
    function: int = 0
    multicast: int = 0
    need_barrier_sync: int = 0
    send_reply: int = 0
    data: bytes = b""
    LAYOUT: ClassVar = (
        ("function", U64),
        ("multicast", U8),
        ("need_barrier_sync", U8),
        ("send_reply", U8),
        ("data_len", Counter(U32, "data")),
        ("data", Bytes("data_len")),
    )


@dataclass
class RpcCallReply(Message):
    """"""

    NAME: ClassVar = "rpc_call_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class GetFirstMsgId(Message):
    """Ask for the number of a module's first message"""

    NAME: ClassVar = "get_first_msg_id"
    CRC: ClassVar = "ebf79a66"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "get_first_msg_id_reply"
    ROWS: ClassVar = None
    name: str = ""
    LAYOUT: ClassVar = (
        ("name", Text(64)),
    )


@dataclass
class GetFirstMsgIdReply(Message):
    """The number of a module's first message"""

    NAME: ClassVar = "get_first_msg_id_reply"
    CRC: ClassVar = "7d337472"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    first_msg_id: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("first_msg_id", U16),
    )


@dataclass
class ApiVersions(Message):
    """Ask for the versions of modules"""

    NAME: ClassVar = "api_versions"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "api_versions_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class ApiVersionsReply(Message):
    """The versions of modules; clients go by CRCs and expect none"""

    NAME: ClassVar = "api_versions_reply"
    CRC: ClassVar = "5f0d99d6"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    api_versions: list[ModuleVersion] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("count", Counter(U32, "api_versions")),
        ("api_versions", Counted(ModuleVersion, "count")),
    )


@dataclass
class TracePluginMsgIds(Message):
    """Where a plugin's messages are; for the trace of the original's tools"""

    NAME: ClassVar = "trace_plugin_msg_ids"
    CRC: ClassVar = "f476d3ce"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    plugin_name: str = ""
    first_msg_id: int = 0
    last_msg_id: int = 0
    LAYOUT: ClassVar = (
        ("plugin_name", Text(128)),
        ("first_msg_id", U16),
        ("last_msg_id", U16),
    )


@dataclass
class SockclntCreate(Message):
    """Connect"""

    NAME: ClassVar = "sockclnt_create"
    CRC: ClassVar = "455fb9c4"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    name: str = ""
    LAYOUT: ClassVar = (
        ("name", Text(64)),
    )


@dataclass
class SockclntCreateReply(Message):
    """The client is connected"""

    NAME: ClassVar = "sockclnt_create_reply"
    CRC: ClassVar = "35166268"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    response: int = 0
    index: int = 0
    message_table: list[MessageTableEntry] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("response", I32),
        ("index", U32),
        ("count", Counter(U16, "message_table")),
        ("message_table", Counted(MessageTableEntry, "count")),
    )


@dataclass
class SockclntDelete(Message):
    """Disconnect"""

    NAME: ClassVar = "sockclnt_delete"
    CRC: ClassVar = "8ac76db6"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sockclnt_delete_reply"
    ROWS: ClassVar = None
    index: int = 0
    LAYOUT: ClassVar = (
        ("index", U32),
    )


@dataclass
class SockclntDeleteReply(Message):
    """The client is no longer known"""

    NAME: ClassVar = "sockclnt_delete_reply"
    CRC: ClassVar = "8f38b1ee"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    response: int = 0
    LAYOUT: ClassVar = (
        ("response", I32),
    )


@dataclass
class SockInitShm(Message):
    """Ask for shared memory: refused"""

    NAME: ClassVar = "sock_init_shm"
    CRC: ClassVar = "51646d92"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "sock_init_shm_reply"
    ROWS: ClassVar = None
    requested_size: int = 0
    configs: list[int] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("requested_size", U32),
        ("nitems", Counter(U8, "configs")),
        ("configs", Counted(U64, "nitems")),
    )


@dataclass
class SockInitShmReply(Message):
    """"""

    NAME: ClassVar = "sock_init_shm_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class MemclntKeepalive(Message):
    """Ask whether the other side is alive"""

    NAME: ClassVar = "memclnt_keepalive"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "memclnt_keepalive_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class MemclntKeepaliveReply(Message):
    """"""

    NAME: ClassVar = "memclnt_keepalive_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class ControlPing(Message):
    """Ask for an answer behind all answers to what was asked before"""

    NAME: ClassVar = "control_ping"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "control_ping_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class ControlPingReply(Message):
    """All that was asked before is answered"""

    NAME: ClassVar = "control_ping_reply"
    CRC: ClassVar = "f6b0b8ca"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    client_index: int = 0
    vpe_pid: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("client_index", U32),
        ("vpe_pid", U32),
    )


@dataclass
class MemclntCreateV2(Message):
    """Connect through shared memory"""

    NAME: ClassVar = "memclnt_create_v2"
    CRC: ClassVar = "c4bd4882"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    ctx_quota: int = 0
    input_queue: int = 0
    name: str = ""
    api_versions: list[int] = field(default_factory=list)
    keepalive: bool = True
    LAYOUT: ClassVar = (
        ("ctx_quota", I32),
        ("input_queue", U64),
        ("name", Text(64)),
        ("api_versions", Array(U32, 8)),
        ("keepalive", BOOL),
    )


@dataclass
class MemclntCreateV2Reply(Message):
    """Refused: there is no shared memory"""

    NAME: ClassVar = "memclnt_create_v2_reply"
    CRC: ClassVar = "42ec4560"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    response: int = 0
    handle: int = 0
    index: int = 0
    message_table: int = 0
    LAYOUT: ClassVar = (
        ("response", I32),
        ("handle", U64),
        ("index", U32),
        ("message_table", U64),
    )


@dataclass
class GetApiJson(Message):
    """Ask for the declarations of all messages"""

    NAME: ClassVar = "get_api_json"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "get_api_json_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class GetApiJsonReply(Message):
    """The declarations of all messages, as an array of what is in the files of modules"""

    NAME: ClassVar = "get_api_json_reply"
    CRC: ClassVar = "ea715b59"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    json: str = ""
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("json", VarText()),
    )


@dataclass
class PgCreateInterface(Message):
    """Make a generator interface of Ethernet"""

    NAME: ClassVar = "pg_create_interface"
    CRC: ClassVar = "b7c893d7"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "pg_create_interface_reply"
    ROWS: ClassVar = None
    interface_id: int = 0
    gso_enabled: bool = False
    gso_size: int = 0
    LAYOUT: ClassVar = (
        ("interface_id", U32),
        ("gso_enabled", BOOL),
        ("gso_size", U32),
    )


@dataclass
class PgCreateInterfaceReply(Message):
    """It is there"""

    NAME: ClassVar = "pg_create_interface_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class PgCreateInterfaceV2(Message):
    """Make a generator interface"""

    NAME: ClassVar = "pg_create_interface_v2"
    CRC: ClassVar = "8657466a"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "pg_create_interface_v2_reply"
    ROWS: ClassVar = None
    interface_id: int = 0
    gso_enabled: bool = False
    gso_size: int = 0
    mode: PgInterfaceMode | int = 0
    LAYOUT: ClassVar = (
        ("interface_id", U32),
        ("gso_enabled", BOOL),
        ("gso_size", U32),
        ("mode", Numbers(U8, PgInterfaceMode)),
    )


@dataclass
class PgCreateInterfaceV2Reply(Message):
    """It is there"""

    NAME: ClassVar = "pg_create_interface_v2_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class PgCreateInterfaceV3(Message):
    """Make a generator interface, or find it"""

    NAME: ClassVar = "pg_create_interface_v3"
    CRC: ClassVar = "b2aac653"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "pg_create_interface_v3_reply"
    ROWS: ClassVar = None
    interface_id: int = 0
    pg_flags: PgInterfaceFlags | int = 0
    gso_size: int = 0
    mode: PgInterfaceMode | int = 0
    LAYOUT: ClassVar = (
        ("interface_id", U32),
        ("pg_flags", Numbers(U32, PgInterfaceFlags)),
        ("gso_size", U32),
        ("mode", Numbers(U8, PgInterfaceMode)),
    )


@dataclass
class PgCreateInterfaceV3Reply(Message):
    """It is there"""

    NAME: ClassVar = "pg_create_interface_v3_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class PgDeleteInterface(Message):
    """Delete a generator interface"""

    NAME: ClassVar = "pg_delete_interface"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "pg_delete_interface_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class PgDeleteInterfaceReply(Message):
    """"""

    NAME: ClassVar = "pg_delete_interface_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class PgInterfaceEnableDisableCoalesce(Message):
    """Have an interface merge TCP packets before it sends them"""

    NAME: ClassVar = "pg_interface_enable_disable_coalesce"
    CRC: ClassVar = "a2ef99e7"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "pg_interface_enable_disable_coalesce_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    coalesce_enabled: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("coalesce_enabled", BOOL),
    )


@dataclass
class PgInterfaceEnableDisableCoalesceReply(Message):
    """"""

    NAME: ClassVar = "pg_interface_enable_disable_coalesce_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class PgCapture(Message):
    """Write what an interface sends into a file"""

    NAME: ClassVar = "pg_capture"
    CRC: ClassVar = "3712fb6c"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "pg_capture_reply"
    ROWS: ClassVar = None
    interface_id: int = 0
    is_enabled: bool = True
    count: int = 0
    pcap_file_name: str = ""
    LAYOUT: ClassVar = (
        ("interface_id", U32),
        ("is_enabled", BOOL),
        ("count", U32),
        ("pcap_file_name", VarText()),
    )


@dataclass
class PgCaptureReply(Message):
    """"""

    NAME: ClassVar = "pg_capture_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class PgEnableDisable(Message):
    """Start streams or stop them"""

    NAME: ClassVar = "pg_enable_disable"
    CRC: ClassVar = "01f94f3a"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "pg_enable_disable_reply"
    ROWS: ClassVar = None
    is_enabled: bool = True
    stream_name: str = ""
    LAYOUT: ClassVar = (
        ("is_enabled", BOOL),
        ("stream_name", VarText()),
    )


@dataclass
class PgEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "pg_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SetPunt(Message):
    """Have something punted, or no longer"""

    NAME: ClassVar = "set_punt"
    CRC: ClassVar = "47d0e347"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "set_punt_reply"
    ROWS: ClassVar = None
    is_add: bool = False
    punt: Punt = field(default_factory=Punt)
    LAYOUT: ClassVar = (
        ("is_add", BOOL),
        ("punt", Punt),
    )


@dataclass
class SetPuntReply(Message):
    """"""

    NAME: ClassVar = "set_punt_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class Ip6NdAddressAutoconfig(Message):
    """Make addresses, and default routes, of what other routers advertise on an interface, or no longer"""

    NAME: ClassVar = "ip6_nd_address_autoconfig"
    CRC: ClassVar = "9e14a4a7"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "ip6_nd_address_autoconfig_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    enable: bool = False
    install_default_routes: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("enable", BOOL),
        ("install_default_routes", BOOL),
    )


@dataclass
class Ip6NdAddressAutoconfigReply(Message):
    """"""

    NAME: ClassVar = "ip6_nd_address_autoconfig_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class CliInband(Message):
    """Carry out a command, or several, one a line"""

    NAME: ClassVar = "cli_inband"
    CRC: ClassVar = "f8377302"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "cli_inband_reply"
    ROWS: ClassVar = None
    cmd: str = ""
    LAYOUT: ClassVar = (
        ("cmd", VarText()),
    )


@dataclass
class CliInbandReply(Message):
    """What commands printed, up to the first error and with its text"""

    NAME: ClassVar = "cli_inband_reply"
    CRC: ClassVar = "05879051"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    reply: str = ""
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("reply", VarText()),
    )


@dataclass
class GetNodeIndex(Message):
    """Ask for the number of a node"""

    NAME: ClassVar = "get_node_index"
    CRC: ClassVar = "f1984c64"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "get_node_index_reply"
    ROWS: ClassVar = None
    node_name: str = ""
    LAYOUT: ClassVar = (
        ("node_name", Text(64)),
    )


@dataclass
class GetNodeIndexReply(Message):
    """The number of a node"""

    NAME: ClassVar = "get_node_index_reply"
    CRC: ClassVar = "a8600b89"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    node_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("node_index", U32),
    )


@dataclass
class AddNodeNext(Message):
    """Add an edge between two nodes, or find it"""

    NAME: ClassVar = "add_node_next"
    CRC: ClassVar = "2457116d"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "add_node_next_reply"
    ROWS: ClassVar = None
    node_name: str = ""
    next_name: str = ""
    LAYOUT: ClassVar = (
        ("node_name", Text(64)),
        ("next_name", Text(64)),
    )


@dataclass
class AddNodeNextReply(Message):
    """The number of an edge"""

    NAME: ClassVar = "add_node_next_reply"
    CRC: ClassVar = "2ed75f32"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    next_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("next_index", U32),
    )


@dataclass
class ShowThreads(Message):
    """Ask for the threads"""

    NAME: ClassVar = "show_threads"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "show_threads_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class ShowThreadsReply(Message):
    """The threads"""

    NAME: ClassVar = "show_threads_reply"
    CRC: ClassVar = "efd78e83"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    thread_data: list[ThreadData] = field(default_factory=list)
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("count", Counter(U32, "thread_data")),
        ("thread_data", Counted(ThreadData, "count")),
    )


@dataclass
class GetNextIndex(Message):
    """Find an edge between two nodes"""

    NAME: ClassVar = "get_next_index"
    CRC: ClassVar = "2457116d"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "get_next_index_reply"
    ROWS: ClassVar = None
    node_name: str = ""
    next_name: str = ""
    LAYOUT: ClassVar = (
        ("node_name", Text(64)),
        ("next_name", Text(64)),
    )


@dataclass
class GetNextIndexReply(Message):
    """The number of an edge"""

    NAME: ClassVar = "get_next_index_reply"
    CRC: ClassVar = "2ed75f32"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    next_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("next_index", U32),
    )


@dataclass
class GetF64EndianValue(Message):
    """Check that both sides mean the same by a number with a fraction"""

    NAME: ClassVar = "get_f64_endian_value"
    CRC: ClassVar = "809fcd44"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "get_f64_endian_value_reply"
    ROWS: ClassVar = None
    f64_one: float = 1.0
    LAYOUT: ClassVar = (
        ("f64_one", F64),
    )


@dataclass
class GetF64EndianValueReply(Message):
    """The number that came"""

    NAME: ClassVar = "get_f64_endian_value_reply"
    CRC: ClassVar = "7e02e404"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    f64_one_result: float = 0.0
    LAYOUT: ClassVar = (
        ("retval", U32),
        ("f64_one_result", F64),
    )


@dataclass
class GetF64IncrementByOne(Message):
    """Add one"""

    NAME: ClassVar = "get_f64_increment_by_one"
    CRC: ClassVar = "b64f027e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "get_f64_increment_by_one_reply"
    ROWS: ClassVar = None
    f64_value: float = 1.0
    LAYOUT: ClassVar = (
        ("f64_value", F64),
    )


@dataclass
class GetF64IncrementByOneReply(Message):
    """One more"""

    NAME: ClassVar = "get_f64_increment_by_one_reply"
    CRC: ClassVar = "d25dbaa3"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    f64_value: float = 0.0
    LAYOUT: ClassVar = (
        ("retval", U32),
        ("f64_value", F64),
    )


@dataclass
class ShowVersion(Message):
    """Ask what the program is"""

    NAME: ClassVar = "show_version"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "show_version_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class ShowVersionReply(Message):
    """What the program is"""

    NAME: ClassVar = "show_version_reply"
    CRC: ClassVar = "c919bde1"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    program: str = ""
    version: str = ""
    build_date: str = ""
    build_directory: str = ""
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("program", Text(32)),
        ("version", Text(32)),
        ("build_date", Text(32)),
        ("build_directory", Text(256)),
    )


@dataclass
class ShowVpeSystemTime(Message):
    """Ask for the time"""

    NAME: ClassVar = "show_vpe_system_time"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "show_vpe_system_time_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class ShowVpeSystemTimeReply(Message):
    """The time"""

    NAME: ClassVar = "show_vpe_system_time_reply"
    CRC: ClassVar = "7ffd8193"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    vpe_system_time: float = 0.0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("vpe_system_time", F64),
    )


@dataclass
class LogDump(Message):
    """Ask for the log"""

    NAME: ClassVar = "log_dump"
    CRC: ClassVar = "6ab31753"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "log_details"
    start_timestamp: float = 0.0
    LAYOUT: ClassVar = (
        ("start_timestamp", F64),
    )


@dataclass
class LogDetails(Message):
    """An entry of the log"""

    NAME: ClassVar = "log_details"
    CRC: ClassVar = "03d61cc0"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    timestamp: float = 0.0
    level: LogLevel | int = 0
    msg_class: str = ""
    message: str = ""
    LAYOUT: ClassVar = (
        ("timestamp", F64),
        ("level", Numbers(U32, LogLevel)),
        ("msg_class", Text(32)),
        ("message", Text(256)),
    )


@dataclass
class AfPacketCreate(Message):
    """Make an interface on a device of the host"""

    NAME: ClassVar = "af_packet_create"
    CRC: ClassVar = "a190415f"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "af_packet_create_reply"
    ROWS: ClassVar = None
    hw_addr: str = "00:00:00:00:00:00"
    use_random_hw_addr: bool = False
    host_if_name: str = ""
    LAYOUT: ClassVar = (
        ("hw_addr", Mac()),
        ("use_random_hw_addr", BOOL),
        ("host_if_name", Text(64)),
    )


@dataclass
class AfPacketCreateReply(Message):
    """It is made"""

    NAME: ClassVar = "af_packet_create_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class AfPacketCreateV2(Message):
    """Make an interface on a device of the host"""

    NAME: ClassVar = "af_packet_create_v2"
    CRC: ClassVar = "4aff0436"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "af_packet_create_v2_reply"
    ROWS: ClassVar = None
    hw_addr: str = "00:00:00:00:00:00"
    use_random_hw_addr: bool = False
    host_if_name: str = ""
    rx_frame_size: int = 0
    tx_frame_size: int = 0
    rx_frames_per_block: int = 0
    tx_frames_per_block: int = 0
    flags: int = 0
    num_rx_queues: int = 1
    LAYOUT: ClassVar = (
        ("hw_addr", Mac()),
        ("use_random_hw_addr", BOOL),
        ("host_if_name", Text(64)),
        ("rx_frame_size", U32),
        ("tx_frame_size", U32),
        ("rx_frames_per_block", U32),
        ("tx_frames_per_block", U32),
        ("flags", U32),
        ("num_rx_queues", U16),
    )


@dataclass
class AfPacketCreateV2Reply(Message):
    """It is made"""

    NAME: ClassVar = "af_packet_create_v2_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class AfPacketCreateV3(Message):
    """Make an interface on a device of the host"""

    NAME: ClassVar = "af_packet_create_v3"
    CRC: ClassVar = "b82c2ae9"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "af_packet_create_v3_reply"
    ROWS: ClassVar = None
    mode: AfPacketMode | int = 0
    hw_addr: str = "00:00:00:00:00:00"
    use_random_hw_addr: bool = False
    host_if_name: str = ""
    rx_frame_size: int = 0
    tx_frame_size: int = 0
    rx_frames_per_block: int = 0
    tx_frames_per_block: int = 0
    flags: AfPacketFlags | int = 0
    num_rx_queues: int = 1
    num_tx_queues: int = 1
    LAYOUT: ClassVar = (
        ("mode", Numbers(U32, AfPacketMode)),
        ("hw_addr", Mac()),
        ("use_random_hw_addr", BOOL),
        ("host_if_name", Text(64)),
        ("rx_frame_size", U32),
        ("tx_frame_size", U32),
        ("rx_frames_per_block", U32),
        ("tx_frames_per_block", U32),
        ("flags", Numbers(U32, AfPacketFlags)),
        ("num_rx_queues", U16),
        ("num_tx_queues", U16),
    )


@dataclass
class AfPacketCreateV3Reply(Message):
    """It is made"""

    NAME: ClassVar = "af_packet_create_v3_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class AfPacketDelete(Message):
    """Delete the interface on a device of the host"""

    NAME: ClassVar = "af_packet_delete"
    CRC: ClassVar = "863fa648"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "af_packet_delete_reply"
    ROWS: ClassVar = None
    host_if_name: str = ""
    LAYOUT: ClassVar = (
        ("host_if_name", Text(64)),
    )


@dataclass
class AfPacketDeleteReply(Message):
    """"""

    NAME: ClassVar = "af_packet_delete_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class AfPacketSetL4CksumOffload(Message):
    """Say who completes checksums of TCP and UDP"""

    NAME: ClassVar = "af_packet_set_l4_cksum_offload"
    CRC: ClassVar = "319cd5c8"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "af_packet_set_l4_cksum_offload_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    set: bool = False
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("set", BOOL),
    )


@dataclass
class AfPacketSetL4CksumOffloadReply(Message):
    """"""

    NAME: ClassVar = "af_packet_set_l4_cksum_offload_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class AfPacketDump(Message):
    """Ask for interfaces on devices of the host"""

    NAME: ClassVar = "af_packet_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "af_packet_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class AfPacketDetails(Message):
    """One of them"""

    NAME: ClassVar = "af_packet_details"
    CRC: ClassVar = "58c7c042"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    host_if_name: str = ""
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("host_if_name", Text(64)),
    )


@dataclass
class MssClampEnableDisable(Message):
    """Set what TCP hosts are told on an interface"""

    NAME: ClassVar = "mss_clamp_enable_disable"
    CRC: ClassVar = "d31b44e3"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "mss_clamp_enable_disable_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    ipv4_mss: int = 0
    ipv6_mss: int = 0
    ipv4_direction: MssClampDir | int = 0
    ipv6_direction: MssClampDir | int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("ipv4_mss", U16),
        ("ipv6_mss", U16),
        ("ipv4_direction", Numbers(U8, MssClampDir)),
        ("ipv6_direction", Numbers(U8, MssClampDir)),
    )


@dataclass
class MssClampEnableDisableReply(Message):
    """"""

    NAME: ClassVar = "mss_clamp_enable_disable_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class MssClampGet(Message):
    """Ask what TCP hosts are told"""

    NAME: ClassVar = "mss_clamp_get"
    CRC: ClassVar = "47250981"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "mss_clamp_get_reply"
    ROWS: ClassVar = "mss_clamp_details"
    cursor: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("cursor", U32),
        ("sw_if_index", U32),
    )


@dataclass
class MssClampDetails(Message):
    """What TCP hosts are told on an interface"""

    NAME: ClassVar = "mss_clamp_details"
    CRC: ClassVar = "d3a4de61"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    ipv4_mss: int = 0
    ipv6_mss: int = 0
    ipv4_direction: MssClampDir | int = 0
    ipv6_direction: MssClampDir | int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("ipv4_mss", U16),
        ("ipv6_mss", U16),
        ("ipv4_direction", Numbers(U8, MssClampDir)),
        ("ipv6_direction", Numbers(U8, MssClampDir)),
    )


@dataclass
class MssClampGetReply(Message):
    """The end of an answer"""

    NAME: ClassVar = "mss_clamp_get_reply"
    CRC: ClassVar = "53b48f5d"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    cursor: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("cursor", U32),
    )


@dataclass
class TapCreateV3(Message):
    """Make a tap"""

    NAME: ClassVar = "tap_create_v3"
    CRC: ClassVar = "2e44cc18"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "tap_create_v3_reply"
    ROWS: ClassVar = None
    id: int = 4294967295
    use_random_mac: bool = True
    mac_address: str = "00:00:00:00:00:00"
    num_rx_queues: int = 1
    num_tx_queues: int = 1
    tx_ring_sz: int = 256
    rx_ring_sz: int = 256
    host_mtu_set: bool = False
    host_mtu_size: int = 0
    host_mac_addr_set: bool = False
    host_mac_addr: str = "00:00:00:00:00:00"
    host_ip4_prefix_set: bool = False
    host_ip4_prefix: Ip4Prefix = field(default_factory=Ip4Prefix)
    host_ip6_prefix_set: bool = False
    host_ip6_prefix: Ip6Prefix = field(default_factory=Ip6Prefix)
    host_ip4_gw_set: bool = False
    host_ip4_gw: str = "0.0.0.0"
    host_ip6_gw_set: bool = False
    host_ip6_gw: str = "::"
    tap_flags: TapFlags | int = 0
    host_namespace_set: bool = False
    host_namespace: str = ""
    host_if_name_set: bool = False
    host_if_name: str = ""
    host_bridge_set: bool = False
    host_bridge: str = ""
    tag: str = ""
    LAYOUT: ClassVar = (
        ("id", U32),
        ("use_random_mac", BOOL),
        ("mac_address", Mac()),
        ("num_rx_queues", U16),
        ("num_tx_queues", U16),
        ("tx_ring_sz", U16),
        ("rx_ring_sz", U16),
        ("host_mtu_set", BOOL),
        ("host_mtu_size", U32),
        ("host_mac_addr_set", BOOL),
        ("host_mac_addr", Mac()),
        ("host_ip4_prefix_set", BOOL),
        ("host_ip4_prefix", Ip4Prefix),
        ("host_ip6_prefix_set", BOOL),
        ("host_ip6_prefix", Ip6Prefix),
        ("host_ip4_gw_set", BOOL),
        ("host_ip4_gw", Ip4()),
        ("host_ip6_gw_set", BOOL),
        ("host_ip6_gw", Ip6()),
        ("tap_flags", Numbers(U32, TapFlags)),
        ("host_namespace_set", BOOL),
        ("host_namespace", Text(64)),
        ("host_if_name_set", BOOL),
        ("host_if_name", Text(64)),
        ("host_bridge_set", BOOL),
        ("host_bridge", Text(64)),
        ("tag", VarText()),
    )


@dataclass
class TapCreateV3Reply(Message):
    """It is made"""

    NAME: ClassVar = "tap_create_v3_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class TapCreateV2(Message):
    """Make a tap"""

    NAME: ClassVar = "tap_create_v2"
    CRC: ClassVar = "dfc4757b"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "tap_create_v2_reply"
    ROWS: ClassVar = None
    id: int = 4294967295
    use_random_mac: bool = True
    mac_address: str = "00:00:00:00:00:00"
    num_rx_queues: int = 1
    tx_ring_sz: int = 256
    rx_ring_sz: int = 256
    host_mtu_set: bool = False
    host_mtu_size: int = 0
    host_mac_addr_set: bool = False
    host_mac_addr: str = "00:00:00:00:00:00"
    host_ip4_prefix_set: bool = False
    host_ip4_prefix: Ip4Prefix = field(default_factory=Ip4Prefix)
    host_ip6_prefix_set: bool = False
    host_ip6_prefix: Ip6Prefix = field(default_factory=Ip6Prefix)
    host_ip4_gw_set: bool = False
    host_ip4_gw: str = "0.0.0.0"
    host_ip6_gw_set: bool = False
    host_ip6_gw: str = "::"
    tap_flags: TapFlags | int = 0
    host_namespace_set: bool = False
    host_namespace: str = ""
    host_if_name_set: bool = False
    host_if_name: str = ""
    host_bridge_set: bool = False
    host_bridge: str = ""
    tag: str = ""
    LAYOUT: ClassVar = (
        ("id", U32),
        ("use_random_mac", BOOL),
        ("mac_address", Mac()),
        ("num_rx_queues", U8),
        ("tx_ring_sz", U16),
        ("rx_ring_sz", U16),
        ("host_mtu_set", BOOL),
        ("host_mtu_size", U32),
        ("host_mac_addr_set", BOOL),
        ("host_mac_addr", Mac()),
        ("host_ip4_prefix_set", BOOL),
        ("host_ip4_prefix", Ip4Prefix),
        ("host_ip6_prefix_set", BOOL),
        ("host_ip6_prefix", Ip6Prefix),
        ("host_ip4_gw_set", BOOL),
        ("host_ip4_gw", Ip4()),
        ("host_ip6_gw_set", BOOL),
        ("host_ip6_gw", Ip6()),
        ("tap_flags", Numbers(U32, TapFlags)),
        ("host_namespace_set", BOOL),
        ("host_namespace", Text(64)),
        ("host_if_name_set", BOOL),
        ("host_if_name", Text(64)),
        ("host_bridge_set", BOOL),
        ("host_bridge", Text(64)),
        ("tag", VarText()),
    )


@dataclass
class TapCreateV2Reply(Message):
    """It is made"""

    NAME: ClassVar = "tap_create_v2_reply"
    CRC: ClassVar = "5383d31f"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("sw_if_index", U32),
    )


@dataclass
class TapDeleteV2(Message):
    """Delete a tap"""

    NAME: ClassVar = "tap_delete_v2"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "tap_delete_v2_reply"
    ROWS: ClassVar = None
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class TapDeleteV2Reply(Message):
    """"""

    NAME: ClassVar = "tap_delete_v2_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class SwInterfaceTapV2Dump(Message):
    """Ask for taps"""

    NAME: ClassVar = "sw_interface_tap_v2_dump"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "sw_interface_tap_v2_details"
    sw_if_index: int = 4294967295
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class SwInterfaceTapV2Details(Message):
    """A tap"""

    NAME: ClassVar = "sw_interface_tap_v2_details"
    CRC: ClassVar = "230ed1cc"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    id: int = 0
    tx_ring_sz: int = 0
    rx_ring_sz: int = 0
    host_mtu_size: int = 0
    host_mac_addr: str = "00:00:00:00:00:00"
    host_ip4_prefix: Ip4Prefix = field(default_factory=Ip4Prefix)
    host_ip6_prefix: Ip6Prefix = field(default_factory=Ip6Prefix)
    tap_flags: TapFlags | int = 0
    dev_name: str = ""
    host_if_name: str = ""
    host_namespace: str = ""
    host_bridge: str = ""
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("id", U32),
        ("tx_ring_sz", U16),
        ("rx_ring_sz", U16),
        ("host_mtu_size", U32),
        ("host_mac_addr", Mac()),
        ("host_ip4_prefix", Ip4Prefix),
        ("host_ip6_prefix", Ip6Prefix),
        ("tap_flags", Numbers(U32, TapFlags)),
        ("dev_name", Text(64)),
        ("host_if_name", Text(64)),
        ("host_namespace", Text(64)),
        ("host_bridge", Text(64)),
    )


@dataclass
class TraceSetFilters(Message):
    """Show only packets that visited a node, or did not"""

    NAME: ClassVar = "trace_set_filters"
    CRC: ClassVar = "f522b44a"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "trace_set_filters_reply"
    ROWS: ClassVar = None
    flag: TraceFilterFlag | int = 0
    count: int = 0
    node_index: int = 4294967295
    classifier_table_index: int = 4294967295
    LAYOUT: ClassVar = (
        ("flag", Numbers(U32, TraceFilterFlag)),
        ("count", U32),
        ("node_index", U32),
        ("classifier_table_index", U32),
    )


@dataclass
class TraceSetFiltersReply(Message):
    """"""

    NAME: ClassVar = "trace_set_filters_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class TraceCapturePackets(Message):
    """Trace the next packets that an input node brings in"""

    NAME: ClassVar = "trace_capture_packets"
    CRC: ClassVar = "9e791a9b"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "trace_capture_packets_reply"
    ROWS: ClassVar = None
    node_index: int = 0
    max_packets: int = 0
    use_filter: bool = False
    verbose: bool = False
    pre_capture_clear: bool = False
    LAYOUT: ClassVar = (
        ("node_index", U32),
        ("max_packets", U32),
        ("use_filter", BOOL),
        ("verbose", BOOL),
        ("pre_capture_clear", BOOL),
    )


@dataclass
class TraceCapturePacketsReply(Message):
    """"""

    NAME: ClassVar = "trace_capture_packets_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class TraceClearCapture(Message):
    """Forget what was traced and trace no more"""

    NAME: ClassVar = "trace_clear_capture"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "trace_clear_capture_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class TraceClearCaptureReply(Message):
    """"""

    NAME: ClassVar = "trace_clear_capture_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class TraceDump(Message):
    """Show traced packets from a place on"""

    NAME: ClassVar = "trace_dump"
    CRC: ClassVar = "c7d6681f"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "trace_dump_reply"
    ROWS: ClassVar = "trace_details"
    clear_cache: int = 0
    thread_id: int = 0
    position: int = 0
    max_records: int = 0
    LAYOUT: ClassVar = (
        ("clear_cache", U8),
        ("thread_id", U32),
        ("position", U32),
        ("max_records", U32),
    )


@dataclass
class TraceDetails(Message):
    """A traced packet"""

    NAME: ClassVar = "trace_details"
    CRC: ClassVar = "1553e9eb"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    thread_id: int = 0
    position: int = 0
    more_this_thread: int = 0
    more_threads: int = 0
    done: int = 0
    packet_number: int = 0
    trace_data: str = ""
    LAYOUT: ClassVar = (
        ("thread_id", U32),
        ("position", U32),
        ("more_this_thread", U8),
        ("more_threads", U8),
        ("done", U8),
        ("packet_number", U32),
        ("trace_data", VarText()),
    )


@dataclass
class TraceDumpReply(Message):
    """Where to go on"""

    NAME: ClassVar = "trace_dump_reply"
    CRC: ClassVar = "e0e87f9d"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    last_thread_id: int = 0
    last_position: int = 0
    more_this_thread: int = 0
    more_threads: int = 0
    flush_only: int = 0
    done: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
        ("last_thread_id", U32),
        ("last_position", U32),
        ("more_this_thread", U8),
        ("more_threads", U8),
        ("flush_only", U8),
        ("done", U8),
    )


@dataclass
class TraceClearCache(Message):
    """Forget what was asked before"""

    NAME: ClassVar = "trace_clear_cache"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "trace_clear_cache_reply"
    ROWS: ClassVar = None
    LAYOUT: ClassVar = (
    )


@dataclass
class TraceClearCacheReply(Message):
    """"""

    NAME: ClassVar = "trace_clear_cache_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class TraceV2Dump(Message):
    """Show traced packets"""

    NAME: ClassVar = "trace_v2_dump"
    CRC: ClassVar = "83f88d8e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "trace_v2_details"
    thread_id: int = 4294967295
    position: int = 0
    max: int = 50
    clear_cache: bool = False
    LAYOUT: ClassVar = (
        ("thread_id", U32),
        ("position", U32),
        ("max", U32),
        ("clear_cache", BOOL),
    )


@dataclass
class TraceV2Details(Message):
    """A traced packet"""

    NAME: ClassVar = "trace_v2_details"
    CRC: ClassVar = "91f87d52"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    thread_id: int = 0
    position: int = 0
    more: bool = False
    trace_data: str = ""
    LAYOUT: ClassVar = (
        ("thread_id", U32),
        ("position", U32),
        ("more", BOOL),
        ("trace_data", VarText()),
    )


@dataclass
class TraceSetFilterFunction(Message):
    """Choose the function that says which packets are traced"""

    NAME: ClassVar = "trace_set_filter_function"
    CRC: ClassVar = "616abb92"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "trace_set_filter_function_reply"
    ROWS: ClassVar = None
    filter_function_name: str = ""
    LAYOUT: ClassVar = (
        ("filter_function_name", VarText()),
    )


@dataclass
class TraceSetFilterFunctionReply(Message):
    """"""

    NAME: ClassVar = "trace_set_filter_function_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class TraceFilterFunctionDump(Message):
    """Show the functions that say which packets are traced"""

    NAME: ClassVar = "trace_filter_function_dump"
    CRC: ClassVar = "51077d14"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "trace_filter_function_details"
    LAYOUT: ClassVar = (
    )


@dataclass
class TraceFilterFunctionDetails(Message):
    """A function that says which packets are traced"""

    NAME: ClassVar = "trace_filter_function_details"
    CRC: ClassVar = "28821359"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    selected: bool = False
    name: str = ""
    LAYOUT: ClassVar = (
        ("selected", BOOL),
        ("name", VarText()),
    )


@dataclass
class UrpfUpdate(Message):
    """Have the sources of packets of an interface checked, or no longer"""

    NAME: ClassVar = "urpf_update"
    CRC: ClassVar = "cc274cd1"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "urpf_update_reply"
    ROWS: ClassVar = None
    is_input: bool = True
    mode: UrpfMode | int = 0
    af: AddressFamily | int = 0
    sw_if_index: int = 0
    LAYOUT: ClassVar = (
        ("is_input", BOOL),
        ("mode", Numbers(U8, UrpfMode)),
        ("af", Numbers(U8, AddressFamily)),
        ("sw_if_index", U32),
    )


@dataclass
class UrpfUpdateReply(Message):
    """"""

    NAME: ClassVar = "urpf_update_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class UrpfUpdateV2(Message):
    """Have the sources of packets of an interface checked, or no longer"""

    NAME: ClassVar = "urpf_update_v2"
    CRC: ClassVar = "b873d028"
    HEAD: ClassVar = 2
    REPLY: ClassVar = "urpf_update_v2_reply"
    ROWS: ClassVar = None
    is_input: bool = True
    mode: UrpfMode | int = 0
    af: AddressFamily | int = 0
    sw_if_index: int = 0
    table_id: int = 4294967295
    LAYOUT: ClassVar = (
        ("is_input", BOOL),
        ("mode", Numbers(U8, UrpfMode)),
        ("af", Numbers(U8, AddressFamily)),
        ("sw_if_index", U32),
        ("table_id", U32),
    )


@dataclass
class UrpfUpdateV2Reply(Message):
    """"""

    NAME: ClassVar = "urpf_update_v2_reply"
    CRC: ClassVar = "e8d4e804"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    retval: int = 0
    LAYOUT: ClassVar = (
        ("retval", I32),
    )


@dataclass
class UrpfInterfaceDump(Message):
    """List the checks of an interface"""

    NAME: ClassVar = "urpf_interface_dump"
    CRC: ClassVar = "f9e6675e"
    HEAD: ClassVar = 2
    REPLY: ClassVar = None
    ROWS: ClassVar = "urpf_interface_details"
    sw_if_index: int = 4294967295
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
    )


@dataclass
class UrpfInterfaceDetails(Message):
    """A check"""

    NAME: ClassVar = "urpf_interface_details"
    CRC: ClassVar = "f94b5374"
    HEAD: ClassVar = 1
    REPLY: ClassVar = None
    ROWS: ClassVar = None
    sw_if_index: int = 0
    is_input: bool = False
    mode: UrpfMode | int = 0
    af: AddressFamily | int = 0
    table_id: int = 0
    LAYOUT: ClassVar = (
        ("sw_if_index", U32),
        ("is_input", BOOL),
        ("mode", Numbers(U8, UrpfMode)),
        ("af", Numbers(U8, AddressFamily)),
        ("table_id", U32),
    )


MESSAGES = (
    ProxyArpAddDel,
    ProxyArpAddDelReply,
    ProxyArpDump,
    ProxyArpDetails,
    ProxyArpIntfcEnableDisable,
    ProxyArpIntfcEnableDisableReply,
    ProxyArpIntfcDump,
    ProxyArpIntfcDetails,
    FeatureEnableDisable,
    FeatureEnableDisableReply,
    FeatureIsEnabled,
    FeatureIsEnabledReply,
    FibSourceAdd,
    FibSourceAddReply,
    FibSourceDump,
    FibSourceDetails,
    FeatureGsoEnableDisable,
    FeatureGsoEnableDisableReply,
    SwInterfaceDump,
    SwInterfaceDetails,
    SwInterfaceSetFlags,
    SwInterfaceSetFlagsReply,
    SwInterfaceSetPromisc,
    SwInterfaceSetPromiscReply,
    HwInterfaceSetMtu,
    HwInterfaceSetMtuReply,
    SwInterfaceSetMtu,
    SwInterfaceSetMtuReply,
    SwInterfaceClearStats,
    SwInterfaceClearStatsReply,
    SwInterfaceTagAddDel,
    SwInterfaceTagAddDelReply,
    SwInterfaceSetInterfaceName,
    SwInterfaceSetInterfaceNameReply,
    InterfaceNameRenumber,
    InterfaceNameRenumberReply,
    SwInterfaceAddDelMacAddress,
    SwInterfaceAddDelMacAddressReply,
    SwInterfaceSetMacAddress,
    SwInterfaceSetMacAddressReply,
    SwInterfaceGetMacAddress,
    SwInterfaceGetMacAddressReply,
    SwInterfaceSetLinkSpeed,
    SwInterfaceSetLinkSpeedReply,
    SwInterfaceGetSpeedCapa,
    SwInterfaceGetSpeedCapaReply,
    SwInterfaceSetRxMode,
    SwInterfaceSetRxModeReply,
    SwInterfaceSetRxPlacement,
    SwInterfaceSetRxPlacementReply,
    SwInterfaceSetDefaultRxMode,
    SwInterfaceSetDefaultRxModeReply,
    SwInterfaceGetDefaultRxMode,
    SwInterfaceGetDefaultRxModeReply,
    SwInterfaceRxPlacementDump,
    SwInterfaceRxPlacementDetails,
    SwInterfaceAddressReplaceBegin,
    SwInterfaceAddressReplaceBeginReply,
    SwInterfaceAddressReplaceEnd,
    SwInterfaceAddressReplaceEndReply,
    SwInterfaceAddDelAddress,
    SwInterfaceAddDelAddressReply,
    SwInterfaceSetUnnumbered,
    SwInterfaceSetUnnumberedReply,
    SwInterfaceSetTable,
    SwInterfaceSetTableReply,
    SwInterfaceGetTable,
    SwInterfaceGetTableReply,
    CreateSubif,
    CreateSubifReply,
    CreateVlanSubif,
    CreateVlanSubifReply,
    DeleteSubif,
    DeleteSubifReply,
    WantInterfaceEvents,
    WantInterfaceEventsReply,
    SwInterfaceEvent,
    CollectDetailedInterfaceStats,
    CollectDetailedInterfaceStatsReply,
    CreateLoopback,
    CreateLoopbackReply,
    CreateLoopbackInstance,
    CreateLoopbackInstanceReply,
    DeleteLoopback,
    DeleteLoopbackReply,
    IpTableAddDel,
    IpTableAddDelReply,
    IpTableAddDelV2,
    IpTableAddDelV2Reply,
    IpTableAllocate,
    IpTableAllocateReply,
    IpTableDump,
    IpTableDetails,
    IpTableReplaceBegin,
    IpTableReplaceBeginReply,
    IpTableReplaceEnd,
    IpTableReplaceEndReply,
    IpTableFlush,
    IpTableFlushReply,
    IpRouteAddDel,
    IpRouteAddDelReply,
    IpRouteAddDelV2,
    IpRouteAddDelV2Reply,
    IpRouteDump,
    IpRouteDetails,
    IpRouteV2Dump,
    IpRouteV2Details,
    IpRouteLookup,
    IpRouteLookupReply,
    IpRouteLookupV2,
    IpRouteLookupV2Reply,
    SetIpFlowHash,
    SetIpFlowHashReply,
    SetIpFlowHashV2,
    SetIpFlowHashV2Reply,
    SetIpFlowHashV3,
    SetIpFlowHashV3Reply,
    SetIpFlowHashRouterId,
    SetIpFlowHashRouterIdReply,
    IpMtableDump,
    IpMtableDetails,
    IpMrouteAddDel,
    IpMrouteAddDelReply,
    IpMrouteDump,
    IpMrouteDetails,
    MfibSignalDump,
    MfibSignalDetails,
    IpReassemblySet,
    IpReassemblySetReply,
    IpReassemblyGet,
    IpReassemblyGetReply,
    IpReassemblyEnableDisable,
    IpReassemblyEnableDisableReply,
    IpLocalReassEnableDisable,
    IpLocalReassEnableDisableReply,
    IpLocalReassGet,
    IpLocalReassGetReply,
    IpPathMtuUpdate,
    IpPathMtuUpdateReply,
    IpPathMtuGet,
    IpPathMtuDetails,
    IpPathMtuGetReply,
    IpPathMtuReplaceBegin,
    IpPathMtuReplaceBeginReply,
    IpPathMtuReplaceEnd,
    IpPathMtuReplaceEndReply,
    IpPuntRedirect,
    IpPuntRedirectReply,
    IpPuntRedirectDump,
    IpPuntRedirectDetails,
    Ip6DadEnableDisable,
    Ip6DadEnableDisableReply,
    Ip6DadDump,
    Ip6DadDetails,
    WantIp6DadEvents,
    WantIp6DadEventsReply,
    Ip6DadEvent,
    Ip6ndProxyEnableDisable,
    Ip6ndProxyEnableDisableReply,
    Ip6ndProxyAddDel,
    Ip6ndProxyAddDelReply,
    Ip6ndProxyDump,
    Ip6ndProxyDetails,
    SwInterfaceIp6ndRaConfig,
    SwInterfaceIp6ndRaConfigReply,
    SwInterfaceIp6ndRaPrefix,
    SwInterfaceIp6ndRaPrefixReply,
    SwInterfaceIp6ndRaDump,
    SwInterfaceIp6ndRaDetails,
    Ip6ndSendRouterSolicitation,
    Ip6ndSendRouterSolicitationReply,
    WantIp6RaEvents,
    WantIp6RaEventsReply,
    Ip6RaEvent,
    IpNeighborAddDel,
    IpNeighborAddDelReply,
    IpNeighborDump,
    IpNeighborDetails,
    IpNeighborConfig,
    IpNeighborConfigReply,
    IpNeighborConfigGet,
    IpNeighborConfigGetReply,
    IpNeighborReplaceBegin,
    IpNeighborReplaceBeginReply,
    IpNeighborReplaceEnd,
    IpNeighborReplaceEndReply,
    IpNeighborFlush,
    IpNeighborFlushReply,
    WantIpNeighborEvents,
    WantIpNeighborEventsReply,
    IpNeighborEvent,
    WantIpNeighborEventsV2,
    WantIpNeighborEventsV2Reply,
    IpNeighborEventV2,
    MemclntCreate,
    MemclntCreateReply,
    MemclntDelete,
    MemclntDeleteReply,
    RxThreadExit,
    MemclntRxThreadSuspend,
    MemclntReadTimeout,
    RpcCall,
    RpcCallReply,
    GetFirstMsgId,
    GetFirstMsgIdReply,
    ApiVersions,
    ApiVersionsReply,
    TracePluginMsgIds,
    SockclntCreate,
    SockclntCreateReply,
    SockclntDelete,
    SockclntDeleteReply,
    SockInitShm,
    SockInitShmReply,
    MemclntKeepalive,
    MemclntKeepaliveReply,
    ControlPing,
    ControlPingReply,
    MemclntCreateV2,
    MemclntCreateV2Reply,
    GetApiJson,
    GetApiJsonReply,
    PgCreateInterface,
    PgCreateInterfaceReply,
    PgCreateInterfaceV2,
    PgCreateInterfaceV2Reply,
    PgCreateInterfaceV3,
    PgCreateInterfaceV3Reply,
    PgDeleteInterface,
    PgDeleteInterfaceReply,
    PgInterfaceEnableDisableCoalesce,
    PgInterfaceEnableDisableCoalesceReply,
    PgCapture,
    PgCaptureReply,
    PgEnableDisable,
    PgEnableDisableReply,
    SetPunt,
    SetPuntReply,
    Ip6NdAddressAutoconfig,
    Ip6NdAddressAutoconfigReply,
    CliInband,
    CliInbandReply,
    GetNodeIndex,
    GetNodeIndexReply,
    AddNodeNext,
    AddNodeNextReply,
    ShowThreads,
    ShowThreadsReply,
    GetNextIndex,
    GetNextIndexReply,
    GetF64EndianValue,
    GetF64EndianValueReply,
    GetF64IncrementByOne,
    GetF64IncrementByOneReply,
    ShowVersion,
    ShowVersionReply,
    ShowVpeSystemTime,
    ShowVpeSystemTimeReply,
    LogDump,
    LogDetails,
    AfPacketCreate,
    AfPacketCreateReply,
    AfPacketCreateV2,
    AfPacketCreateV2Reply,
    AfPacketCreateV3,
    AfPacketCreateV3Reply,
    AfPacketDelete,
    AfPacketDeleteReply,
    AfPacketSetL4CksumOffload,
    AfPacketSetL4CksumOffloadReply,
    AfPacketDump,
    AfPacketDetails,
    MssClampEnableDisable,
    MssClampEnableDisableReply,
    MssClampGet,
    MssClampDetails,
    MssClampGetReply,
    TapCreateV3,
    TapCreateV3Reply,
    TapCreateV2,
    TapCreateV2Reply,
    TapDeleteV2,
    TapDeleteV2Reply,
    SwInterfaceTapV2Dump,
    SwInterfaceTapV2Details,
    TraceSetFilters,
    TraceSetFiltersReply,
    TraceCapturePackets,
    TraceCapturePacketsReply,
    TraceClearCapture,
    TraceClearCaptureReply,
    TraceDump,
    TraceDetails,
    TraceDumpReply,
    TraceClearCache,
    TraceClearCacheReply,
    TraceV2Dump,
    TraceV2Details,
    TraceSetFilterFunction,
    TraceSetFilterFunctionReply,
    TraceFilterFunctionDump,
    TraceFilterFunctionDetails,
    UrpfUpdate,
    UrpfUpdateReply,
    UrpfUpdateV2,
    UrpfUpdateV2Reply,
    UrpfInterfaceDump,
    UrpfInterfaceDetails,
)
