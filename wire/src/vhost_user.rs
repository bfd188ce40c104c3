//! vhost-user: the messages that the program which owns a virtual machine's memory (the front end)
//! and the one that serves its devices (the back end) exchange on a stream socket, after QEMU's
//! "Vhost-user Protocol". Numbers are those of the machine, little endian here.

use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in front of what a message says.
pub const HEADER: usize = 12;
/// Bytes that a message says at most: a table of memory has 8 + 8 * 32 of them.
pub const MOST_BYTES: usize = 1024;
/// Files that come along with a message at most.
pub const MOST_FILES: usize = 8;
/// Regions in a table of memory at most.
pub const MOST_REGIONS: usize = 8;
/// Bit of numbers that come along with a file: there is none.
pub const NO_FILE: u64 = 1 << 8;

/// In front of each message.
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
pub struct Header {
    /// Number of the request.
    pub request: U32,
    /// [`VERSION`] and [`IS_REPLY`], [`WANTS_REPLY`].
    pub flags: U32,
    /// Number of bytes that follow.
    pub size: U32,
}

/// [`Header::flags`]: the version, in the lowest two bits.
pub const VERSION: u32 = 1;
/// [`Header::flags`]: the bits of the version.
pub const VERSION_BITS: u32 = 3;
/// [`Header::flags`]: an answer.
pub const IS_REPLY: u32 = 4;
/// [`Header::flags`]: an answer is asked for where there is none otherwise: 0 if it was done.
pub const WANTS_REPLY: u32 = 8;

/// Numbers of requests.
pub mod request {
    /// Features there are.
    pub const GET_FEATURES: u32 = 1;
    /// Features in use.
    pub const SET_FEATURES: u32 = 2;
    /// The front end is the owner.
    pub const SET_OWNER: u32 = 3;
    /// The front end gives up ownership.
    pub const RESET_OWNER: u32 = 4;
    /// The memory.
    pub const SET_MEM_TABLE: u32 = 5;
    /// Memory in which writes are noted.
    pub const SET_LOG_BASE: u32 = 6;
    /// Signal for that.
    pub const SET_LOG_FD: u32 = 7;
    /// Size of a ring.
    pub const SET_VRING_NUM: u32 = 8;
    /// Place of a ring.
    pub const SET_VRING_ADDR: u32 = 9;
    /// Entry at which a ring starts.
    pub const SET_VRING_BASE: u32 = 10;
    /// Entry at which a ring stops.
    pub const GET_VRING_BASE: u32 = 11;
    /// Wakeup of the back end.
    pub const SET_VRING_KICK: u32 = 12;
    /// Wakeup of the driver.
    pub const SET_VRING_CALL: u32 = 13;
    /// Signal that something is wrong.
    pub const SET_VRING_ERR: u32 = 14;
    /// Features of the protocol there are.
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    /// Features of the protocol in use.
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    /// Pairs of queues at most.
    pub const GET_QUEUE_NUM: u32 = 17;
    /// A ring is used, or is not.
    pub const SET_VRING_ENABLE: u32 = 18;
    /// A machine has moved here.
    pub const SEND_RARP: u32 = 19;
    /// MTU of the driver.
    pub const NET_SET_MTU: u32 = 20;
    /// Number of regions that there may be.
    pub const GET_MAX_MEM_SLOTS: u32 = 36;
    /// One more region.
    pub const ADD_MEM_REG: u32 = 37;
    /// One region less.
    pub const REM_MEM_REG: u32 = 38;
}

/// Bits of features of the protocol.
pub mod protocol {
    /// Several queues.
    pub const MQ: u64 = 1 << 0;
    /// Answers where they are asked for.
    pub const REPLY_ACK: u64 = 1 << 3;
    /// Regions one by one.
    pub const CONFIGURE_MEM_SLOTS: u64 = 1 << 15;
}

/// Name of a feature of the protocol by the position of its bit.
pub fn protocol_name(bit: u32) -> &'static str {
    const NAMES: [&str; 17] = [
        "MQ",
        "LOG_SHMFD",
        "RARP",
        "REPLY_ACK",
        "MTU",
        "SLAVE_REQ",
        "CROSS_ENDIAN",
        "CRYPTO_SESSION",
        "PAGEFAULT",
        "CONFIG",
        "SLAVE_SEND_FD",
        "HOST_NOTIFIER",
        "INFLIGHT_SHMFD",
        "RESET_DEVICE",
        "INBAND_NOTIFICATIONS",
        "CONFIGURE_MEM_SLOTS",
        "STATUS",
    ];
    NAMES.get(bit as usize).copied().unwrap_or("unknown")
}

/// A stretch of memory of the machine, whose file comes along.
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
pub struct MemoryRegion {
    /// Its address in the machine.
    pub guest: U64,
    /// Bytes.
    pub size: U64,
    /// Its address in the front end.
    pub user: U64,
    /// Its start in the file.
    pub offset: U64,
}

/// Number of a ring and a number about it.
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
pub struct RingState {
    /// The ring.
    pub index: U32,
    /// Its size, where it is, or whether it is used.
    pub number: U32,
}

/// Addresses of the parts of a ring in the front end.
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
pub struct RingPlace {
    /// The ring.
    pub index: U32,
    /// Whether what is written to it is noted.
    pub flags: U32,
    /// Its descriptors.
    pub descriptors: U64,
    /// Its part that the device writes.
    pub used: U64,
    /// Its part that the driver writes.
    pub available: U64,
    /// Position at which it is noted.
    pub log: U64,
}

/// Body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    Nothing,
    /// A number.
    Number(u64),
    /// About a ring.
    Ring(RingState),
    /// The place of a ring.
    Place(RingPlace),
    /// The memory, each stretch with its file.
    Table(Vec<MemoryRegion>),
    /// One stretch of memory.
    Region(MemoryRegion),
    /// Anything else.
    Unknown,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number.
    pub number: u32,
    /// Whether an answer is asked for.
    pub wants_reply: bool,
    /// Its body.
    pub body: Body,
}

impl Header {
    /// Whether this is in front of a request that can be read.
    pub fn is_request(&self) -> bool {
        let flags = self.flags.get();
        flags & VERSION_BITS == VERSION
            && flags & IS_REPLY == 0
            && self.size.get() as usize <= MOST_BYTES
    }
}

/// One value, and nothing after it.
fn one<T: FromBytes + Unaligned>(bytes: &[u8]) -> Option<T> {
    T::read_from_bytes(bytes).ok()
}

impl Request {
    /// Reads what follows a header; `None` if it is not what such a request says.
    pub fn parse(header: &Header, bytes: &[u8]) -> Option<Self> {
        use request as r;
        let number = header.request.get();
        let body = match number {
            r::GET_FEATURES
            | r::SET_OWNER
            | r::RESET_OWNER
            | r::GET_PROTOCOL_FEATURES
            | r::GET_QUEUE_NUM
            | r::GET_MAX_MEM_SLOTS => Body::Nothing,
            r::SET_FEATURES
            | r::SET_PROTOCOL_FEATURES
            | r::SET_VRING_KICK
            | r::SET_VRING_CALL
            | r::SET_VRING_ERR
            | r::NET_SET_MTU
            | r::SEND_RARP => Body::Number(one::<U64>(bytes)?.get()),
            r::SET_VRING_NUM | r::SET_VRING_BASE | r::GET_VRING_BASE | r::SET_VRING_ENABLE => {
                Body::Ring(one(bytes)?)
            }
            r::SET_VRING_ADDR => Body::Place(one(bytes)?),
            r::SET_MEM_TABLE => {
                let (count, rest) = bytes.split_first_chunk::<8>()?;
                let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
                let (regions, _) =
                    <[MemoryRegion]>::ref_from_prefix_with_elems(rest, count).ok()?;
                if count > MOST_REGIONS {
                    return None;
                }
                Body::Table(regions.to_vec())
            }
            r::ADD_MEM_REG | r::REM_MEM_REG => {
                let (_, rest) = bytes.split_first_chunk::<8>()?;
                Body::Region(one(rest)?)
            }
            _ => Body::Unknown,
        };
        let wants_reply = header.flags.get() & WANTS_REPLY != 0;
        Some(Self { number, wants_reply, body })
    }
    /// As it is sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = match &self.body {
            Body::Nothing | Body::Unknown => Vec::new(),
            Body::Number(n) => n.to_le_bytes().to_vec(),
            Body::Ring(state) => state.as_bytes().to_vec(),
            Body::Place(place) => place.as_bytes().to_vec(),
            Body::Table(regions) => {
                let mut bytes = (regions.len() as u64).to_le_bytes().to_vec();
                bytes.extend_from_slice(regions.as_bytes());
                bytes
            }
            Body::Region(region) => [&[0; 8], region.as_bytes()].concat(),
        };
        let wants = if self.wants_reply { WANTS_REPLY } else { 0 };
        framed(self.number, VERSION | wants, &body)
    }
    /// The answer to it, as it is sent.
    pub fn reply(&self, body: &[u8]) -> Vec<u8> {
        framed(self.number, VERSION | IS_REPLY, body)
    }
}

fn framed(number: u32, flags: u32, body: &[u8]) -> Vec<u8> {
    let size = (body.len() as u32).into();
    let header = Header { request: number.into(), flags: flags.into(), size };
    [header.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        let region = MemoryRegion {
            guest: 1.into(),
            size: 2.into(),
            user: 3.into(),
            offset: (1 << 40).into(),
        };
        let state = RingState { index: 5.into(), number: 6.into() };
        let place = RingPlace { index: 1.into(), used: 9.into(), ..RingPlace::default() };
        for (number, body) in [
            (request::GET_FEATURES, Body::Nothing),
            (request::SET_FEATURES, Body::Number(1 << 33)),
            (request::SET_VRING_NUM, Body::Ring(state)),
            (request::SET_VRING_ADDR, Body::Place(place)),
            (request::SET_MEM_TABLE, Body::Table(vec![region; 8])),
            (request::ADD_MEM_REG, Body::Region(region)),
            (99, Body::Unknown),
        ] {
            for wants_reply in [false, true] {
                let said = Request { number, wants_reply, body: body.clone() };
                let bytes = said.to_bytes();
                let (header, rest) = Header::ref_from_prefix(&bytes).unwrap();
                assert!(header.is_request() && header.size.get() as usize == rest.len());
                assert_eq!(Request::parse(header, rest), Some(said.clone()));
                let reply = said.reply(&7_u64.to_le_bytes());
                assert!(!Header::ref_from_prefix(&reply).unwrap().0.is_request());
            }
        }
    }

    #[test]
    fn what_is_too_short_or_too_much_is_no_request() {
        let header = |request: u32, size: u32| Header {
            request: request.into(),
            flags: VERSION.into(),
            size: size.into(),
        };
        for (number, len) in [
            (request::SET_FEATURES, 7),
            (request::SET_VRING_NUM, 9),
            (request::SET_VRING_ADDR, 39),
            (request::SET_MEM_TABLE, 4),
            (request::ADD_MEM_REG, 39),
        ] {
            let bytes = vec![1; len];
            assert_eq!(Request::parse(&header(number, len as u32), &bytes), None, "{number}");
        }
        let nine = [&9_u64.to_le_bytes()[..], &[0; 32 * 9]].concat();
        assert_eq!(Request::parse(&header(request::SET_MEM_TABLE, 0), &nine), None);
        assert!(!header(1, 1025).is_request());
        assert!(!Header { flags: 2.into(), ..header(1, 0) }.is_request());
    }
}
