//! Packets made from a [`Layout`]: a copy of constant bytes, and what changes patched in.
//!
//! Checksums are not summed per packet: what the constant bytes of each size add up to is known
//! beforehand, and the values patched in are added to it (a value and the sum of its 16-bit words
//! are the same in ones' complement arithmetic).

use wire::checksum::{Sum, ip4_pseudo, ip6_pseudo};
use wire::zerocopy::FromBytes;
use wire::{Protocol, ip4, ip6};

use super::range::{Order, Random, Range, Values};
use super::{LONGEST, Layout, Width};

/// Length of the pieces that are copied at a time.
pub const LINE: usize = 64;

/// Lengths of packets in bytes, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The shortest.
    pub low: usize,
    /// The longest.
    pub high: usize,
    /// In what order they come.
    pub order: Order,
}

impl Sizes {
    /// Only one length.
    pub fn fixed(size: usize) -> Self {
        Self { low: size, high: size, order: Order::Increment }
    }
    /// Of a stream's `size a-b` or `size a+b`; lengths no packet can have are refused.
    pub fn of(range: Range) -> Option<Self> {
        let length = |n: u128| usize::try_from(n).ok().filter(|n| (1..=LONGEST).contains(n));
        Some(Self { low: length(range.low)?, high: length(range.high)?, order: range.order })
    }
}

/// Makes the packets of a stream.
#[derive(Clone, Debug)]
pub struct Template {
    /// The longest packet, up to a whole number of lines.
    bytes: Vec<u8>,
    sizes: Sizes,
    size: Values,
    /// For each size what the constant bytes add up to.
    sums: Vec<Sums>,
    edits: Vec<Edit>,
    /// Place of the IPv4 header checksum.
    ip_checksum: Option<usize>,
    /// Outer IPv4 headers, summed in each packet.
    outer: Vec<usize>,
    upper_checksum: Option<usize>,
    /// UDP says 0xffff where the sum is 0.
    never_zero: bool,
    /// Fields that hold the packet's length less a constant.
    lengths: Vec<(usize, usize)>,
    random: Random,
}

/// Folded sums of all that is constant under a checksum.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    ip: u16,
    upper: u16,
}

/// A value patched into each packet.
#[derive(Clone, Debug)]
struct Edit {
    at: usize,
    width: Width,
    values: Values,
    /// All ones when the field counts in the checksum, else zero.
    in_ip: u64,
    in_upper: u64,
}

impl Template {
    /// Makes packets of `sizes` bytes as `layout` describes. Shorter ones lose payload, longer
    /// ones are filled with zeros. `which` selects the random numbers.
    ///
    /// # Errors
    /// A size that the headers do not fit in, with their length.
    pub fn new(layout: &Layout, sizes: Sizes, which: u32) -> Result<Self, usize> {
        if sizes.low < layout.headers {
            return Err(layout.headers);
        }
        let mut bytes = layout.bytes.clone();
        bytes.resize(sizes.high, 0);
        let mut lengths = Vec::new();
        for ip in layout.outer.iter().chain(&layout.ip).filter(|ip| ip.has_length) {
            lengths.push(if ip.is_ip4 { (ip.at + 2, ip.at) } else { (ip.at + 4, ip.at + 40) });
        }
        if let Some((upper, at)) = layout.upper.and_then(|u| Some((u, u.length?))) {
            lengths.push((at, upper.at));
        }
        let upper_checksum = layout.upper.and_then(|u| u.checksum);
        let size = Range { low: sizes.low as u128, high: sizes.high as u128, order: sizes.order };
        let mut new = Self {
            sums: (sizes.low..=sizes.high).map(|_| Sums::default()).collect(),
            edits: layout.fields.iter().map(|f| Edit::new(f, layout)).collect(),
            ip_checksum: layout.ip.filter(|ip| ip.is_ip4 && ip.sums).map(|ip| ip.at + 10),
            outer: layout.outer.iter().filter(|ip| ip.is_ip4 && ip.sums).map(|ip| ip.at).collect(),
            never_zero: layout.ip.is_some_and(|ip| ip.protocol == Protocol::UDP),
            random: Random::new(which),
            size: Values::new(size),
            bytes,
            sizes,
            upper_checksum,
            lengths,
        };
        new.sum_up(layout);
        new.bytes.resize(sizes.high.next_multiple_of(LINE), 0);
        if sizes.low == sizes.high {
            // What is the same in all packets is written once.
            Self::write_lengths(&mut new.bytes, &new.lengths, sizes.low);
            new.lengths.clear();
            if new.edits.is_empty() {
                let mut bytes = std::mem::take(&mut new.bytes);
                new.patch(&mut bytes, sizes.low);
                new.bytes = bytes;
            }
        }
        Ok(new)
    }
    /// Lengths of the packets.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }
    /// The longest packet without what is patched in.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.sizes.high]
    }
    /// Length of the next packet.
    #[inline(always)]
    pub fn next_size(&mut self) -> usize {
        if self.sizes.low == self.sizes.high {
            return self.sizes.low;
        }
        self.size.draw(&mut self.random) as usize
    }
    /// The one packet there is, in whole lines, when all are the same.
    #[inline(always)]
    pub fn only(&self) -> Option<&[u8]> {
        (self.edits.is_empty() && self.lengths.is_empty()).then_some(&self.bytes)
    }
    /// Writes the next packet, of `size` bytes, into `room`: at least as many, rounded up to lines.
    #[inline(always)]
    pub fn write(&mut self, room: &mut [u8], size: usize) {
        copy_lines(room, &self.bytes, size);
        self.patch(room, size);
    }
    /// Writes what is not the same in all packets. Nothing is read from the packet: what was just
    /// written there is still on its way to the cache.
    #[inline(never)]
    fn patch(&mut self, packet: &mut [u8], size: usize) {
        Self::write_lengths(packet, &self.lengths, size);
        let sums = self.sums.get(size - self.sizes.low).copied().unwrap_or_default();
        let (mut ip, mut upper) = (u64::from(sums.ip), u64::from(sums.upper));
        for edit in &mut self.edits {
            let sum = edit.write(packet, &mut self.random);
            ip += sum & edit.in_ip;
            upper += sum & edit.in_upper;
        }
        if let Some(at) = self.ip_checksum {
            store_two(packet, at, !fold(ip));
        }
        for at in &self.outer {
            // The checksum of the packet before may stand there.
            store_two(packet, at + 10, 0);
            let sum = packet.get(*at..at + 20).map(|header| Sum::ZERO.add_bytes(header).fold());
            store_two(packet, at + 10, !sum.unwrap_or_default());
        }
        if let Some(at) = self.upper_checksum {
            let sum = !fold(upper);
            let sum = if self.never_zero && sum == 0 { u16::MAX } else { sum };
            store_two(packet, at, sum);
        }
    }
    #[inline(always)]
    fn write_lengths(packet: &mut [u8], lengths: &[(usize, usize)], size: usize) {
        for &(at, from) in lengths {
            store_two(packet, at, (size - from) as u16);
        }
    }
    /// Sums the constant bytes under each checksum for all sizes.
    fn sum_up(&mut self, layout: &Layout) {
        let mut packet = self.bytes.clone();
        // Bytes beyond the headers are summed once, growing packet by packet.
        let payload = layout.headers;
        let mut rest = Sum::ZERO.add_bytes(&packet[payload..self.sizes.low]);
        for (size, sums) in (self.sizes.low..).zip(&mut self.sums) {
            Self::write_lengths(&mut packet, &self.lengths, size);
            let header = |at: usize, end: usize| Sum::ZERO.add_bytes(&packet[at..end]);
            if let Some(ip) = layout.ip.filter(|ip| ip.is_ip4) {
                sums.ip = header(ip.at, ip.at + 20).fold();
            }
            if let Some(upper) = layout.upper {
                // Headers above IP are of even length, so the payload's words are in step.
                let header = header(upper.at, payload).fold();
                let sum = pseudo(layout, &packet, size).add_word(header).add_word(rest.fold());
                sums.upper = sum.fold();
            }
            if let Some(next) = packet.get(size) {
                rest = rest.add_bytes(std::slice::from_ref(next));
            }
        }
    }
}

/// Sum of the pseudo header of a packet of `size` bytes.
fn pseudo(layout: &Layout, packet: &[u8], size: usize) -> Sum {
    let (Some(ip), Some(upper)) = (layout.ip, layout.upper) else { return Sum::ZERO };
    let len = size - upper.at;
    if ip.is_ip4 {
        if ip.protocol == Protocol::ICMP {
            return Sum::ZERO;
        }
        let header = ip4::Header::ref_from_prefix(&packet[ip.at..]);
        let (h, _) = header.expect("the parser has put a whole header there");
        return ip4_pseudo(h.src, h.dst, ip.protocol, len as u16);
    }
    let header = ip6::Header::ref_from_prefix(&packet[ip.at..]);
    let (h, _) = header.expect("the parser has put a whole header there");
    ip6_pseudo(h.src, h.dst, ip.protocol, len as u32)
}

impl Edit {
    fn new(field: &super::Field, layout: &Layout) -> Self {
        let mask = |counts: bool| if counts { u64::MAX } else { 0 };
        let ip = layout.ip.filter(|ip| field.at >= ip.at && field.at < ip.at + ip.len());
        let offset = ip.map_or(0, |ip| field.at - ip.at);
        // Addresses of IP count in the pseudo header, except for ICMP of IPv4, which has none.
        let is_address = ip.is_some_and(|ip| {
            offset >= if ip.is_ip4 { 12 } else { 8 } && ip.protocol != Protocol::ICMP
        });
        let in_upper = layout.upper.is_some_and(|u| field.at >= u.at);
        Self {
            at: field.at,
            width: field.width,
            values: Values::new(field.range),
            in_ip: mask(ip.is_some_and(|ip| ip.is_ip4)),
            in_upper: mask(is_address || in_upper),
        }
    }
    /// Writes the next value and returns its part of a checksum.
    #[inline(always)]
    fn write(&mut self, packet: &mut [u8], random: &mut Random) -> u64 {
        let Some(room) = packet.get_mut(self.at..) else { return 0 };
        if self.width == Width::Sixteen {
            let value = self.values.draw(random);
            put(room, value.to_be_bytes());
            return half((value >> 64) as u64) + half(value as u64);
        }
        let value = self.values.draw_short(random);
        match self.width {
            Width::Four => put(room, (value as u32).to_be_bytes()),
            Width::Two => put(room, (value as u16).to_be_bytes()),
            Width::Six => {
                let [_, _, bytes @ ..] = value.to_be_bytes();
                put(room, bytes);
            }
            _ => {
                put(room, [value as u8]);
                // Headers start at even places of what is summed.
                return if self.at.is_multiple_of(2) { value << 8 } else { value };
            }
        }
        value
    }
}

/// Overwrites the start of `room`.
#[inline(always)]
fn put<const N: usize>(room: &mut [u8], bytes: [u8; N]) {
    if let Some(start) = room.first_chunk_mut() {
        *start = bytes;
    }
}

/// Both halves of a number added, with room for the carry.
#[inline(always)]
fn half(n: u64) -> u64 {
    (n >> 32) + (n & 0xffff_ffff)
}

#[inline(always)]
fn store_two(packet: &mut [u8], at: usize, value: u16) {
    if let Some(room) = packet.get_mut(at..) {
        put(room, value.to_be_bytes());
    }
}

/// Copies a packet of `size` bytes, rounded up to lines.
#[inline(always)]
pub fn copy_lines(to: &mut [u8], from: &[u8], size: usize) {
    let ((to, _), (from, _)) = (to.as_chunks_mut::<LINE>(), from.as_chunks::<LINE>());
    if size <= LINE
        && let (Some(to), Some(from)) = (to.first_mut(), from.first())
    {
        *to = *from;
        return;
    }
    for (to, from) in to.iter_mut().zip(from).take(size.div_ceil(LINE)) {
        *to = *from;
    }
}

impl super::Ip {
    fn len(self) -> usize {
        if self.is_ip4 { 20 } else { 40 }
    }
}

/// Folds a sum of words to 16 bits: half of a number and its rotation by half add up to the sum of
/// both halves with the carry brought around.
#[inline(always)]
fn fold(sum: u64) -> u16 {
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}
