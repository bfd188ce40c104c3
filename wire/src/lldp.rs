//! Link layer discovery (IEEE 802.1AB): what a station says of itself, in elements of type, length
//! and value.

use crate::MacAddr;

/// Group address of stations next to each other (section 7.1).
pub const NEAREST_BRIDGE: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);

/// Bytes of a value at most.
const LONGEST: usize = 511;

/// Types of elements (section 8.4).
pub mod kind {
    /// Last of the range.
    pub const END: u8 = 0;
    /// Identifier of the station.
    pub const CHASSIS_ID: u8 = 1;
    /// Identifier of its port.
    pub const PORT_ID: u8 = 2;
    /// Seconds for which all this holds.
    pub const TIME_TO_LIVE: u8 = 3;
    /// Port description.
    pub const PORT_DESCRIPTION: u8 = 4;
    /// Name of the station.
    pub const SYSTEM_NAME: u8 = 5;
    /// Address at which it is managed.
    pub const MANAGEMENT_ADDRESS: u8 = 8;
}

/// An identifier: its subtype, and 1 to 255 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id<'p> {
    /// Kind of the bytes.
    pub subtype: u8,
    /// The bytes.
    pub bytes: &'p [u8],
}

/// The mandatory fields of every LLDPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lldpdu<'p> {
    /// Identifier of the station.
    pub chassis: Id<'p>,
    /// Identifier of its port.
    pub port: Id<'p>,
    /// Seconds for which it holds; 0 for no longer.
    pub ttl: u16,
}

/// Type, value and what follows of the first element; `None` if it is cut off.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<2>()?;
    let head = u16::from_be_bytes(*head);
    let (value, rest) = rest.split_at_checked(usize::from(head) & LONGEST)?;
    Some(((head >> 9) as u8, value, rest))
}

fn id(value: &[u8]) -> Option<Id<'_>> {
    let (subtype, bytes) = value.split_first()?;
    (1..=255).contains(&bytes.len()).then_some(Id { subtype: *subtype, bytes })
}

/// Reads what follows the Ethernet header (section 9.2.7.7.1); `None` unless the first three
/// elements are as they must be and all others end within it.
pub fn parse(bytes: &[u8]) -> Option<Lldpdu<'_>> {
    let (kind::CHASSIS_ID, chassis, rest) = element(bytes)? else { return None };
    let (kind::PORT_ID, port, rest) = element(rest)? else { return None };
    let (kind::TIME_TO_LIVE, ttl, mut rest) = element(rest)? else { return None };
    let said = Lldpdu {
        chassis: id(chassis)?,
        port: id(port)?,
        ttl: u16::from_be_bytes(*ttl.first_chunk()?),
    };
    while !rest.is_empty() {
        let (kind, _, behind) = element(rest)?;
        match kind {
            kind::END => break,
            kind::CHASSIS_ID | kind::PORT_ID | kind::TIME_TO_LIVE => return None,
            _ => rest = behind,
        }
    }
    Some(said)
}

/// Puts an element after others; of a value that is too long, as much as fits.
pub fn append(to: &mut Vec<u8>, kind: u8, value: &[&[u8]]) {
    let value = value.concat();
    let value = &value[..value.len().min(LONGEST)];
    let head = u16::from(kind) << 9 | value.len() as u16;
    to.extend(head.to_be_bytes());
    to.extend(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> Vec<u8> {
        let mut bytes = Vec::new();
        append(&mut bytes, kind::CHASSIS_ID, &[&[4], &[1, 2, 3, 4, 5, 6]]);
        append(&mut bytes, kind::PORT_ID, &[&[5], b"eth0"]);
        append(&mut bytes, kind::TIME_TO_LIVE, &[&120_u16.to_be_bytes()]);
        append(&mut bytes, kind::SYSTEM_NAME, &[&[b'x'; 600]]);
        append(&mut bytes, kind::END, &[]);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = said();
        assert_eq!(bytes[..3], [2, 7, 4]);
        let read = parse(&bytes).unwrap();
        assert_eq!((read.chassis.subtype, read.port.bytes, read.ttl), (4, &b"eth0"[..], 120));
        assert_eq!(parse(&[&bytes[..], &[0; 40]].concat()), Some(read), "padding");
    }

    #[test]
    fn what_is_cut_off_or_out_of_order_is_refused() {
        let bytes = said();
        for end in 0..bytes.len() - 2 {
            // Up to the time to live it is complete, and so it is behind.
            assert_eq!(parse(&bytes[..end]).is_some(), end == 20, "{end}");
        }
        let twice = [&bytes[..20], &bytes[9..16], &bytes[bytes.len() - 2..]].concat();
        assert_eq!(parse(&twice), None);
        assert_eq!(parse(&[&bytes[9..16], &bytes[..9], &bytes[16..]].concat()), None);
        let mut empty = Vec::new();
        append(&mut empty, kind::CHASSIS_ID, &[&[4]]);
        empty.extend(&bytes[9..]);
        assert_eq!(parse(&empty), None);
    }
}
