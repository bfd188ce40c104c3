//! DHCP messages (RFC 2131) and their options (RFC 2132), after UDP.

use std::net::Ipv4Addr;

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Ip4Prefix, MacAddr};

/// Ports of servers and clients.
pub const SERVER_PORT: u16 = 67;
/// Port of clients.
pub const CLIENT_PORT: u16 = 68;
/// In front of the options.
pub const COOKIE: u32 = 0x6382_5363;
/// Flag: answers are to be broadcast.
pub const BROADCAST: u16 = 0x8000;
/// Bytes that every message should have, which some servers and relays insist on.
pub const LEAST: usize = 300;

/// Codes of options.
pub mod option {
    /// Nothing.
    pub const PAD: u8 = 0;
    /// Mask of the subnet.
    pub const SUBNET_MASK: u8 = 1;
    /// Routers.
    pub const ROUTER: u8 = 3;
    /// Name servers.
    pub const DOMAIN_SERVER: u8 = 6;
    /// Client name.
    pub const HOST_NAME: u8 = 12;
    /// Domain.
    pub const DOMAIN_NAME: u8 = 15;
    /// MTU of the interface.
    pub const INTERFACE_MTU: u8 = 26;
    /// Address that is asked for.
    pub const REQUESTED_ADDRESS: u8 = 50;
    /// Seconds for which an address may be used.
    pub const LEASE_TIME: u8 = 51;
    /// Message type.
    pub const MESSAGE_TYPE: u8 = 53;
    /// Server.
    pub const SERVER_ID: u8 = 54;
    /// Options that are asked for.
    pub const PARAMETERS: u8 = 55;
    /// Seconds after which the server is asked again, and after which any is.
    pub const RENEWAL_TIME: u8 = 58;
    /// Seconds after which any server is asked.
    pub const REBINDING_TIME: u8 = 59;
    /// Name of the client for servers.
    pub const CLIENT_ID: u8 = 61;
    /// Options that relays add (RFC 3046).
    pub const RELAY_AGENT: u8 = 82;
    /// Routes with prefixes of any length (RFC 3442).
    pub const CLASSLESS_ROUTES: u8 = 121;
    /// The end.
    pub const END: u8 = 255;
}

/// Message types.
pub mod kind {
    /// A client looks for servers.
    pub const DISCOVER: u8 = 1;
    /// A server offers an address.
    pub const OFFER: u8 = 2;
    /// A client asks for one.
    pub const REQUEST: u8 = 3;
    /// A client cannot use the address that it was given.
    pub const DECLINE: u8 = 4;
    /// A server gives it.
    pub const ACK: u8 = 5;
    /// A server does not.
    pub const NAK: u8 = 6;
}

/// In front of the options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// 1 of clients, 2 of servers.
    pub op: u8,
    /// Type of the link: 1 for Ethernet.
    pub hardware: u8,
    /// Bytes of an address of the link.
    pub hardware_len: u8,
    /// Relays that it passed.
    pub hops: u8,
    /// Number of the exchange.
    pub xid: U32,
    /// Seconds since the client began.
    pub seconds: U16,
    /// [`BROADCAST`].
    pub flags: U16,
    /// Address that the client has.
    pub client: [u8; 4],
    /// Address that it gets.
    pub yours: [u8; 4],
    /// The next server.
    pub server: [u8; 4],
    /// The first relay.
    pub relay: [u8; 4],
    /// Address of the client's link, with zeros after it.
    pub mac: [u8; 16],
    /// Names of a server and a file.
    pub names: [[u8; 64]; 3],
    /// [`COOKIE`].
    pub cookie: U32,
}

impl Header {
    /// Of a client with this address on its link.
    pub fn of_client(xid: u32, mac: MacAddr, flags: u16) -> Self {
        let mut this = Self::new_zeroed();
        (this.op, this.hardware, this.hardware_len) = (1, 1, 6);
        (this.xid, this.flags, this.cookie) = (xid.into(), flags.into(), COOKIE.into());
        this.mac[..6].copy_from_slice(&mac.0);
        this
    }
}

/// An option: its code, and its bytes.
pub type Entry<'a> = (u8, &'a [u8]);

/// The options after a header up to their end; one that is cut short ends them.
pub fn options(bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        loop {
            let (&code, behind) = rest.split_first()?;
            match code {
                option::PAD => rest = behind,
                option::END => return None,
                _ => {
                    let (&len, behind) = behind.split_first()?;
                    let (value, behind) = behind.split_at_checked(len.into())?;
                    rest = behind;
                    return Some((code, value));
                }
            }
        }
    })
}

/// The header of a message and the bytes of its options.
pub fn read(bytes: &[u8]) -> Option<(&Header, &[u8])> {
    let (header, options) = Header::ref_from_prefix(bytes).ok()?;
    (header.cookie.get() == COOKIE).then_some((header, options))
}

/// The value of an option.
pub fn find(bytes: &[u8], code: u8) -> Option<&[u8]> {
    options(bytes).find(|entry| entry.0 == code).map(|entry| entry.1)
}

/// The type of a message, given its options.
pub fn kind_of(bytes: &[u8]) -> Option<u8> {
    find(bytes, option::MESSAGE_TYPE)?.first().copied()
}

/// An option that is an address, or several: the first.
pub fn address(bytes: &[u8], code: u8) -> Option<Ipv4Addr> {
    addresses(bytes, code).next()
}

/// An option that is several addresses.
pub fn addresses(bytes: &[u8], code: u8) -> impl Iterator<Item = Ipv4Addr> {
    let (all, _) = find(bytes, code).unwrap_or_default().as_chunks::<4>();
    all.iter().map(|addr| Ipv4Addr::from(*addr))
}

/// An option that is a number.
pub fn number(bytes: &[u8], code: u8) -> Option<u32> {
    Some(u32::from_be_bytes(find(bytes, code)?.try_into().ok()?))
}

/// The routes of [`option::CLASSLESS_ROUTES`], which may be in several parts (RFC 3396): prefixes
/// and routers, [`Ipv4Addr::UNSPECIFIED`] for what is on the link. The first that is malformed ends
/// them.
pub fn classless_routes(bytes: &[u8]) -> Vec<(Ip4Prefix, Ipv4Addr)> {
    let parts = options(bytes).filter(|entry| entry.0 == option::CLASSLESS_ROUTES);
    let all: Vec<u8> = parts.flat_map(|entry| entry.1).copied().collect();
    let mut rest = &all[..];
    let mut next = || {
        let (&len, behind) = rest.split_first()?;
        let (significant, behind) = behind.split_at_checked(usize::from(len).div_ceil(8))?;
        let (router, behind) = behind.split_first_chunk::<4>()?;
        rest = behind;
        let mut addr = [0; 4];
        addr.get_mut(..significant.len())?.copy_from_slice(significant);
        let prefix = Ip4Prefix::new(addr.into(), len).ok()?.network();
        Some((prefix, Ipv4Addr::from(*router)))
    };
    std::iter::from_fn(&mut next).collect()
}

/// A message with these options, and as many bytes as it should have at least.
pub fn message(header: &Header, entries: &[Entry<'_>], least: usize) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    for (code, value) in entries {
        let value = &value[..value.len().min(255)];
        bytes.extend_from_slice(&[*code, value.len() as u8]);
        bytes.extend_from_slice(value);
    }
    bytes.push(option::END);
    bytes.resize(bytes.len().max(least), option::PAD);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let header = Header::of_client(7, MacAddr([2; 6]), BROADCAST);
        let entries: [Entry<'_>; 3] = [
            (option::MESSAGE_TYPE, &[3]),
            (option::ROUTER, &[1, 2, 3, 4]),
            (option::LEASE_TIME, &[0, 0, 1, 0]),
        ];
        let bytes = message(&header, &entries, LEAST);
        let (read, rest) = read(&bytes).unwrap();
        assert_eq!((*read, bytes.len(), size_of::<Header>()), (header, LEAST, 240));
        assert!(options(rest).eq(entries));
        assert_eq!(kind_of(rest), Some(kind::REQUEST));
        assert_eq!(address(rest, option::ROUTER), Some(Ipv4Addr::new(1, 2, 3, 4)));
        assert_eq!(number(rest, option::LEASE_TIME), Some(256));
        assert_eq!(number(rest, option::ROUTER), Some(0x0102_0304));
        assert_eq!(find(rest, option::SERVER_ID), None);
        assert_eq!(options(&[53, 9, 1]).count(), 0, "cut short");
        assert_eq!(super::read(&bytes[..239]), None);
    }
}
