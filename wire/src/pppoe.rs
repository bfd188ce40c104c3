//! PPP over Ethernet (RFC 2516 section 4): the header of both stages.

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Version and type that there are.
pub const VERSION_TYPE: u8 = 0x11;
/// Numbers of PPP for what is carried (RFC 1332, RFC 5072).
pub const PPP_IP4: u16 = 0x0021;
/// The same for IPv6.
pub const PPP_IP6: u16 = 0x0057;

/// Header of a session's frames, after the Ethernet header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Version and type: [`VERSION_TYPE`].
    pub version_type: u8,
    /// 0 in the session stage.
    pub code: u8,
    /// Session.
    pub session: U16,
    /// Number of bytes that follow.
    pub len: U16,
}

/// The header of a session's packet, with the number of PPP after it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SessionHeader {
    /// Header.
    pub pppoe: Header,
    /// PPP protocol of the payload.
    pub ppp: U16,
}

impl SessionHeader {
    /// Of a packet of `len` bytes.
    pub fn new(session: u16, ppp: u16, len: u16) -> Self {
        let (session, len) = (session.into(), (len + 2).into());
        let pppoe = Header { version_type: VERSION_TYPE, code: 0, session, len };
        Self { pppoe, ppp: ppp.into() }
    }
    /// Bytes from the header's start to the end of what it announces; `None` for less than the
    /// number of PPP.
    pub fn total_len(&self) -> Option<usize> {
        let len = usize::from(self.pppoe.len.get());
        (len >= 2).then_some(size_of::<Header>() + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_rfc_has_them() {
        let header = SessionHeader::new(0x0102, PPP_IP4, 40);
        assert_eq!(header.as_bytes(), [0x11, 0, 1, 2, 0, 42, 0, 0x21]);
        assert_eq!(header.total_len(), Some(48));
        let short = SessionHeader::read_from_bytes(&[0x11, 0, 1, 2, 0, 1, 0, 0x21]).unwrap();
        assert_eq!(short.total_len(), None);
    }
}
