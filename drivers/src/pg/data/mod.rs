//! The data of a stream's packets: `data { UDP: … -> … UDP: … -> … incrementing 22 }`.
//!
//! Headers are in order: Ethernet (addresses, tags), IP, then UDP, TCP or ICMP, then payload. Each
//! part may be missing; after GRE and IP in IP there are those of the packet inside. Numbers and
//! addresses may be ranges, see [`range`].

mod headers;
pub mod range;
pub mod template;

use control::cli::{Args, Error};
use range::Range;

pub use template::{Sizes, Template};

/// Longest packet in bytes: the largest IPv4 packet after an Ethernet header.
pub const LONGEST: usize = 65_535 + 14;

/// Maximum nesting of packets.
const MOST_LAYERS: usize = 8;

/// A packet described: constant bytes, and what is filled in for each packet.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// All bytes, zero where a field, a length or a checksum is to come.
    bytes: Vec<u8>,
    /// Fields that change from packet to packet.
    fields: Vec<Field>,
    /// End of the headers.
    headers: usize,
    /// The innermost IP header.
    ip: Option<Ip>,
    /// Outer IP headers, with no UDP, TCP or ICMP header between.
    outer: Vec<Ip>,
    upper: Option<Upper>,
}

/// A field with a value of its own in each packet.
#[derive(Clone, Copy, Debug)]
struct Field {
    at: usize,
    width: Width,
    range: Range,
}

/// Size of a field in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Byte = 1,
    Two = 2,
    Four = 4,
    Six = 6,
    Sixteen = 16,
}

/// The IP header.
#[derive(Clone, Copy, Debug)]
struct Ip {
    at: usize,
    is_ip4: bool,
    protocol: wire::Protocol,
    /// Whether the checksum is ours to fill in.
    sums: bool,
    /// Whether the length is computed here.
    has_length: bool,
}

/// The header above IP.
#[derive(Clone, Copy, Debug)]
struct Upper {
    at: usize,
    /// Place of its checksum, when that is computed here.
    checksum: Option<usize>,
    /// Place of its length, when that is computed here.
    length: Option<usize>,
}

impl Layout {
    /// Computes the checksum of the IPv4 header, whatever the text says it is.
    pub fn sum_ip4(&mut self) {
        if let Some(ip) = self.ip.as_mut().filter(|ip| ip.is_ip4) {
            let at = ip.at + 10;
            ip.sums = true;
            self.bytes[at..at + 2].fill(0);
            self.fields.retain(|field| field.at != at);
        }
    }
    /// Reads what stands between the braces.
    ///
    /// # Errors
    /// A message with the position of the error.
    pub fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut layout = Self::default();
        for _ in 0..MOST_LAYERS {
            headers::ethernet(&mut layout, args)?;
            headers::ip(&mut layout, args)?;
            if !headers::encloses(&mut layout, args)? {
                break;
            }
        }
        headers::upper(&mut layout, args)?;
        layout.headers = layout.bytes.len();
        while !args.is_empty() {
            layout.payload(args)?;
        }
        if layout.bytes.is_empty() {
            return Err(Error::new("data without any bytes"));
        }
        if layout.bytes.len() > LONGEST {
            return Err(Error::new(format!("data of more than {LONGEST} bytes")));
        }
        Ok(layout)
    }
    /// Length in bytes of the packet as described.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
    /// Whether the packet starts with an IP header: the version, if so.
    pub fn starts_with_ip(&self) -> Option<u8> {
        let ip = self.ip.filter(|ip| ip.at == 0)?;
        Some(if ip.is_ip4 { 4 } else { 6 })
    }
    fn payload(&mut self, args: &mut Args<'_>) -> Result<(), Error> {
        let place = *args;
        if args.keyword("incrementing") {
            let n: usize = args.value("number of bytes")?;
            if n > LONGEST {
                return Err(place.error("too many bytes"));
            }
            self.bytes.extend((0..n).map(|i| i as u8));
        } else if args.keyword("hex") {
            let word = args.word().ok_or("missing hexadecimal bytes")?;
            let bytes =
                hexadecimal(word).ok_or_else(|| place.error("invalid hexadecimal bytes"))?;
            self.bytes.extend(bytes);
        } else {
            return Err(args.unknown());
        }
        Ok(())
    }
    /// Puts the value of a field into the packet, at once or packet by packet.
    fn set(&mut self, at: usize, width: Width, range: Range) {
        if range.is_fixed() {
            store(&mut self.bytes, at, width, range.low);
        } else {
            self.fields.push(Field { at, width, range });
        }
    }
}

/// Stores the low bytes of `value` in network order.
#[inline(always)]
fn store(bytes: &mut [u8], at: usize, width: Width, value: u128) {
    let Some(room) = bytes.get_mut(at..at + width as usize) else { return };
    match width {
        Width::Byte => room.copy_from_slice(&[value as u8]),
        Width::Two => room.copy_from_slice(&(value as u16).to_be_bytes()),
        Width::Four => room.copy_from_slice(&(value as u32).to_be_bytes()),
        Width::Six => room.copy_from_slice(&(value as u64).to_be_bytes()[2..]),
        Width::Sixteen => room.copy_from_slice(&value.to_be_bytes()),
    }
}

/// `0x0123…` or `0123…`, an even number of digits.
pub fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() || pairs.is_empty() {
        return None;
    }
    pairs.iter().map(|[a, b]| Some(digit(*a)? << 4 | digit(*b)?)).collect()
}

#[cfg(test)]
mod tests;
