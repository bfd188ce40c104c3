//! Bounds-checked parser for the parts of DER (ITU-T X.690) that certificates and keys use.

/// SEQUENCE.
pub const SEQUENCE: u8 = 0x30;
/// INTEGER.
pub const INTEGER: u8 = 0x02;
/// BIT STRING.
pub const BITS: u8 = 0x03;
/// OCTET STRING.
pub const OCTETS: u8 = 0x04;
/// OBJECT IDENTIFIER.
pub const OID: u8 = 0x06;

/// A value: its tag, its content, and all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// Its tag.
    pub tag: u8,
    /// Its content.
    pub content: &'a [u8],
    /// Tag, length and content.
    pub whole: &'a [u8],
}

/// Reader of consecutive values.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next value, with any tag.
    pub fn any(&mut self) -> Option<Value<'a>> {
        let ([tag, first], _) = self.0.split_first_chunk::<2>()?;
        let (len, at) = match *first {
            short @ 0..=0x7f => (usize::from(short), 2),
            long @ 0x81..=0x84 => {
                let bytes = self.0.get(2..2 + usize::from(long & 0x7f))?;
                let len = bytes.iter().fold(0_usize, |len, byte| len << 8 | usize::from(*byte));
                (len, 2 + bytes.len())
            }
            _ => return None,
        };
        let (whole, rest) = self.0.split_at_checked(at.checked_add(len)?)?;
        self.0 = rest;
        Some(Value { tag: *tag, content: &whole[at..], whole })
    }
    /// The next value; `None` if it has another tag.
    pub fn take(&mut self, tag: u8) -> Option<Value<'a>> {
        let mut after = *self;
        let value = after.any().filter(|value| value.tag == tag)?;
        *self = after;
        Some(value)
    }
    /// Reader of the content of the next value; `None` if it has another tag.
    pub fn inside(&mut self, tag: u8) -> Option<Self> {
        self.take(tag).map(|value| Self(value.content))
    }
    /// Content of the next value, a BIT STRING of whole bytes.
    pub fn bits(&mut self) -> Option<&'a [u8]> {
        let (unused, bytes) = self.take(BITS)?.content.split_first()?;
        (*unused == 0).then_some(bytes)
    }
}

/// Encodes a value.
pub fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let mut out = vec![tag];
    match len {
        0..0x80 => out.push(len as u8),
        0x80..0x100 => out.extend([0x81, len as u8]),
        _ => out.extend([0x82, (len >> 8) as u8, len as u8]),
    }
    out.extend(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_lie_are_no_values() {
        for bytes in [&[][..], &[0x30], &[0x30, 1], &[0x30, 0x80], &[0x30, 0x84, 255, 255, 255]] {
            assert_eq!(Reader(bytes).any(), None);
        }
        assert_eq!(Reader(&[0x30, 0x84, 255, 255, 255, 255, 0]).any(), None);
    }

    #[test]
    fn what_is_written_is_read() {
        for len in [0, 1, 127, 128, 255, 256, 5000] {
            let content = vec![7; len];
            let bytes = value(OCTETS, &content);
            let mut reader = Reader(&bytes);
            assert_eq!(reader.take(INTEGER), None);
            assert_eq!(reader.take(OCTETS).unwrap().content, content);
            assert!(reader.0.is_empty());
        }
    }
}
