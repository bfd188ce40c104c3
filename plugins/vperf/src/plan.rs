//! The request of a client, the receipt of a server, and the pattern of test bytes.

/// Length of a request and of a receipt in bytes.
pub const LEN: usize = 32;
const MAGIC: [u8; 8] = *b"vperf\0\0\x01";
/// Period of the pattern in bytes.
const PERIOD: usize = 251;
/// Number of contiguous pattern bytes available at any position.
const PIECE: usize = 64 << 10;

/// Purpose of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Whether the server echoes data.
    pub echoes: bool,
    /// Whether the data is the test pattern.
    pub is_tested: bool,
    /// Whether the client has sent all data and requests the receipt. For datagrams only.
    pub is_over: bool,
    /// Number of bytes that the client sends; 0 for unlimited, until it closes. In a receipt, the
    /// number of bytes that the server received.
    pub bytes: u64,
    /// In a receipt, the number of bytes that differ from the pattern.
    pub wrong: u64,
}

impl Plan {
    /// Encodes it.
    pub fn write(&self) -> [u8; LEN] {
        let mut to = [0; LEN];
        to[..8].copy_from_slice(&MAGIC);
        let flags = [self.echoes, self.is_tested, self.is_over];
        to[8] = (0u8..).zip(flags).fold(0, |bits, (n, on)| bits | u8::from(on) << n);
        to[16..24].copy_from_slice(&self.bytes.to_be_bytes());
        to[24..].copy_from_slice(&self.wrong.to_be_bytes());
        to
    }
    /// Parses a request; `None` if it is not a request.
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
    /// Whether the bytes may be the beginning of a request.
    pub fn may_begin(with: &[u8]) -> bool {
        let n = with.len().min(MAGIC.len());
        with[..n] == MAGIC[..n]
    }
}

/// Test data, a function of the position.
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
    /// Number of bytes that differ from the pattern at a position.
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
