//! Bidirectional forwarding detection: control packets (RFC 5880 section 4) and the echo packets of
//! this router, whose contents only the router itself reads (RFC 5880 section 5).

use zerocopy::byteorder::network_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// UDP port of control packets over one hop (RFC 5881 section 4).
pub const SINGLE_HOP: u16 = 3784;
/// UDP port of echo packets (RFC 5881 section 4).
pub const ECHO: u16 = 3785;
/// UDP port of control packets over several hops (RFC 5883 section 5).
pub const MULTIHOP: u16 = 4784;
/// The version of the protocol.
pub const VERSION: u8 = 1;

/// The state of a session (RFC 5880 section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// Held down by its operator.
    AdminDown,
    /// Down, or just made.
    #[default]
    Down,
    /// The other end is heard, and does not hear this one.
    Init,
    /// Both hear each other.
    Up,
}

impl From<u8> for State {
    fn from(bits: u8) -> Self {
        [Self::AdminDown, Self::Down, Self::Init, Self::Up][usize::from(bits & 3)]
    }
}

/// Reasons of the last change of state (RFC 5880 section 4.1).
pub mod diagnostic {
    /// None.
    pub const NONE: u8 = 0;
    /// No control packet came for the detection time.
    pub const TIME_EXPIRED: u8 = 1;
    /// No echo came back for its detection time.
    pub const ECHO_FAILED: u8 = 2;
    /// The other end said that it is down.
    pub const NEIGHBOR_SIGNALED: u8 = 3;
    /// The operator put it down.
    pub const ADMIN_DOWN: u8 = 7;
}

/// Bits of [`Header::flags`]; the state is above them.
pub mod flag {
    /// The sender wants an answer.
    pub const POLL: u8 = 1 << 5;
    /// Reply.
    pub const FINAL: u8 = 1 << 4;
    /// The sender's control plane shares no fate with forwarding.
    pub const INDEPENDENT: u8 = 1 << 3;
    /// There is an authentication section.
    pub const AUTHENTICATED: u8 = 1 << 2;
    /// The sender wants no periodic packets.
    pub const DEMAND: u8 = 1 << 1;
    /// Must be zero.
    pub const MULTIPOINT: u8 = 1;
}

/// The mandatory section.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Version in 3 bits, diagnostic in 5.
    pub version_diagnostic: u8,
    /// State in 2 bits, and bits of [`flag`].
    pub state_flags: u8,
    /// Intervals without a packet until the session is down.
    pub detect_mult: u8,
    /// Bytes of the whole packet.
    pub len: u8,
    /// The sender's number of the session.
    pub my_discriminator: U32,
    /// The receiver's number of the session; 0 if it is not known.
    pub your_discriminator: U32,
    /// Microseconds between two packets that the sender would like to send at least.
    pub desired_min_tx_us: U32,
    /// Microseconds between two packets that it can receive.
    pub required_min_rx_us: U32,
    /// Microseconds between two echo packets that it can return; 0 for none.
    pub required_min_echo_rx_us: U32,
}

impl Header {
    /// Version.
    pub fn version(&self) -> u8 {
        self.version_diagnostic >> 5
    }
    /// The diagnostic.
    pub fn diagnostic(&self) -> u8 {
        self.version_diagnostic & 0x1f
    }
    /// The sender's state.
    pub fn state(&self) -> State {
        State::from(self.state_flags >> 6)
    }
    /// Whether a bit of [`flag`] is set.
    pub fn has(&self, flag: u8) -> bool {
        self.state_flags & flag != 0
    }
}

/// Authentication with a keyed SHA1 hash (RFC 5880 section 4.4), after the mandatory section.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Sha1 {
    /// [`Sha1::KEYED`] or [`Sha1::METICULOUS`].
    pub kind: u8,
    /// Bytes of the section.
    pub len: u8,
    /// The number of the key, for both ends.
    pub key_id: u8,
    /// Nothing.
    pub reserved: u8,
    /// Grows from packet to packet.
    pub sequence: U32,
    /// Hash of the packet with the key in this place.
    pub hash: [u8; 20],
}

impl Sha1 {
    /// The sequence number grows now and then.
    pub const KEYED: u8 = 4;
    /// The sequence number grows with each packet.
    pub const METICULOUS: u8 = 5;
    /// Bytes of the section.
    pub const LEN: u8 = size_of::<Self>() as u8;
}

/// The contents of an echo packet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Echo {
    /// The sender's number of the session.
    pub discriminator: U32,
    /// Time from which on it is worth nothing, on the sender's clock.
    pub expires: U64,
    /// Hash that only the sender can compute.
    pub checksum: U64,
}

/// Reasons why a control packet is not well formed (RFC 5880 section 6.8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Another version.
    Version,
    /// Too short, or its length is none.
    Length,
    /// No detection multiplier.
    DetectMult,
    /// A bit is set that must not be.
    Multipoint,
    /// No number of the sender's.
    MyDiscriminator,
    /// No number of the receiver's, in a state in which it is known.
    YourDiscriminator,
}

/// A control packet in its parts: what is behind the mandatory section is of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control<'b> {
    /// The mandatory section.
    pub header: &'b Header,
    /// The authentication section, if its bit is set.
    pub authentication: &'b [u8],
    /// All of the packet.
    pub bytes: &'b [u8],
}

/// Reads a control packet.
///
/// # Errors
/// [`Malformed`].
pub fn parse(payload: &[u8]) -> Result<Control<'_>, Malformed> {
    let (header, _) = Header::ref_from_prefix(payload).map_err(|_| Malformed::Length)?;
    if header.version() != VERSION {
        return Err(Malformed::Version);
    }
    let is_authenticated = header.has(flag::AUTHENTICATED);
    let least = size_of::<Header>() + if is_authenticated { 2 } else { 0 };
    let len = usize::from(header.len);
    let bytes = payload.get(..len).filter(|_| len >= least).ok_or(Malformed::Length)?;
    if header.detect_mult == 0 {
        return Err(Malformed::DetectMult);
    }
    if header.has(flag::MULTIPOINT) {
        return Err(Malformed::Multipoint);
    }
    if header.my_discriminator.get() == 0 {
        return Err(Malformed::MyDiscriminator);
    }
    if header.your_discriminator.get() == 0 && header.state() > State::Down {
        return Err(Malformed::YourDiscriminator);
    }
    let behind = bytes.get(size_of::<Header>()..).unwrap_or_default();
    Ok(Control { header, authentication: if is_authenticated { behind } else { &[] }, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [u8; 24] = [
        0x20, 0x40, 3, 24, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0xf, 0x42, 0x40, 0, 0xf, 0x42, 0x40, 0, 0, 0,
        0,
    ];

    fn changed(at: usize, byte: u8) -> [u8; 24] {
        let mut packet = GOOD;
        packet[at] = byte;
        packet
    }

    #[test]
    fn packets_are_checked_as_section_6_8_6_says() {
        let read = parse(&GOOD).unwrap();
        assert_eq!((read.header.state(), read.header.diagnostic()), (State::Down, 0));
        assert_eq!(read.header.desired_min_tx_us.get(), 1_000_000);
        for (at, byte, why) in [
            (0, 0x40, Malformed::Version),
            (2, 0, Malformed::DetectMult),
            (3, 23, Malformed::Length),
            (3, 25, Malformed::Length),
            (1, 0x41, Malformed::Multipoint),
            (7, 0, Malformed::MyDiscriminator),
            (1, 0xc0, Malformed::YourDiscriminator),
            (1, 0x44, Malformed::Length),
        ] {
            assert_eq!(parse(&changed(at, byte)), Err(why), "{at}");
        }
        assert_eq!(parse(&GOOD[..23]), Err(Malformed::Length));
        let mut long = changed(3, 26).to_vec();
        long[1] = 0x44;
        long.extend([4, 28, 9]);
        assert_eq!(parse(&long).unwrap().authentication, [4, 28]);
    }
}
