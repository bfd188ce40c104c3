//! Messages of IKEv2 (RFC 7296 section 3): bytes to payloads and back.
//!
//! Nothing here trusts a length: views are bounds-checked, counts are limited, and no length from
//! the wire decides how much is allocated.

pub mod number;
mod proposal;
mod selector;
mod write;

pub use proposal::{MOST_PROPOSALS, MOST_TRANSFORMS, Proposal, Transform};
pub use selector::{MOST_SELECTORS, Selector};
pub use write::{Chain, message};

use number::{exchange, payload};

/// Bytes of the header of a message.
pub const HEADER: usize = 28;
/// Payloads of a message at most.
pub const MOST_PAYLOADS: usize = 64;
/// Certificates of a message at most.
pub const MOST_CERTIFICATES: usize = 8;
/// Bytes of a nonce, at least and at most (section 3.9).
pub const NONCE: std::ops::RangeInclusive<usize> = 16..=256;

/// Defects of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Its length is not that of the datagram.
    Length,
    /// Its version is not 2.
    Version,
    /// A payload is cut off, or contradicts itself.
    Malformed,
    /// It has more payloads than a message may have here.
    TooMany,
    /// It has a payload of this kind, unknown and critical.
    Critical(u8),
}

/// Flags of a header.
pub mod flag {
    /// The sender began the association.
    pub const INITIATOR: u8 = 0x08;
    /// The message is an answer.
    pub const RESPONSE: u8 = 0x20;
}

/// The header of a message (section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the association at who began it.
    pub spi_i: u64,
    /// Its number at the other end; 0 while there is none.
    pub spi_r: u64,
    /// Kind of the first payload.
    pub next: u8,
    /// The exchange, one of [`exchange`].
    pub exchange: u8,
    /// Flags.
    pub flags: u8,
    /// Number of the request.
    pub id: u32,
}

impl Header {
    /// Whether this is an answer.
    pub fn is_response(&self) -> bool {
        self.flags & flag::RESPONSE != 0
    }
    /// Whether its sender says that it began the association.
    pub fn is_from_initiator(&self) -> bool {
        self.flags & flag::INITIATOR != 0
    }
    /// Reads the header of a message that fills a datagram.
    ///
    /// # Errors
    /// [`Flaw::Length`], [`Flaw::Version`].
    pub fn read(bytes: &[u8]) -> Result<Self, Flaw> {
        let header = bytes.first_chunk::<HEADER>().ok_or(Flaw::Length)?;
        let u64_at = |at: usize| {
            header[at..at + 8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let u32_at = |at: usize| {
            header[at..at + 4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
        };
        if u32_at(24) as usize != bytes.len() {
            return Err(Flaw::Length);
        }
        if header[17] >> 4 != 2 {
            return Err(Flaw::Version);
        }
        Ok(Self {
            spi_i: u64_at(0),
            spi_r: u64_at(8),
            next: header[16],
            exchange: header[18],
            flags: header[19],
            id: u32_at(20),
        })
    }
}

/// A payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Its kind, one of [`payload`].
    pub kind: u8,
    /// Whoever does not know it must refuse the message.
    pub is_critical: bool,
    /// Kind of the one behind it.
    pub next: u8,
    /// Its content.
    pub body: &'a [u8],
}

/// The payloads in some bytes, one after the other.
#[derive(Clone, Debug)]
pub struct Payloads<'a> {
    next: u8,
    rest: &'a [u8],
    count: usize,
}

impl<'a> Payloads<'a> {
    /// The payloads in `bytes`, of which the first has kind `first`.
    pub fn new(first: u8, bytes: &'a [u8]) -> Self {
        Self { next: first, rest: bytes, count: 0 }
    }
    fn take(&mut self) -> Result<Payload<'a>, Flaw> {
        self.count += 1;
        if self.count > MOST_PAYLOADS {
            return Err(Flaw::TooMany);
        }
        let (header, _) = self.rest.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let body = self.rest.get(4..len).ok_or(Flaw::Malformed)?;
        let found =
            Payload { kind: self.next, is_critical: header[1] & 0x80 != 0, next: header[0], body };
        self.rest = &self.rest[len..];
        // What is sealed is the last one: its header names what is inside.
        let is_sealed = matches!(found.kind, payload::SEALED | payload::FRAGMENT);
        self.next = if is_sealed { payload::NONE } else { found.next };
        Ok(found)
    }
}

impl<'a> Iterator for Payloads<'a> {
    type Item = Result<Payload<'a>, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == payload::NONE {
            let left = std::mem::take(&mut self.rest);
            return (!left.is_empty()).then_some(Err(Flaw::Malformed));
        }
        let taken = self.take();
        if taken.is_err() {
            (self.next, self.rest) = (payload::NONE, &[]);
        }
        Some(taken)
    }
}

/// Looks at the header and the chain of payloads of a message; allocates nothing.
///
/// # Errors
/// [`Flaw`].
pub fn check(bytes: &[u8]) -> Result<Header, Flaw> {
    let header = Header::read(bytes)?;
    let mut payloads = Payloads::new(header.next, &bytes[HEADER..]);
    payloads.try_for_each(|payload| payload.map(drop))?;
    Ok(header)
}

/// Identity of an end (section 3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id {
    /// Its type.
    pub kind: u8,
    /// Its data.
    pub data: Vec<u8>,
}

impl Id {
    fn read(body: &[u8]) -> Result<Self, Flaw> {
        let (header, data) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
        Ok(Self { kind: header[0], data: data.to_vec() })
    }
    /// Its payload, which is also what is signed of it.
    pub fn body(&self) -> Vec<u8> {
        [&[self.kind, 0, 0, 0], &self.data[..]].concat()
    }
}

/// A public value of a key exchange (section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyExchange<'a> {
    /// The group.
    pub group: u16,
    /// The value.
    pub public: &'a [u8],
}

/// A proof of identity (section 3.8), or a certificate (section 3.6): a type and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typed<'a> {
    /// The method, or the encoding.
    pub kind: u8,
    /// The data.
    pub data: &'a [u8],
}

/// A notification (section 3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notify<'a> {
    /// The protocol of the association that it is about; 0 for none.
    pub protocol: u8,
    /// The number of that association.
    pub spi: &'a [u8],
    /// Its type, one of [`number::notify`].
    pub kind: u16,
    /// Its data.
    pub data: &'a [u8],
}

impl<'a> Notify<'a> {
    fn read(body: &'a [u8]) -> Result<Self, Flaw> {
        let (header, rest) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
        let (spi, data) = rest.split_at_checked(header[1].into()).ok_or(Flaw::Malformed)?;
        let kind = u16::from_be_bytes([header[2], header[3]]);
        Ok(Self { protocol: header[0], spi, kind, data })
    }
}

/// Associations that the sender has deleted (section 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delete<'a> {
    /// Their protocol.
    pub protocol: u8,
    /// Their numbers, 4 bytes each.
    pub spis: &'a [u8],
}

impl<'a> Delete<'a> {
    fn read(body: &'a [u8]) -> Result<Self, Flaw> {
        let (header, spis) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
        let count = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let size = usize::from(header[1]);
        if count * size != spis.len() || (header[0] != number::protocol::IKE && size != 4) {
            return Err(Flaw::Malformed);
        }
        Ok(Self { protocol: header[0], spis })
    }
    /// The numbers, one by one.
    pub fn each(&self) -> impl Iterator<Item = u32> + 'a {
        let spis = self.spis.as_chunks::<4>().0.iter();
        spis.map(|spi| u32::from_be_bytes(*spi))
    }
}

/// The part of a message that is sealed (section 3.14), or of a part of it (RFC 7383).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Kind of the first payload inside.
    pub first: u8,
    /// Number of this part, and how many there are.
    pub part: Option<(u16, u16)>,
    /// The bytes sealed, with initialization vector and check value.
    pub bytes: &'a [u8],
}

/// The payloads of a message, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content<'a> {
    /// Proposals.
    pub proposals: Option<Vec<Proposal>>,
    /// Public value.
    pub key_exchange: Option<KeyExchange<'a>>,
    /// Nonce.
    pub nonce: Option<&'a [u8]>,
    /// Identity of who began.
    pub id_i: Option<Id>,
    /// Identity of the other end.
    pub id_r: Option<Id>,
    /// Proof of identity.
    pub auth: Option<Typed<'a>>,
    /// Certificates, that of the sender first.
    pub certificates: Vec<Typed<'a>>,
    /// Whether certificates are asked for.
    pub wants_certificate: bool,
    /// Traffic of who began.
    pub ts_i: Option<Vec<Selector>>,
    /// Traffic of the other end.
    pub ts_r: Option<Vec<Selector>>,
    /// Notifications.
    pub notifies: Vec<Notify<'a>>,
    /// Deletions.
    pub deletes: Vec<Delete<'a>>,
    /// The sealed part.
    pub sealed: Option<Sealed<'a>>,
}

/// Keeps the first of its kind.
fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Flaw> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Flaw::Malformed),
    }
}

impl<'a> Content<'a> {
    /// Sorts the payloads in some bytes, of which the first has kind `first`.
    ///
    /// # Errors
    /// [`Flaw`].
    pub fn read(first: u8, bytes: &'a [u8]) -> Result<Self, Flaw> {
        let mut content = Self::default();
        let mut flaw = Ok(());
        for found in Payloads::new(first, bytes) {
            let found = found?;
            // Some peers announce proposals one payload too early: of several payloads that which
            // can be read counts.
            if found.kind == payload::SA {
                match Proposal::read_all(found.body) {
                    Ok(proposals) => content.proposals = Some(proposals),
                    Err(why) => flaw = Err(why),
                }
                continue;
            }
            content.take(found)?;
        }
        if content.proposals.is_none() {
            flaw?;
        }
        Ok(content)
    }
    fn take(&mut self, found: Payload<'a>) -> Result<(), Flaw> {
        let body = found.body;
        match found.kind {
            payload::KEY_EXCHANGE => {
                let (header, public) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
                let group = u16::from_be_bytes([header[0], header[1]]);
                once(&mut self.key_exchange, KeyExchange { group, public })
            }
            payload::NONCE if NONCE.contains(&body.len()) => once(&mut self.nonce, body),
            payload::NONCE => Err(Flaw::Malformed),
            payload::ID_I => once(&mut self.id_i, Id::read(body)?),
            payload::ID_R => once(&mut self.id_r, Id::read(body)?),
            payload::AUTH => {
                let (header, data) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
                once(&mut self.auth, Typed { kind: header[0], data })
            }
            payload::CERTIFICATE if self.certificates.len() < MOST_CERTIFICATES => {
                let (kind, data) = body.split_first().ok_or(Flaw::Malformed)?;
                self.certificates.push(Typed { kind: *kind, data });
                Ok(())
            }
            payload::CERTIFICATE => Err(Flaw::TooMany),
            payload::CERTIFICATE_REQUEST => {
                self.wants_certificate = true;
                Ok(())
            }
            payload::TS_I => once(&mut self.ts_i, Selector::read_all(body)?),
            payload::TS_R => once(&mut self.ts_r, Selector::read_all(body)?),
            payload::NOTIFY => {
                self.notifies.push(Notify::read(body)?);
                Ok(())
            }
            payload::DELETE => {
                self.deletes.push(Delete::read(body)?);
                Ok(())
            }
            payload::SEALED => {
                once(&mut self.sealed, Sealed { first: found.next, part: None, bytes: body })
            }
            payload::FRAGMENT => {
                let (numbers, bytes) = body.split_first_chunk::<4>().ok_or(Flaw::Malformed)?;
                let number = u16::from_be_bytes([numbers[0], numbers[1]]);
                let count = u16::from_be_bytes([numbers[2], numbers[3]]);
                let part = Some((number, count));
                once(&mut self.sealed, Sealed { first: found.next, part, bytes })
            }
            payload::VENDOR | payload::CONFIGURATION | payload::EAP => Ok(()),
            kind if found.is_critical => Err(Flaw::Critical(kind)),
            _ => Ok(()),
        }
    }
    /// The first notification of a type.
    pub fn notify(&self, kind: u16) -> Option<&Notify<'a>> {
        self.notifies.iter().find(|n| n.kind == kind)
    }
    /// The first notification that says why a request is refused (below 16384).
    pub fn error(&self) -> Option<&Notify<'a>> {
        self.notifies.iter().find(|n| n.kind < number::notify::FIRST_STATUS)
    }
}

/// Whether this is a request that begins an association.
pub fn begins(header: &Header) -> bool {
    header.exchange == exchange::IKE_SA_INIT && !header.is_response()
}

#[cfg(test)]
mod tests;
