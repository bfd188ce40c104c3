//! The offset of IP in a frame, and the upper layer in an IP packet of either version.

use zerocopy::FromBytes;

use crate::checksum::{Sum, ip4_pseudo, ip6_pseudo};
use crate::ethernet::{self, EtherType};
use crate::{Protocol, ip4, ip6, vlan};

/// Type and start of the payload of a frame, after its Ethernet header and tags, in bytes; `None`
/// of frames that are cut off.
#[inline]
pub fn payload(frame: &[u8]) -> Option<(EtherType, usize)> {
    let (header, mut rest) = ethernet::Header::ref_from_prefix(frame).ok()?;
    let mut kind = header.ethertype;
    while kind.is_vlan() {
        let (tag, after) = vlan::Tag::ref_from_prefix(rest).ok()?;
        (kind, rest) = (tag.ethertype, after);
    }
    Some((kind, frame.len() - rest.len()))
}

/// Start of the IP header in a frame, after the Ethernet header and its tags, in bytes; `None` for
/// frames of other protocols.
pub fn ip_offset(frame: &[u8]) -> Option<usize> {
    let (kind, at) = payload(frame)?;
    (kind == EtherType::IP4 || kind == EtherType::IP6).then_some(at)
}

/// The upper layer of a packet, after its IP header, options or extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// Protocol of the upper layer.
    pub protocol: Protocol,
    /// Start of its header, in bytes from the IP header.
    pub offset: usize,
    /// End of the IP packet by its length field, in bytes from its header.
    pub end: usize,
    /// Whether the packet is a fragment, the first included.
    pub is_fragment: bool,
}

impl Upper {
    /// Of a packet that starts with its IP header; `None` when the headers are not complete, or no
    /// headers of IP.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let version = packet.first()? >> 4;
        if version == 4 {
            let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
            return Some(Self {
                protocol: header.protocol,
                offset: header.header_len(),
                end: header.total_len.get().into(),
                is_fragment: header.is_fragment(),
            });
        }
        let (header, _) = ip6::Header::ref_from_prefix(packet).ok().filter(|_| version == 6)?;
        let found = ip6::upper_layer(packet)?;
        Some(Self {
            protocol: found.protocol,
            offset: found.offset,
            end: size_of::<ip6::Header>() + usize::from(header.payload_len.get()),
            is_fragment: found.fragment.is_some(),
        })
    }
    /// Length of header and payload in bytes; `None` when the packet ends before that.
    pub fn upper_len(&self) -> Option<usize> {
        self.end.checked_sub(self.offset)
    }
    /// The sum of the pseudo header, for `len` bytes of this protocol in `packet`, which starts
    /// with its IP header.
    pub fn pseudo(&self, packet: &[u8], len: usize) -> Option<Sum> {
        if packet.first()? >> 4 == 4 {
            let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
            let len = u16::try_from(len).ok()?;
            return Some(ip4_pseudo(header.src, header.dst, self.protocol, len));
        }
        let (header, _) = ip6::Header::ref_from_prefix(packet).ok()?;
        let len = u32::try_from(len).ok()?;
        Some(ip6_pseudo(header.src, header.dst, self.protocol, len))
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes;

    use super::*;
    use crate::MacAddr;

    fn frame(kinds: &[EtherType]) -> Vec<u8> {
        let header = ethernet::Header::new(MacAddr::ZERO, MacAddr::ZERO, kinds[0]);
        let tag = |kind: &EtherType| vlan::Tag::new(vlan::Id::MAX, *kind).as_bytes().to_vec();
        [header.as_bytes().to_vec(), kinds[1..].iter().flat_map(tag).collect()].concat()
    }

    #[test]
    fn ip_comes_behind_any_tags() {
        let (ip4, ip6, tag) = (EtherType::IP4, EtherType::IP6, EtherType::VLAN);
        assert_eq!(ip_offset(&frame(&[ip4])), Some(14));
        assert_eq!(ip_offset(&frame(&[tag, ip6])), Some(18));
        assert_eq!(ip_offset(&frame(&[EtherType::QINQ, tag, ip4])), Some(22));
        assert_eq!(ip_offset(&frame(&[tag, EtherType::ARP])), None);
        assert_eq!(ip_offset(&frame(&[tag])), None);
        assert_eq!(ip_offset(&[8; 13]), None);
    }

    #[test]
    fn the_upper_layer_is_as_long_as_the_ip_header_says() {
        let mut ip = ip4::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Protocol(6), 40);
        ip.version_ihl = 0x46;
        let upper = Upper::of(&[ip.as_bytes(), &[1; 30]].concat()).unwrap();
        assert_eq!(
            (upper.protocol, upper.offset, upper.upper_len()),
            (Protocol::TCP, 24, Some(16))
        );
        assert!(!upper.is_fragment);
        (ip.total_len, ip.fragment) = (20.into(), 185.into());
        let upper = Upper::of(ip.as_bytes()).unwrap();
        assert!(upper.upper_len().is_none() && upper.is_fragment);
        let (src, dst) = ([1; 16].into(), [2; 16].into());
        let ip = ip6::Header::new(src, dst, Protocol::FRAGMENT, 28);
        let packet = [ip.as_bytes(), &[17, 0, 0, 1, 0, 0, 0, 0], &[0; 20]].concat();
        let upper = Upper::of(&packet).unwrap();
        assert_eq!(
            (upper.protocol, upper.offset, upper.upper_len()),
            (Protocol::UDP, 48, Some(20))
        );
        assert!(upper.is_fragment);
        let sum = ip6_pseudo([1; 16], [2; 16], Protocol::UDP, 20).fold();
        assert_eq!(upper.pseudo(&packet, 20).map(Sum::fold), Some(sum));
        assert_eq!(Upper::of(&packet[..39]), None);
    }
}
