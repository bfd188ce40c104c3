//! Counters of the ARP nodes. Each of them has all of these, as clients know it.

/// Reasons why an ARP packet ends here.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// ARP Disabled on this interface.
    Disabled,
    /// L2 type not ethernet.
    L2TypeNotEthernet,
    /// L3 type not IP4.
    L3TypeNotIp4,
    /// IP4 source address not local to subnet.
    L3SrcAddressNotLocal,
    /// IP4 destination address not local to subnet.
    L3DstAddressNotLocal,
    /// IP4 destination address is unset.
    L3DstAddressUnset,
    /// IP4 source address matches local interface.
    L3SrcAddressIsLocal,
    /// ARP replies received.
    #[severity("info")]
    RepliesReceived,
    /// ARP opcode not request.
    OpcodeNotRequest,
    /// ARP hw addr does not match L2 frame src addr.
    L2AddressMismatch,
    /// ARP probe or announcement dropped.
    GratuitousArp,
    /// Interface is not mapped to an IP table.
    InterfaceNoTable,
    /// Interface is not IP enabled.
    InterfaceNotIpEnabled,
    /// RX interface is unnumbered to different subnet.
    UnnumberedMismatch,
}

/// Further counters.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// ARP replies sent.
    RepliesSent,
    /// ARP request IP4 source address learned.
    L3SrcAddressLearned,
    /// Proxy ARP replies sent.
    ProxyArpRepliesSent,
}
