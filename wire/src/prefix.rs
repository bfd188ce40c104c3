//! Address prefixes (RFC 4632 for IPv4, RFC 4291 section 2.3 for IPv6).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address and how many of its leading bits count. Host bits stay as given, so that it also
/// serves for an interface's address; compare [`IpPrefix::network`]s where they must not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpPrefix<A> {
    addr: A,
    prefix_len: u8,
}

/// An IPv4 prefix.
pub type Ip4Prefix = IpPrefix<Ipv4Addr>;
/// An IPv6 prefix.
pub type Ip6Prefix = IpPrefix<Ipv6Addr>;

/// An address that prefixes can be made of.
pub trait Address: Copy + Eq + fmt::Display + FromStr {
    /// Its size in bits.
    const BITS: u8;

    /// The address whose first `len` bits are ones.
    fn mask(len: u8) -> Self;

    /// Bitwise AND.
    fn and(self, mask: Self) -> Self;
}

impl Address for Ipv4Addr {
    const BITS: u8 = 32;

    fn mask(len: u8) -> Self {
        Self::from_bits(u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0))
    }

    fn and(self, mask: Self) -> Self {
        self & mask
    }
}

impl Address for Ipv6Addr {
    const BITS: u8 = 128;

    fn mask(len: u8) -> Self {
        Self::from_bits(u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0))
    }

    fn and(self, mask: Self) -> Self {
        self & mask
    }
}

impl<A: Address> IpPrefix<A> {
    /// A prefix of `len` bits. `Err` when the address has fewer.
    pub fn new(addr: A, len: u8) -> Result<Self, InvalidPrefix> {
        if len > A::BITS {
            return Err(InvalidPrefix::Length(len.into()));
        }
        Ok(Self { addr, prefix_len: len })
    }

    /// The prefix that is this address alone.
    pub fn host(addr: A) -> Self {
        Self { addr, prefix_len: A::BITS }
    }

    /// The address, host bits included.
    pub fn addr(&self) -> A {
        self.addr
    }

    /// The number of bits that count.
    pub fn prefix_len(&self) -> u8 {
        self.prefix_len
    }

    /// Ones where bits count.
    pub fn mask(&self) -> A {
        A::mask(self.prefix_len)
    }

    /// The prefix with host bits zero.
    pub fn network(&self) -> Self {
        Self { addr: self.addr.and(self.mask()), ..*self }
    }

    /// Whether `addr` starts with the bits that count.
    pub fn contains(&self, addr: A) -> bool {
        addr.and(self.mask()) == self.addr.and(self.mask())
    }
}

impl<A: fmt::Display> fmt::Display for IpPrefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.prefix_len)
    }
}

impl<A: Address> FromStr for IpPrefix<A> {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        let (addr, len) = text.split_once('/').ok_or(InvalidPrefix::Text)?;
        let addr = addr.parse().map_err(|_| InvalidPrefix::Text)?;
        if !len.bytes().all(|b| b.is_ascii_digit()) {
            return Err(InvalidPrefix::Text);
        }
        let len: u32 = len.parse().map_err(|_| InvalidPrefix::Text)?;
        Self::new(addr, u8::try_from(len).map_err(|_| InvalidPrefix::Length(len))?)
    }
}

/// Reasons why a prefix was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidPrefix {
    /// The address has fewer bits.
    Length(u32),
    /// Not of the form `address/length`.
    Text,
}

impl fmt::Display for InvalidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(len) => write!(f, "Invalid prefix len: {len}"),
            Self::Text => f.write_str("expected a prefix such as 10.0.0.0/8 or 2001:db8::/32"),
        }
    }
}

impl std::error::Error for InvalidPrefix {}

/// A prefix of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prefix {
    /// IPv4.
    Ip4(Ip4Prefix),
    /// IPv6.
    Ip6(Ip6Prefix),
}

impl Prefix {
    /// A prefix of `len` bits. `Err` when the address has fewer.
    pub fn new(addr: IpAddr, len: u8) -> Result<Self, InvalidPrefix> {
        match addr {
            IpAddr::V4(addr) => IpPrefix::new(addr, len).map(Self::Ip4),
            IpAddr::V6(addr) => IpPrefix::new(addr, len).map(Self::Ip6),
        }
    }

    /// The address, host bits included.
    pub fn addr(&self) -> IpAddr {
        match self {
            Self::Ip4(prefix) => prefix.addr.into(),
            Self::Ip6(prefix) => prefix.addr.into(),
        }
    }

    /// The number of bits that count.
    pub fn prefix_len(&self) -> u8 {
        match self {
            Self::Ip4(prefix) => prefix.prefix_len,
            Self::Ip6(prefix) => prefix.prefix_len,
        }
    }

    /// Whether all bits count: it is a single address.
    pub fn is_host(&self) -> bool {
        let bits = if self.addr().is_ipv4() { Ipv4Addr::BITS } else { Ipv6Addr::BITS };
        u32::from(self.prefix_len()) == bits
    }

    /// The prefix with host bits zero.
    pub fn network(&self) -> Self {
        match self {
            Self::Ip4(prefix) => Self::Ip4(prefix.network()),
            Self::Ip6(prefix) => Self::Ip6(prefix.network()),
        }
    }

    /// Whether `addr` is of the same version and starts with the bits that count.
    pub fn contains(&self, addr: IpAddr) -> bool {
        match (self, addr) {
            (Self::Ip4(prefix), IpAddr::V4(addr)) => prefix.contains(addr),
            (Self::Ip6(prefix), IpAddr::V6(addr)) => prefix.contains(addr),
            _ => false,
        }
    }
}

impl From<Ip4Prefix> for Prefix {
    fn from(prefix: Ip4Prefix) -> Self {
        Self::Ip4(prefix)
    }
}

impl From<Ip6Prefix> for Prefix {
    fn from(prefix: Ip6Prefix) -> Self {
        Self::Ip6(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip4(prefix) => prefix.fmt(f),
            Self::Ip6(prefix) => prefix.fmt(f),
        }
    }
}

impl FromStr for Prefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        if text.contains(':') { text.parse().map(Self::Ip6) } else { text.parse().map(Self::Ip4) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn host_bits_stay_until_masked() {
        let prefix: Ip4Prefix = "10.1.2.3/8".parse().unwrap();
        assert_eq!(prefix.to_string(), "10.1.2.3/8");
        assert_eq!(prefix.network().to_string(), "10.0.0.0/8");
        assert_eq!(prefix.mask(), Ipv4Addr::new(255, 0, 0, 0));
        let prefix: Prefix = "2001:db8::1/32".parse().unwrap();
        assert_eq!(prefix.network().to_string(), "2001:db8::/32");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let error = |text: &str| text.parse::<Prefix>().unwrap_err();
        assert_eq!(error("10.0.0.0/33").to_string(), "Invalid prefix len: 33");
        assert_eq!(error("10.0.0.0/300"), InvalidPrefix::Length(300));
        assert_eq!(error("2001:db8::/129").to_string(), "Invalid prefix len: 129");
        for text in ["", "10.0.0.0", "10.0.0.0/", "10.0.0/8", "10.0.0.0/+8", "::/x", "/8"] {
            assert_eq!(error(text), InvalidPrefix::Text, "{text}");
        }
        assert!(IpPrefix::new(Ipv4Addr::LOCALHOST, 33).is_err());
    }

    #[test]
    fn contains_by_version() {
        let all: Prefix = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(Ipv4Addr::BROADCAST.into()));
        assert!(!all.contains(Ipv6Addr::UNSPECIFIED.into()));
        let host = Prefix::from(IpPrefix::host(Ipv6Addr::LOCALHOST));
        assert!(host.contains(Ipv6Addr::LOCALHOST.into()));
        assert!(!host.contains(Ipv6Addr::UNSPECIFIED.into()));
    }

    proptest! {
        #[test]
        fn contains_means_equal_leading_bits(a: u32, b: u32, len in 0..=32u8) {
            let prefix = IpPrefix::new(Ipv4Addr::from_bits(a), len).unwrap();
            let same = (a ^ b).leading_zeros() >= u32::from(len);
            prop_assert_eq!(prefix.contains(Ipv4Addr::from_bits(b)), same);
            prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }

        #[test]
        fn contains_means_equal_leading_bits_in_ip6(a: u128, b: u128, len in 0..=128u8) {
            let prefix = IpPrefix::new(Ipv6Addr::from_bits(a), len).unwrap();
            let close = a ^ (b >> (len / 2)); // share some bits
            let same = (a ^ close).leading_zeros() >= u32::from(len);
            prop_assert_eq!(prefix.contains(Ipv6Addr::from_bits(close)), same);
            prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }
    }
}
