//! Reasons why requests are refused.

use net::prelude::*;

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// NAT44 is not enabled
    #[retval(UNSUPPORTED)]
    Disabled,
    /// NAT44 is not enabled
    #[retval(FEATURE_ALREADY_DISABLED)]
    NotEnabled,
    /// NAT44 is already enabled
    #[retval(FEATURE_ALREADY_ENABLED)]
    Enabled,
    /// NAT44 is already disabled
    #[retval(FEATURE_ALREADY_DISABLED)]
    AlreadyDisabled,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// it already exists
    #[retval(VALUE_EXIST)]
    Exists,
    /// no such entry
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
    /// a static mapping has a port of an address
    #[retval(UNSPECIFIED)]
    InUse,
    /// static mapping only mode
    #[retval(FEATURE_DISABLED)]
    StaticOnly,
    /// no address of the pool is the external one
    #[retval(NO_SUCH_ENTRY)]
    NotOfPool,
    /// no such table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the range ends before it begins, or is too long
    #[retval(INVALID_VALUE)]
    BadRange,
    /// the size is no power of two
    #[retval(INVALID_VALUE)]
    BadSize,
    /// the protocol has no ports
    #[retval(INVALID_VALUE)]
    BadProtocol,
    /// a mapping with a protocol needs both ports
    #[retval(INVALID_VALUE)]
    NoPort,
    /// a load-balanced mapping needs at least two servers
    #[retval(INVALID_VALUE)]
    TooFewHosts,
    /// twice-nat and self-twice-nat are mutually exclusive
    #[retval(INVALID_VALUE)]
    BothTwice,
    /// fewer than two workers
    #[retval(FEATURE_DISABLED)]
    FewWorkers,
    /// no worker is given
    #[retval(INVALID_WORKER)]
    NoWorkers,
    /// no worker {0}
    #[retval(INVALID_WORKER)]
    NoWorker(usize),
    /// out of memory
    #[retval(UNSPECIFIED)]
    NoMemory,
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}
