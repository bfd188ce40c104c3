//! Packets as a device with offloads receives them: TCP and UDP checksums not yet computed, TCP
//! not yet cut.

use graph::{Buffer, Flags};
use wire::ethernet::{self, EtherType};
use wire::zerocopy::FromBytes;
use wire::{Protocol, ip4, ip6, tcp, vlan};

/// What an interface's other side leaves to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Checksums of all TCP and UDP packets; else only of those that are to be cut.
    pub checksum: bool,
    /// Payload of one TCP segment in bytes; 0 when TCP packets are not to be cut.
    pub gso_size: u16,
    /// Whether packets start with an Ethernet header.
    pub is_ethernet: bool,
}

/// Where the headers of a packet are, from its start.
struct Place {
    l3: usize,
    l4: usize,
    protocol: Protocol,
    /// Sum of the pseudo header, not complemented.
    pseudo: u16,
    /// Length of the layer 4 header and payload in bytes.
    len: usize,
}

impl Offload {
    /// Says of a packet what is still to be done, and puts the pseudo header's sum in place of the
    /// checksum. Leaves alone what is neither TCP nor UDP.
    pub fn mark(&self, p: &mut Buffer<'_>) {
        let Some(place) = self.find(p.bytes()) else { return };
        let l4 = p.bytes().get(place.l4..).unwrap_or_default();
        let (checksum, header) = match place.protocol {
            Protocol::TCP => match tcp::Header::ref_from_prefix(l4) {
                Ok((tcp, _)) => (16, tcp.header_len()),
                Err(_) => return,
            },
            _ => (6, 8),
        };
        let size = usize::from(self.gso_size);
        let is_cut =
            place.protocol == Protocol::TCP && size > 0 && place.len.saturating_sub(header) > size;
        if !(self.checksum || is_cut) {
            return;
        }
        let at = place.l4 + checksum;
        let Some(field) = p.bytes_mut().get_mut(at..at + 2) else { return };
        if place.protocol == Protocol::UDP && *field == [0, 0] {
            return; // UDP without a checksum stays without
        }
        field.copy_from_slice(&place.pseudo.to_be_bytes());
        let offset = p.offset();
        p.set_l2_offset(offset);
        p.set_l3_offset(offset + place.l3 as i16);
        p.set_l4_offset(offset + place.l4 as i16);
        p.add_flags(Flags::CHECKSUM_TODO.with(Flags::L3).with(Flags::L4));
        if is_cut {
            p.set_gso_size(self.gso_size);
            p.add_flags(Flags::GSO);
        }
    }
    fn find(&self, bytes: &[u8]) -> Option<Place> {
        let l3 = if self.is_ethernet { ethernet_len(bytes)? } else { 0 };
        let packet = bytes.get(l3..)?;
        if packet.first()? >> 4 == 4 {
            let (ip, _) = ip4::Header::ref_from_prefix(packet).ok()?;
            let len = usize::from(ip.total_len.get()).checked_sub(ip.header_len())?;
            let pseudo = wire::checksum::ip4_pseudo(ip.src, ip.dst, ip.protocol, len as u16);
            let l4 = l3 + ip.header_len();
            let is_known = is_summed(ip.protocol) && !ip.is_fragment();
            return is_known.then(|| Place {
                l3,
                l4,
                protocol: ip.protocol,
                pseudo: pseudo.fold(),
                len,
            });
        }
        let (ip, _) = ip6::Header::ref_from_prefix(packet).ok()?;
        let upper = ip6::upper_layer(packet)?;
        let len = (size_of::<ip6::Header>() + usize::from(ip.payload_len.get()))
            .checked_sub(upper.offset)?;
        let pseudo = wire::checksum::ip6_pseudo(ip.src, ip.dst, upper.protocol, len as u32);
        let is_known = is_summed(upper.protocol) && upper.fragment.is_none();
        is_known.then(|| Place {
            l3,
            l4: l3 + upper.offset,
            protocol: upper.protocol,
            pseudo: pseudo.fold(),
            len,
        })
    }
}

fn is_summed(protocol: Protocol) -> bool {
    protocol == Protocol::TCP || protocol == Protocol::UDP
}

/// Length of the Ethernet header and its tags, when IP follows.
fn ethernet_len(bytes: &[u8]) -> Option<usize> {
    let (header, mut rest) = ethernet::Header::ref_from_prefix(bytes).ok()?;
    let mut kind = header.ethertype;
    while kind.is_vlan() {
        let (tag, after) = vlan::Tag::ref_from_prefix(rest).ok()?;
        (kind, rest) = (tag.ethertype, after);
    }
    (kind == EtherType::IP4 || kind == EtherType::IP6).then(|| bytes.len() - rest.len())
}
