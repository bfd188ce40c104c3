//! Sets of addresses, rules and how a packet is compared with them.

use net::prelude::*;

/// An address, protocol and port.
pub type Triple = (IpAddr, Protocol, u16);

/// A set, by what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// Addresses.
    Addresses(BTreeSet<IpAddr>),
    /// Addresses, each with a protocol and port.
    Ports(BTreeSet<Triple>),
    /// Prefixes.
    Prefixes(BTreeSet<Prefix>),
}

/// A member of an IP set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// An address.
    Address(IpAddr),
    /// An address, protocol and port.
    Port(Triple),
    /// A prefix.
    Prefix(Prefix),
}

/// A kind of sets: its word, and an empty one.
type Kind = (&'static str, fn() -> Set);

/// Kinds of sets.
pub const KINDS: [Kind; 3] = [
    ("ip", || Set::Addresses(BTreeSet::new())),
    ("ipport", || Set::Ports(BTreeSet::new())),
    ("net", || Set::Prefixes(BTreeSet::new())),
];

impl Set {
    /// The word of its kind.
    pub fn word(&self) -> &'static str {
        KINDS[match self {
            Self::Addresses(_) => 0,
            Self::Ports(_) => 1,
            Self::Prefixes(_) => 2,
        }]
        .0
    }
    /// Its members, in order.
    pub fn members(&self) -> Vec<Member> {
        match self {
            Self::Addresses(all) => all.iter().map(|a| Member::Address(*a)).collect(),
            Self::Ports(all) => all.iter().map(|t| Member::Port(*t)).collect(),
            Self::Prefixes(all) => all.iter().map(|p| Member::Prefix(*p)).collect(),
        }
    }
    /// Whether a member is of its kind.
    pub fn takes(&self, member: &Member) -> bool {
        matches!(
            (self, member),
            (Self::Addresses(_), Member::Address(_))
                | (Self::Ports(_), Member::Port(_))
                | (Self::Prefixes(_), Member::Prefix(_))
        )
    }
    /// Whether it has a member.
    pub fn has(&self, member: &Member) -> bool {
        match (self, member) {
            (Self::Addresses(all), Member::Address(addr)) => all.contains(addr),
            (Self::Ports(all), Member::Port(triple)) => all.contains(triple),
            (Self::Prefixes(all), Member::Prefix(prefix)) => all.contains(&prefix.network()),
            _ => false,
        }
    }
    /// Adds a member of its kind, or takes it out.
    pub fn change(&mut self, member: &Member, is_add: bool) {
        match (self, member, is_add) {
            (Self::Addresses(all), Member::Address(addr), true) => drop(all.insert(*addr)),
            (Self::Addresses(all), Member::Address(addr), false) => drop(all.remove(addr)),
            (Self::Ports(all), Member::Port(triple), true) => drop(all.insert(*triple)),
            (Self::Ports(all), Member::Port(triple), false) => drop(all.remove(triple)),
            (Self::Prefixes(all), Member::Prefix(p), true) => drop(all.insert(p.network())),
            (Self::Prefixes(all), Member::Prefix(p), false) => drop(all.remove(&p.network())),
            _ => (),
        }
    }
    /// Whether an end of a packet is in it.
    fn contains(&self, end: &(IpAddr, u16), packet: &Packet) -> bool {
        match self {
            Self::Addresses(all) => all.contains(&end.0),
            Self::Prefixes(all) => all.iter().any(|prefix| prefix.contains(end.0)),
            Self::Ports(all) => {
                packet.has_ports() && all.contains(&(end.0, packet.protocol, end.1))
            }
        }
    }
}

/// All sets by number.
pub type Sets = BTreeMap<u32, Set>;

/// Action on a packet that matches a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It passes.
    Allow,
    /// It does not.
    Deny,
    /// Log it; further rules decide.
    Log,
    /// Profiles decide.
    Pass,
}

/// Actions with their words, by number.
pub const ACTIONS: [(&str, Action); 4] = [
    ("allow", Action::Allow),
    ("deny", Action::Deny),
    ("log", Action::Log),
    ("pass", Action::Pass),
];

/// Fields that filters compare, with their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Type of ICMP.
    IcmpType,
    /// Code of ICMP.
    IcmpCode,
    /// Protocol.
    Protocol,
}

/// Fields with their words, by number from 1 on.
pub const FIELDS: [(&str, Field); 3] =
    [("icmp-type", Field::IcmpType), ("icmp-code", Field::IcmpCode), ("proto", Field::Protocol)];

/// A filter on a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The field.
    pub field: Field,
    /// Value.
    pub value: u32,
    /// Whether it has to have it.
    pub is_equal: bool,
}

/// Value that an end of a packet is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A prefix.
    Prefix(Prefix),
    /// A port range.
    Ports(u16, u16),
    /// A set of addresses with ports.
    PortSet(u32),
    /// A set of addresses or prefixes.
    Set(u32),
}

/// A match on source or destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whether the end is the source.
    pub is_src: bool,
    /// Whether it must not be there.
    pub is_not: bool,
    /// Value that it is compared with.
    pub what: What,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Action on packets.
    pub action: Action,
    /// Filters, all of which must match.
    pub filters: Vec<Filter>,
    /// Matches.
    pub entries: Vec<Entry>,
}

/// A packet as rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source and its port.
    pub src: (IpAddr, u16),
    /// Destination and its port.
    pub dst: (IpAddr, u16),
    /// Protocol.
    pub protocol: Protocol,
    /// Type and code of ICMP.
    pub icmp: Option<(u8, u8)>,
}

impl Packet {
    fn has_ports(&self) -> bool {
        matches!(self.protocol, Protocol::TCP | Protocol::UDP | Protocol::SCTP | Protocol::UDP_LITE)
    }
}

impl Rule {
    /// The sets that it names.
    pub fn sets(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().filter_map(|entry| match entry.what {
            What::PortSet(set) | What::Set(set) => Some(set),
            _ => None,
        })
    }
    /// Whether it is about a packet. Each kind of comparison of an end has to hold: to be in one of
    /// the prefixes, in all sets of addresses, and at one of the ports, be they in a range or a
    /// set;
    /// and what must not be there is in none.
    pub fn is_about(&self, p: &Packet, sets: &Sets) -> bool {
        self.filters.iter().all(|f| f.holds(p))
            && [true, false].into_iter().all(|is_src| self.holds_for(is_src, p, sets))
    }
    fn holds_for(&self, is_src: bool, p: &Packet, sets: &Sets) -> bool {
        let end = if is_src { &p.src } else { &p.dst };
        let of =
            |is_not| self.entries.iter().filter(move |e| e.is_src == is_src && e.is_not == is_not);
        let is_met = |e: &Entry| e.is_met(end, p, sets);
        let any = |kind: fn(&What) -> bool| {
            let mut all = of(false).filter(|e| kind(&e.what)).peekable();
            all.peek().is_none() || all.any(is_met)
        };
        !of(true).any(is_met)
            && any(|what| matches!(what, What::Prefix(_)))
            && any(|what| matches!(what, What::Ports(..) | What::PortSet(_)))
            && of(false).filter(|e| matches!(e.what, What::Set(_))).all(is_met)
    }
}

impl Filter {
    fn holds(&self, p: &Packet) -> bool {
        let is_equal = match self.field {
            Field::Protocol => u32::from(p.protocol.0) == self.value,
            Field::IcmpType => p.icmp.is_some_and(|(kind, _)| u32::from(kind) == self.value),
            Field::IcmpCode => p.icmp.is_some_and(|(_, code)| u32::from(code) == self.value),
        };
        is_equal == self.is_equal
    }
}

impl Entry {
    fn is_met(&self, end: &(IpAddr, u16), p: &Packet, sets: &Sets) -> bool {
        match self.what {
            What::Prefix(prefix) => prefix.contains(end.0),
            What::Ports(first, last) => p.has_ports() && (first..=last).contains(&end.1),
            What::PortSet(set) | What::Set(set) => {
                sets.get(&set).is_some_and(|set| set.contains(end, p))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(dst: [u8; 4], port: u16) -> Packet {
        let (src, dst) = ((IpAddr::from([10, 0, 0, 1]), 5), (IpAddr::from(dst), port));
        Packet { src, dst, protocol: Protocol::TCP, icmp: None }
    }

    fn rule(entries: &[(bool, What)]) -> Rule {
        let entry =
            |(is_not, what): &(bool, What)| Entry { is_src: false, is_not: *is_not, what: *what };
        let entries = entries.iter().map(entry).collect();
        Rule { action: Action::Allow, filters: Vec::new(), entries }
    }

    #[test]
    fn one_prefix_and_one_port_suffice_and_every_set_counts() {
        let prefix = |text: &str| What::Prefix(text.parse().unwrap());
        let one = [10, 1, 0, 1];
        let set = |addrs: &[[u8; 4]]| Set::Addresses(addrs.iter().map(|a| (*a).into()).collect());
        let triple = (IpAddr::from(one), Protocol::TCP, 80);
        let sets = Sets::from([
            (0, set(&[one])),
            (1, set(&[one, [10, 1, 0, 2]])),
            (2, Set::Ports([triple].into())),
        ]);
        let is = |entries: &[(bool, What)], p: &Packet| rule(entries).is_about(p, &sets);
        let both = [(false, prefix("10.1.0.0/16")), (false, prefix("10.2.0.0/16"))];
        assert!(is(&both, &packet([10, 2, 3, 4], 1)) && !is(&both, &packet([10, 3, 3, 4], 1)));
        let ports = [(false, What::Ports(90, 99)), (false, What::PortSet(2))];
        assert!(is(&ports, &packet(one, 80)) && is(&ports, &packet([10, 9, 9, 9], 95)));
        assert!(!is(&ports, &packet(one, 81)) && !is(&ports, &packet([10, 9, 9, 9], 80)));
        let all = [(false, What::Set(0)), (false, What::Set(1))];
        assert!(is(&all, &packet(one, 1)) && !is(&all, &packet([10, 1, 0, 2], 1)));
        let none = [(true, What::Ports(90, 99)), (true, What::Set(0))];
        assert!(is(&none, &packet([10, 1, 0, 2], 80)));
        assert!(!is(&none, &packet([10, 1, 0, 2], 90)) && !is(&none, &packet(one, 80)));
        // What has no ports is at none.
        let ping = Packet { protocol: Protocol::ICMP, icmp: Some((8, 0)), ..packet(one, 95) };
        assert!(!is(&ports, &ping) && is(&[(true, What::Ports(90, 99))], &ping));
        // A deleted set has no members.
        assert!(!is(&[(false, What::Set(9))], &ping));
    }
}
