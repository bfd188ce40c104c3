//! The request of a client, the receipt of a server, and the pattern of test bytes.

/// Bytes of a request and of a receipt.
pub const LEN: usize = 32;
const MAGIC: [u8; 8] = *b"vperf\0\0\x01";
/// Bytes after which the pattern repeats.
const PERIOD: usize = 251;
/// Bytes of the pattern that lie in one piece, whatever the position.
const PIECE: usize = 64 << 10;

/// Purpose of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The server sends back what it receives.
    pub echoes: bool,
    /// Bytes are those of the pattern.
    pub is_tested: bool,
    /// The client has sent all: the server is to say what it got. Of datagrams only.
    pub is_over: bool,
    /// Bytes that the client sends; 0 for as many as it can until it closes. In a receipt, bytes
    /// that the server received.
    pub bytes: u64,
    /// In a receipt, bytes that were not those of the pattern.
    pub wrong: u64,
}

impl Plan {
    /// Its bytes.
    pub fn write(&self) -> [u8; LEN] {
        let mut to = [0; LEN];
        to[..8].copy_from_slice(&MAGIC);
        let flags = [self.echoes, self.is_tested, self.is_over];
        to[8] = (0u8..).zip(flags).fold(0, |bits, (n, on)| bits | u8::from(on) << n);
        to[16..24].copy_from_slice(&self.bytes.to_be_bytes());
        to[24..].copy_from_slice(&self.wrong.to_be_bytes());
        to
    }
    /// Reads it; `None` if this is none.
    pub fn read(from: &[u8]) -> Option<Self> {
        let from: &[u8; LEN] = from.first_chunk()?;
        let number = |at: usize| from[at..at + 8].iter().fold(0, |n, b| n << 8 | u64::from(*b));
        (from[..8] == MAGIC).then(|| Self {
            echoes: from[8] & 1 != 0,
            is_tested: from[8] & 2 != 0,
            is_over: from[8] & 4 != 0,
            bytes: number(16),
            wrong: number(24),
        })
    }
    /// Whether bytes may be the beginning of one.
    pub fn may_begin(with: &[u8]) -> bool {
        let n = with.len().min(MAGIC.len());
        with[..n] == MAGIC[..n]
    }
}

/// Test bytes: each says its position.
pub struct Pattern(Vec<u8>);

impl Default for Pattern {
    fn default() -> Self {
        Self((0..PIECE + PERIOD).map(|n| (n % PERIOD) as u8).collect())
    }
}

impl Pattern {
    /// Up to `n` bytes from a position on.
    pub fn at(&self, position: u64, n: u64) -> &[u8] {
        let first = (position % PERIOD as u64) as usize;
        &self.0[first..first + n.min(PIECE as u64) as usize]
    }
    /// Number of bytes that are not those of a position on.
    pub fn wrong(&self, position: u64, bytes: &[u8]) -> u64 {
        let mut at = position;
        let mut wrong = 0;
        for part in bytes.chunks(PIECE) {
            let right = self.at(at, part.len() as u64);
            if right != part {
                wrong += right.iter().zip(part).filter(|(a, b)| a != b).count() as u64;
            }
            at += part.len() as u64;
        }
        wrong
    }
}
