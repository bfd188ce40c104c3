//! Shared memory packet interface, version 2.0: the messages of its control channel, each 128
//! bytes on a socket of sequenced packets, and what lies in the shared memory. Numbers are little
//! endian.

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The version that is spoken.
pub const VERSION: u16 = 0x0200;
/// Bytes of a message.
pub const MESSAGE: usize = 128;
/// At the start of each ring.
pub const COOKIE: u32 = 0x03e3_1f20;
/// Bytes in front of the descriptors of a ring.
pub const RING_HEADER: usize = 128;
/// Bytes of a descriptor.
pub const DESCRIPTOR: usize = 16;
/// Descriptors of a ring at most, as a power of 2.
pub const MAX_LOG2_RING: u8 = 14;
/// Flag of a ring: its receiver wants no interrupts.
pub const MASK_INTERRUPT: u16 = 1;
/// Flag of a descriptor: the packet goes on in the next one.
pub const NEXT: u16 = 1;
/// Flag of [`AddRing`]: packets go from slave to master.
pub const TO_MASTER: u16 = 1;

/// Places of the words of a ring, in bytes from its start.
pub mod ring {
    /// [`super::COOKIE`], 32 bits.
    pub const COOKIE: usize = 0;
    /// Flags, 16 bits.
    pub const FLAGS: usize = 4;
    /// Count of descriptors that the slave has put in, 16 bits.
    pub const HEAD: usize = 6;
    /// Count of descriptors that the master has put in, 16 bits.
    pub const TAIL: usize = 64;
}

/// A stretch of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// [`NEXT`].
    pub flags: u16,
    /// Region it is in.
    pub region: u16,
    /// Bytes of a packet, or of room for one.
    pub length: u32,
    /// Bytes from the start of the region.
    pub offset: u32,
}

impl Descriptor {
    /// From its two halves as they lie in memory.
    #[inline(always)]
    pub fn of_words([low, high]: [u64; 2]) -> Self {
        let (low, high) = (u64::from_le(low), u64::from_le(high));
        let (flags, region) = (low as u16, (low >> 16) as u16);
        Self { flags, region, length: (low >> 32) as u32, offset: high as u32 }
    }
    /// Its two halves, without metadata.
    #[inline(always)]
    pub fn to_words(self) -> [u64; 2] {
        let low =
            u64::from(self.flags) | u64::from(self.region) << 16 | u64::from(self.length) << 32;
        [low.to_le(), u64::from(self.offset).to_le()]
    }
}

/// Text in a field of fixed size, up to its first zero.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// As much of a text as there is room for.
    pub fn of(text: &str) -> Self {
        let mut bytes = [0; N];
        let len = text.len().min(N);
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Self(bytes)
    }
    /// The bytes that count.
    pub fn bytes(&self) -> &[u8] {
        self.0.split(|b| *b == 0).next().unwrap_or_default()
    }
}

/// As text to print; what is not printable is replaced.
impl<const N: usize> std::fmt::Display for Text<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(self.bytes());
        let shown = |c: char| if c.is_control() { '.' } else { c };
        text.chars().try_for_each(|c| std::fmt::Write::write_char(f, shown(c)))
    }
}

/// Versions and limits of the master, which speaks first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Hello {
    /// Name of the master.
    pub name: Text<32>,
    /// Oldest version it speaks.
    pub min_version: U16,
    /// Newest version it speaks.
    pub max_version: U16,
    /// Highest number of a region.
    pub max_region: U16,
    /// Highest number of a ring from master to slave.
    pub max_to_slave: U16,
    /// Highest number of a ring from slave to master.
    pub max_to_master: U16,
    /// Size of rings at most, as a power of 2.
    pub max_log2_ring_size: u8,
}

/// The interface that the slave wants to be connected to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Init {
    /// Version spoken from here on.
    pub version: U16,
    /// Number of the interface on this socket.
    pub id: U32,
    /// First header of packets: [`ETHERNET`], [`IP`].
    pub mode: u8,
    /// Secret that both must know.
    pub secret: Text<24>,
    /// Name of the slave.
    pub name: Text<32>,
}

/// [`Init::mode`]: Ethernet frames.
pub const ETHERNET: u8 = 0;
/// [`Init::mode`]: IP packets with nothing in front.
pub const IP: u8 = 1;

/// Memory of the slave. Its file comes along.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AddRegion {
    /// Index.
    pub index: U16,
    /// Bytes.
    pub size: U64,
}

/// A ring in a region. What wakes its receiver comes along.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AddRing {
    /// [`TO_MASTER`].
    pub flags: U16,
    /// Its number among those of its direction.
    pub index: U16,
    /// Region it is in.
    pub region: U16,
    /// Offset in the region, in bytes.
    pub offset: U32,
    /// Descriptors, as a power of 2.
    pub log2_ring_size: u8,
    /// Bytes in front of each packet that mean nothing here.
    pub private_header: U16,
}

/// The end of a connection.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Disconnect {
    /// Reason, as a number.
    pub code: U32,
    /// Reason, in words.
    pub text: Text<96>,
}

/// A message of the control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The last one was taken.
    Ack,
    /// From the master, first.
    Hello(Hello),
    /// From the slave, first.
    Init(Init),
    /// From the slave.
    AddRegion(AddRegion),
    /// From the slave.
    AddRing(AddRing),
    /// From the slave, last: the name of its interface.
    Connect(Text<32>),
    /// From the master: the name of its interface.
    Connected(Text<32>),
    /// From either.
    Disconnect(Disconnect),
}

impl Message {
    /// Reads a message; `None` for one of another length or kind.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MESSAGE] = bytes.try_into().ok()?;
        let (kind, body) = bytes.split_first_chunk::<2>()?;
        Some(match u16::from_le_bytes(*kind) {
            1 => Self::Ack,
            2 => Self::Hello(Hello::read_from_prefix(body).ok()?.0),
            3 => Self::Init(Init::read_from_prefix(body).ok()?.0),
            4 => Self::AddRegion(AddRegion::read_from_prefix(body).ok()?.0),
            5 => Self::AddRing(AddRing::read_from_prefix(body).ok()?.0),
            6 => Self::Connect(Text::read_from_prefix(body).ok()?.0),
            7 => Self::Connected(Text::read_from_prefix(body).ok()?.0),
            8 => Self::Disconnect(Disconnect::read_from_prefix(body).ok()?.0),
            _ => return None,
        })
    }
    /// As it is sent.
    pub fn to_bytes(&self) -> [u8; MESSAGE] {
        let (kind, body): (u16, &[u8]) = match self {
            Self::Ack => (1, &[]),
            Self::Hello(m) => (2, m.as_bytes()),
            Self::Init(m) => (3, m.as_bytes()),
            Self::AddRegion(m) => (4, m.as_bytes()),
            Self::AddRing(m) => (5, m.as_bytes()),
            Self::Connect(m) => (6, m.as_bytes()),
            Self::Connected(m) => (7, m.as_bytes()),
            Self::Disconnect(m) => (8, m.as_bytes()),
        };
        let mut bytes = [0; MESSAGE];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[2..2 + body.len()].copy_from_slice(body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back_as_they_were() {
        let messages = [
            Message::Ack,
            Message::Hello(Hello {
                name: Text::of("somebody"),
                min_version: VERSION.into(),
                max_version: VERSION.into(),
                max_region: 255.into(),
                max_to_slave: 7.into(),
                max_to_master: 8.into(),
                max_log2_ring_size: 14,
            }),
            Message::Init(Init {
                version: VERSION.into(),
                id: 0x0102_0304.into(),
                mode: IP,
                secret: Text::of("a secret that is too long for it"),
                name: Text::of("x"),
            }),
            Message::AddRegion(AddRegion { index: 3.into(), size: (1 << 33).into() }),
            Message::Connect(Text::of("memif0/0")),
            Message::Connected(Text::of("memif0/1")),
            Message::Disconnect(Disconnect { code: 9.into(), text: Text::of("why") }),
        ];
        for message in messages {
            assert_eq!(Message::parse(&message.to_bytes()), Some(message));
        }
        assert_eq!(Message::parse(&[1; 127]), None);
        assert_eq!(Message::parse(&[9; 128]), None);
    }

    #[test]
    fn fields_are_where_others_look_for_them() {
        let ring = AddRing {
            flags: TO_MASTER.into(),
            index: 2.into(),
            region: 3.into(),
            offset: 0x0506_0708.into(),
            log2_ring_size: 10,
            private_header: 4.into(),
        };
        let bytes = Message::AddRing(ring).to_bytes();
        assert_eq!(bytes[..15], [5, 0, 1, 0, 2, 0, 3, 0, 8, 7, 6, 5, 10, 4, 0]);
        let descriptor = Descriptor { flags: 1, region: 2, length: 3, offset: 4 };
        let bytes: Vec<u8> = descriptor.to_words().iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(bytes, [1, 0, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Descriptor::of_words(descriptor.to_words()), descriptor);
        assert_eq!(Text::<4>([b'a', 7, 0, b'b']).to_string(), "a.");
    }
}
