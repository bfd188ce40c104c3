//! Policies of one direction and IP version in matching order, and tables that find the first match
//! without a linear search.
//!
//! Policies whose addresses are prefixes, and that match one port or all, have a shape: the prefix
//! lengths, and whether they match protocol and ports. There is a table for each shape; other
//! policies are searched linearly.

use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

use hashbrown::HashMap;
use infra::order::Order;

use super::spd::{Flow, Policy, Rule};

/// Matching order of policies: by priority, then in the order of addition.
pub type Rank = (Reverse<i32>, u64);

/// Policies in order.
#[derive(Clone, Debug, Default)]
pub struct List {
    rules: Vec<Arc<Rule>>,
    tables: Option<Tables>,
}

impl List {
    /// Creates an empty list, searched by tables or linearly.
    pub fn new(by_table: bool) -> Self {
        Self { rules: Vec::new(), tables: by_table.then(Tables::default) }
    }
    /// All policies in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Rule>> {
        self.rules.iter()
    }
    pub fn insert(&mut self, rule: Arc<Rule>) {
        insert(&mut self.rules, &rule);
        if let Some(tables) = &mut self.tables {
            tables.insert(&rule);
        }
    }
    pub fn remove(&mut self, rule: &Rule) {
        self.rules.retain(|other| other.rank != rule.rank);
        if let Some(tables) = &mut self.tables {
            tables.remove(rule);
        }
    }
    /// The first policy that matches a packet.
    #[inline]
    pub fn find(&self, flow: &Flow) -> Option<&Rule> {
        match &self.tables {
            Some(tables) if flow.ports.is_some() || !tables.ask_for_ports => tables.find(flow),
            _ => self.rules.iter().find(|rule| rule.matches(flow)).map(|rule| &**rule),
        }
    }
    /// The index of a policy.
    pub fn place(&self, rule: &Rule) -> Option<u32> {
        let found = self.rules.binary_search_by_key(&rule.rank, |rule| rule.rank);
        found.ok().map(|at| at as u32)
    }
    /// The policy at an index.
    pub fn at(&self, place: u32) -> Option<&Rule> {
        self.rules.get(place as usize).map(|rule| &**rule)
    }
}

fn insert(rules: &mut Vec<Arc<Rule>>, rule: &Arc<Rule>) {
    let at = rules.partition_point(|other| other.rank < rule.rank);
    rules.insert(at, Arc::clone(rule));
}

/// Fields that the policies of a table match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Number of address bits that are not matched.
    remote: u32,
    local: u32,
    has_protocol: bool,
    /// Whether one remote port, and one local port, is matched.
    ports: (bool, bool),
}

/// Number of host bits of a range; `None` if it is not a prefix.
fn free_bits(range: &RangeInclusive<u128>) -> Option<u32> {
    let differ = range.start() ^ range.end();
    let is_prefix = differ & differ.wrapping_add(1) == 0 && range.start() & differ == 0;
    is_prefix.then(|| differ.count_ones())
}

/// Whether a single port is matched; `None` for several ports, but not all.
fn asks_for_port(ports: &RangeInclusive<u16>) -> Option<bool> {
    match ports.end() - ports.start() {
        u16::MAX => Some(false),
        0 => Some(true),
        _ => None,
    }
}

/// The fields of a packet that policies of a shape match.
type Key = (u128, u128, u8, u16, u16);

impl Shape {
    fn of(rule: &Rule) -> Option<Self> {
        let Policy { protocol, remote_ports, local_ports, .. } = &rule.policy;
        let (remote, local) = (free_bits(&rule.remote)?, free_bits(&rule.local)?);
        let ports = (asks_for_port(remote_ports)?, asks_for_port(local_ports)?);
        Some(Self { remote, local, has_protocol: protocol.is_some(), ports })
    }
    fn asks_for_ports(&self) -> bool {
        self.ports.0 || self.ports.1
    }
    fn key(&self, flow: &Flow) -> Key {
        let prefix = |addr: u128, free: u32| addr.checked_shr(free).unwrap_or(0);
        let (remote_port, local_port) = flow.ports.unwrap_or_default();
        (
            prefix(flow.remote, self.remote),
            prefix(flow.local, self.local),
            if self.has_protocol { flow.protocol.0 } else { 0 },
            if self.ports.0 { remote_port } else { 0 },
            if self.ports.1 { local_port } else { 0 },
        )
    }
    /// The key of packets that match a policy of this shape.
    fn key_of(&self, rule: &Rule) -> Key {
        let policy = &rule.policy;
        self.key(&Flow {
            protocol: policy.protocol.unwrap_or(wire::Protocol(0)),
            remote: *rule.remote.start(),
            local: *rule.local.start(),
            ports: Some((*policy.remote_ports.start(), *policy.local_ports.start())),
        })
    }
}

/// Policies of one shape.
#[derive(Clone, Debug)]
struct Table {
    shape: Shape,
    /// Rank of its first policy.
    first: Rank,
    by_key: Arc<HashMap<Key, Arc<Vec<Arc<Rule>>>>>,
}

#[derive(Clone, Debug, Default)]
struct Tables {
    /// Tables in the order of their first policies.
    tables: Vec<Table>,
    /// Policies without a shape, in order.
    others: Vec<Arc<Rule>>,
    ask_for_ports: bool,
}

impl Tables {
    fn insert(&mut self, rule: &Arc<Rule>) {
        let Some(shape) = Shape::of(rule) else { return insert(&mut self.others, rule) };
        let at = self.tables.iter().position(|table| table.shape == shape);
        let at = at.unwrap_or_else(|| {
            let by_key = Arc::default();
            self.tables.push(Table { shape, first: rule.rank, by_key });
            self.tables.len() - 1
        });
        if let Some(table) = self.tables.get_mut(at) {
            table.first = table.first.min(rule.rank);
            let by_key = Arc::make_mut(&mut table.by_key);
            let rules = by_key.entry(shape.key_of(rule)).or_default();
            insert(Arc::make_mut(rules), rule);
        }
        self.settle();
    }
    fn remove(&mut self, rule: &Rule) {
        self.others.retain(|other| other.rank != rule.rank);
        let Some(shape) = Shape::of(rule) else { return };
        for table in self.tables.iter_mut().filter(|table| table.shape == shape) {
            let by_key = Arc::make_mut(&mut table.by_key);
            if let Some(rules) = by_key.get_mut(&shape.key_of(rule)) {
                Arc::make_mut(rules).retain(|other| other.rank != rule.rank);
            }
            by_key.retain(|_, rules| !rules.is_empty());
            let ranks = by_key.values().filter_map(|rules| rules.first()).map(|rule| rule.rank);
            table.first = ranks.min().unwrap_or(table.first);
        }
        self.settle();
    }
    fn settle(&mut self) {
        self.tables.retain(|table| !table.by_key.is_empty());
        self.tables.order_by_key(|table| table.first);
        self.ask_for_ports = self.tables.iter().any(|table| table.shape.asks_for_ports());
    }
    fn find(&self, flow: &Flow) -> Option<&Rule> {
        let mut best: Option<&Rule> = None;
        for table in &self.tables {
            if best.is_some_and(|best| best.rank < table.first) {
                break;
            }
            let found = table.by_key.get(&table.shape.key(flow)).and_then(|rules| rules.first());
            best = match (best, found) {
                (Some(best), Some(found)) if found.rank < best.rank => Some(found),
                (None, found) => found.map(|rule| &**rule),
                (best, _) => best,
            };
        }
        for other in &self.others {
            if best.is_some_and(|best| best.rank < other.rank) {
                break;
            }
            if other.matches(flow) {
                return Some(other);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use wire::Protocol;

    use super::*;
    use crate::spd::Action;

    /// A small world, so that policies meet: numbers that follow from those before.
    struct World(u64);

    impl World {
        fn number(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % below
        }
        fn addresses(&mut self) -> RangeInclusive<u128> {
            let (first, free) = (u128::from(self.number(64)), self.number(7) as u32);
            match self.number(4) {
                0 => first..=first + u128::from(self.number(9)),
                1 => 0..=u128::from(u32::MAX),
                _ => (first >> free) << free..=first | ((1 << free) - 1),
            }
        }
        fn ports(&mut self) -> RangeInclusive<u16> {
            let port = self.number(4) as u16;
            match self.number(3) {
                0 => 0..=u16::MAX,
                1 => port..=port,
                _ => port..=port + 2,
            }
        }
        fn rule(&mut self, added: u64) -> Arc<Rule> {
            let (remote, local) = (self.addresses(), self.addresses());
            let addresses = |range: &RangeInclusive<u128>| {
                let [first, last] = [range.start(), range.end()];
                let addr = |bits: &u128| IpAddr::from(Ipv4Addr::from_bits(*bits as u32));
                addr(first)..=addr(last)
            };
            let policy = Policy {
                priority: self.number(5) as i32,
                is_outbound: true,
                is_6: false,
                action: Action::Bypass,
                protocol: Some(Protocol(17)).filter(|_| self.number(2) == 0),
                remote: addresses(&remote),
                local: addresses(&local),
                remote_ports: self.ports(),
                local_ports: self.ports(),
            };
            let rank = (Reverse(policy.priority), added);
            let (index, sa, is_ah) = (added as u32, (0, 0), false);
            Arc::new(Rule { policy, rank, index, sa, is_ah, remote, local })
        }
        fn flow(&mut self) -> Flow {
            let has_ports = self.number(4) > 0;
            Flow {
                protocol: Protocol(16 + self.number(2) as u8),
                remote: self.number(80).into(),
                local: self.number(80).into(),
                ports: has_ports.then(|| (self.number(6) as u16, self.number(6) as u16)),
            }
        }
    }

    #[test]
    fn tables_find_what_is_found_one_by_one() {
        let mut world = World(7);
        let (mut plain, mut by_table) = (List::new(false), List::new(true));
        let mut rules = Vec::new();
        let mut hits = 0;
        for added in 0..600 {
            if rules.len() > 40 {
                let gone: Arc<Rule> = rules.swap_remove(world.number(40) as usize);
                plain.remove(&gone);
                by_table.remove(&gone);
            }
            let rule = world.rule(added);
            plain.insert(Arc::clone(&rule));
            by_table.insert(Arc::clone(&rule));
            rules.push(rule);
            for _ in 0..50 {
                let flow = world.flow();
                let [one, other] = [&plain, &by_table].map(|list| list.find(&flow));
                assert_eq!(one.map(|rule| rule.rank), other.map(|rule| rule.rank), "{flow:?}");
                hits += u32::from(one.is_some());
                if let Some(found) = one {
                    let place = by_table.place(found).expect("it is there");
                    assert_eq!(by_table.at(place).map(|rule| rule.rank), Some(found.rank));
                }
            }
        }
        assert!((5_000..29_000).contains(&hits), "{hits} of 30000 found one");
    }
}
