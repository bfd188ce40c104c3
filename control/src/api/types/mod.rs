//! Types that messages of many modules share and that need no knowledge of the router.
//!
//! `Ipv4Addr`, `Ipv6Addr` and `MacAddr` stand in messages as they are. What could hold impossible
//! values has a type of its own here, and a conversion that says which error number that is.

mod ip;
mod vpe;

pub use ip::{
    Address, AddressFamily, AddressUnion, AddressWithPrefix, Ip4AddressWithPrefix, Ip4Prefix,
    Ip6AddressWithPrefix, Ip6Prefix, IpDscp, IpEcn, IpFeatureLocation, IpProto, Mprefix, Prefix,
};
pub use vpe::{LogLevel, Timedelta, Timestamp, Version};

/// File of the types of IP.
pub(super) const IP_TYPES: &str = "vnet/ip/ip_types.api";
