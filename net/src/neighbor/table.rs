//! The neighbours that are known: pure state, no packets.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use wire::MacAddr;

use crate::interface::InterfaceIndex;

/// Neighbours of one family there may be unless configured otherwise.
pub const LIMIT: usize = 50_000;

/// Which neighbour.
pub type Key = (InterfaceIndex, IpAddr);

/// One neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// Its address of layer 2.
    pub mac: MacAddr,
    /// Set by the operator: it is neither overwritten nor aged.
    pub is_static: bool,
    /// Whether it has a host route.
    pub has_route: bool,
    /// When it was set or heard of, in seconds on the router's clock.
    pub updated: f64,
    /// How often it was asked since it got old.
    pub(super) probes: u8,
}

/// What somebody said of a neighbour, and how much it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// It was said to us: a neighbour not known so far becomes known.
    pub creates: bool,
    /// It counts even where another address of layer 2 is known.
    pub replaces: bool,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The neighbour was not known.
    New,
    /// It had another address.
    Changed,
    /// It was known so.
    Same,
    /// It is not for the table.
    Ignored,
}

/// There are as many neighbours of the family as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Bounds of one family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Most neighbours.
    pub limit: usize,
    /// Seconds after which a neighbour that was not heard of is asked, and then forgotten; 0:
    /// never.
    pub age: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: LIMIT, age: 0.0 }
    }
}

/// All neighbours, and bounds for IPv4 and IPv6.
#[derive(Debug, Default)]
pub struct Table {
    entries: BTreeMap<Key, Neighbor>,
    /// IPv4, IPv6.
    counts: [usize; 2],
    /// IPv4, IPv6.
    pub configs: [Config; 2],
    /// Neighbours not learned because the table was full, IPv4, IPv6.
    pub refused: [u64; 2],
}

/// Position of a family in [`Table::configs`].
pub fn family(addr: IpAddr) -> usize {
    usize::from(addr.is_ipv6())
}

impl Table {
    /// One neighbour.
    pub fn at(&self, key: Key) -> Option<&Neighbor> {
        self.entries.get(&key)
    }
    /// Neighbours of one family.
    pub fn count(&self, family: usize) -> usize {
        self.counts[family]
    }
    /// Neighbours behind `after`, by interface, then address.
    pub fn iter(&self, after: Option<Key>) -> impl Iterator<Item = (Key, &Neighbor)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let start = after.map_or(Unbounded, Excluded);
        self.entries.range((start, Unbounded)).map(|(k, n)| (*k, n))
    }
    /// Neighbours on one interface.
    pub fn on(&self, interface: InterfaceIndex) -> impl Iterator<Item = (Key, &Neighbor)> {
        let first = (interface, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.entries.range(first..).take_while(move |e| e.0.0 == interface).map(|(k, n)| (*k, n))
    }
    /// Sets a neighbour for the operator.
    pub fn set(&mut self, key: Key, new: Neighbor) -> Result<Outcome, Full> {
        let Some(old) = self.entries.get_mut(&key) else { return self.insert(key, new) };
        let outcome = if old.mac == new.mac { Outcome::Same } else { Outcome::Changed };
        *old = new;
        Ok(outcome)
    }
    /// Takes note of what somebody said at `now`.
    pub fn learn(
        &mut self,
        key: Key,
        mac: MacAddr,
        how: Evidence,
        now: f64,
    ) -> Result<Outcome, Full> {
        match self.entries.get_mut(&key) {
            None if !how.creates => Ok(Outcome::Ignored),
            None => {
                let (is_static, has_route) = (false, true);
                let new = Neighbor { mac, is_static, has_route, updated: now, probes: 0 };
                self.insert(key, new).inspect_err(|Full| self.refused[family(key.1)] += 1)
            }
            Some(old) if old.mac == mac => {
                (old.updated, old.probes) = (now, 0);
                Ok(Outcome::Same)
            }
            Some(old) if old.is_static || !how.replaces => Ok(Outcome::Ignored),
            Some(old) => {
                (old.mac, old.updated, old.probes) = (mac, now, 0);
                Ok(Outcome::Changed)
            }
        }
    }
    /// Forgets a neighbour.
    pub fn remove(&mut self, key: Key) -> Option<Neighbor> {
        let gone = self.entries.remove(&key)?;
        self.counts[family(key.1)] -= 1;
        Some(gone)
    }
    /// The neighbours of a family that were not heard of for too long: those to be asked again,
    /// which count as asked, and those to be forgotten because they did not answer `attempts`
    /// times.
    pub fn aged(&mut self, of: usize, now: f64, attempts: u8) -> (Vec<Key>, Vec<Key>) {
        let age = self.configs[of].age;
        let (mut ask, mut forget) = (Vec::new(), Vec::new());
        let mine = self.entries.iter_mut().filter(|(k, n)| family(k.1) == of && !n.is_static);
        for (key, n) in mine.filter(|(_, n)| age > 0.0 && now - n.updated > age) {
            if n.probes == attempts {
                forget.push(*key);
            } else {
                n.probes += 1;
                ask.push(*key);
            }
        }
        (ask, forget)
    }
    fn insert(&mut self, key: Key, new: Neighbor) -> Result<Outcome, Full> {
        let of = family(key.1);
        if self.counts[of] >= self.configs[of].limit {
            return Err(Full);
        }
        self.counts[of] += 1;
        self.entries.insert(key, new);
        Ok(Outcome::New)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn addr(n: u8, is_ip6: bool) -> IpAddr {
        if is_ip6 {
            std::net::Ipv6Addr::from_bits(u128::from(n)).into()
        } else {
            Ipv4Addr::from_bits(u32::from(n)).into()
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Set { is_static: bool },
        Learn(Evidence),
        Remove,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            any::<bool>().prop_map(|is_static| Op::Set { is_static }),
            (any::<bool>(), any::<bool>())
                .prop_map(|(creates, replaces)| Op::Learn(Evidence { creates, replaces })),
            Just(Op::Remove),
        ]
    }

    const LIMIT: usize = 5;

    proptest! {
        #[test]
        fn behaves_as_a_map_with_rules(
            steps in prop::collection::vec((op(), 0..3u32, 0..6u8, any::<bool>(), 1..3u8), 0..200),
        ) {
            let config = Config { limit: LIMIT, age: 0.0 };
            let mut table = Table { configs: [config; 2], ..Table::default() };
            let mut model: HashMap<Key, (MacAddr, bool)> = HashMap::new();
            let mut refused = [0; 2];
            for (op, interface, n, is_ip6, mac) in steps {
                let key = (InterfaceIndex(interface), addr(n, is_ip6));
                let mac = MacAddr([2, 0, 0, 0, 0, mac]);
                let of = usize::from(is_ip6);
                let count = |m: &HashMap<Key, _>| m.keys().filter(|k| family(k.1) == of).count();
                let is_full = !model.contains_key(&key) && count(&model) == LIMIT;
                match op {
                    Op::Set { is_static } => {
                        let new =
                            Neighbor { mac, is_static, has_route: true, updated: 1.0, probes: 0 };
                        prop_assert_eq!(table.set(key, new).is_err(), is_full);
                        if !is_full {
                            model.insert(key, (mac, is_static));
                        }
                    }
                    Op::Learn(how) => {
                        let outcome = table.learn(key, mac, how, 2.0);
                        let expected = match model.get(&key).copied() {
                            None if !how.creates => Ok(Outcome::Ignored),
                            None if is_full => Err(Full),
                            None => Ok(Outcome::New),
                            Some((old, _)) if old == mac => Ok(Outcome::Same),
                            Some((_, true)) => Ok(Outcome::Ignored),
                            Some(_) if !how.replaces => Ok(Outcome::Ignored),
                            Some(_) => Ok(Outcome::Changed),
                        };
                        prop_assert_eq!(outcome, expected);
                        refused[of] += u64::from(outcome.is_err());
                        if matches!(outcome, Ok(Outcome::New | Outcome::Changed)) {
                            model.insert(key, (mac, false));
                        }
                    }
                    Op::Remove => {
                        let gone = table.remove(key).map(|n| (n.mac, n.is_static));
                        prop_assert_eq!(gone, model.remove(&key));
                    }
                }
                prop_assert_eq!(table.count(of), count(&model));
            }
            let mut expected: Vec<_> = model.into_iter().map(|(k, v)| (k, v.0, v.1)).collect();
            expected.sort();
            let rows: Vec<_> = table.iter(None).map(|(k, n)| (k, n.mac, n.is_static)).collect();
            prop_assert_eq!(&rows, &expected);
            let on = table.on(InterfaceIndex(1)).map(|(k, n)| (k, n.mac, n.is_static));
            let on: Vec<_> = on.collect();
            expected.retain(|e| e.0.0 == InterfaceIndex(1));
            prop_assert_eq!(on, expected);
            prop_assert_eq!(table.refused, refused);
        }
    }

    #[test]
    fn the_old_are_asked_and_then_forgotten() {
        let mut table = Table::default();
        let how = Evidence { creates: true, replaces: true };
        let (one, two) = (addr(1, false), addr(2, false));
        let on = InterfaceIndex(1);
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        table.learn((on, one), mac, how, 0.0).unwrap();
        table.learn((on, two), mac, how, 9.0).unwrap();
        assert_eq!(table.aged(0, 100.0, 1), (vec![], vec![]), "ageing is off");
        table.configs[0].age = 10.0;
        assert_eq!(table.aged(0, 11.0, 1), (vec![(on, one)], vec![]));
        assert_eq!(table.aged(0, 12.0, 1), (vec![], vec![(on, one)]));
        table.learn((on, one), mac, Evidence { creates: false, replaces: false }, 12.5).unwrap();
        assert_eq!(table.aged(0, 13.0, 1), (vec![], vec![]), "it was heard of again");
    }
}
