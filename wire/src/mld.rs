//! Multicast listener discovery: version 2 (RFC 3810), and the messages of version 1 (RFC 2710)
//! that differ.

use std::net::Ipv6Addr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::icmp6::Header;
use crate::{Protocol, ip6};

/// All routers that understand version 2.
pub const REPORTS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// The hop-by-hop options of all these messages: ICMPv6 follows; router alert for MLD (RFC 2711),
/// and padding.
pub const HOP_BY_HOP: [u8; 8] = [58, 0, ROUTER_ALERT, 2, 0, 0, 1, 0];
/// Number of the option that asks routers to look.
const ROUTER_ALERT: u8 = 5;
/// Number of the option of one byte.
const PAD1: u8 = 0;

/// A query, or report, of version 1: 24 bytes. Queries of version 2 begin so and are longer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Version1 {
    /// Type and code.
    pub icmp: Header,
    /// Longest delay of answers: milliseconds in version 1, a code in version 2.
    pub max_response: U16,
    /// Zero.
    pub reserved: U16,
    /// The group that is asked for or reported; unspecified for all.
    pub group: [u8; 16],
}

/// Least length of a query of version 2.
pub const VERSION2_QUERY: usize = 28;

/// Milliseconds that a maximum response code of version 2 stands for (RFC 3810 section 5.1.3).
pub fn max_response_ms(code: u16) -> u32 {
    let code = u32::from(code);
    if code < 0x8000 { code } else { (code & 0xfff | 0x1000) << ((code >> 12 & 7) + 3) }
}

/// Whether a packet asks routers to look at it, as all messages of MLD do.
pub fn has_router_alert(packet: &[u8]) -> bool {
    let hop_by_hop = ip6::extensions(packet).find(|e| e.protocol == Protocol::HOP_BY_HOP);
    let options = hop_by_hop.and_then(|e| packet.get(e.offset + 2..e.offset + e.len));
    let mut left = options.unwrap_or(&[]);
    while let [kind, rest @ ..] = left {
        left = match (*kind, rest) {
            (ROUTER_ALERT, _) => return true,
            (PAD1, _) => rest,
            (_, [len, data @ ..]) => data.get(usize::from(*len)..).unwrap_or(&[]),
            _ => &[],
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_delays_are_floating_point() {
        for (code, ms) in [(0, 0), (10_000, 10_000), (0x7fff, 32_767), (0x8000, 32_768)] {
            assert_eq!(max_response_ms(code), ms);
        }
        assert_eq!(max_response_ms(0xffff), 0x1fff << 10);
    }

    #[test]
    fn the_router_alert_is_found_among_other_options() {
        let (src, dst) = (Ipv6Addr::LOCALHOST, REPORTS);
        let header = ip6::Header::new(src, dst, Protocol(0), 8);
        let packet = |options: [u8; 6]| [header.as_bytes(), &[58, 0], &options].concat();
        assert!(has_router_alert(&packet([5, 2, 0, 0, 1, 0])));
        assert!(has_router_alert(&packet([0, 0, 5, 2, 0, 0])));
        assert!(!has_router_alert(&packet([1, 4, 5, 2, 0, 0])));
        assert!(!has_router_alert(&packet([1, 9, 0, 5, 2, 0])));
        assert!(!has_router_alert(header.as_bytes()));
    }
}
