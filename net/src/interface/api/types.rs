//! Interfaces as messages of the binary API have them.

use control::api::Alias;

use super::InterfaceIndex;

/// Every number is accepted; handlers check whether the interface exists.
impl Alias for InterfaceIndex {
    type Wire = u32;
    const NAME: &'static str = "interface_index";
    const FILE: &'static str = "vnet/interface_types.api";

    fn to_wire(&self) -> u32 {
        self.0
    }

    fn of_wire(index: u32) -> Self {
        Self(index)
    }
}

control::numbers! {
    /// State of an interface.
    pub enum IfStatusFlags: u32 = "if_status_flags" in "vnet/interface_types.api" {
        ADMIN_UP = 1 => "IF_STATUS_API_FLAG_ADMIN_UP",
        LINK_UP = 2 => "IF_STATUS_API_FLAG_LINK_UP",
    }
    /// Protocol of an MTU.
    pub enum MtuProto: u32 = "mtu_proto" in "vnet/interface_types.api" {
        L3 = 0 => "MTU_PROTO_API_L3",
        IP4 = 1 => "MTU_PROTO_API_IP4",
        IP6 = 2 => "MTU_PROTO_API_IP6",
        MPLS = 3 => "MTU_PROTO_API_MPLS",
    }
    /// Link duplex.
    pub enum LinkDuplex: u32 = "link_duplex" in "vnet/interface_types.api" {
        UNKNOWN = 0 => "LINK_DUPLEX_API_UNKNOWN",
        HALF = 1 => "LINK_DUPLEX_API_HALF",
        FULL = 2 => "LINK_DUPLEX_API_FULL",
    }
    /// Tags matched by a sub-interface.
    pub enum SubIfFlags: u32 = "sub_if_flags" in "vnet/interface_types.api" {
        NO_TAGS = 1 => "SUB_IF_API_FLAG_NO_TAGS",
        ONE_TAG = 2 => "SUB_IF_API_FLAG_ONE_TAG",
        TWO_TAGS = 4 => "SUB_IF_API_FLAG_TWO_TAGS",
        DOT1AD = 8 => "SUB_IF_API_FLAG_DOT1AD",
        EXACT_MATCH = 16 => "SUB_IF_API_FLAG_EXACT_MATCH",
        DEFAULT = 32 => "SUB_IF_API_FLAG_DEFAULT",
        OUTER_VLAN_ID_ANY = 64 => "SUB_IF_API_FLAG_OUTER_VLAN_ID_ANY",
        INNER_VLAN_ID_ANY = 128 => "SUB_IF_API_FLAG_INNER_VLAN_ID_ANY",
        MASK_VNET = 254 => "SUB_IF_API_FLAG_MASK_VNET",
        DOT1AH = 256 => "SUB_IF_API_FLAG_DOT1AH",
    }
    /// Mode of a receive queue.
    pub enum RxMode: u32 = "rx_mode" in "vnet/interface_types.api" {
        UNKNOWN = 0 => "RX_MODE_API_UNKNOWN",
        POLLING = 1 => "RX_MODE_API_POLLING",
        INTERRUPT = 2 => "RX_MODE_API_INTERRUPT",
        ADAPTIVE = 3 => "RX_MODE_API_ADAPTIVE",
        DEFAULT = 4 => "RX_MODE_API_DEFAULT",
    }
    /// Kind of an interface.
    pub enum IfType: u32 = "if_type" in "vnet/interface_types.api" {
        HARDWARE = 0 => "IF_API_TYPE_HARDWARE",
        SUB = 1 => "IF_API_TYPE_SUB",
        P2P = 2 => "IF_API_TYPE_P2P",
        PIPE = 3 => "IF_API_TYPE_PIPE",
    }
    /// To or from the router.
    pub enum Direction: u8 = "direction" in "vnet/interface_types.api" {
        RX = 0 => "RX",
        TX = 1 => "TX",
    }
}
