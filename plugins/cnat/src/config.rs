//! Settings: those of the startup configuration, and the policy of source translation as the nodes
//! find it.

use std::collections::HashSet;

use net::prelude::*;

/// The stanza `cnat { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Startup {
    /// Seconds of silence after which a session is over.
    pub max_age: f64,
    /// The same of established connections of TCP.
    pub tcp_max_age: f64,
    /// Seconds between two rounds of the process that ends sessions.
    pub round: f64,
    /// Whether it runs from the start.
    pub scans: bool,
    /// Sessions at most on each thread, one less than what is set: number 0 is never used.
    pub most_sessions: usize,
    /// Sessions at most on each thread of one routing table.
    pub most_of_vrf: usize,
    /// Places of a Maglev table.
    pub maglev_len: usize,
}

impl Default for Startup {
    fn default() -> Self {
        Self {
            max_age: 30.0,
            tcp_max_age: 3600.0,
            round: 1.0,
            scans: true,
            most_sessions: (1 << 20) - 1,
            most_of_vrf: usize::MAX,
            maglev_len: 1009,
        }
    }
}

impl Startup {
    /// Reads the stanzas.
    pub fn read(parts: &Parts<'_>) -> Result<Self, Refused> {
        let mut startup = Self::default();
        for stanza in parts.router.stanzas.iter().filter(|stanza| stanza.word == "cnat") {
            let mut args = stanza.args();
            while !args.is_empty() {
                if args.keyword("session-max-age") {
                    startup.max_age = args.value("seconds").map_err(refuse)?;
                } else if args.keyword("tcp-max-age") {
                    startup.tcp_max_age = args.value("seconds").map_err(refuse)?;
                } else if args.keyword("session-cleanup-timeout") {
                    startup.round = args.value("seconds").map_err(refuse)?;
                } else if args.keyword("scanner on") {
                    startup.scans = true;
                } else if args.keyword("scanner off") {
                    startup.scans = false;
                } else if args.keyword("session-max-per-vrf") {
                    startup.most_of_vrf = args.value("sessions").map_err(refuse)?;
                } else if args.keyword("session-max") {
                    let most: usize = args.value("sessions").map_err(refuse)?;
                    startup.most_sessions = most.saturating_sub(1);
                } else if args.keyword("maglev-len") {
                    startup.maglev_len = args.value("places").map_err(refuse)?;
                } else if SIZES.iter().any(|word| args.keyword(word)) {
                    // Tables take memory as they need it.
                    let _: String = args.value("size").map_err(refuse)?;
                } else {
                    return Err(refuse(format_args!("cnat: {}", args.unknown())));
                }
            }
        }
        let times = [startup.max_age, startup.tcp_max_age, startup.round];
        if times.iter().any(|time| !(time.is_finite() && *time > 0.0)) {
            return Err(refuse("cnat: times are more than 0 seconds"));
        }
        if !is_prime(startup.maglev_len) || startup.maglev_len > usize::from(u16::MAX) {
            return Err(refuse("cnat: maglev-len is a prime number below 65536"));
        }
        Ok(startup)
    }
}

/// Sizes that operators set elsewhere.
const SIZES: [&str; 9] = [
    "session-log2-pool-size",
    "session-db-buckets",
    "session-db-memory",
    "translation-db-buckets",
    "translation-db-memory",
    "client-db-buckets",
    "client-db-memory",
    "snat-db-buckets",
    "snat-db-memory",
];

fn is_prime(n: usize) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// Packets whose sources are translated, of those that pass the node for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// All.
    #[default]
    None,
    /// Packets received on included interfaces, and not to an excluded prefix.
    Interfaces,
    /// Packets of pods to where no prefix is excluded, and those of hosts to a service.
    Kubernetes,
    /// Packets to a service.
    Services,
}

impl Policy {
    /// All, each with its word.
    pub const WORDS: [(Self, &'static str); 4] = [
        (Self::None, "none"),
        (Self::Interfaces, "if-pfx"),
        (Self::Kubernetes, "k8s"),
        (Self::Services, "dnat"),
    ];
    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize].1
    }
}

/// A set of prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    all: BTreeSet<Prefix>,
    /// Lengths that there are, longest first, of IPv4 and IPv6.
    lengths: [Vec<u8>; 2],
}

impl Prefixes {
    /// Adds a prefix or takes one out; false when nothing changed.
    pub fn set(&mut self, prefix: Prefix, is_add: bool) -> bool {
        let prefix = prefix.network();
        let changed = if is_add { self.all.insert(prefix) } else { self.all.remove(&prefix) };
        for (version, lengths) in self.lengths.iter_mut().enumerate() {
            let of = self.all.iter().filter(|p| usize::from(!p.addr().is_ipv4()) == version);
            let distinct: BTreeSet<u8> = of.map(Prefix::prefix_len).collect();
            *lengths = distinct.into_iter().rev().collect();
        }
        changed
    }
    /// Whether one of them has an address in it.
    pub fn contains(&self, addr: IpAddr) -> bool {
        let lengths = &self.lengths[usize::from(!addr.is_ipv4())];
        lengths.iter().any(|len| {
            Prefix::new(addr, *len).is_ok_and(|prefix| self.all.contains(&prefix.network()))
        })
    }
    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Prefix> {
        self.all.iter()
    }
}

/// Addresses that packets of a routing table get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The table of packets, of IPv4 and IPv6, by index.
    pub table: [u16; 2],
    /// Tables in which answers come.
    pub answers: [u16; 2],
    /// Addresses.
    pub addrs: [Option<IpAddr>; 2],
    /// Whether packets of tables without addresses get these.
    pub is_default: bool,
}

/// Configuration of the nodes.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Policy.
    pub policy: Policy,
    /// Prefixes that packets reach as they are.
    pub excluded: Prefixes,
    /// Addresses that packets get.
    pub sources: Vec<Sources>,
    /// All addresses that packets get, those of translations too.
    pub own: HashSet<IpAddr>,
}

impl Config {
    /// The addresses that packets of a table get.
    pub fn sources_of(&self, version: usize, table: u16) -> Option<&Sources> {
        let of_table = self.sources.iter().find(|s| s.table[version] == table);
        of_table.or_else(|| self.sources.iter().find(|s| s.is_default))
    }
}

/// The setting of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnInterface {
    /// Its packets are translated because those of all interfaces are.
    pub everywhere: bool,
    /// Its packets meet translations that are for such interfaces only.
    pub feature: bool,
    /// The tables of the policy that it is in: included of IPv4 and IPv6, pods, hosts.
    pub included: [bool; 4],
}

impl OnInterface {
    /// Whether packets are looked at.
    pub fn is_on(&self) -> bool {
        self.everywhere || self.feature
    }
}

/// Words of the tables of [`OnInterface::included`].
pub const TABLES: [&str; 4] = ["include-v4", "include-v6", "pod", "host"];
/// Place of pods in [`OnInterface::included`].
pub const POD: usize = 2;
/// Place of hosts in [`OnInterface::included`].
pub const HOST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_prefixes_has_all_lengths_and_forgets_them() {
        let mut set = Prefixes::default();
        let prefix = |text: &str| text.parse::<Prefix>().unwrap();
        let has = |set: &Prefixes, addr: &str| set.contains(addr.parse().unwrap());
        assert!(set.set(prefix("10.1.2.3/16"), true) && !set.set(prefix("10.1.0.0/16"), true));
        assert!(set.set(prefix("2001:db8::/32"), true) && set.set(prefix("10.2.0.9/32"), true));
        assert!(has(&set, "10.1.255.1") && has(&set, "10.2.0.9") && has(&set, "2001:db8:9::"));
        assert!(!has(&set, "10.2.0.8") && !has(&set, "2001:db9::"));
        assert!(set.set(prefix("10.1.0.0/16"), false) && !has(&set, "10.1.255.1"));
    }
}
