//! DHCPv6 messages (RFC 8415) after UDP: a header of four bytes, then options.

use std::net::Ipv6Addr;

/// Port of servers and relays.
pub const SERVER_PORT: u16 = 547;
/// Port of clients.
pub const CLIENT_PORT: u16 = 546;
/// The group of all servers and relays of a link.
pub const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// A lifetime or time without end.
pub const INFINITE: u32 = u32::MAX;

/// Types of messages (RFC 8415 section 7.3).
pub mod kind {
    /// A client looks for servers.
    pub const SOLICIT: u8 = 1;
    /// A server says what it would give.
    pub const ADVERTISE: u8 = 2;
    /// A client asks one server for leases.
    pub const REQUEST: u8 = 3;
    /// A client asks whether its addresses fit the link.
    pub const CONFIRM: u8 = 4;
    /// A client asks its server for longer leases.
    pub const RENEW: u8 = 5;
    /// A client asks any server for longer leases.
    pub const REBIND: u8 = 6;
    /// A server answers.
    pub const REPLY: u8 = 7;
    /// A client gives leases back.
    pub const RELEASE: u8 = 8;
    /// A client says that addresses are in use.
    pub const DECLINE: u8 = 9;
    /// A client asks for everything but leases.
    pub const INFORMATION_REQUEST: u8 = 11;
    /// A relay hands a message to a server.
    pub const RELAY_FORWARD: u8 = 12;
    /// A server hands a message to a relay.
    pub const RELAY_REPLY: u8 = 13;
}

/// Codes of options (RFC 8415 section 21).
pub mod option {
    /// The client's DUID.
    pub const CLIENT_ID: u16 = 1;
    /// The server's DUID.
    pub const SERVER_ID: u16 = 2;
    /// Addresses.
    pub const IA_NA: u16 = 3;
    /// An address, in [`IA_NA`].
    pub const IA_ADDRESS: u16 = 5;
    /// Options that are asked for.
    pub const REQUESTED: u16 = 6;
    /// Preference of a server.
    pub const PREFERENCE: u16 = 7;
    /// Hundredths of a second since the client began.
    pub const ELAPSED: u16 = 8;
    /// The message in a relay's.
    pub const RELAYED: u16 = 9;
    /// A status, with text.
    pub const STATUS: u16 = 13;
    /// The relay's name for an interface.
    pub const INTERFACE: u16 = 18;
    /// Prefixes.
    pub const IA_PD: u16 = 25;
    /// A prefix, in [`IA_PD`].
    pub const IA_PREFIX: u16 = 26;
    /// The virtual network of a client (RFC 6607).
    pub const VSS: u16 = 68;
    /// The client's address on its link (RFC 6939).
    pub const LINK_ADDRESS: u16 = 79;
    /// Most seconds between two messages that look for servers.
    pub const SOL_MAX_RT: u16 = 82;
}

/// Status codes (RFC 8415 section 21.13).
pub mod status {
    /// Done.
    pub const SUCCESS: u16 = 0;
    /// No address to give.
    pub const NO_ADDRESS: u16 = 2;
    /// The server does not know the lease.
    pub const NO_BINDING: u16 = 3;
    /// The address does not fit the link.
    pub const NOT_ON_LINK: u16 = 4;
    /// No prefix to give.
    pub const NO_PREFIX: u16 = 6;
}

/// An option: its code, and its bytes.
pub type Entry<'a> = (u16, &'a [u8]);

/// The options up to the first that is cut short.
pub fn options(bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let [a, b, c, d, behind @ ..] = rest else { return None };
        let len = usize::from(u16::from_be_bytes([*c, *d]));
        let (value, behind) = behind.split_at_checked(len)?;
        rest = behind;
        Some((u16::from_be_bytes([*a, *b]), value))
    })
}

/// The value of an option.
pub fn find(bytes: &[u8], code: u16) -> Option<&[u8]> {
    options(bytes).find(|entry| entry.0 == code).map(|entry| entry.1)
}

/// An option that is a number.
pub fn number(bytes: &[u8], code: u16) -> Option<u32> {
    Some(u32::from_be_bytes(find(bytes, code)?.try_into().ok()?))
}

/// The status that options tell; without any it is a success.
pub fn status_of(bytes: &[u8]) -> u16 {
    let code = find(bytes, option::STATUS).and_then(|value| value.first_chunk());
    code.map_or(status::SUCCESS, |code| u16::from_be_bytes(*code))
}

/// Appends an option made of parts, which are shorter than 64 KB together.
pub fn put(bytes: &mut Vec<u8>, code: u16, parts: &[&[u8]]) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    bytes.extend_from_slice(&code.to_be_bytes());
    bytes.extend_from_slice(&(len as u16).to_be_bytes());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}

/// The header of a message between client and server, and the bytes of its options.
pub fn read(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let ([kind, a, b, c], options) = bytes.split_first_chunk()?;
    Some((Header { kind: *kind, transaction: [*a, *b, *c] }, options))
}

/// In front of the options of a message between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`kind`].
    pub kind: u8,
    /// Number of the exchange.
    pub transaction: [u8; 3],
}

impl Header {
    /// Bytes.
    pub fn bytes(&self) -> [u8; 4] {
        let [a, b, c] = self.transaction;
        [self.kind, a, b, c]
    }
}

/// A set of leases: the value of [`option::IA_NA`] or [`option::IA_PD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association<'a> {
    /// The client's number for it.
    pub id: u32,
    /// Seconds until the server is asked for more time.
    pub t1: u32,
    /// Seconds until any server is.
    pub t2: u32,
    /// The bytes of its options.
    pub options: &'a [u8],
}

impl<'a> Association<'a> {
    /// Reads one.
    pub fn read(value: &'a [u8]) -> Option<Self> {
        let (front, options) = value.split_first_chunk::<12>()?;
        let at = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| front[at + i]));
        Some(Self { id: at(0), t1: at(4), t2: at(8), options })
    }
    /// Appends it.
    pub fn put(&self, bytes: &mut Vec<u8>, code: u16) {
        let [id, t1, t2] = [self.id, self.t1, self.t2].map(u32::to_be_bytes);
        put(bytes, code, &[&id, &t1, &t2, self.options]);
    }
}

/// An address or prefix of an [`Association`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address, or that of the prefix.
    pub addr: Ipv6Addr,
    /// Length of the prefix, 128 of an address.
    pub len: u8,
    /// Preferred lifetime in seconds.
    pub preferred: u32,
    /// Valid lifetime in seconds.
    pub valid: u32,
}

impl Lease {
    /// Reads an address, with the status it has.
    pub fn read_address(value: &[u8]) -> Option<(Self, u16)> {
        let (addr, rest) = value.split_first_chunk::<16>()?;
        let (times, options) = Times::read(rest)?;
        Some((times.of((*addr).into(), 128), status_of(options)))
    }
    /// Reads a prefix, with the status it has; `None` too for one of more than 128 bits.
    pub fn read_prefix(value: &[u8]) -> Option<(Self, u16)> {
        let (times, rest) = Times::read(value)?;
        let (len, rest) = rest.split_first()?;
        let (addr, options) = rest.split_first_chunk::<16>()?;
        (*len <= 128).then_some((times.of((*addr).into(), *len), status_of(options)))
    }
    /// Appends the option of an address.
    pub fn put_address(&self, bytes: &mut Vec<u8>) {
        let times = [self.preferred, self.valid].map(u32::to_be_bytes);
        put(bytes, option::IA_ADDRESS, &[&self.addr.octets(), &times[0], &times[1]]);
    }
    /// Appends the option of a prefix.
    pub fn put_prefix(&self, bytes: &mut Vec<u8>) {
        let times = [self.preferred, self.valid].map(u32::to_be_bytes);
        let parts: [&[u8]; 4] = [&times[0], &times[1], &[self.len], &self.addr.octets()];
        put(bytes, option::IA_PREFIX, &parts);
    }
}

/// Both lifetimes.
struct Times([u32; 2]);

impl Times {
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ([a, b, c, d, e, f, g, h], rest) = bytes.split_first_chunk()?;
        let times = [[*a, *b, *c, *d], [*e, *f, *g, *h]].map(u32::from_be_bytes);
        Some((Self(times), rest))
    }
    fn of(&self, addr: Ipv6Addr, len: u8) -> Lease {
        Lease { addr, len, preferred: self.0[0], valid: self.0[1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let addr = "2001:db8::7".parse().unwrap();
        let mut leases = Vec::new();
        let of = |len| Lease { addr, len, preferred: 60, valid: INFINITE };
        of(128).put_address(&mut leases);
        of(56).put_prefix(&mut leases);
        put(&mut leases, option::STATUS, &[&[0, 6], b"none"]);
        let all = Association { id: 1, t1: 2, t2: 3, options: &leases };
        let mut bytes = Header { kind: kind::REPLY, transaction: [1, 2, 3] }.bytes().to_vec();
        all.put(&mut bytes, option::IA_PD);
        put(&mut bytes, option::SOL_MAX_RT, &[&[0, 0, 1, 0]]);
        let (header, rest) = read(&bytes).unwrap();
        assert_eq!(header, Header { kind: 7, transaction: [1, 2, 3] });
        assert_eq!(number(rest, option::SOL_MAX_RT), Some(256));
        assert_eq!(status_of(rest), status::SUCCESS);
        let read = Association::read(find(rest, option::IA_PD).unwrap()).unwrap();
        assert_eq!((read, status_of(read.options)), (all, status::NO_PREFIX));
        let found = |code| find(read.options, code).unwrap();
        assert_eq!(Lease::read_address(found(option::IA_ADDRESS)), Some((of(128), 0)));
        assert_eq!(Lease::read_prefix(found(option::IA_PREFIX)), Some((of(56), 0)));
        let mut odd = found(option::IA_PREFIX).to_vec();
        odd[8] = 129;
        assert_eq!(Lease::read_prefix(&odd), None);
        assert_eq!(options(&bytes[4..bytes.len() - 1]).count(), 1, "the last one is cut short");
        assert_eq!(super::read(&bytes[..3]), None);
    }
}
