//! Flow keys: the input of flow hashes (RFC 2992, RFC 6438).
//!
//! All fragments of a packet have the same key: the ports, which only the first one carries, count
//! as zero in each of them. So do the ports of protocols that have none.

use zerocopy::FromBytes;
use zerocopy::byteorder::network_endian::U16;

use crate::{Protocol, ip4, ip6, udp};

/// UDP port of GTP-U.
const GTP_U: u16 = 2152;

/// Addresses, ports and protocol of an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key4 {
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// Source and destination port.
    pub ports: Ports,
    /// Protocol after the IP header.
    pub protocol: Protocol,
}

/// Addresses, ports, protocol and flow label of an IPv6 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key6 {
    /// Source address.
    pub src: [u8; 16],
    /// Destination address.
    pub dst: [u8; 16],
    /// Source and destination port.
    pub ports: Ports,
    /// Protocol after the IP and extension headers.
    pub protocol: Protocol,
    /// Flow label, 20 bits.
    pub label: u32,
}

/// A pair of ports in host order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Source port.
    pub src: u16,
    /// Destination port.
    pub dst: u16,
}

/// The key of a packet that starts with its IPv4 header; `None` when that is not complete.
#[inline]
pub fn ip4_flow_key(packet: &[u8]) -> Option<Key4> {
    let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    let ports = if header.is_fragment() {
        Ports::default()
    } else {
        ports(header.protocol, packet, header.header_len())
    };
    Some(Key4 { src: header.src, dst: header.dst, ports, protocol: header.protocol })
}

/// The key of a packet that starts with its IPv6 header; `None` when that is not complete. When
/// the extension headers are not, the protocol is that of the first.
#[inline]
pub fn ip6_flow_key(packet: &[u8]) -> Option<Key6> {
    let (header, _) = ip6::Header::ref_from_prefix(packet).ok()?;
    let (protocol, ports) = match ip6::upper_layer(packet) {
        Some(upper) if upper.fragment.is_none() => {
            (upper.protocol, ports(upper.protocol, packet, upper.offset))
        }
        // A later fragment cannot know what follows further extension headers.
        Some(_) => (Protocol::FRAGMENT, Ports::default()),
        None => (header.next_header, Ports::default()),
    };
    Some(Key6 { src: header.src, dst: header.dst, ports, protocol, label: header.flow_label() })
}

/// Tunnel endpoint of an IPv4 packet with GTP-U in it (3GPP TS 29.281 section 5.1); `None` of
/// others.
pub fn ip4_gtp_tunnel(packet: &[u8]) -> Option<u32> {
    let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
    let is_whole = !header.is_fragment();
    is_whole.then(|| gtp_tunnel(header.protocol, packet.get(header.header_len()..)?))?
}

/// The same of an IPv6 packet.
pub fn ip6_gtp_tunnel(packet: &[u8]) -> Option<u32> {
    let upper = ip6::upper_layer(packet).filter(|upper| upper.fragment.is_none())?;
    gtp_tunnel(upper.protocol, packet.get(upper.offset..)?)
}

fn gtp_tunnel(protocol: Protocol, bytes: &[u8]) -> Option<u32> {
    let (udp, rest) = udp::Header::ref_from_prefix(bytes).ok()?;
    // Version and kind of protocol, type, length, tunnel endpoint.
    let gtp = rest.first_chunk::<8>()?;
    let is_gtp = protocol == Protocol::UDP && udp.dst_port.get() == GTP_U && gtp[0] >> 4 == 0b0011;
    is_gtp.then(|| u32::from_be_bytes([gtp[4], gtp[5], gtp[6], gtp[7]]))
}

#[inline]
fn ports(protocol: Protocol, packet: &[u8], offset: usize) -> Ports {
    let bytes = packet.get(offset..).unwrap_or(&[]);
    match <[U16; 2]>::ref_from_prefix(bytes) {
        Ok(([src, dst], _)) if protocol.has_ports() => Ports { src: src.get(), dst: dst.get() },
        _ => Ports::default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;

    const UDP: Ports = Ports { src: 1234, dst: 2345 };

    fn packet4(protocol: Protocol, fragment: u16) -> Vec<u8> {
        let mut ip = ip4::Header::new([10, 0, 0, 2].into(), [16, 0, 0, 1].into(), protocol, 28);
        ip.fragment = fragment.into();
        [ip.as_bytes(), udp::Header::new(1234, 2345, 8).as_bytes()].concat()
    }

    #[test]
    fn ports_of_ip4() {
        let key = ip4_flow_key(&packet4(Protocol::UDP, ip4::DONT_FRAGMENT)).unwrap();
        assert_eq!((key.src, key.dst), ([10, 0, 0, 2], [16, 0, 0, 1]));
        assert_eq!((key.ports, key.protocol), (UDP, Protocol::UDP));
    }

    #[test]
    fn tunnels_of_gtp() {
        let payload = [0x30, 255, 0, 0, 0x12, 0x34, 0x56, 0x78];
        let with = |udp: udp::Header, payload: &[u8]| {
            let len = (udp.as_bytes().len() + payload.len()) as u16;
            let (a, b) = ([10, 0, 0, 2].into(), [16, 0, 0, 1].into());
            let ip4 = ip4::Header::new(a, b, Protocol::UDP, 20 + len);
            let (a, b) = (a.to_ipv6_mapped(), b.to_ipv6_mapped());
            let ip6 = ip6::Header::new(a, b, Protocol::UDP, len);
            let rest = [udp.as_bytes(), payload].concat();
            (
                ip4_gtp_tunnel(&[ip4.as_bytes(), &rest].concat()),
                ip6_gtp_tunnel(&[ip6.as_bytes(), &rest].concat()),
            )
        };
        let to = |port| udp::Header::new(2152, port, 16);
        assert_eq!(with(to(2152), &payload), (Some(0x1234_5678), Some(0x1234_5678)));
        assert_eq!(with(to(2153), &payload), (None, None));
        assert_eq!(with(to(2152), &payload[..7]), (None, None));
        assert_eq!(with(to(2152), &[0x50, 255, 0, 0, 1, 2, 3, 4]), (None, None), "version 2");
    }

    #[test]
    fn no_ports_without_ports() {
        let key = |packet: &[u8]| ip4_flow_key(packet).unwrap().ports;
        let first = packet4(Protocol::UDP, ip4::MORE_FRAGMENTS);
        let later = packet4(Protocol::UDP, 185);
        assert_eq!(ip4_flow_key(&first), ip4_flow_key(&later));
        for packet in [&first, &later, &packet4(Protocol::GRE, 0)] {
            assert_eq!(key(packet), Ports::default());
        }
        assert_eq!(key(&packet4(Protocol::UDP, 0)[..23]), Ports::default());
        assert_eq!(ip4_flow_key(&first[..19]), None);
    }

    #[test]
    fn options_come_before_the_ports() {
        let mut packet = packet4(Protocol::UDP, 0);
        packet[0] = 0x46;
        packet.splice(20..20, [1, 1, 1, 0]);
        assert_eq!(ip4_flow_key(&packet).unwrap().ports, UDP);
    }

    #[test]
    fn ports_of_ip6_behind_extension_headers() {
        let (src, dst) = ("2001:db8::2".parse().unwrap(), "2001:db8:ff::1".parse().unwrap());
        let mut ip = ip6::Header::new(src, dst, Protocol::HOP_BY_HOP, 16);
        ip.set_flow_label(0x12345);
        let options = [17, 0, 1, 4, 0, 0, 0, 0];
        let udp = udp::Header::new(1234, 2345, 8);
        let packet = [ip.as_bytes(), &options, udp.as_bytes()].concat();
        let key = ip6_flow_key(&packet).unwrap();
        assert_eq!((key.ports, key.protocol, key.label), (UDP, Protocol::UDP, 0x12345));
        let cut = ip6_flow_key(&packet[..44]).unwrap();
        assert_eq!((cut.ports, cut.protocol), (Ports::default(), Protocol::HOP_BY_HOP));
    }

    #[test]
    fn fragments_of_ip6_share_a_key() {
        let (src, dst) = ("2001:db8::2".parse().unwrap(), "2001:db8:ff::1".parse().unwrap());
        let ip = ip6::Header::new(src, dst, Protocol::FRAGMENT, 24);
        let key = |fragment: [u8; 8], rest: &[u8]| {
            ip6_flow_key(&[ip.as_bytes(), &fragment, rest].concat()).unwrap()
        };
        let udp = udp::Header::new(1234, 2345, 8);
        let options = [17, 0, 1, 4, 0, 0, 0, 0];
        let first = key([60, 0, 0, 1, 0, 0, 0, 9], &[&options, udp.as_bytes()].concat());
        let later = key([60, 0, 5, 0xc8, 0, 0, 0, 9], &[0; 16]);
        assert_eq!(first, later);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(ip4_flow_key(&bytes).is_some(), bytes.len() >= 20);
            prop_assert_eq!(ip6_flow_key(&bytes).is_some(), bytes.len() >= 40);
        }
    }
}
