//! Reasons why requests are refused.

use net::prelude::*;

/// Reasons why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no tenant {0}
    #[retval(NO_SUCH_ENTRY)]
    NoTenant(u32),
    /// tenant {0} exists
    #[retval(VALUE_EXIST)]
    TenantExists(u32),
    /// tenant limit reached
    #[retval(LIMIT_EXCEEDED)]
    TooManyTenants,
    /// limit of distinct timeouts reached
    #[retval(LIMIT_EXCEEDED)]
    TooManyTimeouts,
    /// no timeout {0}
    #[retval(UNSPECIFIED)]
    NoTimeout(usize),
    /// no service {0}
    #[retval(NO_SUCH_ENTRY)]
    NoService(String),
    /// no node {0} for IP packets
    #[retval(NO_SUCH_NODE)]
    NoNode(String),
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// the interface belongs to tenant {0}
    #[retval(VALUE_EXIST)]
    HasTenant(u32),
    /// the interface does not belong to that tenant
    #[retval(NO_SUCH_ENTRY)]
    OtherTenant,
    /// no such session
    #[retval(NO_SUCH_ENTRY)]
    NoSession,
    /// no such direction
    #[retval(INVALID_VALUE)]
    NoDirection,
    /// no such slow-path node type
    #[retval(INVALID_VALUE)]
    NoDetour,
    /// no pool {0}
    #[retval(NO_SUCH_ENTRY)]
    NoPool(u32),
    /// pool {0} exists
    #[retval(VALUE_EXIST)]
    PoolExists(u32),
    /// pool {0} is used by tenant {1}
    #[retval(INSTANCE_IN_USE)]
    PoolUsed(u32, u32),
    /// a pool has 1 to 65536 addresses
    #[retval(INVALID_VALUE)]
    BadPool,
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// source NAT is not enabled for tenant {0}
    #[retval(NO_SUCH_ENTRY)]
    NoSnat(u32),
    /// no access list {0}
    #[retval(NO_SUCH_ENTRY)]
    NoList(u32),
    /// tenant {0} does not have access list {1}
    #[retval(NO_SUCH_ENTRY)]
    OtherList(u32, u32),
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}
