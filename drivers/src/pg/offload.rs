//! Packets as a device with offloads receives them: TCP and UDP checksums not yet computed, TCP
//! not yet cut.

use graph::{Buffer, Flags};
use net::gso::field_offset;
use wire::upper::{Upper, ip_offset};
use wire::zerocopy::FromBytes;
use wire::{Protocol, tcp};

/// Offloads that an interface's other side leaves to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Checksums of all TCP and UDP packets; else only of those that are to be cut.
    pub checksum: bool,
    /// Payload of one TCP segment in bytes, where big TCP packets pass: 0 leaves those received
    /// whole. `None` where none pass.
    pub gso_size: Option<u16>,
    /// Whether packets start with an Ethernet header.
    pub is_ethernet: bool,
}

/// Places of the headers of a packet, from its start.
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
        let gso_size = self.gso_size.unwrap_or(0);
        let size = usize::from(gso_size);
        let is_cut =
            place.protocol == Protocol::TCP && size > 0 && place.len.saturating_sub(header) > size;
        if !(self.checksum || is_cut) {
            return;
        }
        let at = place.l4 + checksum;
        let Some(field) = p.bytes_mut().get_mut(at..at + 2) else { return };
        field.copy_from_slice(&place.pseudo.to_be_bytes());
        let offset = p.offset();
        p.set_l2_offset(offset);
        p.set_l3_offset(offset + place.l3 as i16);
        p.set_l4_offset(offset + place.l4 as i16);
        p.add_flags(Flags::CHECKSUM_TODO.with(Flags::L3).with(Flags::L4));
        if is_cut {
            p.set_gso_size(gso_size);
            p.add_flags(Flags::GSO);
        }
    }
    fn find(&self, bytes: &[u8]) -> Option<Place> {
        let l3 = if self.is_ethernet { ip_offset(bytes)? } else { 0 };
        let packet = bytes.get(l3..)?;
        let upper = Upper::of(packet).filter(|u| !u.is_fragment)?;
        let is_summed = field_offset(upper.protocol).is_some();
        let len = upper.upper_len().filter(|_| is_summed)?;
        let pseudo = upper.pseudo(packet, len)?.fold();
        Some(Place { l3, l4: l3 + upper.offset, protocol: upper.protocol, pseudo, len })
    }
}
