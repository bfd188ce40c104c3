//! Sessions as Unix sockets.
//!
//! A socket of a program is its end of a Unix socket, of which the router has the other end. It is
//! inherited, duplicated, passed on and waited for as the kernel's are, and closed when the last
//! process that has it is gone.
//!
//! * A *stream* socket connects to the app socket's twin ([`twin`]), a *datagram* socket (of
//!   sequenced packets) to the app socket itself. Its first message says what it is to be:
//!   [`SERVE`](super::talk::SERVE) or [`REACH`](super::talk::REACH). The first bytes that come back
//!   are an [`Answer`].
//! * What follows in a stream that is connected are the bytes of the connection.
//! * What comes out of one that listens are [`Answer`]s, one for each accepted connection, with the
//!   descriptor of the connection's socket.
//! * Each packet of a datagram socket starts with a header ([`super::talk::datagram`]), whose
//!   endpoint is that of the other side.
//!
//! A request to connect may be followed by filling bytes, which the router reads when the
//! connection is established: until then the socket is not writable.
//!
//! The name of a socket ([`Name`]) tells a process that has inherited it what it is.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::talk::{address_of, octets};

/// Length of an [`Answer`] in bytes.
pub const ANSWER: usize = 8 + 2 * END;
/// Length of a [`Name`] in bytes.
pub const NAME: usize = PREFIX.len() + 4 + 2 * END + 8;
/// Filling bytes that make a socket with a send buffer of the default size unwritable.
pub const FILLING: usize = 56 << 10;

/// The byte of a datagram's header that says what to do with it.
pub const VERB: usize = 7;
/// Only datagrams of this endpoint are received from now on. The packet has no more bytes.
pub const TO_PEER: u8 = 1;

const MAGIC: [u8; 4] = *b"FVA1";
/// The first byte makes it an abstract name.
const PREFIX: [u8; 10] = *b"\0ferrovia\0";
/// Length of an endpoint in bytes.
const END: usize = 20;
/// Suffix of the path of the twin.
const TWIN: &str = "-stream";

/// The path of the twin of an app socket, to which streams connect.
pub fn twin(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(TWIN);
    path.into()
}

fn end_bytes(end: SocketAddr) -> [u8; END] {
    let mut bytes = [0; END];
    bytes[..16].copy_from_slice(&octets(end.ip()));
    bytes[16..18].copy_from_slice(&end.port().to_le_bytes());
    bytes[18] = u8::from(end.is_ipv6());
    bytes
}

/// Puts parts, which are as long as the result, one after the other.
fn joined<const LEN: usize>(parts: &[&[u8]]) -> [u8; LEN] {
    let (mut bytes, mut at) = ([0; LEN], 0);
    for part in parts {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    bytes
}

fn end_of(bytes: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (address, rest) = bytes.split_first_chunk()?;
    let (port, rest) = rest.split_first_chunk()?;
    let ([is_ip6, _], rest) = rest.split_first_chunk()?;
    let end = SocketAddr::new(address_of(*address, *is_ip6 != 0), u16::from_le_bytes(*port));
    Some((end, rest))
}

/// The answer to a request, or an accepted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Error number (errno), or 0.
    pub error: u32,
    /// The local endpoint.
    pub local: SocketAddr,
    /// The peer.
    pub peer: SocketAddr,
}

impl Answer {
    /// An error.
    pub fn failed(error: u32) -> Self {
        let none = (Ipv4Addr::UNSPECIFIED, 0).into();
        Self { error, local: none, peer: none }
    }
    /// Encodes it.
    pub fn to_bytes(self) -> [u8; ANSWER] {
        let (local, peer) = (end_bytes(self.local), end_bytes(self.peer));
        joined(&[&MAGIC, &self.error.to_le_bytes(), &local, &peer])
    }
    /// Decodes it; `None` if it is malformed.
    pub fn parse(bytes: &[u8; ANSWER]) -> Option<Self> {
        let (error, rest) = bytes.strip_prefix(&MAGIC)?.split_first_chunk()?;
        let (local, rest) = end_of(rest)?;
        let (peer, _) = end_of(rest)?;
        Some(Self { error: u32::from_le_bytes(*error), local, peer })
    }
}

/// Bits of a [`Name`].
pub mod about {
    /// Datagrams.
    pub const DATAGRAMS: u8 = 1;
    /// The program sees IPv6 addresses.
    pub const IP6: u8 = 1 << 1;
    /// It listens.
    pub const LISTENS: u8 = 1 << 2;
    /// It has a peer.
    pub const CONNECTED: u8 = 1 << 3;
}

/// The name of a program's end of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// [`about`].
    pub about: u8,
    /// The local endpoint.
    pub local: SocketAddr,
    /// The peer.
    pub peer: SocketAddr,
    /// Distinguishes it from others.
    pub number: u64,
}

impl Name {
    /// Encodes it, as `sun_path`.
    pub fn to_bytes(self) -> [u8; NAME] {
        let (local, peer) = (end_bytes(self.local), end_bytes(self.peer));
        joined(&[&PREFIX, &[self.about, 0, 0, 0], &local, &peer, &self.number.to_le_bytes()])
    }
    /// Decodes it; `None` if it is another program's name.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; NAME] = bytes.try_into().ok()?;
        let ([about, ..], rest) = bytes.strip_prefix(&PREFIX)?.split_first_chunk::<4>()?;
        let (local, rest) = end_of(rest)?;
        let (peer, rest) = end_of(rest)?;
        let number = u64::from_le_bytes(rest.try_into().ok()?);
        Some(Self { about: *about, local, peer, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_names_are_read_as_written_and_others_are_not() {
        for (local, peer) in [("10.0.0.1:80", "192.0.2.7:4711"), ("[2001:db8::1]:1", "[::]:0")] {
            let (local, peer) = (local.parse().unwrap(), peer.parse().unwrap());
            let answer = Answer { error: 111, local, peer };
            assert_eq!(Answer::parse(&answer.to_bytes()), Some(answer));
            let name = Name { about: about::IP6, local, peer, number: 1 << 40 };
            assert_eq!(Name::parse(&name.to_bytes()), Some(name));
            assert_eq!(Name::parse(&name.to_bytes()[1..]), None);
            assert_eq!(Name::parse(b"\0somebody else's"), None);
        }
        assert_eq!(Answer::parse(&[0; ANSWER]), None);
        assert_eq!(twin(Path::new("@abc")), Path::new("@abc-stream"));
    }
}
