//! Reasons to drop labelled packets.

/// Counted at each node of MPLS, as clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// no error.
    #[severity("info")]
    None,
    /// unknown protocol.
    UnknownProtocol,
    /// unsupported version.
    UnsupportedVersion,
    /// MPLS input packets decapsulated.
    #[severity("info")]
    PktsDecap,
    /// MPLS output packets encapsulated.
    #[severity("info")]
    PktsEncap,
    /// MPLS packets that need fragmentation.
    #[severity("info")]
    PktsNeedFrag,
    /// MPLS no label for fib/dst.
    NoLabel,
    /// MPLS ttl expired.
    TtlExpired,
    /// MPLS s-bit not set.
    SNotSet,
    /// invalid FIB id in label.
    BadLabel,
    /// non-ip4 packets dropped.
    #[name("not_ip4")]
    NotIp4,
    /// disallowed FIB id in label.
    DisallowedFib,
    /// MPLS not enabled.
    NotEnabled,
    /// MPLS DROP DPO.
    Drop,
    /// MPLS PUNT DPO.
    Punt,
}
