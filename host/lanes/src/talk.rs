//! Messages of the app socket, a Unix socket of sequenced packets. All have the same struct, which
//! starts with `FVS1`, and may be accompanied by file descriptors.
//!
//! | kind | from | means | descriptors |
//! |---|---|---|---|
//! | [`HELLO`] | program | attach: name, namespace, secret, scope, sizes | |
//! | [`WELCOME`] | router | attached, or an error | the program's bell |
//! | [`LANE`] | router | one more lane | D, A, the router's bell |
//! | [`LISTEN`], [`UNLISTEN`], [`CONNECT`] | program | requests with a token | |
//! | [`DONE`] | router | the answer to a request: a listener's number, or an error | |
//! | [`SERVE`], [`REACH`] | program | makes the connection itself a [socket](super::socket) | |
#![forbid(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// First bytes of each message.
pub const MAGIC: [u8; 4] = *b"FVS1";
/// Version of the protocol.
pub const VERSION: u8 = 1;
/// Length of a message in bytes.
pub const MESSAGE: usize = 4 + 4 + 4 + 4 + 8 + 8 + 20 + 2 * NAME;
/// Longest name in bytes.
pub const NAME: usize = 64;

/// Program: attach.
pub const HELLO: u8 = 1;
/// Program: start listening.
pub const LISTEN: u8 = 2;
/// Program: stop listening.
pub const UNLISTEN: u8 = 3;
/// Program: connect.
pub const CONNECT: u8 = 4;
/// Program: this connection is a socket that listens, or that is bound to a port for datagrams.
pub const SERVE: u8 = 5;
/// Program: this connection is a socket that connects.
pub const REACH: u8 = 6;
/// The answer to [`HELLO`].
pub const WELCOME: u8 = 128;
/// A lane.
pub const LANE: u8 = 129;
/// The answer to a request.
pub const DONE: u8 = 130;

/// HELLO: sessions with programs of the same namespace.
pub const LOCAL: u8 = 1;
/// HELLO: sessions with hosts.
pub const GLOBAL: u8 = 1 << 1;
/// LISTEN: one session for each peer that sends datagrams, instead of one for all peers.
pub const BY_PEER: u8 = 1;
/// SERVE: other sockets of the same user may have the same address and port.
pub const SHARED: u8 = 1 << 2;
/// SERVE: all addresses of both IP versions.
pub const DUAL: u8 = 1 << 3;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Message type.
    pub kind: u8,
    /// LISTEN, CONNECT: 0 for TCP, 1 for UDP.
    pub transport: u8,
    /// Flags, depending on the type.
    pub flags: u8,
    /// Number of the request, repeated in its answer. REACH: bytes that follow the message.
    pub token: u32,
    /// Number of a listener; in answers, or a negative errno.
    pub value: i32,
    /// HELLO: the secret. LISTEN, CONNECT: the program's opaque value.
    pub number: u64,
    /// HELLO: sizes of the receive and the transmit FIFO in bytes. LISTEN: backlog.
    pub sizes: [u32; 2],
    /// Address and port.
    pub end: SocketAddr,
    /// HELLO: name of the program.
    pub name: String,
    /// HELLO: namespace.
    pub namespace: String,
}

impl Message {
    /// Creates a message of a type with all other fields zero.
    pub fn new(kind: u8) -> Self {
        Self {
            kind,
            transport: 0,
            flags: 0,
            token: 0,
            value: 0,
            number: 0,
            sizes: [0; 2],
            end: (Ipv4Addr::UNSPECIFIED, 0).into(),
            name: String::new(),
            namespace: String::new(),
        }
    }
    /// Encodes the message. Long names are truncated.
    pub fn to_bytes(&self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&MAGIC);
        put(&[VERSION, self.kind, self.transport, self.flags]);
        put(&self.token.to_le_bytes());
        put(&self.value.to_le_bytes());
        put(&self.number.to_le_bytes());
        self.sizes.iter().for_each(|size| put(&size.to_le_bytes()));
        put(&octets(self.end.ip()));
        put(&self.end.port().to_le_bytes());
        put(&[u8::from(self.end.is_ipv6()), 0]);
        for text in [&self.name, &self.namespace] {
            let mut field = [0; NAME];
            let len = text.floor_char_boundary(NAME - 1);
            field[..len].copy_from_slice(&text.as_bytes()[..len]);
            put(&field);
        }
        bytes
    }
    /// Parses a message; `None` if it is malformed.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MESSAGE] = bytes.try_into().ok()?;
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        if head[..4] != MAGIC || head[4] != VERSION {
            return None;
        }
        let (token, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (rx, rest) = rest.split_first_chunk()?;
        let (tx, rest) = rest.split_first_chunk()?;
        let (address, rest) = rest.split_first_chunk()?;
        let (port, rest) = rest.split_first_chunk()?;
        let ([is_ip6, _], rest) = rest.split_first_chunk()?;
        let (name, namespace) = rest.split_at(NAME);
        let end = SocketAddr::new(address_of(*address, *is_ip6 != 0), u16::from_le_bytes(*port));
        Some(Self {
            kind: head[5],
            transport: head[6],
            flags: head[7],
            token: u32::from_le_bytes(*token),
            value: i32::from_le_bytes(*value),
            number: u64::from_le_bytes(*number),
            sizes: [u32::from_le_bytes(*rx), u32::from_le_bytes(*tx)],
            end,
            name: text_of(name)?,
            namespace: text_of(namespace)?,
        })
    }
}

/// Encodes an address as 16 bytes.
pub fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
        IpAddr::V6(a) => a.octets(),
    }
}

/// Decodes an address from 16 bytes.
pub fn address_of(octets: [u8; 16], is_ip6: bool) -> IpAddr {
    if is_ip6 {
        Ipv6Addr::from(octets).into()
    } else {
        Ipv4Addr::from_bits(u128::from_be_bytes(octets) as u32).into()
    }
}

fn text_of(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&field[..end]).ok().map(str::to_owned)
}

/// Length of the header of a datagram in a stream: length, port, version, address.
pub const DATAGRAM: usize = 4 + 2 + 2 + 16;
/// Longest datagram in bytes.
pub const LONGEST: usize = 65_507;

/// Encodes the header of a datagram from or to an endpoint.
pub fn datagram(len: usize, other: SocketAddr) -> [u8; DATAGRAM] {
    let mut head = [0; DATAGRAM];
    head[..4].copy_from_slice(&(len as u32).to_le_bytes());
    head[4..6].copy_from_slice(&other.port().to_le_bytes());
    head[6] = u8::from(other.is_ipv6());
    head[8..].copy_from_slice(&octets(other.ip()));
    head
}

/// Length and endpoint of a header.
pub fn datagram_of(head: &[u8; DATAGRAM]) -> (usize, SocketAddr) {
    let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let mut address = [0; 16];
    address.copy_from_slice(&head[8..]);
    let port = u16::from_le_bytes([head[4], head[5]]);
    (len, SocketAddr::new(address_of(address, head[6] != 0), port))
}

/// Sends a message with up to three file descriptors.
///
/// # Errors
/// The kernel's.
pub fn send(socket: impl AsFd, message: &Message, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_bytes(socket, &message.to_bytes(), files)
}

/// Sends bytes with up to three file descriptors.
///
/// # Errors
/// The kernel's.
pub fn send_bytes(socket: impl AsFd, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Whether the next packet has descriptors; this check does not receive them: the receiver would
/// have to close them, which takes as long as their sender likes. False also without a packet.
pub fn has_files(socket: impl AsFd) -> bool {
    let mut none = RecvAncillaryBuffer::default();
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let seen = recvmsg(socket, &mut [], &mut none, flags);
    seen.is_ok_and(|seen| seen.flags.contains(ReturnFlags::CTRUNC))
}

/// Receives a packet into `bytes`, with its file descriptors. Returns its length, which exceeds
/// that of `bytes` if it was truncated; 0 at the end.
///
/// # Errors
/// The kernel's.
pub fn receive(
    socket: impl AsFd,
    bytes: &mut [u8],
    files: &mut Vec<OwnedFd>,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let len = bytes.len();
    let into = &mut [IoSliceMut::new(bytes)];
    let got = recvmsg(socket, into, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    Ok(if got.flags.contains(ReturnFlags::TRUNC) { len + 1 } else { got.bytes })
}
