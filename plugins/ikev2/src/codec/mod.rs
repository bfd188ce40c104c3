//! Codec for IKEv2 messages (RFC 7296 section 3).
//!
//! Nothing here trusts a length: views are bounds-checked, counts are limited, and no length from
//! the wire decides how much is allocated.

pub mod number;
mod proposal;
pub mod selector;
mod write;

pub use proposal::{MOST_PROPOSALS, MOST_TRANSFORMS, Proposal, Transform};
pub use selector::{MOST_SELECTORS, Selector};
pub use write::{Chain, message};

use number::{exchange, payload};

/// Length of the message header in bytes.
pub const HEADER: usize = 28;
/// Limit of payloads in a message.
pub const MOST_PAYLOADS: usize = 64;
/// Limit of certificates in a message.
pub const MOST_CERTIFICATES: usize = 8;
/// Allowed nonce lengths in bytes (section 3.9).
pub const NONCE: std::ops::RangeInclusive<usize> = 16..=256;

/// Defects of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The length field differs from the datagram's length.
    Length,
    /// The version is not 2.
    Version,
    /// A payload is truncated or inconsistent.
    Malformed,
    /// The message has more than [`MOST_PAYLOADS`] payloads.
    TooMany,
    /// A payload of this unknown type is marked critical.
    Critical(u8),
}

/// Header flags.
pub mod flag {
    /// The sender initiated the association.
    pub const INITIATOR: u8 = 0x08;
    /// The message is a response.
    pub const RESPONSE: u8 = 0x20;
}

/// The header of a message (section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// SPI of the initiator.
    pub spi_i: u64,
    /// SPI of the responder; 0 in the first request.
    pub spi_r: u64,
    /// Type of the first payload.
    pub next: u8,
    /// The exchange, one of [`exchange`].
    pub exchange: u8,
    /// Flags.
    pub flags: u8,
    /// Message ID.
    pub id: u32,
}

impl Header {
    /// Whether this is a response.
    pub fn is_response(&self) -> bool {
        self.flags & flag::RESPONSE != 0
    }
    /// Whether the sender claims to be the initiator of the association.
    pub fn is_from_initiator(&self) -> bool {
        self.flags & flag::INITIATOR != 0
    }
    /// Parses the header of a message that fills the whole datagram.
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
    /// Its type, one of [`payload`].
    pub kind: u8,
    /// A receiver that does not support the payload must reject the message.
    pub is_critical: bool,
    /// Type of the following payload.
    pub next: u8,
    /// Its content.
    pub body: &'a [u8],
}

/// Iterator over the payloads in a byte string.
#[derive(Clone, Debug)]
pub struct Payloads<'a> {
    next: u8,
    rest: &'a [u8],
    count: usize,
}

impl<'a> Payloads<'a> {
    /// Iterates over the payloads in `bytes`; `first` is the type of the first one.
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
        // An encrypted payload is always the last; its header names the first payload inside.
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

/// Validates the header and the payload chain of a message, without allocating.
///
/// # Errors
/// [`Flaw`].
pub fn check(bytes: &[u8]) -> Result<Header, Flaw> {
    let header = Header::read(bytes)?;
    let mut payloads = Payloads::new(header.next, &bytes[HEADER..]);
    payloads.try_for_each(|payload| payload.map(drop))?;
    Ok(header)
}

/// Identity of a peer (section 3.5).
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
    /// Body of the identification payload; this is also the signed part.
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

/// Authentication data (section 3.8) or a certificate (section 3.6): a type and its data.
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
    /// Protocol of the SA that the notification is about; 0 for none.
    pub protocol: u8,
    /// SPI of that SA.
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

/// SAs that the sender has deleted (section 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delete<'a> {
    /// Protocol of the SAs.
    pub protocol: u8,
    /// SPIs, 4 bytes each.
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
    /// Iterates over the SPIs.
    pub fn each(&self) -> impl Iterator<Item = u32> + 'a {
        let spis = self.spis.as_chunks::<4>().0.iter();
        spis.map(|spi| u32::from_be_bytes(*spi))
    }
}

/// Encrypted payload of a message (section 3.14) or of a message fragment (RFC 7383).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Type of the first payload inside.
    pub first: u8,
    /// Fragment number and total number of fragments.
    pub part: Option<(u16, u16)>,
    /// Ciphertext with initialization vector and integrity check value.
    pub bytes: &'a [u8],
}

/// The payloads of a message by type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content<'a> {
    /// Proposals.
    pub proposals: Option<Vec<Proposal>>,
    /// Public value.
    pub key_exchange: Option<KeyExchange<'a>>,
    /// Nonce.
    pub nonce: Option<&'a [u8]>,
    /// Identity of the initiator.
    pub id_i: Option<Id>,
    /// Identity of the responder.
    pub id_r: Option<Id>,
    /// Authentication.
    pub auth: Option<Typed<'a>>,
    /// Certificates; the sender's own is first.
    pub certificates: Vec<Typed<'a>>,
    /// Whether the sender requests certificates.
    pub wants_certificate: bool,
    /// Traffic selectors of the initiator.
    pub ts_i: Option<Vec<Selector>>,
    /// Traffic selectors of the responder.
    pub ts_r: Option<Vec<Selector>>,
    /// Notifications.
    pub notifies: Vec<Notify<'a>>,
    /// Deletions.
    pub deletes: Vec<Delete<'a>>,
    /// Encrypted payload.
    pub sealed: Option<Sealed<'a>>,
}

/// Stores a payload that may occur only once.
fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Flaw> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Flaw::Malformed),
    }
}

impl<'a> Content<'a> {
    /// Parses the payloads in `bytes`; `first` is the type of the first one.
    ///
    /// # Errors
    /// [`Flaw`].
    pub fn read(first: u8, bytes: &'a [u8]) -> Result<Self, Flaw> {
        let mut content = Self::default();
        let mut flaw = Ok(());
        for found in Payloads::new(first, bytes) {
            let found = found?;
            // Some peers name an SA payload one payload too early: the first that parses is used.
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
            payload::TS_I => once(&mut self.ts_i, selector::read_all(body)?),
            payload::TS_R => once(&mut self.ts_r, selector::read_all(body)?),
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
    /// The first notification of the given type.
    pub fn notify(&self, kind: u16) -> Option<&Notify<'a>> {
        self.notifies.iter().find(|n| n.kind == kind)
    }
    /// The first error notification (type below 16384).
    pub fn error(&self) -> Option<&Notify<'a>> {
        self.notifies.iter().find(|n| n.kind < number::notify::FIRST_STATUS)
    }
}

/// Whether this is the first request of an association (IKE_SA_INIT).
pub fn begins(header: &Header) -> bool {
    header.exchange == exchange::IKE_SA_INIT && !header.is_response()
}

#[cfg(test)]
mod tests;
