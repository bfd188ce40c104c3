//! Numbers and records in messages of all kinds of NAT.

use control::api::Record;

use crate::session::Timeouts;

control::numbers! {
    /// Mapping, address, interface and session flags.
    pub enum NatConfigFlags: u8 = "nat_config_flags" in "plugins/nat/lib/nat_types.api" {
        NONE = 0 => "NAT_IS_NONE",
        TWICE_NAT = 1 => "NAT_IS_TWICE_NAT",
        SELF_TWICE_NAT = 2 => "NAT_IS_SELF_TWICE_NAT",
        OUT2IN_ONLY = 4 => "NAT_IS_OUT2IN_ONLY",
        ADDR_ONLY = 8 => "NAT_IS_ADDR_ONLY",
        OUTSIDE = 16 => "NAT_IS_OUTSIDE",
        INSIDE = 32 => "NAT_IS_INSIDE",
        STATIC = 64 => "NAT_IS_STATIC",
        EXT_HOST_VALID = 128 => "NAT_IS_EXT_HOST_VALID",
    }
    /// Log levels.
    pub enum NatLogLevel: u8 = "nat_log_level" in "plugins/nat/lib/nat_types.api" {
        NONE = 0 => "NAT_LOG_NONE",
        ERROR = 1 => "NAT_LOG_ERROR",
        WARNING = 2 => "NAT_LOG_WARNING",
        NOTICE = 3 => "NAT_LOG_NOTICE",
        INFO = 4 => "NAT_LOG_INFO",
        DEBUG = 5 => "NAT_LOG_DEBUG",
    }
}

/// Session timeouts, in seconds.
#[derive(Clone, Copy, Debug, Default, Record)]
#[file("plugins/nat/lib/nat_types.api")]
pub struct NatTimeouts {
    /// UDP timeout
    pub udp: u32,
    /// timeout of established TCP connections
    pub tcp_established: u32,
    /// timeout of other TCP connections
    pub tcp_transitory: u32,
    /// ICMP timeout
    pub icmp: u32,
}

impl From<Timeouts> for NatTimeouts {
    fn from(t: Timeouts) -> Self {
        let (tcp_established, tcp_transitory) = (t.established, t.transitory);
        Self { udp: t.udp, tcp_established, tcp_transitory, icmp: t.icmp }
    }
}
