//! Label stacks (RFC 3032 section 2.1).

use zerocopy::byteorder::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Labels are below this.
pub const LABELS: u32 = 1 << 20;
/// Label in front of an IPv4 packet.
pub const IP4_EXPLICIT_NULL: u32 = 0;
/// Control gets the packet.
pub const ROUTER_ALERT: u32 = 1;
/// Label in front of an IPv6 packet.
pub const IP6_EXPLICIT_NULL: u32 = 2;
/// Says that the next label is an entropy label (RFC 6790).
pub const ENTROPY_INDICATOR: u32 = 7;

/// An entry of a label stack: 4 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct Entry(U32);

impl Entry {
    /// An entry; of `label` 20 bits count, of `exp` three.
    #[inline]
    pub fn new(label: u32, exp: u8, is_last: bool, ttl: u8) -> Self {
        let word = label << 12 | u32::from(exp & 7) << 9 | u32::from(is_last) << 8;
        Self::of_word(word | u32::from(ttl))
    }
    /// An entry whose fields lie in a number as in the packet.
    #[inline]
    pub fn of_word(word: u32) -> Self {
        Self(word.into())
    }
    /// Label.
    #[inline]
    pub fn label(&self) -> u32 {
        self.0.get() >> 12
    }
    /// The traffic class (RFC 5462).
    #[inline]
    pub fn exp(&self) -> u8 {
        (self.0.get() >> 9) as u8 & 7
    }
    /// Whether no entry follows.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.0.get() & 1 << 8 != 0
    }
    /// Time to live.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.0.get() as u8
    }
}

/// The entries at the start of some bytes, up to the last of the stack or of the bytes.
pub fn stack(bytes: &[u8]) -> impl Iterator<Item = Entry> {
    let mut rest = bytes.chunks_exact(size_of::<Entry>());
    let mut is_over = false;
    std::iter::from_fn(move || {
        let entry = Entry::read_from_bytes(rest.next().filter(|_| !is_over)?).ok()?;
        is_over = entry.is_last();
        Some(entry)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_rfc_says() {
        let entry = Entry::new(0xabcde, 5, true, 64);
        assert_eq!(entry.as_bytes(), [0xab, 0xcd, 0xeb, 64]);
        assert_eq!(
            (entry.label(), entry.exp(), entry.is_last(), entry.ttl()),
            (0xabcde, 5, true, 64)
        );
        assert!(!Entry::new(16, 0, false, 255).is_last());
    }

    #[test]
    fn a_stack_ends_with_its_last_entry() {
        let all =
            [Entry::new(16, 0, false, 1), Entry::new(17, 0, true, 2), Entry::new(18, 0, true, 3)];
        let bytes: Vec<u8> = all.iter().flat_map(|e| e.as_bytes().to_vec()).collect();
        let labels = |bytes: &[u8]| stack(bytes).map(|e| e.label()).collect::<Vec<_>>();
        assert_eq!(labels(&bytes), [16, 17]);
        assert_eq!(labels(&bytes[..7]), [16]);
        assert_eq!(labels(&[]), [0_u32; 0]);
    }
}
