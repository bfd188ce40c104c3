//! Headers of packet vector tunnels (PVTI), after UDP: one for the packet, with padding, and one
//! for each chunk, which is an IP packet or a part of one.
//!
//! A part that did not fit goes on as the first chunk of the next packet of the stream, which says
//! how many of its chunks go on so.

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Number of the first packet of a stream.
pub const FIRST: u32 = 42;
/// Padding after the header of packets that this router sends.
pub const PADDING: [u8; 9] = [0xca; 9];

/// The header of a packet; padding follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Number of the packet in its stream.
    pub sequence: U32,
    /// The stream: its packets are in order.
    pub stream: u8,
    /// Chunks.
    pub chunks: u8,
    /// Chunks, from the first one on, that go on what earlier packets began.
    pub continued: u8,
    /// Flags that the receiver must understand.
    pub mandatory: u8,
    /// Flags.
    pub flags: u8,
    /// Bytes of padding.
    pub padding: u8,
}

/// The header of a chunk.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Chunk {
    /// Bytes, this header included.
    pub len: U16,
    /// Unused.
    pub unused: [u8; 6],
}

impl Chunk {
    /// The header in front of so many bytes.
    pub fn new(len: usize) -> Self {
        Self { len: ((len + size_of::<Self>()) as u16).into(), unused: [0xab; 6] }
    }
}

/// Bytes in front of the first chunk of packets that this router sends.
pub const FRONT: usize = size_of::<Header>() + PADDING.len();

/// The header of a packet, and its chunks with the bytes after their headers, as far as they are
/// there.
pub fn parse(bytes: &[u8]) -> Option<(Header, Chunks<'_>)> {
    let (header, rest) = Header::read_from_prefix(bytes).ok()?;
    let rest = rest.get(usize::from(header.padding)..)?;
    Some((header, Chunks { left: header.chunks, rest }))
}

/// Iterator over chunks; `None` in place of one that is cut off, which is the last then.
#[derive(Clone, Debug)]
pub struct Chunks<'p> {
    left: u8,
    rest: &'p [u8],
}

impl<'p> Iterator for Chunks<'p> {
    type Item = Option<&'p [u8]>;
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let one = Chunk::ref_from_prefix(self.rest).ok().and_then(|(chunk, _)| {
            let whole = self.rest.get(..usize::from(chunk.len.get()))?;
            self.rest = &self.rest[whole.len()..];
            whole.get(size_of::<Chunk>()..)
        });
        if one.is_none() {
            self.left = 0;
        }
        Some(one)
    }
}

/// Bytes of the IP packet that some bytes begin; `None` while that is not known, 0 for no IP
/// packet.
pub fn wanted(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? >> 4 {
        4 => Some(usize::from(u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?))),
        6 => Some(40 + usize::from(u16::from_be_bytes(*bytes.get(4..)?.first_chunk()?))),
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(chunks: &[&[u8]]) -> Vec<u8> {
        let header = Header {
            sequence: FIRST.into(),
            stream: 0,
            chunks: chunks.len() as u8,
            continued: 0,
            mandatory: 0,
            flags: 0,
            padding: PADDING.len() as u8,
        };
        let mut all = [header.as_bytes(), &PADDING].concat();
        assert_eq!(all.len(), FRONT);
        for chunk in chunks {
            all.extend([Chunk::new(chunk.len()).as_bytes(), chunk].concat());
        }
        all
    }

    #[test]
    fn chunks_are_read_as_they_were_written_and_end_where_bytes_do() {
        let all = packet(&[b"one", b"", b"three"]);
        let read = |bytes: &[u8]| {
            parse(bytes).map(|(_, c)| c.map(|c| c.map(<[u8]>::to_vec)).collect::<Vec<_>>())
        };
        let whole = [&b"one"[..], b"", b"three"].map(|c| Some(c.to_vec()));
        assert_eq!(read(&all), Some(whole.to_vec()));
        for cut in 0..all.len() {
            let some = read(&all[..cut]);
            assert_eq!(some.is_some(), cut >= FRONT);
            assert!(some.is_none_or(|some| some.last() == Some(&None)));
        }
        let mut short = all;
        short[FRONT + 1] = 7;
        assert_eq!(read(&short), Some(vec![None]), "shorter than its header");
    }

    #[test]
    fn the_length_of_a_packet_is_known_from_its_start() {
        assert_eq!(wanted(&[]), None);
        assert_eq!(wanted(&[0x45, 0, 1]), None);
        assert_eq!(wanted(&[0x45, 0, 1, 2]), Some(258));
        assert_eq!(wanted(&[0x60, 0, 0, 0, 0]), None);
        assert_eq!(wanted(&[0x60, 0, 0, 0, 0, 8]), Some(48));
        assert_eq!(wanted(&[0x12]), Some(0));
    }
}
