//! A number for the flow that a packet belongs to: it stands in the source port of outer UDP
//! headers, so that routers on the way can tell flows apart (RFC 7348 section 5).

use wire::ethernet::EtherType;
use wire::flow::{Ports, ip4_flow_key, ip6_flow_key};
use wire::{Protocol, ip4};
use zerocopy::FromBytes;

use crate::adjacency::Link;

/// Addresses at the start of a frame.
const MACS: usize = 12;
/// Labels looked behind, at most.
const LABELS: usize = 16;

/// The number of a packet or frame.
#[inline(never)]
pub(super) fn hash(carried: Link, bytes: &[u8]) -> u32 {
    let of_ip = |bytes: &[u8]| match bytes.first().map(|b| b >> 4) {
        Some(4) => hash4(bytes),
        Some(6) => hash6(bytes),
        _ => None,
    };
    match carried {
        Link::Ethernet => behind_types(bytes).and_then(of_ip).unwrap_or_else(|| macs(bytes)),
        Link::Mpls => behind_labels(bytes).and_then(of_ip).unwrap_or_default(),
        Link::Ip4 | Link::Ip6 => of_ip(bytes).unwrap_or_default(),
    }
}

/// The same number of a frame without tags that has a whole IPv4 packet without options and with
/// ports, as most do; `None` of others.
#[inline(always)]
pub(super) fn hash_plain(frame: &[u8]) -> Option<u32> {
    let (front, packet) = frame.split_first_chunk::<{ MACS + size_of::<u16>() }>()?;
    let (header, rest) = ip4::Header::ref_from_prefix(packet).ok()?;
    let ports = u32::from_be_bytes(*rest.first_chunk()?);
    let kind = [front[MACS], front[MACS + 1], header.version_ihl];
    let has_ports = header.protocol == Protocol::UDP || header.protocol == Protocol::TCP;
    if kind != [8, 0, 0x45] || header.is_fragment() || !has_ports {
        return None;
    }
    let behind = u64::from(ports) << 16 | u64::from(header.protocol.0);
    Some(folded([addresses4(header.src, header.dst), behind]))
}

#[inline]
fn addresses4(src: [u8; 4], dst: [u8; 4]) -> u64 {
    u64::from(u32::from_be_bytes(src)) << 32 | u64::from(u32::from_be_bytes(dst))
}

fn hash4(packet: &[u8]) -> Option<u32> {
    let key = ip4_flow_key(packet)?;
    Some(folded([addresses4(key.src, key.dst), ports(key.ports, key.protocol.0)]))
}

fn hash6(packet: &[u8]) -> Option<u32> {
    let key = ip6_flow_key(packet)?;
    let (src, dst) = (u128::from_be_bytes(key.src), u128::from_be_bytes(key.dst));
    let words = [src, dst].map(|a| [a as u64, (a >> 64) as u64]);
    let [[a, b], [c, d]] = words;
    Some(folded([a, b, c, d, ports(key.ports, key.protocol.0), key.label.into()]))
}

#[inline]
fn ports(ports: Ports, protocol: u8) -> u64 {
    u64::from(ports.src) << 32 | u64::from(ports.dst) << 16 | u64::from(protocol)
}

fn macs(frame: &[u8]) -> u32 {
    let Some(macs) = frame.first_chunk::<MACS>() else { return 0 };
    let [a, b, c, d, e, f, g, h, rest @ ..] = *macs;
    let last = u64::from(u32::from_be_bytes(rest));
    folded([u64::from_be_bytes([a, b, c, d, e, f, g, h]), last])
}

#[inline]
fn folded<const N: usize>(words: [u64; N]) -> u32 {
    const ODD: u128 = 0x9e37_79b9_7f4a_7c15;
    let all = words.into_iter().fold(0x2545_f491_4f6c_dd1d, |sum: u64, word| {
        let product = u128::from(sum ^ word) * ODD;
        product as u64 ^ (product >> 64) as u64
    });
    (all ^ all >> 32) as u32
}

/// Bytes of a frame after VLAN tags and labels.
fn behind_types(frame: &[u8]) -> Option<&[u8]> {
    let mut at = MACS;
    loop {
        let kind = EtherType::new(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        at += size_of::<u16>();
        match kind {
            EtherType::VLAN | EtherType::QINQ => at += size_of::<u16>(),
            EtherType::IP4 | EtherType::IP6 => return frame.get(at..),
            EtherType::MPLS => return behind_labels(frame.get(at..)?),
            _ => return None,
        }
    }
}

fn behind_labels(stack: &[u8]) -> Option<&[u8]> {
    let (labels, _) = stack.as_chunks::<4>();
    let bottom = labels.iter().take(LABELS).position(|[.., third, _]| third & 1 == 1)?;
    stack.get((bottom + 1) * 4..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::packets::*;

    #[test]
    fn flows_differ_behind_tags_and_labels() {
        let of = |front: &[u8], port| {
            let packet = udp4(HOST4, "10.9.9.9", port, b"");
            hash(Link::Ethernet, &[&[2; 12], front, &packet].concat())
        };
        let tagged = [0x81, 0, 0, 7, 8, 0];
        let labelled = [0x88, 0x47, 0, 0, 0, 64, 0, 0, 0x21, 64];
        for front in [&[8, 0][..], &tagged, &labelled] {
            assert_eq!(of(front, 7), of(front, 7));
            assert_ne!(of(front, 7), of(front, 8));
            assert_eq!(of(front, 7), hash(Link::Ip4, &udp4(HOST4, "10.9.9.9", 7, b"")));
        }
        let plain = |front: &[u8]| {
            hash_plain(&[&[2; 12], front, &udp4(HOST4, "10.9.9.9", 7, b"")].concat())
        };
        assert_eq!(plain(&[8, 0]), Some(of(&[8, 0], 7)));
        assert_eq!((plain(&tagged), plain(&labelled)), (None, None));
        let other = hash(Link::Ethernet, &[2; 14]);
        assert_ne!(other, hash(Link::Ethernet, &[3; 14]));
        assert_eq!(hash(Link::Ethernet, &[2; 3]), 0);
        assert_ne!(
            hash(Link::Ip6, &udp6(HOST6, "2001:db8::9", 7, b"")),
            hash(Link::Ip6, &udp6(HOST6, "2001:db8::9", 8, b"")),
        );
    }
}
