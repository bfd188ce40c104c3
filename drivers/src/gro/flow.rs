//! The segments of one flow on their way to be one packet.

use graph::{Buffer, Flags, Growing, Held};
use wire::upper::Upper;
use wire::zerocopy::FromBytes;
use wire::zerocopy::byteorder::network_endian::U16;
use wire::{ip4, ip6, tcp};

use super::MOST_SEGMENTS;
use super::segment::{Key, Segment};
use net::gso;

/// Bytes of an IP packet at most.
const MOST: usize = u16::MAX as usize;

/// Segments joined so far.
#[derive(Debug)]
pub(super) struct Flow {
    /// Key of the flow.
    pub key: Key,
    /// Time of the first segment, in seconds.
    pub since: f64,
    /// Segments.
    pub count: u64,
    packet: Growing,
    first: Segment,
    last: Segment,
    /// Bytes of data of all.
    len: usize,
}

/// Outcome of joining a segment.
pub(super) enum JoinResult {
    /// It was joined, more may follow.
    More,
    /// It was joined, and nothing follows.
    Last,
    /// It does not fit.
    Not(Held),
}

impl Flow {
    pub fn new(key: Key, first: Segment, packet: Held, since: f64) -> Self {
        let packet = Growing::new(packet);
        Self { key, since, count: 1, packet, first, last: first, len: first.len() }
    }
    /// Joins a segment after the others, if it is the next and they would be cut like this.
    pub fn join(&mut self, segment: &Segment, held: Held) -> JoinResult {
        let mut next = Growing::new(held);
        let headers = self.first.data - self.first.l3;
        let is_room = self.packet.segments() + next.segments() <= MOST_SEGMENTS
            && headers + self.len + segment.len() <= MOST;
        // All its headers are in its first segment of memory.
        if !is_room
            || !self.leads_to(segment)
            || !self.is_like(segment, &mut next)
            || next.buffer().advance(segment.data).is_none()
        {
            return JoinResult::Not(next.into_packet());
        }
        self.packet.append(next.into_packet());
        (self.last, self.len, self.count) = (*segment, self.len + segment.len(), self.count + 1);
        let is_last = segment.is_last() || segment.len() < self.first.len();
        if is_last { JoinResult::Last } else { JoinResult::More }
    }
    /// Whether a segment is the next, by its numbers and its length.
    fn leads_to(&self, segment: &Segment) -> bool {
        let acknowledged = segment.tcp.ack.get().wrapping_sub(self.last.tcp.ack.get());
        segment.tcp.seq.get() == self.last.next_seq()
            && segment.len() <= self.first.len()
            && acknowledged <= u32::MAX / 2
    }
    /// Whether the headers of a segment are those of the first, but for what is to differ.
    fn is_like(&mut self, segment: &Segment, next: &mut Growing) -> bool {
        let Segment { l3, l4, data, .. } = self.first;
        let (first, next) = (self.packet.buffer(), next.buffer());
        let (first, next) = (first.bytes(), next.bytes());
        let is_laid_out_alike = (l3, l4, data) == (segment.l3, segment.l4, segment.data);
        let options = l4 + size_of::<tcp::Header>()..data;
        is_laid_out_alike
            && first[..l3] == next[..l3]
            && first[options.clone()] == next[options]
            && is_ip_alike(&first[l3..], &next[l3..], self.count as u16)
    }
    /// The packet; if it is several segments, with headers that say so.
    pub fn into_packet(mut self, is_gso: bool) -> Held {
        if self.count > 1 {
            let mut p = self.packet.buffer();
            finish(&mut p, &self.first, &self.last, self.len).expect("its headers were read");
            if is_gso {
                p.set_gso_size(self.first.len() as u16);
                p.add_flags(Flags::GSO);
            } else {
                gso::complete(&mut p).expect("it is TCP, and says so");
            }
        }
        self.packet.into_packet()
    }
}

/// Whether the IP header of segment `index` is as that of the first would be made its own. The
/// identification has no meaning where a packet may not be fragmented (RFC 6864 section 4.1).
fn is_ip_alike(first: &[u8], next: &[u8], index: u16) -> bool {
    if first[0] >> 4 == 6 {
        let masked = |bytes| {
            let (header, _) = ip6::Header::read_from_prefix(bytes).ok()?;
            Some(ip6::Header { payload_len: U16::ZERO, ..header })
        };
        return masked(first) == masked(next);
    }
    let masked = |bytes, index| {
        let (header, _) = ip4::Header::read_from_prefix(bytes).ok()?;
        let id = header.id.get().wrapping_sub(index);
        let id = if header.dont_fragment() { U16::ZERO } else { id.into() };
        Some(ip4::Header { total_len: U16::ZERO, checksum: U16::ZERO, id, ..header })
    };
    masked(first, 0) == masked(next, index)
}

/// Makes the headers of the first of several segments, with `len` bytes of data, those of all.
fn finish(p: &mut Buffer<'_>, first: &Segment, last: &Segment, len: usize) -> Option<()> {
    let Segment { l3, l4, data, .. } = *first;
    let end = data - l3 + len;
    let packet = p.bytes_mut().get_mut(l3..)?;
    match packet[0] >> 4 {
        4 => ip4::Header::mut_from_prefix(packet).ok()?.0.set_total_len(end as u16),
        _ => {
            let (header, _) = ip6::Header::mut_from_prefix(packet).ok()?;
            header.payload_len = ((end - size_of::<ip6::Header>()) as u16).into();
        }
    }
    let pseudo = Upper::of(packet)?.pseudo(packet, end - (l4 - l3))?;
    let (tcp, _) = tcp::Header::mut_from_prefix(packet.get_mut(l4 - l3..)?).ok()?;
    (tcp.ack, tcp.window, tcp.flags) = (last.tcp.ack, last.tcp.window, last.tcp.flags);
    tcp.checksum = pseudo.fold().into();
    let start = p.offset();
    p.set_l2_offset(start);
    p.set_l3_offset(start + l3 as i16);
    p.set_l4_offset(start + l4 as i16);
    p.add_flags(Flags::L2.with(Flags::L3).with(Flags::L4).with(Flags::CHECKSUM_TODO));
    Some(())
}
