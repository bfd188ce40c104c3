//! Messages (RFC 1035 section 4): a header, questions, and records.
//!
//! Names are text in lower case without the last dot. A pointer leads towards the front of the
//! message only, so that no name leads in a circle.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest name as text (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 253;
/// Longest label of a name.
const LONGEST_LABEL: usize = 63;
/// Bytes of a header.
pub const HEADER: usize = 12;
/// The class of the Internet.
const INTERNET: u16 = 1;
/// Most records of an answer that are looked at.
const MOST_RECORDS: usize = 64;

/// Bits of the second word of a header.
pub mod flag {
    /// A response.
    pub const RESPONSE: u16 = 0x8000;
    /// The kind of request.
    pub const OPCODE: u16 = 0x7800;
    /// The answer was cut.
    pub const TRUNCATED: u16 = 0x0200;
    /// The resolver is to ask others.
    pub const RECURSION_DESIRED: u16 = 0x0100;
    /// The resolver asks others.
    pub const RECURSION_AVAILABLE: u16 = 0x0080;
    /// The result.
    pub const CODE: u16 = 0x000f;
}

/// Results (RFC 1035 section 4.1.1).
pub mod code {
    /// Done.
    pub const NONE: u8 = 0;
    /// The resolver cannot say.
    pub const SERVER_FAILURE: u8 = 2;
    /// There is no such name.
    pub const NO_NAME: u8 = 3;
    /// The resolver does not do that.
    pub const NOT_IMPLEMENTED: u8 = 4;
}

/// Types of records.
pub mod kind {
    /// An IPv4 address.
    pub const A: u16 = 1;
    /// Another name.
    pub const CNAME: u16 = 5;
    /// Start of authority, with the TTL of negative answers.
    pub const SOA: u16 = 6;
    /// A name for an address.
    pub const PTR: u16 = 12;
    /// An IPv6 address.
    pub const AAAA: u16 = 28;
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Question {
    /// Name.
    pub name: String,
    /// The type of records.
    pub kind: u16,
}

/// Data of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// An address.
    Addr(IpAddr),
    /// Another name, of [`kind::CNAME`].
    Alias(String),
    /// A name, of [`kind::PTR`].
    Name(String),
    /// Of another type: its bytes, without names that point elsewhere.
    Other(u16, Vec<u8>),
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Name.
    pub name: String,
    /// Seconds for which it is good.
    pub ttl: u32,
    /// Its data.
    pub data: Data,
}

impl Record {
    fn kind(&self) -> u16 {
        match &self.data {
            Data::Addr(IpAddr::V4(_)) => kind::A,
            Data::Addr(IpAddr::V6(_)) => kind::AAAA,
            Data::Alias(_) => kind::CNAME,
            Data::Name(_) => kind::PTR,
            Data::Other(kind, _) => *kind,
        }
    }
}

/// A message with one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Index.
    pub id: u16,
    /// [`flag`].
    pub flags: u16,
    /// The question.
    pub question: Question,
    /// Records of the answer.
    pub answers: Vec<Record>,
    /// Negative TTL in seconds.
    pub negative_ttl: Option<u32>,
}

/// Defects of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It has more than one question.
    Questions,
    /// Anything else.
    Other,
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The name at a place, and the place behind it.
fn name(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let (mut text, mut place, mut behind) = (String::new(), at, None);
    let mut least = at;
    loop {
        let len = *bytes.get(place)?;
        match len {
            0 => return Some((text, behind.unwrap_or(place + 1))),
            0xc0.. => {
                let to = usize::from(number(bytes, place)? & 0x3fff);
                behind = behind.or(Some(place + 2));
                if to >= least {
                    return None;
                }
                (least, place) = (to, to);
            }
            0x40.. => return None,
            len => {
                let label = bytes.get(place + 1..=place + usize::from(len))?;
                if !text.is_empty() {
                    text.push('.');
                }
                // A dot in a label would make it another name, and text is what is shown.
                let is_good = |byte: &u8| byte.is_ascii_graphic() && *byte != b'.';
                if !label.iter().all(is_good) || text.len() + label.len() > LONGEST_NAME {
                    return None;
                }
                text.extend(label.iter().map(|byte| byte.to_ascii_lowercase() as char));
                place += 1 + usize::from(len);
            }
        }
    }
}

/// Appends a name.
fn put_name(bytes: &mut Vec<u8>, name: &str) {
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
}

/// Checks a typed name; returns it in lower case and without the last dot.
pub fn checked(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= LONGEST_LABEL
            && label.bytes().all(|c| c.is_ascii_graphic())
    };
    let is_good = text.len() <= LONGEST_NAME && text.split('.').all(is_label);
    is_good.then(|| text.to_ascii_lowercase())
}

/// The name whose records say what an address is called (RFC 1035 section 3.5, RFC 3596 section
/// 2.5).
pub fn reverse(addr: IpAddr) -> String {
    match addr {
        IpAddr::V4(addr) => {
            let [a, b, c, d] = addr.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(addr) => {
            let digits = addr.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
            digits.map(|digit| format!("{digit:x}.")).collect::<String>() + "ip6.arpa"
        }
    }
}

/// The record at a place, and the place behind it.
fn record(bytes: &[u8], at: usize) -> Option<(Record, u16, usize)> {
    let (owner, at) = name(bytes, at)?;
    let (kind, class) = (number(bytes, at)?, number(bytes, at + 2)?);
    let ttl = u32::from_be_bytes(*bytes.get(at + 4..)?.first_chunk()?);
    let start = at + 10;
    let end = start + usize::from(number(bytes, at + 8)?);
    let value = bytes.get(start..end)?;
    let data = match kind {
        kind::A => Data::Addr(Ipv4Addr::from(<[u8; 4]>::try_from(value).ok()?).into()),
        kind::AAAA => Data::Addr(Ipv6Addr::from(<[u8; 16]>::try_from(value).ok()?).into()),
        kind::CNAME => Data::Alias(name(bytes, start)?.0),
        kind::PTR => Data::Name(name(bytes, start)?.0),
        _ => Data::Other(kind, value.to_vec()),
    };
    Some((Record { name: owner, ttl, data }, class, end))
}

/// The negative TTL of a start of authority at a place (RFC 2308 section 5).
fn negative_ttl(value: &[u8], ttl: u32) -> Option<u32> {
    let least = u32::from_be_bytes(*value.last_chunk()?);
    Some(least.min(ttl))
}

impl Message {
    /// Reads one.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let count = number(bytes, 4).ok_or(Malformed::Other)?;
        if bytes.len() < HEADER || count == 0 {
            return Err(Malformed::Other);
        }
        if count > 1 {
            return Err(Malformed::Questions);
        }
        Self::read_one(bytes).ok_or(Malformed::Other)
    }
    fn read_one(bytes: &[u8]) -> Option<Self> {
        let (id, flags) = (number(bytes, 0)?, number(bytes, 2)?);
        let (asked, at) = name(bytes, HEADER)?;
        let (kind, class) = (number(bytes, at)?, number(bytes, at + 2)?);
        if class != INTERNET {
            return None;
        }
        let question = Question { name: asked, kind };
        let mut this = Self { id, flags, question, answers: Vec::new(), negative_ttl: None };
        if flags & flag::RESPONSE == 0 {
            return Some(this);
        }
        let (count, zones) = (usize::from(number(bytes, 6)?), usize::from(number(bytes, 8)?));
        let mut at = at + 4;
        for index in 0..(count + zones).min(MOST_RECORDS) {
            let (record, class, behind) = record(bytes, at)?;
            at = behind;
            if class != INTERNET {
                continue;
            }
            match &record.data {
                Data::Other(kind::SOA, value) if index >= count => {
                    this.negative_ttl = negative_ttl(value, record.ttl);
                }
                // Those whose names point elsewhere cannot be repeated.
                Data::Other(..) => (),
                _ if index < count => this.answers.push(record),
                _ => (),
            }
        }
        Some(this)
    }
    /// Its bytes; one that is longer than `most` has no records and says so.
    pub fn bytes(&self, most: usize) -> Vec<u8> {
        let mut bytes = self.whole(self.flags, &self.answers);
        if bytes.len() > most {
            bytes = self.whole(self.flags | flag::TRUNCATED, &[]);
        }
        bytes
    }
    fn whole(&self, flags: u16, answers: &[Record]) -> Vec<u8> {
        let header = [self.id, flags, 1, answers.len() as u16, 0, 0];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(u16::to_be_bytes).collect();
        put_name(&mut bytes, &self.question.name);
        bytes.extend([self.question.kind, INTERNET].into_iter().flat_map(u16::to_be_bytes));
        for record in answers {
            put_name(&mut bytes, &record.name);
            bytes.extend([record.kind(), INTERNET].into_iter().flat_map(u16::to_be_bytes));
            bytes.extend(record.ttl.to_be_bytes());
            let mut value = Vec::new();
            match &record.data {
                Data::Addr(IpAddr::V4(addr)) => value.extend(addr.octets()),
                Data::Addr(IpAddr::V6(addr)) => value.extend(addr.octets()),
                Data::Alias(name) | Data::Name(name) => put_name(&mut value, name),
                Data::Other(_, other) => value.extend_from_slice(other),
            }
            bytes.extend((value.len() as u16).to_be_bytes());
            bytes.extend_from_slice(&value);
        }
        bytes
    }
}
