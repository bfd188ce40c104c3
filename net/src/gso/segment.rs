//! Cutting one big TCP packet, or several UDP datagrams in one, into packets that fit.
//!
//! Each segment gets the headers of the whole with the differences: IP lengths and identification
//! (RFC 791, RFC 8200), the TCP sequence number; FIN and PSH only on the last (RFC 9293 section
//! 3.10.4), CWR only on the first (RFC 3168 section 6.1.2); the length of UDP. Checksums are
//! recomputed.

use graph::Buffer;
use wire::checksum::{Sum, ip4_pseudo, ip6_pseudo};
use wire::zerocopy::byteorder::network_endian::U16;
use wire::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
use wire::{Protocol, ip4, ip6, tcp, udp};

use super::checksum::{Unfit, protocol_of};
use super::tunnel;

/// Bytes of headers at most: Ethernet with tags, IP with options or extensions, TCP with options.
const MAX_HEADERS: usize = 256;

/// The layout of a packet's headers, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The IP header.
    pub l3: usize,
    /// The TCP or UDP header.
    pub l4: usize,
    /// Protocol of layer 4.
    pub protocol: Protocol,
    /// The IP header of the tunnel that they are in.
    pub outer: Option<usize>,
}

impl Layout {
    /// As the metadata of a packet says.
    ///
    /// # Errors
    /// Metadata or packet say nothing that fits.
    pub fn of(p: &Buffer<'_>) -> Result<Self, Unfit> {
        let (protocol, l4) = protocol_of(p)?;
        let (l3, _) = super::places(p)?;
        let outer = p.inner().map(|_| usize::try_from(p.l3_offset() - p.offset()));
        Ok(Self { l3, l4, protocol, outer: outer.transpose().map_err(|_| Unfit)? })
    }
    /// Bytes of the layer 4 header of a packet.
    ///
    /// # Errors
    /// There is none.
    pub fn l4_len(&self, packet: &[u8]) -> Result<usize, Unfit> {
        let l4 = packet.get(self.l4..).ok_or(Unfit)?;
        match self.protocol {
            Protocol::TCP => Ok(at::<tcp::Header>(l4)?.header_len()),
            Protocol::UDP => Ok(size_of::<udp::Header>()),
            _ => Err(Unfit),
        }
    }
}

/// The segments of one packet, in order.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    layout: Layout,
    headers: &'a [u8],
    payload: &'a [u8],
    gso_size: usize,
    /// Number of the next segment.
    next: usize,
    count: usize,
}

/// One segment.
#[derive(Clone, Debug)]
pub struct Segment<'a> {
    headers: [u8; MAX_HEADERS],
    header_len: usize,
    /// The part after the headers.
    pub payload: &'a [u8],
}

impl Segment<'_> {
    /// All headers, finished.
    pub fn headers(&self) -> &[u8] {
        &self.headers[..self.header_len]
    }
    /// Length in bytes, all headers included.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.header_len + self.payload.len()
    }
}

impl<'a> Segments<'a> {
    /// Cuts `packet` into segments with `gso_size` bytes of payload; the last may have less. Bytes
    /// after the IP packet (padding of the frame) are left out.
    ///
    /// # Errors
    /// The packet is no complete TCP or UDP packet.
    pub fn new(packet: &'a [u8], layout: Layout, gso_size: usize) -> Result<Self, Unfit> {
        let l4_len = layout.l4_len(packet)?;
        let header_len = layout.l4 + l4_len;
        let end = end_of_ip(packet, layout.l3)?;
        let too_short = layout.protocol == Protocol::TCP && l4_len < size_of::<tcp::Header>();
        let is_misplaced = layout.l4 < layout.l3 + size_of::<ip4::Header>();
        if too_short || is_misplaced || header_len > MAX_HEADERS.min(end) || gso_size == 0 {
            return Err(Unfit);
        }
        let (headers, payload) = packet[..end].split_at(header_len);
        let count = payload.len().div_ceil(gso_size).max(1);
        Ok(Self { layout, headers, payload, gso_size, next: 0, count })
    }
    /// The same with at most `most` bytes each. Not of UDP: there each is a datagram that its
    /// sender wrote.
    #[must_use]
    pub fn within(self, most: usize) -> Self {
        let room = most.saturating_sub(self.headers.len());
        if self.layout.protocol != Protocol::TCP || room == 0 || room >= self.gso_size {
            return self;
        }
        Self { gso_size: room, count: self.payload.len().div_ceil(room).max(1), ..self }
    }
    fn finish(&self, segment: &mut Segment<'_>, index: usize) -> Result<(), Unfit> {
        let (l3, l4) = (self.layout.l3, self.layout.l4);
        let len = segment.len();
        let payload = segment.payload;
        let (ip, upper) = segment.headers[l3..segment.header_len].split_at_mut(l4 - l3);
        let pseudo = finish_ip(ip, len - l3, len - l4, index, self.layout.protocol)?;
        match self.layout.protocol {
            Protocol::TCP => {
                let header = at_mut::<tcp::Header>(upper)?;
                let offset = (index * self.gso_size) as u32;
                header.seq = header.seq.get().wrapping_add(offset).into();
                if index > 0 {
                    header.flags.0 &= !tcp::Flags::CWR.0;
                }
                if index + 1 < self.count {
                    header.flags.0 &= !(tcp::Flags::FIN | tcp::Flags::PSH).0;
                }
                header.checksum = U16::ZERO;
                let sum = pseudo.add_bytes(upper).add_bytes(payload);
                at_mut::<tcp::Header>(upper)?.checksum = sum.checksum();
            }
            _ => {
                let header = at_mut::<udp::Header>(upper)?;
                header.len = u16::try_from(len - l4).map_err(|_| Unfit)?.into();
                header.checksum = U16::ZERO;
                let sum = pseudo.add_bytes(upper).add_bytes(payload);
                at_mut::<udp::Header>(upper)?.checksum = sum.udp_checksum();
            }
        }
        let Some(outer) = self.layout.outer else { return Ok(()) };
        let headers = &mut segment.headers[..segment.header_len];
        tunnel::finish(headers, (self.layout, outer), (len, index), pseudo)
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let index = self.next;
        if index == self.count {
            return None;
        }
        self.next += 1;
        let from = index * self.gso_size;
        let to = (from + self.gso_size).min(self.payload.len());
        let mut segment = Segment {
            headers: [0; MAX_HEADERS],
            header_len: self.headers.len(),
            payload: self.payload.get(from..to)?,
        };
        segment.headers.get_mut(..self.headers.len())?.copy_from_slice(self.headers);
        self.finish(&mut segment, index).ok()?;
        Some(segment)
    }
}

/// Sets what differs in an IP header (with its options or extensions) of segment `index`; returns
/// the sum of the pseudo header. `len` and `upper_len` in bytes, with and without the IP header.
pub(super) fn finish_ip(
    ip: &mut [u8],
    len: usize,
    upper_len: usize,
    index: usize,
    protocol: Protocol,
) -> Result<Sum, Unfit> {
    let len = u16::try_from(len).map_err(|_| Unfit)?;
    if ip.first().ok_or(Unfit)? >> 4 == 6 {
        let header = at_mut::<ip6::Header>(ip)?;
        header.payload_len = (len - size_of::<ip6::Header>() as u16).into();
        return Ok(ip6_pseudo(header.src, header.dst, protocol, upper_len as u32));
    }
    let (header, options) = ip4::Header::mut_from_prefix(ip).map_err(|_| Unfit)?;
    header.total_len = len.into();
    header.id = header.id.get().wrapping_add(index as u16).into();
    header.update_checksum_with(options);
    Ok(ip4_pseudo(header.src, header.dst, protocol, upper_len as u16))
}

/// End of the IP packet. A length of zero in the header stands for the frame's (jumbo).
fn end_of_ip(packet: &[u8], l3: usize) -> Result<usize, Unfit> {
    let ip = packet.get(l3..).ok_or(Unfit)?;
    let len = match ip.first().ok_or(Unfit)? >> 4 {
        4 => usize::from(at::<ip4::Header>(ip)?.total_len.get()),
        6 => match at::<ip6::Header>(ip)?.payload_len.get() {
            0 => 0,
            len => usize::from(len) + size_of::<ip6::Header>(),
        },
        _ => return Err(Unfit),
    };
    match len {
        0 => Ok(packet.len()),
        len if len <= ip.len() => Ok(l3 + len),
        _ => Err(Unfit),
    }
}

pub(super) fn at<H: FromBytes + KnownLayout + Immutable + Unaligned>(
    bytes: &[u8],
) -> Result<&H, Unfit> {
    H::ref_from_prefix(bytes).map(|(h, _)| h).map_err(|_| Unfit)
}

pub(super) fn at_mut<H: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned>(
    bytes: &mut [u8],
) -> Result<&mut H, Unfit> {
    H::mut_from_prefix(bytes).map(|(h, _)| h).map_err(|_| Unfit)
}
