//! The rewriting of an IPv4 packet, its checksums with it.

use wire::{Protocol, checksum, ip4};
use zerocopy::FromBytes;
use zerocopy::byteorder::network_endian::U16;

use super::tuple::{Mask, Rewrite, has_ports};

/// The packet has not all bytes that are to be rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort;

/// Offset of the checksum of the upper layer, and whether it covers the addresses.
#[inline(always)]
fn checksum_place(protocol: Protocol) -> Option<(usize, bool)> {
    match protocol {
        Protocol::TCP => Some((16, true)),
        Protocol::UDP => Some((6, true)),
        Protocol::ICMP => Some((2, false)),
        _ => None,
    }
}

/// Position of the upper layer and kind of its checksum.
struct Upper {
    at: usize,
    /// Position of its checksum in the packet, and whether it covers the addresses.
    sum: Option<(usize, bool)>,
    /// The checksum is only that of the pseudo header so far.
    is_partial: bool,
}

/// Rewrites a packet that starts with its IPv4 header.
///
/// # Errors
/// [`TooShort`]; the packet is as it was.
#[inline(always)]
pub fn rewrite(packet: &mut [u8], is_partial: bool, r: &Rewrite) -> Result<(), TooShort> {
    let (header, _) = ip4::Header::ref_from_prefix(packet).map_err(|_| TooShort)?;
    let (at, protocol) = (header.header_len(), header.protocol);
    let is_first = header.fragment_offset() == 0;
    let bytes = |field, place: u8| !r.mask.has(field) || usize::from(place) < packet.len();
    let copied = bytes(Mask::COPY_BYTE, r.from) && bytes(Mask::COPY_BYTE, r.to);
    if !copied || !bytes(Mask::CLEAR_BYTE, r.clear) || packet.len() < at {
        return Err(TooShort);
    }
    let place = checksum_place(protocol).filter(|_| is_first);
    let sum = place.map(|(sum, covers)| (at + sum, covers));
    // A datagram without a checksum keeps none.
    let is_absent =
        |at: usize| protocol == Protocol::UDP && packet.get(at..at + 2) == Some(&[0; 2]);
    let sum = sum.filter(|(at, _)| at + 2 <= packet.len() && !is_absent(*at));
    let ports = is_first && r.mask.has_ports() && has_ports(protocol);
    if ports && packet.len() < at + 4 {
        return Err(TooShort);
    }
    let upper = Upper { at, sum, is_partial };
    if r.mask.has(Mask::SRC) {
        upper.set(packet, 12, &r.src.octets());
    }
    if r.mask.has(Mask::DST) {
        upper.set(packet, 16, &r.dst.octets());
    }
    if ports && r.mask.has(Mask::SPORT) {
        upper.set(packet, at, &r.sport.to_be_bytes());
    }
    if ports && r.mask.has(Mask::DPORT) {
        upper.set(packet, at + 2, &r.dport.to_be_bytes());
    }
    if r.mask.has(Mask::COPY_BYTE) {
        let byte = packet[usize::from(r.from)];
        upper.set_byte(packet, r.to.into(), byte);
    }
    if r.mask.has(Mask::CLEAR_BYTE) {
        upper.set_byte(packet, r.clear.into(), 0);
    }
    Ok(())
}

impl Upper {
    /// Writes one byte.
    fn set_byte(&self, packet: &mut [u8], at: usize, byte: u8) {
        let even = at & !1;
        match packet.get(even..even + 2) {
            Some(word) => {
                let mut word = [word[0], word[1]];
                word[at - even] = byte;
                self.set(packet, even, &word);
            }
            // An odd last byte counts as the high one of a word.
            None => {
                let old = packet[at];
                packet[at] = byte;
                self.update(packet, at, &[old, 0], &[byte, 0]);
            }
        }
    }
    /// Writes an even number of bytes at an even place, and what follows from it.
    #[inline(always)]
    fn set(&self, packet: &mut [u8], at: usize, new: &[u8]) {
        let mut old = [0; 4];
        let old = &mut old[..new.len()];
        let Some(place) = packet.get_mut(at..at + new.len()) else { return };
        old.copy_from_slice(place);
        place.copy_from_slice(new);
        self.update(packet, at, old, new);
    }
    #[inline(always)]
    fn update(&self, packet: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
        const IP_SUM: usize = 10;
        let is_header = at < self.at;
        if is_header && at != IP_SUM {
            change_sum(packet, IP_SUM, false, old, new);
        }
        let is_address = (12..20).contains(&at);
        if let Some((sum, covers)) = self.sum
            && at != sum
            && if is_header { is_address && covers } else { !self.is_partial }
        {
            change_sum(packet, sum, self.is_partial, old, new);
        }
    }
}

/// Brings a checksum up to date; one that is partial is not inverted.
#[inline(always)]
fn change_sum(packet: &mut [u8], at: usize, is_partial: bool, old: &[u8], new: &[u8]) {
    let Some(place) = packet.get_mut(at..).and_then(|b| b.first_chunk_mut::<2>()) else { return };
    let invert = |sum: u16| if is_partial { !sum } else { sum };
    let sum = U16::new(invert(u16::from_be_bytes(*place)));
    *place = invert(checksum::update_bytes(sum, old, new).get()).to_be_bytes();
}
