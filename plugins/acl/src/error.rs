//! Reasons why something about lists is refused.
#![forbid(unsafe_code)]

use net::prelude::*;

use super::{MOST_APPLIED, MOST_LISTS};

/// Reasons why something about lists is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no access list {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(u32),
    /// access list {0} exists
    #[retval(VALUE_EXIST)]
    Exists(u32),
    /// at most {MOST_LISTS} access lists
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// the list is in use for received packets of interface {0}
    #[retval(ACL_IN_USE_INBOUND)]
    UsedInput(u32),
    /// the list is in use for transmitted packets of interface {0}
    #[retval(ACL_IN_USE_OUTBOUND)]
    UsedOutput(u32),
    /// the list is in use by another feature
    #[retval(IN_USE)]
    Used,
    /// access list {0} is already applied
    #[retval(ENTRY_ALREADY_EXISTS)]
    Twice(u32),
    /// access list {0} is not applied there
    #[retval(NO_SUCH_ENTRY)]
    NotApplied(u32),
    /// no MACIP list is applied
    #[retval(NO_SUCH_ENTRY)]
    NoMacIp,
    /// at most {MOST_APPLIED} lists or types per interface
    #[retval(INVALID_VALUE)]
    TooMany,
    /// more lists or types for received packets than given
    #[retval(INVALID_VALUE)]
    Counts,
    /// rule {0}: unknown action
    #[retval(INVALID_VALUE)]
    Action(u32),
    /// rule {0}: source and destination of different IP versions
    #[retval(INVALID_VALUE)]
    Versions(u32),
    /// rule {0}: invalid address family or prefix length of the source
    #[retval(INVALID_SRC_ADDRESS)]
    SourceLength(u32),
    /// rule {0}: invalid address family or prefix length of the destination
    #[retval(INVALID_DST_ADDRESS)]
    DestinationLength(u32),
    /// rule {0}: the source has host bits set
    #[retval(INVALID_SRC_ADDRESS)]
    SourceBits(u32),
    /// rule {0}: the destination has host bits set
    #[retval(INVALID_DST_ADDRESS)]
    DestinationBits(u32),
    /// rule {0}: the range of source ports or types ends before it begins
    #[retval(INVALID_VALUE_2)]
    SourcePorts(u32),
    /// rule {0}: the range of destination ports or codes ends before it begins
    #[retval(INVALID_VALUE_2)]
    DestinationPorts(u32),
    /// the tag is not printable
    #[retval(INVALID_VALUE)]
    Tag,
}
