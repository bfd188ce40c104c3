//! Addresses of IPv4 within those of IPv6 (RFC 6052 section 2.2).

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::Ip6Prefix;

/// Lengths that a prefix may have.
pub const LENS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// The address after a prefix; `None` when the prefix has another length.
pub fn embed(prefix: Ip6Prefix, addr: Ipv4Addr) -> Option<Ipv6Addr> {
    let len = prefix.prefix_len();
    let front = prefix.network().addr().to_bits();
    let bits = u128::from(addr.to_bits());
    if !LENS.contains(&len) {
        return None;
    }
    if len == 96 {
        return Some(Ipv6Addr::from_bits(front | bits));
    }
    // Bits 64 to 71 are zero: what reaches them moves behind.
    let whole = bits << (96 - u32::from(len));
    let low = (whole & u128::from(u64::MAX)) >> 8;
    Some(Ipv6Addr::from_bits(front | whole & !u128::from(u64::MAX) | low))
}

/// The address in one of a prefix; `None` when it is in another one.
pub fn extract(prefix: Ip6Prefix, addr: Ipv6Addr) -> Option<Ipv4Addr> {
    let len = prefix.prefix_len();
    if !LENS.contains(&len) || !prefix.contains(addr) {
        return None;
    }
    let bits = addr.to_bits();
    if len == 96 {
        return Some(Ipv4Addr::from_bits(bits as u32));
    }
    let low = (bits & u128::from(u64::MAX)) << 8 & u128::from(u64::MAX);
    let whole = bits & !u128::from(u64::MAX) | low;
    Some(Ipv4Addr::from_bits((whole >> (96 - u32::from(len))) as u32))
}
