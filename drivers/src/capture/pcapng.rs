//! Blocks of capture files of the newer format (draft-ietf-opsawg-pcapng), little-endian.

/// Options that any block may have.
const COMMENT: u16 = 1;
/// Resolution of times: nanoseconds.
const NANOSECONDS: [u8; 1] = [9];

/// A block that is being written at the end of a file.
struct Block<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Block<'o> {
    fn new(out: &'o mut Vec<u8>, kind: u32) -> Self {
        let start = out.len();
        let mut block = Self { out, start };
        block.u32(kind);
        block.u32(0); // the length, once it is known
        block
    }
    fn u16(&mut self, value: u16) {
        self.out.extend(value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.out.extend(value.to_le_bytes());
    }
    /// A time, upper half first.
    fn time(&mut self, nanoseconds: u64) {
        self.u32((nanoseconds >> 32) as u32);
        self.u32(nanoseconds as u32);
    }
    fn bytes(&mut self, bytes: &[u8]) {
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        self.out.extend_from_slice(bytes);
        self.out.extend(std::iter::repeat_n(0, padding));
    }
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(u16::MAX.into())];
        self.u16(code);
        self.u16(value.len() as u16);
        self.bytes(value);
    }
    fn text(&mut self, code: u16, text: &str) {
        if !text.is_empty() {
            self.option(code, text.as_bytes());
        }
    }
    fn end(mut self) {
        self.option(0, &[]);
        let len = (self.out.len() - self.start + 4) as u32;
        self.u32(len);
        self.out[self.start + 4..self.start + 8].copy_from_slice(&len.to_le_bytes());
    }
}

/// The start of a file.
pub fn section(out: &mut Vec<u8>, comment: &str) {
    let mut block = Block::new(out, 0x0a0d_0d0a);
    block.u32(0x1a2b_3c4d);
    block.u32(1); // version 1.0
    block.bytes(&u64::MAX.to_le_bytes()); // of unknown length
    block.text(COMMENT, comment);
    block.text(3, "Linux");
    block.text(4, concat!("Ferrovia ", env!("CARGO_PKG_VERSION")));
    block.end();
}

/// An interface of a file.
pub struct Interface<'a> {
    /// Type of what its packets start with.
    pub link: u16,
    /// Maximum bytes per packet.
    pub most_bytes: usize,
    /// Name.
    pub name: &'a str,
    /// Its purpose.
    pub about: &'a str,
    /// The filter, as it was given; empty for none.
    pub filter: &'a str,
}

impl Interface<'_> {
    /// Describes it.
    pub fn describe(&self, out: &mut Vec<u8>) {
        let mut block = Block::new(out, 1);
        block.u16(self.link);
        block.u16(0);
        block.u32(self.most_bytes as u32);
        block.text(2, self.name);
        block.text(3, self.about);
        block.option(9, &NANOSECONDS);
        if !self.filter.is_empty() {
            block.option(11, &[&[0], self.filter.as_bytes()].concat());
        }
        block.end();
    }
}

/// A packet of a file.
pub struct Packet<'a> {
    /// Number of its interface in the file.
    pub interface: u32,
    /// Nanoseconds since 1970.
    pub at: u64,
    /// Its bytes, as far as they are kept.
    pub bytes: &'a [u8],
    /// Length.
    pub len: usize,
    /// Whether it is received; `None` if that is unknown.
    pub comes_in: Option<bool>,
    /// Anything else there is to say.
    pub comment: &'a str,
}

impl Packet<'_> {
    /// Writes it down.
    pub fn append(&self, out: &mut Vec<u8>) {
        let mut block = Block::new(out, 6);
        block.u32(self.interface);
        block.time(self.at);
        block.u32(self.bytes.len() as u32);
        block.u32(self.len as u32);
        block.bytes(self.bytes);
        block.text(COMMENT, self.comment);
        if let Some(comes_in) = self.comes_in {
            block.option(2, &if comes_in { 1_u32 } else { 2 }.to_le_bytes());
        }
        block.end();
    }
}

/// Counts of an interface: packets received, and copies that were lost on their way to the file.
pub fn statistics(out: &mut Vec<u8>, interface: u32, at: u64, lost: u64, comment: &str) {
    let mut block = Block::new(out, 5);
    block.u32(interface);
    block.time(at);
    block.text(COMMENT, comment);
    block.option(7, &lost.to_le_bytes());
    block.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_multiples_of_four_with_their_length_at_both_ends() {
        let mut out = Vec::new();
        section(&mut out, "for a test");
        let about = Interface {
            link: 1,
            most_bytes: 65_535,
            name: "pg0",
            about: "",
            filter: "udp port 53",
        };
        about.describe(&mut out);
        for len in 0..9 {
            let bytes = &[7; 8][..len];
            let comment = &"node ip4-lookup"[..len];
            let packet =
                Packet { interface: 0, at: 1 << 33, bytes, len: 99, comes_in: Some(true), comment };
            packet.append(&mut out);
        }
        statistics(&mut out, 0, 1 << 33, 3, "");
        let (mut rest, mut kinds) = (out.as_slice(), Vec::new());
        let word = |b: &[u8], at: usize| u32::from_le_bytes(*b[at..].first_chunk().unwrap());
        while !rest.is_empty() {
            let len = word(rest, 4) as usize;
            assert_eq!((len % 4, word(rest, len - 4) as usize), (0, len));
            kinds.push(word(rest, 0));
            rest = &rest[len..];
        }
        assert_eq!(kinds, [vec![0x0a0d_0d0a, 1], vec![6; 9], vec![5]].concat());
        let mut packet = Vec::new();
        let of = Packet {
            interface: 2,
            at: (5 << 32) + 6,
            bytes: b"abcde",
            len: 9,
            comes_in: None,
            comment: "",
        };
        of.append(&mut packet);
        let words: Vec<_> = (2..7).map(|at| word(&packet, at * 4)).collect();
        assert_eq!(words, [2, 5, 6, 5, 9]);
        assert_eq!(packet[28..36], *b"abcde\0\0\0");
    }
}
