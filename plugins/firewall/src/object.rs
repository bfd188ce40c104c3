//! Objects that rules name: addresses and services, and groups of them.
//!
//! A group is an object with other objects among its members. An object exists before it is named,
//! and stays while it is.

use std::str::FromStr;

use net::prelude::*;

use super::Error;

/// Objects of a kind at most.
pub const MOST_OBJECTS: usize = 4096;
/// Members of an object, or of a part of a rule, at most.
pub const MOST_MEMBERS: usize = 1024;
/// Characters of a name at most.
pub const LONGEST_NAME: usize = 63;

/// Words that stand for something else where names may stand.
const TAKEN: [&str; 17] = [
    "any",
    "del",
    "from",
    "to",
    "service",
    "log",
    "permit",
    "reject",
    "drop",
    "default",
    "limit",
    "description",
    "intra-zone",
    "zone",
    "members",
    "none",
    "before",
];

/// A name of a zone or an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Error;
    fn from_str(word: &str) -> Result<Self, Error> {
        let is_good = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let is_word =
            word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(is_good);
        if !is_word || word.len() > LONGEST_NAME || TAKEN.contains(&word) {
            return Err(Error::BadName);
        }
        Ok(Self(word.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// An address or a range of them, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Whether they are of IPv6.
    pub is_6: bool,
    /// The first, as a number.
    pub first: u128,
    /// Last.
    pub last: u128,
}

impl Span {
    /// All addresses of a version.
    pub fn all(is_6: bool) -> Self {
        Self { is_6, first: 0, last: if is_6 { u128::MAX } else { u32::MAX.into() } }
    }
    /// The prefixes that make it up.
    pub fn prefixes(&self) -> Vec<Prefix> {
        let bits: u32 = if self.is_6 { 128 } else { 32 };
        let (mut out, mut at) = (Vec::new(), self.first);
        loop {
            let left = self.last - at;
            // The largest block that begins here and does not end behind the last one.
            let aligned = if at == 0 { bits } else { at.trailing_zeros().min(bits) };
            let fits = match left.checked_add(1) {
                Some(count) => 127 - count.leading_zeros(),
                None => 128,
            };
            let size = aligned.min(fits);
            let prefix = Prefix::new(address(at, self.is_6), (bits - size) as u8);
            out.push(prefix.expect("a block of a version has bits of that version"));
            let step = 1u128.checked_shl(size).unwrap_or(0);
            match at.checked_add(step) {
                Some(next) if step != 0 && next <= self.last => at = next,
                _ => return out,
            }
        }
    }
}

/// An address from its number.
fn address(number: u128, is_6: bool) -> IpAddr {
    if is_6 { IpAddr::V6(number.into()) } else { IpAddr::V4((number as u32).into()) }
}

/// The number of an address.
pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => a.to_bits().into(),
        IpAddr::V6(a) => a.to_bits(),
    }
}

/// A member that can be read from a word, and is not a name.
pub trait Plain: Clone + PartialEq + fmt::Debug + fmt::Display + FromStr {}

/// A part of a rule or of an object: a value, or the name of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member<T> {
    /// A value.
    Is(T),
    /// All of an object.
    Named(Name),
}

impl<T: Plain> FromStr for Member<T> {
    type Err = Error;
    fn from_str(word: &str) -> Result<Self, Error> {
        match word.parse() {
            Ok(value) => Ok(Self::Is(value)),
            Err(_) => Ok(Self::Named(word.parse()?)),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Member<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => value.fmt(f),
            Self::Named(name) => name.fmt(f),
        }
    }
}

/// Addresses: a prefix or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// A prefix; an address is one of full length.
    Prefix(Prefix),
    /// A range, both ends included.
    Range(IpAddr, IpAddr),
}

impl Plain for Addresses {}

impl Addresses {
    /// As numbers.
    pub fn span(&self) -> Span {
        match self {
            Self::Prefix(prefix) => {
                let bits = if prefix.addr().is_ipv6() { 128 } else { 32 };
                let free = bits - u32::from(prefix.prefix_len());
                let first = number(prefix.addr());
                let rest = 1u128.checked_shl(free).map_or(u128::MAX, |size| size - 1);
                Span { is_6: prefix.addr().is_ipv6(), first, last: first | rest }
            }
            Self::Range(first, last) => {
                Span { is_6: first.is_ipv6(), first: number(*first), last: number(*last) }
            }
        }
    }
}

impl FromStr for Addresses {
    type Err = Error;
    fn from_str(word: &str) -> Result<Self, Error> {
        if let Some((first, last)) = word.split_once('-') {
            let (Ok(first), Ok(last)) = (first.parse::<IpAddr>(), last.parse::<IpAddr>()) else {
                return Err(Error::BadAddress);
            };
            if first.is_ipv4() != last.is_ipv4() || number(first) > number(last) {
                return Err(Error::BadAddress);
            }
            return Ok(Self::Range(first, last));
        }
        let alone = word.parse::<IpAddr>().ok();
        let alone = alone.and_then(|a| Prefix::new(a, if a.is_ipv6() { 128 } else { 32 }).ok());
        let prefix = alone.or_else(|| word.parse::<Prefix>().ok()).ok_or(Error::BadAddress)?;
        if prefix.network() != prefix {
            return Err(Error::HostBits);
        }
        Ok(Self::Prefix(prefix))
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => prefix.fmt(f),
            Self::Range(first, last) => write!(f, "{first}-{last}"),
        }
    }
}

/// A range of ports, types or codes, both ends included.
pub type Range = (u16, u16);
/// All of them.
pub const ALL: Range = (0, u16::MAX);

/// A service: a protocol, with ports or with types and codes of ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The protocol; 0 for all.
    pub protocol: u8,
    /// Source ports, or types of ICMP.
    pub first: Range,
    /// Destination ports, or codes of ICMP.
    pub second: Range,
}

impl Plain for Service {}

impl Service {
    /// All packets.
    pub const ANY: Self = Self { protocol: 0, first: ALL, second: ALL };

    /// Whether packets of a version of IP can be of it.
    pub fn is_of(&self, is_6: bool) -> bool {
        match Protocol(self.protocol) {
            Protocol::ICMP => !is_6,
            Protocol::ICMP6 => is_6,
            _ => true,
        }
    }
    fn is_icmp(&self) -> bool {
        matches!(Protocol(self.protocol), Protocol::ICMP | Protocol::ICMP6)
    }
}

/// Protocols with names of their own.
const PROTOCOLS: [(&str, u8); 8] = [
    ("tcp", 6),
    ("udp", 17),
    ("sctp", 132),
    ("icmp", 1),
    ("icmp6", 58),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
];

fn range(word: &str, most: u16) -> Option<Range> {
    let (low, high) = word.split_once('-').unwrap_or((word, word));
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high && high <= most).then_some((low, high))
}

impl FromStr for Service {
    type Err = Error;
    /// `tcp`, `udp/53`, `tcp/80-90:1024-65535` (destination, then source ports), `icmp/8`,
    /// `icmp/3:4` (type, then code), `protocol/89`.
    fn from_str(word: &str) -> Result<Self, Error> {
        let (name, rest) = match word.split_once('/') {
            Some((name, rest)) => (name, Some(rest)),
            None => (word, None),
        };
        if name == "protocol" {
            let number = rest.and_then(|rest| rest.parse().ok()).filter(|n| *n > 0);
            let protocol = number.ok_or(Error::BadService)?;
            return Ok(Self { protocol, ..Self::ANY });
        }
        let known = PROTOCOLS.iter().find(|(known, _)| *known == name);
        let protocol = known.ok_or(Error::BadService)?.1;
        let mut service = Self { protocol, ..Self::ANY };
        let Some(rest) = rest else { return Ok(service) };
        let (one, other) = match rest.split_once(':') {
            Some((one, other)) => (one, Some(other)),
            None => (rest, None),
        };
        let most = if service.is_icmp() { u8::MAX.into() } else { u16::MAX };
        let one = range(one, most).ok_or(Error::BadService)?;
        let other = other.map(|other| range(other, most).ok_or(Error::BadService)).transpose()?;
        if service.is_icmp() {
            (service.first, service.second) = (one, other.unwrap_or(ALL));
        } else if Protocol(protocol).has_ports() {
            (service.first, service.second) = (other.unwrap_or(ALL), one);
        } else {
            return Err(Error::BadService);
        }
        Ok(service)
    }
}

fn write_range(f: &mut fmt::Formatter<'_>, sign: char, (low, high): Range) -> fmt::Result {
    if low == high { write!(f, "{sign}{low}") } else { write!(f, "{sign}{low}-{high}") }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match PROTOCOLS.iter().find(|(_, number)| *number == self.protocol) {
            Some((name, _)) => f.write_str(name)?,
            None => return write!(f, "protocol/{}", self.protocol),
        }
        let (one, other) =
            if self.is_icmp() { (self.first, self.second) } else { (self.second, self.first) };
        if one != ALL || other != ALL {
            write_range(f, '/', one)?;
        }
        if other != ALL {
            write_range(f, ':', other)?;
        }
        Ok(())
    }
}

/// Objects of a kind.
#[derive(Clone, Debug)]
pub struct Objects<T>(BTreeMap<Name, Vec<Member<T>>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Plain> Objects<T> {
    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Vec<Member<T>>)> {
        self.0.iter()
    }
    /// The members of one.
    pub fn at(&self, name: &Name) -> Option<&Vec<Member<T>>> {
        self.0.get(name)
    }
    /// Names of all, those that others have as members first.
    pub fn in_order(&self) -> Vec<&Name> {
        let mut order = Vec::new();
        self.0.keys().for_each(|name| self.put_in_order(name, &mut order));
        order
    }
    fn put_in_order<'s>(&'s self, name: &'s Name, order: &mut Vec<&'s Name>) {
        if order.contains(&name) {
            return;
        }
        for member in self.0.get(name).into_iter().flatten() {
            if let Member::Named(inner) = member {
                self.put_in_order(inner, order);
            }
        }
        order.push(name);
    }
    /// Makes an object, or gives it other members.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn put(&mut self, name: &Name, members: Vec<Member<T>>) -> Result<(), Error> {
        if members.is_empty() {
            return Err(Error::NoMembers);
        }
        if name.as_str().parse::<T>().is_ok() {
            return Err(Error::BadName);
        }
        if self.0.len() >= MOST_OBJECTS && !self.0.contains_key(name) {
            return Err(Error::TooManyObjects);
        }
        self.check(&members)?;
        if members.iter().any(|member| self.leads_to(member, name)) {
            return Err(Error::Circle(name.clone()));
        }
        self.0.insert(name.clone(), members);
        Ok(())
    }
    /// Checks members of something.
    pub(super) fn check(&self, members: &[Member<T>]) -> Result<(), Error> {
        if members.len() > MOST_MEMBERS {
            return Err(Error::TooManyMembers);
        }
        for member in members {
            if let Member::Named(name) = member
                && !self.0.contains_key(name)
            {
                return Err(Error::NoObject(name.clone()));
            }
        }
        Ok(())
    }
    /// Whether an object is, or is within, a member.
    pub fn leads_to(&self, member: &Member<T>, name: &Name) -> bool {
        let Member::Named(own) = member else { return false };
        let mut inner = self.0.get(own).into_iter().flatten();
        own == name || inner.any(|member| self.leads_to(member, name))
    }
    /// Deletes an object that no other has as a member.
    pub(super) fn remove(&mut self, name: &Name) -> Result<(), Error> {
        let is_used = |members: &Vec<Member<T>>| members.contains(&Member::Named(name.clone()));
        if !self.0.contains_key(name) {
            return Err(Error::NoObject(name.clone()));
        }
        if self.0.values().any(is_used) {
            return Err(Error::ObjectInUse(name.clone()));
        }
        self.0.remove(name);
        Ok(())
    }
    /// The values that members stand for, each once, at most so many.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(super) fn resolve(&self, members: &[Member<T>], most: usize) -> Result<Vec<T>, Error> {
        let (mut values, mut met) = (Vec::new(), Vec::new());
        self.resolve_into(members, most, &mut values, &mut met)?;
        Ok(values)
    }
    fn resolve_into<'s>(
        &'s self,
        members: &'s [Member<T>],
        most: usize,
        values: &mut Vec<T>,
        met: &mut Vec<&'s Name>,
    ) -> Result<(), Error> {
        for member in members {
            match member {
                Member::Is(value) => values.push(value.clone()),
                // What is in several groups counts once.
                Member::Named(name) if met.contains(&name) => {}
                Member::Named(name) => {
                    met.push(name);
                    let inner = self.0.get(name).map_or(&[][..], Vec::as_slice);
                    self.resolve_into(inner, most, values, met)?;
                }
            }
            if values.len() > most {
                return Err(Error::TooLarge);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for word in ["tcp", "udp/53", "tcp/80-90:1024-65535", "icmp/8", "icmp/3:4", "icmp6/128-129"]
        {
            assert_eq!(word.parse::<Service>().unwrap().to_string(), word);
        }
        for word in ["", "tcp/", "tcp/9-8", "icmp/256", "protocol/0", "protocol/256", "gre/1", "x"]
        {
            assert_eq!(word.parse::<Service>(), Err(Error::BadService), "{word}");
        }
        assert_eq!("protocol/47".parse::<Service>().unwrap().to_string(), "gre");
        assert_eq!("10.0.0.1/8".parse::<Addresses>(), Err(Error::HostBits));
        for word in ["10.0.0.9-10.0.0.1", "10.0.0.1-::1", "any"] {
            assert_eq!(word.parse::<Addresses>(), Err(Error::BadAddress), "{word}");
        }
        for word in ["1x", "", "a b", "drop", "über"] {
            assert_eq!(word.parse::<Name>(), Err(Error::BadName), "{word}");
        }
    }

    #[test]
    fn a_range_is_made_of_prefixes_that_are_just_it() {
        for word in [
            "10.0.0.1-10.0.0.6",
            "0.0.0.0-255.255.255.255",
            "::1-::ffff",
            "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            let span = word.parse::<Addresses>().unwrap().span();
            let mut next = Some(span.first);
            for prefix in span.prefixes() {
                let part = Addresses::Prefix(prefix).span();
                assert_eq!(Some(part.first), next, "{word}");
                next = part.last.checked_add(1);
            }
            assert_eq!(next, span.last.checked_add(1), "{word}");
        }
    }

    #[test]
    fn groups_hold_each_object_once_and_not_themselves() {
        let mut all = Objects::<Addresses>::default();
        let name = |n: &str| n.parse::<Name>().unwrap();
        let member = |m: &str| m.parse::<Member<Addresses>>().unwrap();
        all.put(&name("a"), vec![member("10.0.0.0/8")]).unwrap();
        all.put(&name("b"), vec![member("a"), member("192.0.2.1")]).unwrap();
        all.put(&name("c"), vec![member("a"), member("b")]).unwrap();
        assert_eq!(all.resolve(&[member("c")], 9).unwrap().len(), 2);
        assert_eq!(all.put(&name("a"), vec![member("c")]), Err(Error::Circle(name("a"))));
        assert_eq!(all.put(&name("d"), vec![member("e")]), Err(Error::NoObject(name("e"))));
        assert_eq!(all.remove(&name("a")), Err(Error::ObjectInUse(name("a"))));
        assert_eq!(all.resolve(&[member("c")], 1), Err(Error::TooLarge));
        all.remove(&name("c")).unwrap();
    }
}
