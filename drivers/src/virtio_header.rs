//! Between the virtio header that the kernel puts in front of packets (VIRTIO 1.2 section 5.1.6)
//! and packet metadata.
//!
//! What comes out of [`receive`] is what `net::gso` expects: [`Flags::CHECKSUM_TODO`] only for TCP
//! and UDP, and always with [`Flags::GSO`]. Other checksums are completed here.
#![forbid(unsafe_code)]

use graph::{Buffer, Flags};
use net::gso::{Layout, bytes_from, field_offset};
use wire::checksum::{Sum, upper_layer};
use wire::upper::{Upper, ip_offset};
use wire::virtio_net::{DATA_VALID, GsoType, Header, NEEDS_CSUM};
use wire::zerocopy::byteorder::network_endian::U16;
use wire::zerocopy::{FromBytes, IntoBytes};
use wire::{Protocol, tcp};

/// A header that does not fit its packet, or requests something unsupported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit;

/// Notes on a received packet what its header says, whose offsets do not count the `tag_len` bytes
/// of a VLAN tag that was put back since.
///
/// # Errors
/// The packet cannot go on.
pub fn receive(header: &Header, p: &mut Buffer<'_>, tag_len: usize) -> Result<(), Unfit> {
    if header.flags & DATA_VALID != 0 {
        p.add_flags(Flags::CHECKSUM_OK);
    }
    if header.flags & NEEDS_CSUM != 0 {
        let start = usize::from(header.csum_start.get()) + tag_len;
        needs_checksum(p, start, usize::from(header.csum_offset.get()))?;
    }
    if header.gso_type != GsoType::NONE {
        needs_segmentation(header, p)?;
    }
    Ok(())
}

fn needs_checksum(p: &mut Buffer<'_>, start: usize, offset: usize) -> Result<(), Unfit> {
    let known = [Protocol::TCP, Protocol::UDP].map(field_offset).contains(&Some(offset));
    if start + offset + 2 > p.len() {
        return Err(Unfit);
    }
    if known {
        p.set_l4_offset(p.offset() + start as i16);
        p.add_flags(Flags::L4.with(Flags::CHECKSUM_TODO));
        return Ok(());
    }
    const SCTP_CRC: usize = 8;
    let is_sctp = offset == SCTP_CRC && upper_of(p).is_some_and(|u| u == (Protocol::SCTP, start));
    if is_sctp {
        let field = start + SCTP_CRC;
        p.bytes_mut().get_mut(field..field + 4).ok_or(Unfit)?.fill(0);
        let crc = bytes_from(p, start).fold(!0, crc32c);
        p.bytes_mut()[field..field + 4].copy_from_slice(&(!crc).to_le_bytes());
    } else {
        let sum = upper_layer(Sum::ZERO, bytes_from(p, start)).checksum();
        p.bytes_mut()[start + offset..start + offset + 2].copy_from_slice(sum.as_bytes());
    }
    Ok(())
}

/// CRC32c of SCTP (RFC 9260 appendix A), bit by bit: hardly ever needed.
fn crc32c(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, byte| {
        (0..8)
            .fold(crc ^ u32::from(*byte), |c, _| (c >> 1) ^ (0x82f6_3b78 & (c & 1).wrapping_neg()))
    })
}

fn needs_segmentation(header: &Header, p: &mut Buffer<'_>) -> Result<(), Unfit> {
    let protocol = match header.gso_type.without_ecn() {
        GsoType::TCPV4 | GsoType::TCPV6 => Protocol::TCP,
        GsoType::UDP_L4 => Protocol::UDP,
        _ => return Err(Unfit),
    };
    if header.gso_size.get() == 0 {
        return Err(Unfit);
    }
    p.set_gso_size(header.gso_size.get());
    p.add_flags(Flags::GSO);
    if p.flags().has(Flags::CHECKSUM_TODO) {
        return Ok(());
    }
    // Merged by the receiving device, its checksum verified: as if it were still to be computed.
    let l3 = ip_of(p).ok_or(Unfit)?;
    let packet = p.bytes().get(l3..).ok_or(Unfit)?;
    let upper = Upper::of(packet).filter(|u| u.protocol == protocol).ok_or(Unfit)?;
    let start = l3 + upper.offset;
    let len = p.total_len().checked_sub(start).ok_or(Unfit)?;
    let sum = upper.pseudo(packet, len).ok_or(Unfit)?.fold();
    let field = start + field_offset(protocol).ok_or(Unfit)?;
    let place = p.bytes_mut().get_mut(field..field + 2).ok_or(Unfit)?;
    place.copy_from_slice(U16::new(sum).as_bytes());
    p.set_l4_offset(p.offset() + start as i16);
    p.add_flags(Flags::L4.with(Flags::CHECKSUM_TODO));
    Ok(())
}

/// Place of the IP header of a received packet.
fn ip_of(p: &Buffer<'_>) -> Option<usize> {
    if p.flags().has(Flags::L3) {
        return usize::try_from(p.l3_offset() - p.offset()).ok();
    }
    ip_offset(p.bytes())
}

/// The upper-layer protocol of a received packet and where its header is.
fn upper_of(p: &Buffer<'_>) -> Option<(Protocol, usize)> {
    let l3 = ip_of(p)?;
    let upper = Upper::of(p.bytes().get(l3..)?)?;
    Some((upper.protocol, l3 + upper.offset))
}

/// The header to send in front of a packet.
///
/// # Errors
/// Metadata that does not fit the packet.
#[inline(always)]
pub fn send(p: &Buffer<'_>) -> Result<Header, Unfit> {
    if p.flags().has(Flags::CHECKSUM_TODO.with(Flags::GSO)) {
        describe(p)
    } else {
        Ok(Header::default())
    }
}

fn describe(p: &Buffer<'_>) -> Result<Header, Unfit> {
    let layout = Layout::of(p).map_err(|_| Unfit)?;
    let offset = field_offset(layout.protocol).ok_or(Unfit)?;
    let mut header = Header {
        flags: NEEDS_CSUM,
        csum_start: (layout.l4 as u16).into(),
        csum_offset: (offset as u16).into(),
        ..Header::default()
    };
    if !p.flags().has(Flags::GSO) {
        return Ok(header);
    }
    let is_ip6 = p.bytes().get(layout.l3).is_some_and(|b| b >> 4 == 6);
    let l4_len = if layout.protocol == Protocol::TCP {
        let bytes = p.bytes().get(layout.l4..).ok_or(Unfit)?;
        let (tcp, _) = tcp::Header::ref_from_prefix(bytes).map_err(|_| Unfit)?;
        header.gso_type = if is_ip6 { GsoType::TCPV6 } else { GsoType::TCPV4 };
        if tcp.flags.contains(tcp::Flags::CWR) {
            header.gso_type = header.gso_type.with_ecn();
        }
        tcp.header_len()
    } else {
        header.gso_type = GsoType::UDP_L4;
        8
    };
    header.hdr_len = ((layout.l4 + l4_len) as u16).into();
    header.gso_size = p.gso_size().into();
    Ok(header)
}

#[cfg(test)]
mod tests;
