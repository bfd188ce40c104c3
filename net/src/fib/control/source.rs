//! Sources of routes and their priorities.

use serde::{Serialize, Serializer};

/// The source of a route. The first one with a route for a prefix decides where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// Priority; the lowest wins.
    priority: u8,
    /// Its number, not 0.
    id: u8,
}

macro_rules! sources {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $priority:literal, $text:literal;)*) => {
        impl Source {
            $($(#[$doc])* pub const $name: Self = Self { priority: $priority, id: $id };)*
        }
        /// Sources that are always there, by number from 1 on.
        const BUILT_IN: &[(Source, &str)] = &[$((Source::$name, $text),)*];
    };
}

sources! {
    /// Routes that every table has and no one may change.
    SPECIAL = 1, 0x10, "special";
    /// Classifiers.
    CLASSIFY = 2, 0x18, "classify";
    /// Addresses answered for.
    PROXY = 3, 0x20, "proxy";
    /// An address of an interface.
    INTERFACE = 4, 0x28, "interface";
    /// Segment routing.
    SR = 5, 0x38, "SR";
    /// A binary-API client.
    API = 6, 0x48, "API";
    /// The operator.
    CLI = 7, 0x58, "CLI";
    /// LISP.
    LISP = 8, 0x60, "LISP";
    /// Mapping of address and port.
    MAP = 9, 0x68, "MAP";
    /// A DHCP client.
    DHCP = 10, 0x70, "DHCP";
    /// IPv6 neighbour discovery proxied.
    IP6_ND_PROXY = 11, 0x78, "IPv6-proxy-nd";
    /// IPv6 neighbour discovery.
    IP6_ND = 12, 0x80, "IPv6-nd";
    /// A known neighbour.
    ADJACENCY = 13, 0x88, "adjacency";
    /// A host on an interface of another table, whose network has a route here.
    ATTACHED_EXPORT = 14, 0x8c, "attached-export";
    /// A recursive path that leads here; routes as the covering prefix does.
    RECURSIVE = 15, 0x90, "recursive-resolution";
    /// An exemption from reverse-path checks.
    URPF_EXEMPT = 16, 0xa0, "urpf-exempt";
    /// Every table's own drop.
    DEFAULT = 17, 0xb0, "default-route";
}

impl Source {
    /// Number, as clients name it; not 0.
    pub fn id(self) -> u8 {
        self.id
    }
    /// Priority; the lowest wins.
    pub fn priority(self) -> u8 {
        self.priority
    }
    /// As `show ip fib` prints it; `?` for sources that clients made.
    pub fn name(self) -> &'static str {
        BUILT_IN.get(usize::from(self.id) - 1).map_or("?", |(_, name)| *name)
    }
    /// Whether commands and messages may name this source.
    pub fn is_client(self) -> bool {
        let is_made = (BUILT_IN.len() + 1..usize::from(FIRST_OWN)).contains(&self.id.into());
        self == Self::API || self == Self::CLI || is_made
    }
}

/// The first number of sources that features make for themselves.
const FIRST_OWN: u8 = 0xf0;

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// All sources: those that are always there, and those that clients make.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    made: Vec<(Source, String)>,
    own: Vec<(Source, &'static str)>,
}

impl Sources {
    /// A new source, or the one that has this name; `None` when there are as many as there may be.
    pub fn add(&mut self, name: &str, priority: u8) -> Option<Source> {
        if let Some((same, _)) = self.iter().find(|(_, n)| *n == name) {
            return Some(same);
        }
        let first = u8::try_from(BUILT_IN.len() + 1).ok()?;
        let is_free = |id: &u8| self.made.iter().all(|(source, _)| source.id != *id);
        let id = (first..FIRST_OWN).find(is_free)?;
        let new = Source { priority, id };
        self.made.push((new, name.to_owned()));
        Some(new)
    }
    /// Removes a source that a client made and that has no routes.
    pub fn remove(&mut self, source: Source) {
        self.made.retain(|(made, _)| *made != source);
    }
    /// A source of a feature's own, or the one that has this name: its routes are in no
    /// configuration. `None` when there are as many as there may be.
    pub fn add_own(&mut self, name: &'static str, priority: u8) -> Option<Source> {
        if let Some((same, _)) = self.iter().find(|(_, n)| *n == name) {
            return Some(same);
        }
        let id = FIRST_OWN.checked_add(u8::try_from(self.own.len()).ok()?)?;
        let new = Source { priority, id };
        self.own.push((new, name));
        Some(new)
    }
    /// Sources that clients made, in order.
    pub fn made(&self) -> impl Iterator<Item = (Source, &str)> {
        self.made.iter().map(|(source, name)| (*source, name.as_str()))
    }
    /// The source of this name.
    pub fn named(&self, name: &str) -> Option<Source> {
        self.iter().find(|(_, n)| *n == name).map(|(source, _)| source)
    }
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (Source, &str)> {
        let built_in = BUILT_IN.iter().copied();
        let made = self.made.iter().map(|(source, name)| (*source, name.as_str()));
        built_in.chain(made).chain(self.own.iter().copied())
    }
    /// The source with this number.
    pub fn numbered(&self, id: u8) -> Option<Source> {
        self.iter().map(|(source, _)| source).find(|source| source.id == id)
    }
    /// The name of a source.
    pub fn name(&self, source: Source) -> &str {
        self.iter().find(|(s, _)| *s == source).map_or("?", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_the_numbers_of_their_places() {
        for (i, (source, name)) in BUILT_IN.iter().enumerate() {
            assert_eq!((usize::from(source.id), source.name()), (i + 1, *name));
        }
        assert!(BUILT_IN.is_sorted_by_key(|(source, _)| *source));
    }

    #[test]
    fn clients_make_sources_between_those_there_are() {
        let mut all = Sources::default();
        let bgp = all.add("bgp", Source::API.priority() - 1).unwrap();
        assert_eq!(all.add("bgp", 3), Some(bgp));
        assert!(Source::INTERFACE < bgp && bgp < Source::API && bgp.is_client());
        assert_eq!((all.numbered(bgp.id()), all.name(bgp)), (Some(bgp), "bgp"));
        assert_eq!(all.numbered(200), None);
    }

    #[test]
    fn features_have_sources_that_nobody_else_names() {
        let mut all = Sources::default();
        let own = all.add_own("mirror", 0x50).unwrap();
        assert_eq!((all.add_own("mirror", 1), all.named("mirror")), (Some(own), Some(own)));
        assert!(!own.is_client() && all.made().next().is_none());
        assert_eq!(all.name(own), "mirror");
    }
}
