//! Header of the user plane of mobile networks, GTP-U (3GPP TS 29.281 section 5), with the PDU
//! session container (3GPP TS 38.415 section 5.5).

/// Its UDP port.
pub const PORT: u16 = 2152;
/// Type of messages that carry a packet.
pub const PACKET: u8 = 255;
/// Highest number of a QoS flow.
pub const MOST_FLOW: u8 = 0x3f;

/// Version 1, protocol GTP.
const FLAGS: u8 = 0x30;
/// Bits of the flags that tell version and protocol.
const KIND: u8 = 0xf0;
/// Flag: an extension header follows.
const EXTENSION: u8 = 0x04;
/// Flags any of which has four more bytes follow.
const OPTIONAL: u8 = 0x07;
/// Extension header: PDU session container.
const CONTAINER: u8 = 0x85;
/// Bit of the container beside the flow: reflective QoS, in what goes to the mobile.
const REFLECTIVE: u8 = 0x40;
/// Bytes of the header, and of the optional fields after it.
const HEADER: usize = 8;
const FIELDS: usize = 4;
/// Extension headers at most.
const EXTENSIONS: usize = 8;

/// The tunnel that a packet belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Identifier of the tunnel's end.
    pub teid: u32,
    /// QoS flow, at most [`MOST_FLOW`]; 0 for none.
    pub flow: u8,
    /// Whether the mobile is to mark its answers as this packet is marked.
    pub is_reflective: bool,
}

/// Reads a message with a packet: its tunnel, and the length of all headers. `None` for other
/// messages, and when the bytes end within the headers.
pub fn read(bytes: &[u8]) -> Option<(Session, usize)> {
    let [flags, kind, _, _, teid @ ..] = *bytes.first_chunk::<HEADER>()?;
    let mut session = Session { teid: u32::from_be_bytes(teid), ..Session::default() };
    if flags & KIND != FLAGS || kind != PACKET {
        return None;
    }
    if flags & OPTIONAL == 0 {
        return Some((session, HEADER));
    }
    let mut at = HEADER + FIELDS;
    let mut next = *bytes.get(at - 1)?;
    for _ in 0..EXTENSIONS {
        if next == 0 || flags & EXTENSION == 0 {
            return (at <= bytes.len()).then_some((session, at));
        }
        let words = usize::from(*bytes.get(at).filter(|words| **words > 0)?);
        let flow = *bytes.get(at + 2)?;
        if next == CONTAINER {
            session.flow = flow & MOST_FLOW;
            session.is_reflective = flow & REFLECTIVE != 0;
        }
        at += 4 * words;
        next = *bytes.get(at - 1)?;
    }
    None
}

/// Longest header that [`write()`] makes, in bytes.
pub const LONGEST: usize = HEADER + FIELDS + 4;

/// The header of a message with a packet of `len` bytes, and how many bytes of it count: with the
/// container of a packet to the mobile, when there is a flow.
pub fn write(session: &Session, len: u16) -> ([u8; LONGEST], usize) {
    let has_flow = session.flow != 0 || session.is_reflective;
    let size = if has_flow { LONGEST } else { HEADER };
    let mut bytes = [0; LONGEST];
    bytes[0] = FLAGS | if has_flow { EXTENSION } else { 0 };
    bytes[1] = PACKET;
    let len = len.saturating_add((size - HEADER) as u16);
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes[4..8].copy_from_slice(&session.teid.to_be_bytes());
    if has_flow {
        let mark = if session.is_reflective { REFLECTIVE } else { 0 };
        bytes[11..15].copy_from_slice(&[CONTAINER, 1, 0, session.flow & MOST_FLOW | mark]);
    }
    (bytes, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (flow, is_reflective, len) in [(0, false, 8), (9, false, 16), (63, true, 16)] {
            let session = Session { teid: 0x0102_0304, flow, is_reflective };
            let (bytes, size) = write(&session, 20);
            assert_eq!((size, bytes[3]), (len, 20 + len as u8 - 8));
            assert_eq!(read(&bytes[..size]), Some((session, len)));
            assert_eq!(read(&bytes[..size - 1]), None, "it ends within");
        }
    }

    #[test]
    fn other_messages_and_endless_headers_are_none() {
        assert_eq!(read(&[0x30, 1, 0, 0, 0, 0, 0, 0]), None, "an echo request");
        assert_eq!(read(&[0x50, 255, 0, 0, 0, 0, 0, 0]), None, "version 2");
        assert_eq!(read(&[0x34, 255, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0x85, 0, 0, 9, 0]), None);
        let numbered = [0x32, 255, 0, 4, 0, 0, 0, 7, 0, 1, 0, 0x85];
        assert_eq!(read(&numbered).map(|(s, len)| (s.teid, s.flow, len)), Some((7, 0, 12)));
    }
}
