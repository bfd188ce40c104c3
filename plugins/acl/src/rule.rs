//! Rules of access lists.

use infra::table::rules::{Field, Pattern};
use net::prelude::*;

use super::Error;

/// Action on packets that match a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Deny.
    Deny,
    /// They pass.
    Permit,
    /// They pass, and so do those that answer them.
    Reflect,
}

impl Action {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Permit => "permit",
            Self::Reflect => "permit+reflect",
        }
    }
}

/// A range, both ends included.
pub type Range = (u16, u16);

/// All of a range.
pub const ALL: Range = (0, u16::MAX);

/// A rule: a match and an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Action on them.
    pub action: Action,
    /// Source prefix.
    pub src: Prefix,
    /// Destination prefix.
    pub dst: Prefix,
    /// Their protocol; 0 for all, whatever the ports are.
    pub protocol: u8,
    /// Their source ports, or types of ICMP.
    pub src_ports: Range,
    /// Their destination ports, or codes of ICMP.
    pub dst_ports: Range,
    /// Flags of TCP that count, and what they are.
    pub tcp_flags: (u8, u8),
}

/// Addresses in the first word; protocol and ports in the second.
pub static FIELDS4: [Field; 5] = [
    Field { word: 0, shift: 32, bits: 32, step: 8 },
    Field { word: 0, shift: 0, bits: 32, step: 8 },
    Field { word: 1, shift: 32, bits: 8, step: 8 },
    Field { word: 1, shift: 16, bits: 16, step: 16 },
    Field { word: 1, shift: 0, bits: 16, step: 16 },
];

/// Addresses in the first four words; protocol and ports in the fifth.
pub static FIELDS6: [Field; 7] = [
    Field { word: 0, shift: 0, bits: 64, step: 16 },
    Field { word: 1, shift: 0, bits: 64, step: 32 },
    Field { word: 2, shift: 0, bits: 64, step: 16 },
    Field { word: 3, shift: 0, bits: 64, step: 32 },
    Field { word: 4, shift: 32, bits: 8, step: 8 },
    Field { word: 4, shift: 16, bits: 16, step: 16 },
    Field { word: 4, shift: 0, bits: 16, step: 16 },
];

/// Protocol and ports as a word of a key.
#[inline(always)]
pub const fn upper_word(protocol: u8, src_port: u16, dst_port: u16) -> u64 {
    (protocol as u64) << 32 | (src_port as u64) << 16 | dst_port as u64
}

/// The two words of an address.
#[inline(always)]
pub fn words(addr: &[u8; 16]) -> [u64; 2] {
    let bits = u128::from_be_bytes(*addr);
    [(bits >> 64) as u64, bits as u64]
}

pub(super) fn mask4(len: u8) -> u64 {
    u64::from(u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0))
}

pub(super) fn mask6(len: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

/// Bits and mask of a prefix of IPv4.
fn bits4(prefix: &Prefix) -> (u64, u64) {
    let addr = match prefix.addr() {
        IpAddr::V4(addr) => addr,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    let mask = mask4(prefix.prefix_len());
    (u64::from(addr.to_bits()) & mask, mask)
}

/// Bits and mask of a prefix of IPv6.
fn bits6(prefix: &Prefix) -> (u128, u128) {
    let addr = match prefix.addr() {
        IpAddr::V6(addr) => addr,
        IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
    };
    let mask = mask6(prefix.prefix_len());
    (addr.to_bits() & mask, mask)
}

impl Rule {
    /// The rule for all packets of a version.
    pub fn any(action: Action, is_6: bool) -> Self {
        let any: IpAddr =
            if is_6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let any = Prefix::new(any, 0).expect("no bits are not too many");
        let (src_ports, dst_ports) = (ALL, ALL);
        Self { action, src: any, dst: any, protocol: 0, src_ports, dst_ports, tcp_flags: (0, 0) }
    }
    /// Whether it is about packets of IPv6. One of the prefixes may be that of all addresses of the
    /// other version.
    pub fn is_6(&self) -> bool {
        self.src.addr().is_ipv6() && (self.src.prefix_len() > 0 || self.dst.addr().is_ipv6())
            || self.dst.addr().is_ipv6() && self.dst.prefix_len() > 0
    }
    /// Checks the rule with a place in its list.
    ///
    /// # Errors
    /// [`Error`] about the field that cannot be.
    pub fn check(&self, number: u32) -> Result<(), Error> {
        let is_mixed = self.src.addr().is_ipv4() != self.dst.addr().is_ipv4();
        if is_mixed && self.src.prefix_len() > 0 && self.dst.prefix_len() > 0 {
            return Err(Error::Versions(number));
        }
        if self.src.network() != self.src {
            return Err(Error::SourceBits(number));
        }
        if self.dst.network() != self.dst {
            return Err(Error::DestinationBits(number));
        }
        if self.src_ports.0 > self.src_ports.1 {
            return Err(Error::SourcePorts(number));
        }
        if self.dst_ports.0 > self.dst_ports.1 {
            return Err(Error::DestinationPorts(number));
        }
        Ok(())
    }
    /// Protocol under its mask, ranges and flags; `is_blunt` for packets whose ports are not known.
    fn upper(&self, is_blunt: bool) -> (u64, u64, [Range; 2], (u8, u8)) {
        if self.protocol == 0 {
            return (0, 0, [ALL; 2], (0, 0));
        }
        let (value, mask) = (upper_word(self.protocol, 0, 0), upper_word(u8::MAX, 0, 0));
        if is_blunt {
            return (value, mask, [ALL; 2], (0, 0));
        }
        let (counting, flags) = self.tcp_flags;
        let is_tcp = self.protocol == Protocol::TCP.0;
        let flags = if is_tcp { (counting, flags & counting) } else { (0, 0) };
        (value, mask, [self.src_ports, self.dst_ports], flags)
    }
    /// The packets of IPv4 that it is about.
    pub fn pattern4(&self, is_blunt: bool) -> Pattern<2> {
        let ((src, src_mask), (dst, dst_mask)) = (bits4(&self.src), bits4(&self.dst));
        let (value, mask, ranges, flags) = self.upper(is_blunt);
        Pattern {
            mask: [src_mask << 32 | dst_mask, mask],
            value: [src << 32 | dst, value],
            ranges,
            flags,
        }
    }
    /// The packets of IPv6 that it is about.
    pub fn pattern6(&self, is_blunt: bool) -> Pattern<5> {
        let ((src, src_mask), (dst, dst_mask)) = (bits6(&self.src), bits6(&self.dst));
        let (value, mask, ranges, flags) = self.upper(is_blunt);
        let words = |src: u128, dst: u128, upper: u64| {
            [(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64, upper]
        };
        Pattern {
            mask: words(src_mask, dst_mask, mask),
            value: words(src, dst, value),
            ranges,
            flags,
        }
    }
}
