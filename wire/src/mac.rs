//! 48-bit MAC addresses (IEEE 802 clause 8) and what IP derives from them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A MAC address, first byte on the wire first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// `00:00:00:00:00:00`: no address.
    pub const ZERO: Self = Self([0; 6]);
    /// `ff:ff:ff:ff:ff:ff`.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether the group bit is set; true for broadcast too.
    #[inline]
    pub fn is_multicast(&self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether this is [`MacAddr::BROADCAST`].
    #[inline]
    pub fn is_broadcast(&self) -> bool {
        *self == Self::BROADCAST
    }

    /// The link-local address with this MAC's modified EUI-64 identifier (RFC 4291 appendix A).
    pub fn link_local(&self) -> Ipv6Addr {
        let [a, b, c, d, e, f] = self.0;
        let id = u64::from_be_bytes([a ^ 0x02, b, c, 0xff, 0xfe, d, e, f]);
        Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(id))
    }

    /// Address of an IPv4 multicast group (RFC 1112 section 6.4).
    pub fn for_ip4_group(group: Ipv4Addr) -> Self {
        let [_, b, c, d] = group.octets();
        Self([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }

    /// Address of an IPv6 multicast group (RFC 2464 section 7).
    pub fn for_ip6_group(group: Ipv6Addr) -> Self {
        let [.., c, d, e, f] = group.octets();
        Self([0x33, 0x33, c, d, e, f])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The text is no MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidMac;

impl fmt::Display for InvalidMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a MAC address such as 02:fe:00:00:00:01 or 02fe.0000.0001")
    }
}

impl std::error::Error for InvalidMac {}

/// `aa:bb:cc:dd:ee:ff` or `aabb.ccdd.eeff`; leading zeros of a group may be left out.
impl FromStr for MacAddr {
    type Err = InvalidMac;

    fn from_str(text: &str) -> Result<Self, InvalidMac> {
        let (separator, groups, digits) =
            if text.contains('.') { ('.', 3, 4) } else { (':', 6, 2) };
        let mut address = 0;
        let mut count = 0;
        for group in text.split(separator) {
            if group.len() > digits || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(InvalidMac);
            }
            let value = u64::from_str_radix(group, 16).map_err(|_| InvalidMac)?;
            address = address << (4 * digits) | value;
            count += 1;
            if count > groups {
                return Err(InvalidMac);
            }
        }
        let [_, _, mac @ ..] = u64::to_be_bytes(address);
        (count == groups).then_some(Self(mac)).ok_or(InvalidMac)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_forms_parse_to_the_same_address() {
        let mac = MacAddr([0x02, 0xfe, 0x0a, 0xbc, 0x00, 0x1f]);
        for text in ["02:fe:0a:bc:00:1f", "2:fe:a:BC:0:1F", "02fe.0abc.001f", "2fe.abc.1f"] {
            assert_eq!(text.parse(), Ok(mac), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "02:fe:0a:bc:00",
            "02:fe:0a:bc:00:1f:00",
            "02:fe:0a:bc:00:1g",
            "+2:fe:0a:bc:00:1f",
            "002:fe:0a:bc:00:1f",
            "02:fe:0a:bc::1f",
            "02fe.0abc",
            "02fe.0abc.001f.0000",
            "02fe:0abc:001f",
        ] {
            assert_eq!(text.parse::<MacAddr>(), Err(InvalidMac), "{text}");
        }
    }

    #[test]
    fn derived_addresses() {
        // RFC 2464 section 4 and 7, RFC 1112 section 6.4: 224.128.64.32 loses its upper bits.
        let mac: MacAddr = "34:56:78:9a:bc:de".parse().unwrap();
        assert_eq!(mac.link_local().to_string(), "fe80::3656:78ff:fe9a:bcde");
        let group = MacAddr::for_ip4_group(Ipv4Addr::new(224, 128, 64, 32));
        assert_eq!(group.to_string(), "01:00:5e:00:40:20");
        let group = MacAddr::for_ip6_group("ff02::1:ff9a:bcde".parse().unwrap());
        assert_eq!(group.to_string(), "33:33:ff:9a:bc:de");
        assert!(group.is_multicast() && !group.is_broadcast() && !mac.is_multicast());
        assert!(MacAddr::BROADCAST.is_multicast() && MacAddr::BROADCAST.is_broadcast());
    }

    proptest! {
        #[test]
        fn display_parses_back(octets: [u8; 6]) {
            prop_assert_eq!(MacAddr(octets).to_string().parse(), Ok(MacAddr(octets)));
        }

        #[test]
        fn any_text_is_answered(text in "[0-9a-f:.é]{0,24}") {
            let _ = text.parse::<MacAddr>();
        }
    }
}
