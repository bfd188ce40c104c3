//! Messages between an active router and its standby, in UDP: a header, and changes of sessions
//! behind it. All numbers are big-endian. The header alone, with [`ACK`], acknowledges the message
//! of that sequence number and thread.

use net::prelude::*;
use sessions::Flow4;
use translation::session::{ANY_FAR_END, Data, NatSession, OUTSIDE, STATIC};
use zerocopy::byteorder::big_endian::{U16, U32, U64};

/// The only version.
pub const VERSION: u8 = 1;
/// Flag of acknowledgements.
pub const ACK: u8 = 1;

/// The front of a message.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`VERSION`].
    pub version: u8,
    /// [`ACK`], or none.
    pub flags: u8,
    /// Changes behind the header.
    pub count: U16,
    /// The number of the message.
    pub sequence: U32,
    /// The thread of the sender.
    pub thread: U32,
}

/// A session has begun.
pub const ADD: u8 = 1;
/// A session has ended.
pub const DEL: u8 = 2;
/// Packets of a session have passed.
pub const REFRESH: u8 = 3;

/// A change of a session.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Change {
    /// [`ADD`], [`DEL`] or [`REFRESH`].
    pub kind: u8,
    /// 1 UDP, 2 TCP, 3 ICMP.
    protocol: u8,
    flags: U16,
    host: [u8; 4],
    outside: [u8; 4],
    host_port: U16,
    outside_port: U16,
    /// Far end of the first packet of a session that has begun; the session is for all.
    far: [u8; 4],
    far_as_seen: [u8; 4],
    far_port: U16,
    far_port_as_seen: U16,
    /// The index of the host's table.
    fib: U32,
    /// Packets that have passed.
    pub packets: U32,
    /// Bytes that have passed.
    pub bytes: U64,
}

/// Numbers of protocols.
const PROTOCOLS: [(u8, Protocol); 3] =
    [(1, Protocol::UDP), (2, Protocol::TCP), (3, Protocol::ICMP)];

impl Change {
    /// Of a session; `None` for one that the standby has no use for: it follows from a mapping
    /// that stays, only notes that packets pass, or its protocol has no number.
    pub fn of(kind: u8, s: &NatSession) -> Option<Self> {
        if s.data.flags != ANY_FAR_END {
            return None;
        }
        let (protocol, _) = PROTOCOLS.into_iter().find(|(_, p)| *p == s.forward.protocol())?;
        Some(Self {
            kind,
            protocol,
            flags: 0.into(),
            host: s.forward.src,
            outside: s.reverse.dst,
            host_port: s.forward.src_port.into(),
            outside_port: s.reverse.dst_port.into(),
            far: [0; 4],
            far_as_seen: [0; 4],
            far_port: 0.into(),
            far_port_as_seen: 0.into(),
            fib: u32::from(s.data.in_fib).into(),
            packets: u32::try_from(s.packets).unwrap_or(u32::MAX).into(),
            bytes: s.bytes.into(),
        })
    }
    /// The same with the far end of the session's first packet.
    pub fn with_far_end(self, (addr, port): ([u8; 4], u16)) -> Self {
        Self { far: addr, far_port: port.into(), ..self }
    }
    /// Protocol and table of the session; `None` when there are no such.
    fn place(&self) -> Option<(Protocol, u16)> {
        let (_, protocol) = PROTOCOLS.into_iter().find(|(number, _)| *number == self.protocol)?;
        Some((protocol, self.fib.get().try_into().ok()?))
    }
    /// The host.
    pub fn host(&self) -> [u8; 4] {
        self.host
    }
    /// The flows of the session and what is known of it; `None` when they make no sense.
    pub fn session(&self) -> Option<(Flow4, Flow4, Data)> {
        let (protocol, fib) = self.place()?;
        let (host, outside) =
            ((self.host, self.host_port.get()), (self.outside, self.outside_port.get()));
        let forward = Flow4::new(host, ([0; 4], 0), protocol, fib.into());
        let reverse = Flow4::new(([0; 4], 0), outside, protocol, OUTSIDE);
        Some((forward, reverse, Data::new(fib, fib, ANY_FAR_END)))
    }
}

// What is static is not sent.
const _: () = assert!(STATIC != ANY_FAR_END && size_of::<Header>() == 12);
const _: () = assert!(size_of::<Change>() == 44);
