//! Parameters of all domains.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Parameters of all domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Packets of IPv4 are cut before they are put into IPv6, not after.
    pub cuts_inner: bool,
    /// Packets are cut though their sender forbids it.
    pub ignores_df: bool,
    /// The source of ICMP errors that tell senders of IPv4 what happened to their packets within
    /// IPv6; unspecified for none.
    pub icmp_source: Ipv4Addr,
    /// Send ICMPv6 errors for failed security checks.
    pub icmp6_unreachables: bool,
    /// Next hop of IPv4 packets in place of their route; unspecified for none.
    pub next_hop4: Ipv4Addr,
    /// The same of IPv6 packets.
    pub next_hop6: Ipv6Addr,
    /// Packets of customers must come from where their address and port belong.
    pub checks: bool,
    /// Include fragments.
    pub checks_fragments: bool,
    /// The traffic class is that of the packet, otherwise this one.
    pub copies_class: bool,
    /// The traffic class of packets that are put into IPv6.
    pub class: u8,
    /// Highest maximum segment size that TCP hosts tell each other; 0 for any.
    pub tcp_mss: u16,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            cuts_inner: false,
            ignores_df: false,
            icmp_source: Ipv4Addr::UNSPECIFIED,
            icmp6_unreachables: false,
            next_hop4: Ipv4Addr::UNSPECIFIED,
            next_hop6: Ipv6Addr::UNSPECIFIED,
            checks: true,
            checks_fragments: false,
            copies_class: true,
            class: 0,
            tcp_mss: 0,
        }
    }
}
