//! Domains: how addresses and ports of IPv4 are mapped into addresses of IPv6 (RFC 7597 section 5).

use net::prelude::*;
use wire::siit::embedded::{self, embed};

/// Bits of a tag.
pub const MOST_TAG: usize = 63;

/// A domain, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The customers' addresses.
    pub ip4_prefix: Ip4Prefix,
    /// The prefix that customers' IPv6 addresses are in.
    pub ip6_prefix: Ip6Prefix,
    /// The address of the relay, or for MAP-T the prefix that stands for the IPv4 internet.
    pub ip6_src: Ip6Prefix,
    /// EA bits length.
    pub ea_bits_len: u8,
    /// PSID offset.
    pub psid_offset: u8,
    /// PSID length.
    pub psid_len: u8,
    /// Longest IPv6 packet to a customer; 0 for what the next hop takes.
    pub mtu: u16,
    /// A name.
    pub tag: String,
    /// Addresses by port set, in place of a mapping.
    pub rules: BTreeMap<u16, Ipv6Addr>,
}

/// Parts of an address that are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    /// Bits of an IPv4 address behind those that count.
    suffix_shift: u32,
    suffix_mask: u32,
    ea_shift: u32,
}

impl Domain {
    /// Checks it; the fault in words.
    pub fn check(&self) -> Result<(), &'static str> {
        if u32::from(self.psid_offset) + u32::from(self.psid_len) > 16 {
            return Err("psid offset and length exceed 16 bits");
        }
        if self.tag.len() > MOST_TAG {
            return Err("the tag is longer than 63 bytes");
        }
        if !control::cli::is_printable(&self.tag) {
            return Err("the tag has characters that commands cannot express");
        }
        if self.ea_bits_len > 48 {
            return Err("at most 48 bits of addresses and port sets");
        }
        if self.ea_bits_len > 0 && self.ea_bits_len < self.psid_len {
            return Err("the PSID does not fit the EA bits");
        }
        let suffix = self.suffix_len() + u32::from(self.psid_len);
        if self.ea_bits_len > 0 && u32::from(self.ip6_prefix.prefix_len()) + suffix > 64 {
            return Err("prefix and EA bits exceed 64 bits");
        }
        Ok(())
    }
    fn suffix_len(&self) -> u32 {
        let (len, ea) = (u32::from(self.ip4_prefix.prefix_len()), u32::from(self.ea_bits_len));
        if len + ea < 32 { ea } else { 32 - len }
    }
    /// Whether customers have prefixes of IPv4.
    pub fn has_prefixes(&self) -> bool {
        u32::from(self.ip4_prefix.prefix_len()) + u32::from(self.ea_bits_len) < 32
            && self.ea_bits_len > 0
    }
    fn parts(&self) -> Parts {
        let suffix_len = self.suffix_len();
        let (len, psid) = (u32::from(self.ip4_prefix.prefix_len()), u32::from(self.psid_len));
        Parts {
            suffix_shift: 32 - len - suffix_len,
            suffix_mask: 1_u32.checked_shl(suffix_len).map_or(u32::MAX, |bit| bit - 1),
            ea_shift: 64_u32
                .saturating_sub(u32::from(self.ip6_prefix.prefix_len()) + suffix_len + psid),
        }
    }
    /// Whether the port of a packet has to be known.
    pub fn needs_port(&self) -> bool {
        self.psid_len > 0 || !self.rules.is_empty()
    }
    /// The port set of a port; `None` for a port that is in none (section 5.1).
    pub fn psid(&self, port: u16) -> Option<u16> {
        let first = u32::from(port) >> (16 - u32::from(self.psid_offset));
        if self.needs_port() && self.psid_offset > 0 && first == 0 {
            return None;
        }
        Some(self.psid_bits(port))
    }
    fn psid_bits(&self, port: u16) -> u16 {
        let shift = 16 - u32::from(self.psid_offset) - u32::from(self.psid_len);
        let bits = u32::from(port) >> shift & ((1 << u32::from(self.psid_len)) - 1);
        bits as u16
    }
    /// Whether the other side's addresses are embedded as translators do: there is no mapping.
    fn is_embedding(&self) -> bool {
        let is_open = self.ea_bits_len == 0 && self.ip4_prefix.prefix_len() == 0;
        is_open && embedded::LENS.contains(&self.ip6_prefix.prefix_len())
    }
    /// Whether the interface identifier of customers is their IPv4 address alone, as in the
    /// original where addresses of the other side end with theirs; else it is that of section 6.
    fn is_plain(&self) -> bool {
        self.ip6_src.prefix_len() == 96
    }
    /// The IPv6 address of a customer with an address and a port set; `None` when no rule has it,
    /// or the address is none of the domain's.
    pub fn customer(&self, addr: Ipv4Addr, psid: u16) -> Option<Ipv6Addr> {
        if !self.ip4_prefix.contains(addr) {
            return None;
        }
        if !self.rules.is_empty() {
            return self.rules.get(&psid).copied();
        }
        if self.is_embedding() {
            return embed(self.ip6_prefix, addr);
        }
        let front = self.ip6_prefix.network().addr().to_bits();
        if self.ip6_prefix.prefix_len() == 128 {
            return Some(Ipv6Addr::from_bits(front));
        }
        let Parts { suffix_shift, suffix_mask, ea_shift } = self.parts();
        let bits = addr.to_bits();
        let suffix = bits.checked_shr(suffix_shift).unwrap_or(0) & suffix_mask;
        let ea = u64::from(suffix) << self.psid_len | u64::from(psid);
        let ea = if self.ea_bits_len == 0 { 0 } else { ea << ea_shift };
        let id = match self.has_prefixes() {
            _ if self.is_plain() => u64::from(bits),
            true => u64::from(bits & u32::MAX.checked_shl(suffix_shift).unwrap_or(0)) << 16,
            false => u64::from(bits) << 16 | u64::from(psid),
        };
        Some(Ipv6Addr::from_bits(front | u128::from(ea) << 64 | u128::from(id)))
    }
    /// The IPv6 address that a packet to an address and a port goes to.
    pub fn address_of(&self, addr: Ipv4Addr, port: Option<u16>) -> Option<Ipv6Addr> {
        let psid = match port {
            Some(port) => self.psid(port)?,
            None if self.needs_port() => return None,
            None => 0,
        };
        self.customer(addr, psid)
    }
    /// The IPv6 address that stands for one of the IPv4 internet.
    pub fn outside(&self, addr: Ipv4Addr) -> Ipv6Addr {
        embed(self.ip6_src, addr).unwrap_or(self.ip6_src.addr())
    }
    /// The IPv4 address in one that stands for it, or in the edge's own.
    pub fn outside_of(&self, addr: Ipv6Addr) -> Option<Ipv4Addr> {
        if !self.ip6_src.contains(addr) {
            return None;
        }
        let in_own = || Ipv4Addr::from_bits((addr.to_bits() >> 16) as u32);
        Some(embedded::extract(self.ip6_src, addr).unwrap_or_else(in_own))
    }
    /// The IPv4 address that a customer's IPv6 address has in it; of no meaning unless
    /// [`Domain::customer`] gives that address back.
    pub fn inside_of(&self, addr: Ipv6Addr) -> Option<Ipv4Addr> {
        if self.is_embedding() {
            return embedded::extract(self.ip6_prefix, addr);
        }
        if !self.rules.is_empty() || self.ip6_prefix.prefix_len() == 128 {
            return Some(self.ip4_prefix.network().addr());
        }
        let shift = if self.is_plain() { 0 } else { 16 };
        Some(Ipv4Addr::from_bits((addr.to_bits() >> shift) as u32))
    }
    /// Whether a customer's IPv6 address is that of an IPv4 address, with the port set that it says
    /// itself: of fragments whose port is not known.
    pub fn is_customer(&self, addr6: Ipv6Addr, addr: Ipv4Addr) -> bool {
        if !self.rules.is_empty() {
            return self.rules.values().any(|rule| *rule == addr6);
        }
        // Behind a plain address the port set is in the EA bits only.
        let shift = if self.is_plain() { 64 + self.parts().ea_shift } else { 0 };
        let psid = (addr6.to_bits() >> shift) as u16 & ((1_u32 << self.psid_len) - 1) as u16;
        self.customer(addr, psid) == Some(addr6)
    }
}
