//! Bytes as a word of hexadecimal digits.

use std::fmt;
use std::str::FromStr;

/// Bytes as a word of hexadecimal digits, at least one byte.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hex(pub Vec<u8>);

impl FromStr for Hex {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|d| d as u8);
        let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes: Option<Vec<_>> = pairs.iter().map(byte).collect();
        let bytes = bytes.filter(|bytes| rest.is_empty() && !bytes.is_empty());
        bytes.map(Self).ok_or("expected pairs of hexadecimal digits")
    }
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The bytes may be a secret.
impl fmt::Debug for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hex({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_digits_are_bytes_and_nothing_else_is() {
        let read = |text: &str| text.parse().map(|Hex(bytes)| bytes).ok();
        assert_eq!(read("0x00fF"), Some(vec![0, 255]));
        assert_eq!(Hex(vec![0, 255]).to_string(), "00ff");
        for wrong in ["", "0x", "f", "fff", "+f", "0g", "é0"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
