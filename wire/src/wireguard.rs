//! Messages of WireGuard, after UDP. Numbers are little endian.
//!
//! A handshake is an initiation and a response; a peer under load answers either with a cookie.
//! Data messages carry one IP packet each, which may be padded, or nothing.

use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Types of messages: the first byte, three zeros follow.
pub mod kind {
    /// Begins a handshake.
    pub const INITIATION: u32 = 1;
    /// Ends it.
    pub const RESPONSE: u32 = 2;
    /// A cookie, which proves the address of the initiator.
    pub const COOKIE: u32 = 3;
    /// A packet.
    pub const DATA: u32 = 4;
}

/// Bytes of an authentication tag.
pub const TAG: usize = 16;

/// Both codes at the end of an initiation and of a response.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct Macs {
    /// Over all before it, keyed by the receiver's public key.
    pub mac1: [u8; 16],
    /// Over all before it, keyed by the last cookie; zeros without one.
    pub mac2: [u8; 16],
}

/// Begins a handshake.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Initiation {
    /// [`kind::INITIATION`].
    pub kind: U32,
    /// Number by which the sender knows the session.
    pub sender: U32,
    /// Ephemeral public key.
    pub ephemeral: [u8; 32],
    /// Static public key, encrypted.
    pub public: [u8; 48],
    /// Time, encrypted.
    pub timestamp: [u8; 28],
    /// Codes.
    pub macs: Macs,
}

/// Answers an initiation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Response {
    /// [`kind::RESPONSE`].
    pub kind: U32,
    /// Number by which the sender knows the session.
    pub sender: U32,
    /// Number by which the receiver knows it.
    pub receiver: U32,
    /// Ephemeral public key.
    pub ephemeral: [u8; 32],
    /// Nothing, encrypted.
    pub nothing: [u8; 16],
    /// Codes.
    pub macs: Macs,
}

/// Answers either of them under load.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Cookie {
    /// [`kind::COOKIE`].
    pub kind: U32,
    /// The sender's number in the message that is answered.
    pub receiver: U32,
    /// Nonce.
    pub nonce: [u8; 24],
    /// The cookie, encrypted.
    pub cookie: [u8; 32],
}

/// In front of an encrypted packet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Data {
    /// [`kind::DATA`].
    pub kind: U32,
    /// Number by which the receiver knows the session.
    pub receiver: U32,
    /// Number of the message, which is its nonce.
    pub counter: U64,
}

/// A message of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Begins one.
    Initiation(Initiation),
    /// Ends it.
    Response(Response),
    /// A cookie.
    Cookie(Cookie),
}

impl Handshake {
    /// Bytes of the longest.
    pub const LONGEST: usize = size_of::<Initiation>();

    /// The message that all of these bytes are.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, _) = U32::read_from_prefix(bytes).ok()?;
        match kind.get() {
            kind::INITIATION => Initiation::read_from_bytes(bytes).ok().map(Self::Initiation),
            kind::RESPONSE => Response::read_from_bytes(bytes).ok().map(Self::Response),
            kind::COOKIE => Cookie::read_from_bytes(bytes).ok().map(Self::Cookie),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_lengths_of_the_protocol_and_no_others() {
        for (kind, len) in [(1, 148), (2, 92), (3, 64)] {
            let mut bytes = vec![0; len];
            bytes[0] = kind;
            assert!(Handshake::read(&bytes).is_some(), "{kind}");
            assert_eq!(Handshake::read(&bytes[1..]), None);
            assert_eq!(Handshake::read(&bytes[..len - 1]), None);
            bytes[3] = 1;
            assert_eq!(Handshake::read(&bytes), None, "reserved bytes are zero");
        }
        assert_eq!((size_of::<Data>(), Handshake::LONGEST), (16, 148));
        assert_eq!(Handshake::read(&[4, 0, 0, 0]), None);
    }
}
