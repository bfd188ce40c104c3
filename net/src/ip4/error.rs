//! Reasons to drop IPv4 packets, or to answer them with an ICMP error.

/// Reasons of the nodes that check IPv4 headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// valid ip4 packets.
    #[severity("info")]
    None,
    /// ip4 length < 20 bytes.
    TooShort,
    /// ip4 length > l2 length.
    BadLength,
    /// bad ip4 checksum.
    BadChecksum,
    /// ip4 version != 4.
    Version,
    /// ip4 options present.
    #[severity("info")]
    Options,
    /// ip4 IHL < 5.
    HdrTooShort,
    /// ip4 fragment offset == 1.
    FragmentOffsetOne,
    /// ip4 ttl <= 1.
    TimeExpired,
    /// ip4 MTU exceeded.
    MtuExceeded,
    /// ip4 destination lookup miss.
    DstLookupMiss,
    /// ip4 source lookup miss.
    SrcLookupMiss,
    /// ip4 spoofed local-address packet drops.
    SpoofedLocalPackets,
    /// ip4 drop.
    Drop,
    /// ip4 punt.
    Punt,
    /// ip4 egress interface same as ingress.
    SameInterface,
    /// unknown ip protocol.
    UnknownProtocol,
    /// bad tcp checksum.
    TcpChecksum,
    /// bad udp checksum.
    UdpChecksum,
    /// inconsistent udp/ip lengths.
    UdpLength,
    /// input ACL table-miss drops.
    InaclTableMiss,
    /// input ACL session deny drops.
    InaclSessionDeny,
    /// output ACL table-miss drops.
    OutaclTableMiss,
    /// output ACL session deny drops.
    OutaclSessionDeny,
    /// Multicast RPF check failed.
    RpfFailure,
    /// duplicate/overlapping fragments.
    ReassDuplicateFragment,
    /// fragment chain too long (drop).
    ReassFragmentChainTooLong,
    /// drops due to concurrent reassemblies limit.
    ReassLimitReached,
    /// malformed packets.
    ReassMalformedPacket,
    /// fragments dropped due to reassembly timeout.
    ReassTimeout,
    /// drops due to lack of buffers.
    ReassNoBuf,
    /// drops due to internal reassembly error.
    ReassInternalError,
    /// fragments passed to a feature's own reassembly.
    ReassToCustomApp,
    /// successful reassemblies.
    #[severity("info")]
    ReassSuccess,
    /// fragments reassembled.
    #[severity("info")]
    ReassFragmentsReassembled,
    /// fragments received.
    #[severity("info")]
    ReassFragmentsRcvd,
    /// unsupported ip protocol.
    ReassUnsuppIpProt,
}
