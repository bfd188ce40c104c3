//! The source deny list of a table: refuses connections of peers, by longest prefix match.

use std::collections::BTreeMap;

use net::fib::{Family, Ip4, Ip6, LpmWriter};
use wire::Prefix;

use super::error::Error;
use super::published::leaf;

/// Limit of deny rules in a table.
pub const MOST_SDL: usize = 1 << 20;

/// Action that refuses; all others permit.
pub const DENY: u32 = 0;

/// A rule in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SdlRule {
    /// [`DENY`], or any other number to permit.
    pub action: u32,
    /// The operator's tag.
    pub tag: String,
    /// Whether it was learned, and is not part of the configuration.
    pub is_learned: bool,
}

impl SdlRule {
    fn leaf(&self) -> u32 {
        if self.action == DENY { leaf::DENY } else { leaf::PASS }
    }
}

/// The list of one IP version.
pub(crate) struct Sources<F: Family> {
    rules: BTreeMap<(F::Bits, u8), SdlRule>,
    writer: F::LpmWriter,
}

impl<F: Family> Sources<F> {
    fn new() -> Result<Self, Error> {
        let writer = F::LpmWriter::new().map_err(|why| Error::Data(why.to_string()))?;
        Ok(Self { rules: BTreeMap::new(), writer })
    }
    fn key(prefix: &Prefix) -> Option<(F::Bits, u8)> {
        let len = prefix.prefix_len();
        Some((F::masked(F::bits(prefix.addr())?, len), len))
    }
    /// Adds a rule; returns whether readers need a new table.
    fn add(&mut self, key: (F::Bits, u8), rule: SdlRule) -> Result<bool, Error> {
        if self.rules.len() >= MOST_SDL && !self.rules.contains_key(&key) {
            return Err(Error::TooManySdl);
        }
        let leaf = rule.leaf();
        self.writer.insert(key.0, key.1, leaf).map_err(|_| Error::TooManySdl)?;
        self.rules.insert(key, rule);
        if !self.writer.is_outgrown() {
            return Ok(false);
        }
        let all = self.rules.iter().map(|((bits, len), rule)| (*bits, *len, rule.leaf()));
        // Without memory for the larger shape, the smaller one is kept.
        Ok(self.writer.grow(all).is_ok())
    }
    fn remove(&mut self, key: (F::Bits, u8)) -> bool {
        if self.rules.remove(&key).is_none() {
            return false;
        }
        let covers = (0..key.1).rev();
        let cover = covers.into_iter().find_map(|len| {
            let rule = self.rules.get(&(F::masked(key.0, len), len))?;
            Some((len, rule.leaf()))
        });
        self.writer.remove(key.0, key.1, cover);
        true
    }
    fn meets(&self, addr: F::Bits) -> Option<(Prefix, &SdlRule)> {
        (0..=F::BITS).rev().find_map(|len| {
            let key = (F::masked(addr, len), len);
            self.rules.get(&key).map(|rule| (F::prefix(key), rule))
        })
    }
    fn from(&self, after: Option<(F::Bits, u8)>) -> impl Iterator<Item = (Prefix, &SdlRule)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let begin = after.map_or(Unbounded, Excluded);
        self.rules.range((begin, Unbounded)).map(|(key, rule)| (F::prefix(*key), rule))
    }
    pub(crate) fn reader(&self) -> F::LpmReader {
        self.writer.reader()
    }
}

/// The list of a table.
pub(crate) enum DenyList {
    /// Of IPv4.
    V4(Sources<Ip4>),
    /// Of IPv6.
    V6(Sources<Ip6>),
}

/// Runs the same code for a list of either IP version.
macro_rules! with {
    ($list:expr, $sources:ident => $then:expr) => {
        match $list {
            DenyList::V4($sources) => $then,
            DenyList::V6($sources) => $then,
        }
    };
}

impl DenyList {
    /// Creates an empty list for an IP version.
    pub(crate) fn new(version: wire::IpVersion) -> Result<Self, Error> {
        Ok(match version {
            wire::IpVersion::V4 => Self::V4(Sources::new()?),
            wire::IpVersion::V6 => Self::V6(Sources::new()?),
        })
    }

    /// Number of rules.
    pub(crate) fn len(&self) -> usize {
        with!(self, sources => sources.rules.len())
    }

    /// A rule.
    pub(crate) fn get(&self, prefix: &Prefix) -> Option<&SdlRule> {
        match self {
            Self::V4(sources) => sources.rules.get(&Sources::<Ip4>::key(prefix)?),
            Self::V6(sources) => sources.rules.get(&Sources::<Ip6>::key(prefix)?),
        }
    }

    /// Adds or replaces a rule; returns whether readers need a new table.
    pub(crate) fn add(&mut self, prefix: &Prefix, rule: SdlRule) -> Result<bool, Error> {
        const VERSION: &str = "the list is of the version of the prefix";
        match self {
            Self::V4(sources) => sources.add(Sources::<Ip4>::key(prefix).expect(VERSION), rule),
            Self::V6(sources) => sources.add(Sources::<Ip6>::key(prefix).expect(VERSION), rule),
        }
    }

    /// Removes a rule; returns whether it existed.
    pub(crate) fn remove(&mut self, prefix: &Prefix) -> bool {
        match self {
            Self::V4(sources) => Sources::<Ip4>::key(prefix).is_some_and(|key| sources.remove(key)),
            Self::V6(sources) => Sources::<Ip6>::key(prefix).is_some_and(|key| sources.remove(key)),
        }
    }

    /// The rule that a peer matches.
    pub(crate) fn meets(&self, peer: std::net::IpAddr) -> Option<(Prefix, &SdlRule)> {
        match self {
            Self::V4(sources) => sources.meets(Ip4::bits(peer)?),
            Self::V6(sources) => sources.meets(Ip6::bits(peer)?),
        }
    }

    /// At most `count` rules after a prefix, in order.
    pub(crate) fn behind(&self, after: Option<&Prefix>, count: usize) -> Vec<(Prefix, &SdlRule)> {
        match self {
            Self::V4(sources) => {
                sources.from(after.and_then(Sources::<Ip4>::key)).take(count).collect()
            }
            Self::V6(sources) => {
                sources.from(after.and_then(Sources::<Ip6>::key)).take(count).collect()
            }
        }
    }
}
