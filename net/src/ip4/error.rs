//! Why IPv4 packets are dropped, or answered with an ICMP error.

/// Reasons of the nodes that check IPv4 headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// ip4 length < 20 bytes.
    TooShort,
    /// ip4 length > l2 length.
    BadLength,
    /// bad ip4 checksum.
    BadChecksum,
    /// ip4 version != 4.
    Version,
    /// ip4 IHL < 5.
    HdrTooShort,
    /// ip4 fragment offset == 1.
    FragmentOffsetOne,
    /// ip4 ttl <= 1.
    TimeExpired,
    /// ip4 MTU exceeded.
    MtuExceeded,
    /// ip4 source lookup miss.
    SrcLookupMiss,
    /// ip4 spoofed local-address packet drops.
    SpoofedLocalPackets,
    /// ip4 drop.
    Drop,
    /// unknown ip protocol.
    UnknownProtocol,
    /// bad tcp checksum.
    TcpChecksum,
    /// bad udp checksum.
    UdpChecksum,
    /// inconsistent udp/ip lengths.
    UdpLength,
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
}
