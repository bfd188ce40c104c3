//! CDP, by which devices of several makers say who they are: elements of type, length and value
//! after a header of four bytes. No standard describes it; the sum over an odd number of bytes is
//! the protocol's own.

use crate::MacAddr;
use crate::checksum::Sum;

/// Group address of stations next to each other.
pub const GROUP: MacAddr = MacAddr([0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc]);
/// Bytes in front of it: LLC, then organisation and protocol.
pub const FRONT: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0];

/// Bytes of the header, and of that of an element.
const HEADER: usize = 4;

/// Types of elements.
pub mod kind {
    /// Name of the station.
    pub const DEVICE_ID: u16 = 1;
    /// Name of its port.
    pub const PORT_ID: u16 = 3;
    /// Capabilities of the station.
    pub const CAPABILITIES: u16 = 4;
    /// Its software.
    pub const VERSION: u16 = 5;
    /// Platform of the station.
    pub const PLATFORM: u16 = 6;
}

/// TLVs of a device; empty if missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said<'p> {
    /// Hold time in seconds.
    pub ttl: u8,
    /// Name of the station.
    pub device: &'p [u8],
    /// Name of its port.
    pub port: &'p [u8],
    /// Its platform.
    pub platform: &'p [u8],
}

/// Reason why nothing can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// Neither version 1 nor 2.
    Version,
    /// Its sum.
    Sum,
    /// An element ends after it, or before its own header.
    Element,
}

/// Reads what follows [`FRONT`], without the padding of a frame.
///
/// # Errors
/// [`Bad`].
pub fn parse(bytes: &[u8]) -> Result<Said<'_>, Bad> {
    let (&[version, ttl, _, _], mut rest) = bytes.split_first_chunk().ok_or(Bad::Element)?;
    if !(1..=2).contains(&version) {
        return Err(Bad::Version);
    }
    // Zero when the sum in it is right.
    if sum(bytes) != [0, 0] && Sum::ZERO.add_bytes(bytes).checksum().get() != 0 {
        return Err(Bad::Sum);
    }
    let mut said = Said { ttl, ..Said::default() };
    while !rest.is_empty() {
        let &[a, b, c, d] = rest.first_chunk().ok_or(Bad::Element)?;
        let len = usize::from(u16::from_be_bytes([c, d]));
        let (element, behind) = rest.split_at_checked(len).ok_or(Bad::Element)?;
        let value = element.get(HEADER..).ok_or(Bad::Element)?;
        match u16::from_be_bytes([a, b]) {
            kind::DEVICE_ID => said.device = value,
            kind::PORT_ID => said.port = value,
            kind::PLATFORM => said.platform = value,
            _ => (),
        }
        rest = behind;
    }
    Ok(said)
}

/// The sum as the protocol has it: a last odd byte counts as one with a sign, in the low half of a
/// word.
fn sum(bytes: &[u8]) -> [u8; 2] {
    let (words, last) = bytes.as_chunks::<2>();
    let last = match last {
        [] => [0, 0],
        [byte] if *byte < 0x80 => [0, *byte],
        [byte, ..] => [0xff, *byte - 1],
    };
    let all = Sum::ZERO.add_bytes(words.as_flattened()).add_bytes(&last);
    all.checksum().get().to_be_bytes()
}

/// A message of version 2 with these elements.
pub fn message(ttl: u8, elements: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![2, ttl, 0, 0];
    for (kind, value) in elements {
        bytes.extend(kind.to_be_bytes());
        bytes.extend(((HEADER + value.len()) as u16).to_be_bytes());
        bytes.extend(*value);
    }
    let sum = sum(&bytes);
    bytes[2..4].copy_from_slice(&sum);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_whatever_the_length() {
        for device in [&b"switch"[..], b"switc", b"switc\x80", b"swit\xff"] {
            let elements = [(kind::DEVICE_ID, device), (kind::PORT_ID, b"e0"), (99, b"?")];
            for count in 1..=3 {
                let bytes = message(180, &elements[..count]);
                let said = parse(&bytes).unwrap();
                assert_eq!((said.ttl, said.device), (180, device));
                assert_eq!(said.port.is_empty(), count == 1);
            }
        }
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let good = message(180, &[(kind::DEVICE_ID, b"switch")]);
        let again = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            bytes[2..4].fill(0);
            let sum = sum(&bytes);
            bytes[2..4].copy_from_slice(&sum);
            parse(&bytes).err()
        };
        assert_eq!(again(&|_| ()), None);
        assert_eq!(again(&|b| b[0] = 3), Some(Bad::Version));
        assert_eq!(again(&|b| b[7] = 3), Some(Bad::Element));
        assert_eq!(again(&|b| b[7] = 11), Some(Bad::Element));
        assert_eq!(again(&|b| b.truncate(7)), Some(Bad::Element));
        assert!(parse(&good[..3]).is_err());
        let mut bytes = good.clone();
        bytes[9] ^= 1;
        assert_eq!(parse(&bytes), Err(Bad::Sum));
    }
}
