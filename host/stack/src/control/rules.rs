//! Session rules of a table: allow or refuse connections, or redirect them to an application.
//!
//! The rule with the longest prefixes and most ports matches. A rule contained in another one has
//! more bits, so sorting by the number of bits puts it first. If neither contains the other, the
//! one with the longer local prefix is first, then the one with the smaller numeric value. The
//! result does not depend on the order of configuration.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use infra::table::rules::{Field, Pattern, Rules};
use wire::{IpVersion, Prefix};

use super::error::Error;
use super::published::{Filter, List, Transport, key4, key6};

/// Limit of rules in a table: compiling more would block the control thread for too long.
pub const MOST_RULES: usize = 1 << 12;

/// Action of the default rule: none.
pub const NONE: u32 = u32::MAX;
/// Action that refuses connections.
pub const DROP: u32 = u32::MAX - 1;
/// Action that allows connections.
pub const ALLOW: u32 = u32::MAX - 2;

/// The connections that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// Transport.
    pub transport: Transport,
    /// Local prefix.
    pub local: Prefix,
    /// Remote prefix.
    pub remote: Prefix,
    /// Local and remote port; 0 for any.
    pub ports: [u16; 2],
}

/// The action of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// [`DROP`], [`ALLOW`], [`NONE`], or the number of an application.
    pub action: u32,
    /// The operator's tag.
    pub tag: String,
}

static FIELDS4: [Field; 4] = [
    Field { word: 0, shift: 32, bits: 32, step: 8 },
    Field { word: 0, shift: 0, bits: 32, step: 8 },
    Field { word: 1, shift: 16, bits: 16, step: 16 },
    Field { word: 1, shift: 0, bits: 16, step: 16 },
];

static FIELDS6: [Field; 6] = [
    Field { word: 0, shift: 0, bits: 64, step: 16 },
    Field { word: 1, shift: 0, bits: 64, step: 32 },
    Field { word: 2, shift: 0, bits: 64, step: 16 },
    Field { word: 3, shift: 0, bits: 64, step: 32 },
    Field { word: 4, shift: 16, bits: 16, step: 16 },
    Field { word: 4, shift: 0, bits: 16, step: 16 },
];

impl Match {
    /// Creates a match; host bits of the prefixes are cleared.
    ///
    /// # Errors
    /// [`Error::MixedVersions`].
    pub fn new(
        transport: Transport,
        [local, remote]: [Prefix; 2],
        ports: [u16; 2],
    ) -> Result<Self, Error> {
        if IpVersion::from(local) != IpVersion::from(remote) {
            return Err(Error::MixedVersions);
        }
        Ok(Self { transport, local: local.network(), remote: remote.network(), ports })
    }

    /// Matches all connections of an IP version and transport.
    pub fn any(version: IpVersion, transport: Transport) -> Self {
        let all = match version {
            IpVersion::V4 => Prefix::new(IpAddr::from([0; 4]), 0),
            IpVersion::V6 => Prefix::new(IpAddr::from([0; 16]), 0),
        };
        let all = all.expect("no bits are a prefix of all addresses");
        Self { transport, local: all, remote: all, ports: [0; 2] }
    }

    /// IP version.
    pub fn version(&self) -> IpVersion {
        self.local.into()
    }

    /// Number of compared bits.
    fn bits(&self) -> u32 {
        let ports = self.ports.iter().filter(|port| **port != 0).count() as u32 * 16;
        u32::from(self.local.prefix_len()) + u32::from(self.remote.prefix_len()) + ports
    }

    fn place(&self) -> impl Ord {
        (Reverse((self.bits(), self.local.prefix_len(), self.ports[0] != 0)), *self)
    }

    fn ranges(&self) -> [(u16, u16); 2] {
        self.ports.map(|port| if port == 0 { (0, u16::MAX) } else { (port, port) })
    }

    fn pattern4(&self) -> Pattern<2> {
        let bits = |prefix: Prefix| match (prefix.addr(), prefix.prefix_len()) {
            (IpAddr::V4(addr), len) => {
                (addr.to_bits(), u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0))
            }
            _ => (0, 0),
        };
        let ((local, mask), (remote, remote_mask)) = (bits(self.local), bits(self.remote));
        let (mask, value) = (key4(mask, remote_mask, [0; 2]), key4(local, remote, [0; 2]));
        Pattern { mask, value, ranges: self.ranges(), flags: (0, 0) }
    }

    fn pattern6(&self) -> Pattern<5> {
        let bits = |prefix: Prefix| match (prefix.addr(), prefix.prefix_len()) {
            (IpAddr::V6(addr), len) => {
                (addr.to_bits(), u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0))
            }
            _ => (0, 0),
        };
        let ((local, mask), (remote, remote_mask)) = (bits(self.local), bits(self.remote));
        let (mask, value) = (key6(mask, remote_mask, [0; 2]), key6(local, remote, [0; 2]));
        Pattern { mask, value, ranges: self.ranges(), flags: (0, 0) }
    }
}

/// Rules by match.
#[derive(Debug, Default)]
pub struct RuleTable {
    all: BTreeMap<Match, Rule>,
}

impl RuleTable {
    /// Number of rules.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Rules of a transport and IP version.
    pub fn of(
        &self,
        transport: Transport,
        version: IpVersion,
    ) -> impl Iterator<Item = (&Match, &Rule)> {
        let is_of = move |found: &Match| found.transport == transport && found.version() == version;
        self.all.iter().filter(move |(found, _)| is_of(found))
    }

    /// All rules.
    pub fn iter(&self) -> impl Iterator<Item = (&Match, &Rule)> {
        self.all.iter()
    }

    /// A rule.
    pub fn get(&self, found: &Match) -> Option<&Rule> {
        self.all.get(found)
    }

    /// The rule that a connection matches; the connection may also be given by prefixes.
    pub fn meets(&self, flow: &Match) -> Option<(&Match, &Rule)> {
        let covers = |rule: &Match| {
            let within = |outer: Prefix, inner: Prefix| {
                outer.prefix_len() <= inner.prefix_len() && outer.contains(inner.addr())
            };
            let ports = rule.ports.iter().zip(&flow.ports);
            rule.transport == flow.transport
                && within(rule.local, flow.local)
                && within(rule.remote, flow.remote)
                && ports.into_iter().all(|(rule, port)| *rule == 0 || rule == port)
        };
        let found = self.all.iter().filter(|(rule, _)| covers(rule));
        found.min_by(|a, b| a.0.place().cmp(&b.0.place()))
    }

    /// Checks that a rule can be added or replaced.
    ///
    /// # Errors
    /// [`Error::TooManyRules`].
    pub fn check(&self, new: &Match) -> Result<(), Error> {
        let is_room = self.all.len() < MOST_RULES || self.all.contains_key(new);
        if is_room { Ok(()) } else { Err(Error::TooManyRules) }
    }

    /// Adds a rule, or replaces its action.
    pub fn add(&mut self, new: Match, rule: Rule) {
        self.all.insert(new, rule);
    }

    /// Removes a rule.
    pub fn remove(&mut self, old: &Match) {
        self.all.remove(old);
    }

    /// Compiles the rules of a transport and IP version for lookups.
    pub(crate) fn compile(&self, transport: Transport, version: IpVersion, filter: &mut Filter) {
        let mut rules: Vec<_> = self.of(transport, version).collect();
        rules.sort_by_cached_key(|(found, _)| found.place());
        let actions = rules.iter().map(|(_, rule)| rule.action).collect();
        let place = transport as usize;
        match version {
            IpVersion::V4 => {
                let patterns = rules.iter().map(|(found, _)| found.pattern4()).collect();
                let rules = Rules::of(patterns, &FIELDS4);
                filter.ip4[place] = Arc::new(List { rules, actions });
            }
            IpVersion::V6 => {
                let patterns = rules.iter().map(|(found, _)| found.pattern6()).collect();
                let rules = Rules::of(patterns, &FIELDS6);
                filter.ip6[place] = Arc::new(List { rules, actions });
            }
        }
    }
}
