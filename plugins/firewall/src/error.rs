//! Reasons why something about the firewall is refused.

use net::prelude::*;

use super::list::MOST_PATTERNS;
use super::object::{LONGEST_NAME, MOST_MEMBERS, MOST_OBJECTS, Name};
use super::policy::{MOST_POLICIES, MOST_RULES};
use super::zone::MOST_ZONES;

/// Reasons why something about the firewall is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// a name is a letter followed by up to {LONGEST_NAME} letters or digits, and not a keyword
    #[retval(INVALID_VALUE)]
    BadName,
    /// not a prefix or range of addresses
    #[retval(INVALID_VALUE)]
    BadAddress,
    /// the prefix has host bits set
    #[retval(INVALID_VALUE)]
    HostBits,
    /// not a service
    #[retval(INVALID_VALUE)]
    BadService,
    /// the text is not printable
    #[retval(INVALID_VALUE)]
    BadText,
    /// no zone {0}
    #[retval(NO_SUCH_ENTRY)]
    NoZone(Name),
    /// zone {0} cannot be deleted
    #[retval(INVALID_VALUE)]
    OwnZone(Name),
    /// no interface can be in zone {0}
    #[retval(INVALID_VALUE)]
    NotForInterfaces(Name),
    /// zone {0} has interfaces or policies
    #[retval(IN_USE)]
    ZoneInUse(Name),
    /// the interface is not in zone {0}
    #[retval(NO_SUCH_ENTRY)]
    NotInZone(Name),
    /// at most {MOST_ZONES} zones
    #[retval(LIMIT_EXCEEDED)]
    TooManyZones,
    /// no object {0}
    #[retval(NO_SUCH_ENTRY)]
    NoObject(Name),
    /// object {0} is in use by another object or a rule
    #[retval(IN_USE)]
    ObjectInUse(Name),
    /// {0} would be a member of itself
    #[retval(INVALID_VALUE)]
    Circle(Name),
    /// an object needs at least one member
    #[retval(INVALID_VALUE)]
    NoMembers,
    /// at most {MOST_OBJECTS} objects
    #[retval(LIMIT_EXCEEDED)]
    TooManyObjects,
    /// at most {MOST_MEMBERS} members
    #[retval(LIMIT_EXCEEDED)]
    TooManyMembers,
    /// no policy from {0} to {1}
    #[retval(NO_SUCH_ENTRY)]
    NoPolicy(Name, Name),
    /// the router's traffic to itself is not checked
    #[retval(INVALID_VALUE)]
    LocalToLocal,
    /// at most {MOST_POLICIES} policies
    #[retval(LIMIT_EXCEEDED)]
    TooManyPolicies,
    /// no rule {0}
    #[retval(NO_SUCH_ENTRY)]
    NoRule(u32),
    /// at most {MOST_RULES} rules
    #[retval(LIMIT_EXCEEDED)]
    TooManyRules,
    /// source and destination of rule {0} have no common IP version
    #[retval(INVALID_VALUE)]
    Versions(u32),
    /// the rules expand to more than {MOST_PATTERNS} combinations of addresses and services
    #[retval(LIMIT_EXCEEDED)]
    TooLarge,
    /// IPFIX logging is disabled
    #[retval(FEATURE_ALREADY_DISABLED)]
    NotExported,
    /// a timeout must be 1 to 31536000 seconds
    #[retval(INVALID_VALUE)]
    Timeout,
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}

/// A thread has not done what it was asked to.
pub(super) fn no_answer(why: graph::NoAnswer) -> control::cli::Error {
    control::cli::Error::new(why.to_string())
}
