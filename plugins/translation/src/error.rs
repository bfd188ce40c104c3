//! Reasons why requests are refused.

use control::feature::Refusal;
use net::interface::NoInterface;

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// NAT44 is not enabled
    #[retval(UNSUPPORTED)]
    Disabled,
    /// NAT44 is enabled already
    #[retval(FEATURE_ALREADY_ENABLED)]
    Enabled,
    /// NAT44 is disabled already
    #[retval(FEATURE_ALREADY_DISABLED)]
    AlreadyDisabled,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// it is there already
    #[retval(VALUE_EXIST)]
    Exists,
    /// there is no such thing
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// no such table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the range ends before it begins, or is too long
    #[retval(INVALID_VALUE)]
    BadRange,
    /// the protocol has no ports
    #[retval(INVALID_VALUE)]
    BadProtocol,
    /// a mapping of a protocol needs both ports
    #[retval(INVALID_VALUE)]
    NoPort,
    /// a load balancing mapping has two hosts at least
    #[retval(INVALID_VALUE)]
    TooFewHosts,
    /// twice-nat and self-twice-nat exclude each other
    #[retval(INVALID_VALUE)]
    BothTwice,
    /// there are fewer than two workers
    #[retval(FEATURE_DISABLED)]
    FewWorkers,
    /// no worker is named
    #[retval(INVALID_WORKER)]
    NoWorkers,
    /// no worker {0}
    #[retval(INVALID_WORKER)]
    NoWorker(usize),
    /// there is no memory
    #[retval(UNSPECIFIED)]
    NoMemory,
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}
