//! Reasons to drop IPv6 packets, or to answer them with an ICMPv6 error.

/// Reasons of the nodes that check IPv6 headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// valid ip6 packets.
    #[severity("info")]
    None,
    /// ip6 length < 40 bytes.
    TooShort,
    /// ip6 length > l2 length.
    BadLength,
    /// ip6 version != 6.
    Version,
    /// ip6 ttl <= 1.
    TimeExpired,
    /// ip6 MTU exceeded.
    MtuExceeded,
    /// ip6 source lookup miss.
    SrcLookupMiss,
    /// ip6 destination lookup miss.
    DstLookupMiss,
    /// ip6 egress interface same as ingress.
    SameInterface,
    /// ip6 drop.
    Drop,
    /// ip6 punt.
    Punt,
    /// unknown ip protocol.
    UnknownProtocol,
    /// bad udp checksum.
    UdpChecksum,
    /// bad icmp checksum.
    IcmpChecksum,
    /// inconsistent udp/ip lengths.
    UdpLength,
    /// unknown udp port.
    UnknownUdpPort,
    /// ip6 spoofed local-address packet drops.
    SpoofedLocalPackets,
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
    /// fragments without an upper layer header.
    ReassMissingUpper,
    /// duplicate fragments.
    ReassDuplicateFragment,
    /// overlapping fragments.
    ReassOverlappingFragment,
    /// drops due to concurrent reassemblies limit.
    ReassLimitReached,
    /// fragment chain too long (drop).
    ReassFragmentChainTooLong,
    /// drops due to lack of buffers.
    ReassNoBuf,
    /// fragments dropped due to reassembly timeout.
    ReassTimeout,
    /// invalid fragment size.
    ReassInvalidFragSize,
    /// invalid fragment length.
    ReassInvalidFragLen,
    /// fragments without a fragment header.
    ReassNoFragHdr,
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
    ReassUnsuppIpProto,
}
