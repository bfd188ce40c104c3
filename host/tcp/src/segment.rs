//! Received and sent segments: header values without ports and checksum.

use wire::tcp::{Flags, Header, Options};
use zerocopy::{FromBytes, IntoBytes};

use crate::Seq;

/// Longest header in bytes.
pub const MAX_HEADER: usize = size_of::<Header>() + wire::tcp::options::MAX_LEN;

/// A segment without its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN.
    pub seq: Seq,
    /// Acknowledgment number; valid with ACK.
    pub ack: Seq,
    /// Control bits.
    pub flags: Flags,
    /// Window field of the header, not scaled.
    pub window: u16,
    /// Urgent pointer; valid with URG.
    pub urgent: u16,
    /// Payload length. May be that of several consecutive segments, coalesced.
    pub len: u32,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Parses a header with its options; `packet` begins with it and ends with the payload. `None`
    /// if lengths are wrong. The caller checks the checksum.
    #[inline]
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let (header, rest) = Header::ref_from_prefix(packet).ok()?;
        let options_len = header.header_len().checked_sub(size_of::<Header>())?;
        let (options, payload) = rest.split_at_checked(options_len)?;
        Some(Self {
            seq: Seq(header.seq.get()),
            ack: Seq(header.ack.get()),
            flags: header.flags,
            window: header.window.get(),
            urgent: header.urgent.get(),
            len: payload.len() as u32,
            options: Options::parse(options)?,
        })
    }

    /// Writes the header with its options; returns its length. The checksum is left zero.
    #[inline]
    pub fn write_header(&self, src_port: u16, dst_port: u16, to: &mut [u8; MAX_HEADER]) -> usize {
        let mut header = Header::new(src_port, dst_port, self.seq.0, self.ack.0, self.flags);
        let (fixed, options) = to.split_first_chunk_mut().expect("a header has 20 bytes");
        let options = options.first_chunk_mut().expect("40 bytes follow them");
        let len = size_of::<Header>() + self.options.write(options);
        header.data_offset = (len / 4) as u8 * 16;
        header.window = self.window.into();
        header.urgent = self.urgent.into();
        *fixed = *header.as_bytes().first_chunk::<20>().expect("a header has 20 bytes");
        len
    }

    /// Whether all of `flags` are set.
    #[inline(always)]
    pub fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// Number of sequence numbers that the segment occupies: payload, SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u32 {
        self.len + u32::from(self.has(Flags::SYN)) + u32::from(self.has(Flags::FIN))
    }
}

/// A segment to send, possibly as several packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// The header; `len` is the length of the payload.
    pub segment: Segment,
    /// Offset of the payload from the oldest unacknowledged byte, the first byte of the source.
    pub ahead: u32,
    /// Largest payload of a packet. A longer payload has to be segmented; FIN and PSH belong to the
    /// last packet.
    pub mss: u16,
}

/// The reset that answers a segment without a connection, or one that does not belong to this
/// connection (RFC 9293 section 3.10.7.1); `None` for a reset.
pub fn reset_for(segment: &Segment) -> Option<Outgoing> {
    if segment.has(Flags::RST) {
        return None;
    }
    let segment = if segment.has(Flags::ACK) {
        Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
    } else {
        let ack = segment.seq + segment.seq_len();
        Segment { ack, flags: Flags::RST | Flags::ACK, ..Segment::default() }
    };
    Some(Outgoing { segment, ..Outgoing::default() })
}

#[cfg(test)]
mod tests {
    use wire::tcp::Timestamp;

    use super::*;

    #[test]
    fn headers_written_are_read_again() {
        let timestamp = Some(Timestamp { value: 7, echo: 8 });
        let mut options = Options { timestamp, ..Options::default() };
        options.sack.push(1, 2);
        let segment = Segment {
            seq: Seq(1),
            ack: Seq(2),
            flags: Flags::ACK | Flags::PSH,
            window: 3,
            urgent: 4,
            len: 5,
            options,
        };
        let mut bytes = [0; MAX_HEADER];
        let len = segment.write_header(80, 81, &mut bytes);
        let packet = [&bytes[..len], b"hello"].concat();
        assert_eq!((Segment::parse(&packet), len), (Some(segment), 44));
        assert_eq!(Segment::parse(&packet[..len - 1]), None);
        assert_eq!(Segment::parse(&packet[..19]), None);
    }
}
