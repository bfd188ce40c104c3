//! Bytes as a word of hexadecimal digits.

use std::fmt;

use super::args::{Args, Value};
use super::error::Error;
use super::print::{Line, PrintValue};

/// Bytes as a word of hexadecimal digits, at least one byte.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hex(pub Vec<u8>);

impl Value for Hex {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let place = *args;
        let Some(word) = args.word() else { return Err(format!("missing {what}").into()) };
        let digits = word.strip_prefix("0x").unwrap_or(word).as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|d| d as u8);
        let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes: Option<Vec<_>> = pairs.iter().map(byte).collect();
        let bytes = bytes.filter(|bytes| rest.is_empty() && !bytes.is_empty());
        bytes.map(Self).ok_or_else(|| place.error("expected pairs of hexadecimal digits"))
    }
}

impl PrintValue for Hex {
    fn print(&self, line: &mut Line<'_>) {
        line.word(hex(&self.0));
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
        let read = |text: &str| Args::new(text).value("key").map(|Hex(bytes)| bytes);
        assert_eq!(read("0x00fF").unwrap(), [0, 255]);
        assert_eq!(hex(&[0, 255]), "00ff");
        assert_eq!(read("").unwrap_err().to_string(), "missing key");
        for wrong in ["0x", "f", "fff", "+f", "0g", "é0"] {
            let why = read(wrong).unwrap_err().to_string();
            assert!(why.contains("pairs of hexadecimal digits") && why.contains(wrong), "{why}");
        }
    }
}
