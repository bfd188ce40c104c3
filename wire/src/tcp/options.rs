//! TCP options (RFC 9293 section 3.1, RFC 7323, RFC 2018).

use super::{END, MSS, NO_OPERATION};

const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMP: u8 = 8;
/// Header of the only option that most segments have, after two bytes of padding.
const ALIGNED_TIMESTAMP: [u8; 4] = [NO_OPERATION, NO_OPERATION, TIMESTAMP, 10];

/// Most bytes of options in a header.
pub const MAX_LEN: usize = 40;
/// Most blocks of a SACK option.
pub const MAX_BLOCKS: usize = 4;

/// The timestamp option of RFC 7323.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Clock of the sender.
    pub value: u32,
    /// Value of the peer that is echoed; valid with ACK.
    pub echo: u32,
}

/// Blocks of a SACK option: first sequence number, and the one after the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    blocks: [(u32, u32); MAX_BLOCKS],
    count: u8,
}

impl Blocks {
    /// Adds a block; a fifth one is ignored.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = (start, end);
            self.count += 1;
        }
    }

    /// The blocks in their order.
    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count).min(MAX_BLOCKS)]
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Keeps the first `count` blocks.
    pub fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count as u8);
    }
}

/// The options of a segment that a host uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size; in a SYN.
    pub mss: Option<u16>,
    /// Shift count of the windows to follow; in a SYN.
    pub window_scale: Option<u8>,
    /// The sender understands SACK; in a SYN.
    pub is_sack_permitted: bool,
    /// Timestamps.
    pub timestamp: Option<Timestamp>,
    /// Ranges received out of order.
    pub sack: Blocks,
}

impl Options {
    /// Options of a header; `None` if an option's length is wrong. Unknown options are skipped
    /// (RFC 9293 MUST-6), those of a wrong length for their kind ignored.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if let [a, b, c, d, rest @ ..] = bytes
            && [*a, *b, *c, *d] == ALIGNED_TIMESTAMP
            && rest.len() == 8
        {
            let timestamp = Timestamp { value: word(rest, 0), echo: word(rest, 4) };
            return Some(Self { timestamp: Some(timestamp), ..Self::default() });
        }
        if bytes.is_empty() { Some(Self::default()) } else { Self::parse_any(bytes) }
    }

    fn parse_any(mut bytes: &[u8]) -> Option<Self> {
        let mut options = Self::default();
        loop {
            let (kind, len) = match *bytes {
                [] | [END, ..] => return Some(options),
                [NO_OPERATION, ..] => {
                    bytes = &bytes[1..];
                    continue;
                }
                [kind, len, ..] if len >= 2 => (kind, usize::from(len)),
                _ => return None,
            };
            let (option, rest) = bytes.split_at_checked(len)?;
            options.add(kind, &option[2..]);
            bytes = rest;
        }
    }

    fn add(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (MSS, [high, low]) => self.mss = Some(u16::from_be_bytes([*high, *low])),
            (WINDOW_SCALE, [shift]) => self.window_scale = Some(*shift),
            (SACK_PERMITTED, []) => self.is_sack_permitted = true,
            (TIMESTAMP, value) if value.len() == 8 => {
                self.timestamp = Some(Timestamp { value: word(value, 0), echo: word(value, 4) });
            }
            (SACK, value) if value.len() % 8 == 0 => {
                self.sack = Blocks::default();
                value.chunks_exact(8).for_each(|b| self.sack.push(word(b, 0), word(b, 4)));
            }
            _ => {}
        }
    }

    /// Writes the options, padded to a multiple of 4 bytes; returns the length. SACK blocks for
    /// which there is no room are left out.
    #[inline]
    pub fn write(&self, to: &mut [u8; MAX_LEN]) -> usize {
        let mut len = 0;
        let mut put = |bytes: &[u8]| {
            to[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        if let Some(mss) = self.mss {
            put(&[MSS, 4]);
            put(&mss.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            put(&[NO_OPERATION, WINDOW_SCALE, 3, shift]);
        }
        if self.is_sack_permitted {
            put(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
        }
        if let Some(timestamp) = self.timestamp {
            put(&ALIGNED_TIMESTAMP);
            put(&timestamp.value.to_be_bytes());
            put(&timestamp.echo.to_be_bytes());
        }
        let blocks = self.sack.as_slice();
        let blocks = &blocks[..blocks.len().min(MAX_LEN.saturating_sub(self.fixed_len() + 4) / 8)];
        if !blocks.is_empty() {
            put(&[NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                put(&start.to_be_bytes());
                put(&end.to_be_bytes());
            }
        }
        len
    }

    /// Length of the options without SACK blocks.
    fn fixed_len(&self) -> usize {
        let short = [self.mss.is_some(), self.window_scale.is_some(), self.is_sack_permitted];
        4 * short.iter().filter(|is_there| **is_there).count()
            + if self.timestamp.is_some() { 12 } else { 0 }
    }

    /// Length of what [`Options::write`] writes.
    #[inline]
    pub fn len(&self) -> usize {
        let room = MAX_LEN.saturating_sub(self.fixed_len() + 4) / 8;
        match self.sack.as_slice().len().min(room) {
            0 => self.fixed_len(),
            count => self.fixed_len() + 4 + 8 * count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some_options() -> impl Strategy<Value = Options> {
        let stamp = any::<Option<(u32, u32)>>();
        let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=4);
        (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), stamp, blocks).prop_map(
            |(mss, window_scale, is_sack_permitted, stamp, blocks)| {
                let mut sack = Blocks::default();
                blocks.into_iter().for_each(|(start, end)| sack.push(start, end));
                let timestamp = stamp.map(|(value, echo)| Timestamp { value, echo });
                Options { mss, window_scale, is_sack_permitted, timestamp, sack }
            },
        )
    }

    proptest! {
        #[test]
        fn options_written_are_read_again(options in some_options()) {
            let mut bytes = [0xff; MAX_LEN];
            let len = options.write(&mut bytes);
            prop_assert_eq!((len, len % 4), (options.len(), 0));
            let mut read = Options::parse(&bytes[..len]).unwrap();
            // Blocks for which there was no room.
            let left = read.sack.as_slice().len();
            prop_assert!(left == options.sack.as_slice().len() || len + 8 > MAX_LEN);
            prop_assert_eq!(read.sack.as_slice(), &options.sack.as_slice()[..left]);
            read.sack = options.sack;
            prop_assert_eq!(read, options);
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..=40)) {
            let _ = Options::parse(&bytes);
        }
    }

    #[test]
    fn lengths_that_are_wrong_are_refused_and_unknown_kinds_skipped() {
        assert_eq!(Options::parse(&[MSS, 1, 5, 0]), None);
        assert_eq!(Options::parse(&[MSS, 9, 5, 0]), None);
        assert_eq!(Options::parse(&[MSS]), None);
        let options = Options::parse(&[254, 4, 1, 2, MSS, 4, 5, 0xb4, END, 7, 7, 7]).unwrap();
        assert_eq!(options, Options { mss: Some(1460), ..Options::default() });
    }
}
