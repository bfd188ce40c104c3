//! The key of a table: some bytes of a packet under a mask.
#![forbid(unsafe_code)]

/// Bytes of a vector, the unit in which masks are given.
pub const VECTOR: usize = 16;
/// Vectors of a mask at most.
pub const MOST_VECTORS: usize = 5;
/// Numbers of 64 bits in the longest key.
const WORDS: usize = MOST_VECTORS * VECTOR / 8;

/// Masked bytes; zero behind the end of the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key([u64; WORDS]);

/// Bits that count, in whole vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    bits: Key,
    words: usize,
}

impl Mask {
    /// Of 1 to [`MOST_VECTORS`] whole vectors; `None` of anything else.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let vectors = bytes.len() / VECTOR;
        let fits = bytes.len().is_multiple_of(VECTOR) && (1..=MOST_VECTORS).contains(&vectors);
        fits.then(|| Self { bits: Key::padded(bytes), words: bytes.len() / 8 })
    }
    /// Number of vectors.
    pub fn vectors(&self) -> usize {
        self.words * 8 / VECTOR
    }
    /// Bytes.
    pub fn bytes(&self) -> Vec<u8> {
        self.bits.bytes(self)
    }
    /// Number of bits that count: it decides which of two masks is more specific.
    pub fn count_ones(&self) -> u32 {
        self.bits.0.iter().map(|word| word.count_ones()).sum()
    }
    /// The key of these bytes; what is missing of them is zero.
    #[inline(always)]
    pub fn key(&self, bytes: &[u8]) -> Key {
        let Some(bytes) = bytes.get(..self.words * 8) else { return self.short(bytes) };
        let mut key = Key::default();
        for ((word, mask), chunk) in key.0.iter_mut().zip(&self.bits.0).zip(bytes.chunks_exact(8)) {
            *word = chunk.first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk)) & mask;
        }
        key
    }
    #[cold]
    fn short(&self, bytes: &[u8]) -> Key {
        let mut key = Key::padded(bytes);
        key.0.iter_mut().zip(&self.bits.0).for_each(|(word, mask)| *word &= mask);
        key
    }
}

impl Key {
    fn padded(bytes: &[u8]) -> Self {
        let mut key = Self::default();
        for (word, chunk) in key.0.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(whole);
        }
        key
    }
    /// As many bytes as the mask has.
    pub fn bytes(&self, mask: &Mask) -> Vec<u8> {
        self.0[..mask.words].iter().flat_map(|word| word.to_le_bytes()).collect()
    }
    /// A number that differs between keys in all of its bits.
    #[inline(always)]
    pub fn hash(&self, mask: &Mask) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: &u64| (hash.rotate_left(29) ^ word).wrapping_mul(ODD);
        let hash = self.0.iter().take(mask.words).fold(0, mix);
        (hash ^ hash >> 32).wrapping_mul(ODD)
    }
}
