//! Counters of ICMPv6 and neighbour discovery: all of them at `ip6-icmp-input`, as clients know it.

use super::input;

/// Reasons why a message ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error6 {
    /// unknown type.
    UnknownType,
    /// invalid code for type.
    InvalidCodeForType,
    /// invalid hop_limit for type.
    InvalidHopLimitForType,
    /// payload length too small for type.
    LengthTooSmallForType,
    /// total option length not multiple of 8 bytes.
    OptionsWithOddLength,
    /// option has zero length.
    OptionWithZeroLength,
    /// neighbor solicitations from source not on link.
    NeighborSolicitationSourceNotOnLink,
    /// neighbor solicitations for unknown targets.
    NeighborSolicitationSourceUnknown,
    /// neighbor advertisements received.
    #[severity("info")]
    NeighborAdvertisementsRx,
    /// router solicitations from source not on link.
    RouterSolicitationSourceNotOnLink,
    /// neighbor discovery unsupported interface.
    RouterSolicitationUnsupportedIntf,
    /// neighbor discovery not configured.
    RouterSolicitationRadvNotConfig,
    /// router advertisement source not link local.
    RouterAdvertisementSourceNotLinkLocal,
    /// router advertisements received.
    #[severity("info")]
    RouterAdvertisementsRx,
    /// error message dropped.
    Drop,
    /// buffer allocation failure.
    AllocFailure,
}

/// Further counters.
#[derive(Clone, Copy, graph::Count)]
pub enum Count6 {
    /// echo replies sent.
    EchoRepliesSent,
    /// neighbor advertisements sent.
    NeighborAdvertisementsTx,
    /// router advertisements sent.
    RouterAdvertisementsTx,
}

impl From<input::Error> for Error6 {
    fn from(e: input::Error) -> Self {
        match e {
            input::Error::UnknownType => Self::UnknownType,
            input::Error::InvalidCodeForType => Self::InvalidCodeForType,
            input::Error::InvalidHopLimitForType => Self::InvalidHopLimitForType,
            input::Error::LengthTooSmallForType => Self::LengthTooSmallForType,
            input::Error::Drop => Self::Drop,
        }
    }
}
