//! The neighbours that are known: pure state, no packets.
//!
//! Each interface has a share of the room of its family: when it is full, a new neighbor of an
//! interface below its share replaces one of the interface with most. So forged messages on one
//! link do not exclude neighbors on another.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use wire::{IpVersion, MacAddr};

use crate::interface::InterfaceIndex;

/// Neighbours of one family there may be unless configured otherwise.
pub const LIMIT: usize = 50_000;

/// Neighbours that are asked at once whether they are still there; others are the next time.
const MOST_ASKED: usize = 1000;

/// A neighbour.
pub type Key = (InterfaceIndex, IpAddr);

/// One neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// MAC address.
    pub mac: MacAddr,
    /// Set by the operator: it is neither overwritten nor aged.
    pub is_static: bool,
    /// Whether it has a host route.
    pub has_route: bool,
    /// Time of the last change or message, in seconds on the router's clock.
    pub updated: f64,
    /// Number of questions since it got old.
    pub(super) probes: u8,
    /// Place among the dynamic ones, by time last heard.
    pub(super) turn: u64,
    /// Known before the client began the replacement, and not set since.
    pub(super) is_stale: bool,
}

impl Neighbor {
    /// One that was set or heard at `updated`.
    pub fn new(mac: MacAddr, is_static: bool, has_route: bool, updated: f64) -> Self {
        Self { mac, is_static, has_route, updated, probes: 0, turn: 0, is_stale: false }
    }
}

/// The weight of a message about a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// It was said to us: a neighbour not known so far becomes known.
    pub creates: bool,
    /// It counts even where another address of layer 2 is known.
    pub replaces: bool,
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The neighbour was not known.
    New,
    /// It had another address.
    Changed,
    /// It was known so.
    Same,
    /// Not for the table.
    Ignored,
}

/// There are as many neighbours of the family as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Neighbors not heard for too long.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Aged {
    /// To be asked whether they are still there.
    pub ask: Vec<Key>,
    /// To be forgotten.
    pub forget: Vec<Key>,
}

/// Bounds of one family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Most neighbours; 0: as many as there are.
    pub limit: usize,
    /// Seconds after which a silent neighbor is probed, and then deleted; 0: never.
    pub age: f64,
    /// Whether the least recently heard one is replaced by a new one.
    pub recycles: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: LIMIT, age: 0.0, recycles: false }
    }
}

/// All neighbours, and bounds for IPv4 and IPv6.
#[derive(Debug, Default)]
pub struct Table {
    entries: BTreeMap<Key, Neighbor>,
    /// The dynamic ones by turn, the least recently heard first; IPv4, IPv6.
    by_turn: [BTreeSet<(u64, Key)>; 2],
    /// The same of each interface that has any.
    on_each: [BTreeMap<InterfaceIndex, BTreeSet<(u64, IpAddr)>>; 2],
    last_turn: u64,
    /// IPv4, IPv6.
    counts: [usize; 2],
    /// IPv4, IPv6.
    pub configs: [Config; 2],
    /// Neighbours not learned because the table was full, IPv4, IPv6.
    pub refused: [u64; 2],
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
    ///
    /// # Errors
    /// [`Full`], and nothing has changed.
    pub fn set(&mut self, key: Key, mut new: Neighbor) -> Result<Outcome, Full> {
        let Some(old) = self.entries.get(&key).copied() else { return self.insert(key, new) };
        let outcome = if old.mac == new.mac { Outcome::Same } else { Outcome::Changed };
        self.unqueue(key, &old);
        self.queue(key, &mut new);
        self.entries.insert(key, new);
        Ok(outcome)
    }
    /// Records a neighbor's message at `now`.
    ///
    /// # Errors
    /// [`Full`], and nothing has changed.
    pub fn learn(
        &mut self,
        key: Key,
        mac: MacAddr,
        how: Evidence,
        now: f64,
    ) -> Result<Outcome, Full> {
        let Some(old) = self.entries.get(&key).copied() else {
            return match how.creates {
                true => self.insert(key, Neighbor::new(mac, false, true, now)),
                false => Ok(Outcome::Ignored),
            };
        };
        if old.mac != mac && (old.is_static || !how.replaces) {
            return Ok(Outcome::Ignored);
        }
        let new = Neighbor { mac, updated: now, probes: 0, is_stale: false, ..old };
        self.set(key, new)
    }
    /// Forgets a neighbour.
    pub fn remove(&mut self, key: Key) -> Option<Neighbor> {
        let gone = self.entries.remove(&key)?;
        self.unqueue(key, &gone);
        self.counts[IpVersion::from(key.1) as usize] -= 1;
        Some(gone)
    }
    /// The dynamic neighbor to be replaced by a new one on `on`, in a full table. Below its share,
    /// an interface gets a place of the one that has most: that of the neighbor heard last, as
    /// those of a flood are, or where the family recycles of the least recently heard one.
    /// Otherwise one is replaced only where the family recycles.
    pub fn giving_way(&self, of: usize, on: InterfaceIndex) -> Option<Key> {
        let recycles = self.configs[of].recycles;
        let count = |on| self.on_each[of].get(&on).map_or(0, BTreeSet::len);
        let (most, all) = self.on_each[of].iter().max_by_key(|(_, all)| all.len())?;
        let interfaces = self.on_each[of].len() + usize::from(count(on) == 0);
        let is_below = count(on) < self.configs[of].limit / interfaces && count(on) < all.len();
        let (_, addr) = match recycles {
            true => all.first(),
            false => all.last().filter(|_| is_below),
        }?;
        Some((*most, *addr))
    }
    /// The interface with most dynamic neighbours of a family, and their number.
    pub fn greediest(&self, of: usize) -> Option<(InterfaceIndex, usize)> {
        let all = self.on_each[of].iter().map(|(on, all)| (*on, all.len()));
        all.max_by_key(|(_, count)| *count)
    }
    /// The neighbors of a family not heard for too long: those to be probed again, which count as
    /// probed, and those to be deleted because they did not answer `attempts` times, or could not
    /// be probed while the clock went `leap` seconds ahead.
    pub fn aged(&mut self, of: usize, (now, leap): (f64, f64), attempts: u8) -> Aged {
        let age = self.configs[of].age;
        let (mut ask, mut forget) = (Vec::new(), Vec::new());
        for (_, key) in self.by_turn[of].iter().filter(|_| age > 0.0) {
            let Some(n) = self.entries.get_mut(key) else { continue };
            if now - n.updated <= age {
                break;
            }
            let over = now - n.updated - age;
            if n.probes == attempts || over.min(leap) > f64::from(attempts) + 1.0 {
                forget.push(*key);
            } else if ask.len() < MOST_ASKED {
                n.probes += 1;
                ask.push(*key);
            }
        }
        Aged { ask, forget }
    }
    /// Starts a replacement: all are stale until they are set or heard again.
    pub fn mark(&mut self) {
        self.entries.values_mut().for_each(|n| n.is_stale = true);
    }
    /// Neighbors that are stale still.
    pub fn stale(&self) -> Vec<Key> {
        self.entries.iter().filter(|(_, n)| n.is_stale).map(|(key, _)| *key).collect()
    }
    fn insert(&mut self, key: Key, mut new: Neighbor) -> Result<Outcome, Full> {
        let of = IpVersion::from(key.1) as usize;
        let limit = self.configs[of].limit;
        if limit > 0 && self.counts[of] >= limit {
            return Err(Full);
        }
        self.counts[of] += 1;
        self.queue(key, &mut new);
        self.entries.insert(key, new);
        Ok(Outcome::New)
    }
    /// Puts a neighbour behind all others that may age.
    fn queue(&mut self, key: Key, new: &mut Neighbor) {
        if !new.is_static {
            self.last_turn += 1;
            new.turn = self.last_turn;
            let of = IpVersion::from(key.1) as usize;
            self.by_turn[of].insert((new.turn, key));
            self.on_each[of].entry(key.0).or_default().insert((new.turn, key.1));
        }
    }
    fn unqueue(&mut self, key: Key, old: &Neighbor) {
        if old.is_static {
            return;
        }
        let of = IpVersion::from(key.1) as usize;
        self.by_turn[of].remove(&(old.turn, key));
        if let Some(on) = self.on_each[of].get_mut(&key.0) {
            on.remove(&(old.turn, key.1));
            if on.is_empty() {
                self.on_each[of].remove(&key.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn is_of(version: usize, key: &Key) -> bool {
        IpVersion::from(key.1) as usize == version
    }

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
            let config = Config { limit: LIMIT, ..Config::default() };
            let mut table = Table { configs: [config; 2], ..Table::default() };
            let mut model: HashMap<Key, (MacAddr, bool)> = HashMap::new();
            for (op, interface, n, is_ip6, mac) in steps {
                let key = (InterfaceIndex(interface), addr(n, is_ip6));
                let mac = MacAddr([2, 0, 0, 0, 0, mac]);
                let of = usize::from(is_ip6);
                let count = |m: &HashMap<Key, _>| m.keys().filter(|key| is_of(of, key)).count();
                let is_full = !model.contains_key(&key) && count(&model) == LIMIT;
                match op {
                    Op::Set { is_static } => {
                        let new = Neighbor::new(mac, is_static, true, 1.0);
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
            for of in 0..2 {
                let dynamic = rows.iter().filter(|row| is_of(of, &row.0) && !row.2).count();
                prop_assert_eq!(table.by_turn[of].len(), dynamic);
                let on_each: usize = table.on_each[of].values().map(BTreeSet::len).sum();
                prop_assert_eq!(on_each, dynamic);
            }
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
        let aged = |table: &mut Table, now, leap| {
            let Aged { ask, forget } = table.aged(0, (now, leap), 1);
            (ask, forget)
        };
        assert_eq!(aged(&mut table, 100.0, 1.0), (vec![], vec![]), "ageing is off");
        table.configs[0].age = 10.0;
        assert_eq!(aged(&mut table, 11.0, 1.0), (vec![(on, one)], vec![]));
        assert_eq!(aged(&mut table, 12.0, 1.0), (vec![], vec![(on, one)]));
        table.learn((on, one), mac, Evidence { creates: false, replaces: false }, 12.5).unwrap();
        assert_eq!(aged(&mut table, 13.0, 1.0), (vec![], vec![]), "it was heard of again");
        assert_eq!(aged(&mut table, 20.9, 9.0), (vec![(on, two)], vec![]), "it may answer");
        assert_eq!(aged(&mut table, 60.0, 2.1).1, [(on, two), (on, one)], "their time is over");
        table.configs[0].recycles = true;
        assert_eq!(table.giving_way(0, on), Some((on, two)));
        table.set((on, two), Neighbor::new(mac, true, true, 14.0)).unwrap();
        assert_eq!(table.giving_way(0, on), Some((on, one)), "static ones stay");
    }

    #[test]
    fn an_interface_below_its_share_gets_the_place_of_one_that_has_most() {
        for (of, is_ip6) in [(0, false), (1, true)] {
            let mut table = Table::default();
            table.configs[of].limit = 8;
            let how = Evidence { creates: true, replaces: true };
            let mac = MacAddr([2, 0, 0, 0, 0, 1]);
            let [one, two, three] = [1, 2, 3].map(InterfaceIndex);
            for n in 0..8 {
                table.learn((one, addr(n, is_ip6)), mac, how, 0.0).unwrap();
            }
            assert_eq!(table.giving_way(of, one), None, "its own place");
            let mut learn = |on, n: u8| {
                let Some(gone) = table.giving_way(of, on) else { return false };
                table.remove(gone);
                table.learn((on, addr(n, is_ip6)), mac, how, 1.0).unwrap();
                true
            };
            assert_eq!([1, 2, 3, 4, 5].map(|n| learn(two, n)), [true, true, true, true, false]);
            assert_eq!([1, 2, 3].map(|n| learn(three, n)), [true, true, false]);
            assert_eq!([6, 7].map(|n| learn(one, n)), [false; 2]);
            assert!(table.at((one, addr(0, is_ip6))).is_some(), "the first ones stay");
            assert_eq!(table.count(of), 8);
        }
    }

    #[test]
    fn what_is_not_said_again_is_stale() {
        let mut table = Table::default();
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        let keys = [1, 2, 3].map(|n| (InterfaceIndex(1), addr(n, n == 3)));
        for key in keys {
            table.set(key, Neighbor::new(mac, key.1.is_ipv6(), true, 0.0)).unwrap();
        }
        table.mark();
        table.set(keys[0], Neighbor::new(mac, false, true, 1.0)).unwrap();
        assert_eq!(table.stale(), keys[1..]);
    }
}
