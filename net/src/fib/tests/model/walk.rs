//! A model of resolution: a walk through the routes from the start.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use wire::Prefix;

use super::{ADDRS, INTERFACES};
use crate::adjacency::Link;
use crate::fib::{Source, Through};

/// A table: of a family, the one that is always there or the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub link: Link,
    pub is_other: bool,
}

/// All there may be.
pub const PLACES: [Place; 4] = [
    Place { link: Link::Ip4, is_other: false },
    Place { link: Link::Ip4, is_other: true },
    Place { link: Link::Ip6, is_other: false },
    Place { link: Link::Ip6, is_other: true },
];

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// A neighbour on an interface.
    Neighbor(usize, IpAddr),
    /// All neighbours on an interface.
    Attached(usize),
    /// The n-th address of a table's family.
    Through(Place, usize, Through),
    /// Another table of the route's family.
    Lookup(bool),
    Receive,
    Drop,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathSpec {
    pub to: To,
    pub weight: u16,
    pub preference: u8,
}

impl PathSpec {
    pub fn names(&self, interface: usize) -> bool {
        matches!(self.to, To::Neighbor(i, _) | To::Attached(i) if i == interface)
    }
}

/// The ends of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// A neighbour, what is sent to it being of this family.
    Neighbor(usize, Link, IpAddr),
    /// The destination, on an interface.
    Glean(usize, Link),
    Lookup(bool),
    Receive,
    Drop,
}

/// Paths for packets of a family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct List {
    link: Link,
    specs: Vec<PathSpec>,
}

/// All routes and interfaces, and nothing derived.
pub struct Model {
    pub routes: BTreeMap<(Place, Prefix), BTreeMap<Source, Vec<PathSpec>>>,
    pub is_up: [bool; INTERFACES.len()],
}

impl Model {
    /// Ends of packets to an address, and their shares; number of routes that follow one another.
    pub fn ends(&self, place: Place, addr: IpAddr) -> (BTreeMap<End, f64>, usize) {
        let mut ends = BTreeMap::new();
        let list = List { link: place.link, specs: self.route_to(place, addr) };
        let depth = self.add_ends(&list, 1.0, &mut ends);
        (ends, depth)
    }
    /// Prefixes that a table should have beside those of routes: of addresses that paths lead to.
    pub fn tracked(&self, place: Place) -> BTreeSet<IpAddr> {
        let all = self.routes.values().flat_map(|by| by.values().flatten());
        let here = all.filter_map(|spec| match spec.to {
            To::Through(at, n, _) if at == place => Some(address(place.link, n)),
            _ => None,
        });
        here.collect()
    }
    fn own_route(&self, place: Place, addr: IpAddr) -> Option<&Vec<PathSpec>> {
        let host = Prefix::new(addr, if addr.is_ipv4() { 32 } else { 128 }).unwrap();
        self.routes.get(&(place, host))?.values().next()
    }
    /// Paths of the best route to an address.
    fn route_to(&self, place: Place, addr: IpAddr) -> Vec<PathSpec> {
        if let Some(own) = self.own_route(place, addr) {
            return own.clone();
        }
        let covers = |(at, prefix): &&(Place, Prefix)| *at == place && prefix.contains(addr);
        let best = self.routes.keys().filter(covers).max_by_key(|(_, p)| p.prefix_len());
        let drop = || vec![PathSpec { to: To::Drop, weight: 1, preference: 0 }];
        let specs = best.and_then(|key| self.routes[key].values().next().cloned());
        let specs = specs.unwrap_or_else(drop);
        let attached = specs.iter().find_map(|spec| match spec.to {
            To::Attached(interface) => Some(interface),
            _ => None,
        });
        match attached.filter(|_| self.tracked(place).contains(&addr)) {
            Some(i) => vec![PathSpec { to: To::Neighbor(i, addr), weight: 1, preference: 0 }],
            None => specs,
        }
    }
    /// The list that a path goes on through, for packets of a family.
    fn next(&self, link: Link, to: To) -> Option<List> {
        let To::Through(place, n, _) = to else { return None };
        let mut specs = self.route_to(place, address(place.link, n));
        if place.link != link {
            let lookups = specs.iter_mut().filter(|spec| matches!(spec.to, To::Lookup(_)));
            lookups.for_each(|spec| spec.to = To::Drop);
        }
        Some(List { link, specs })
    }
    /// Whether a list leads, step by step, to another one.
    fn reaches(&self, from: &List, goal: &List, seen: &mut BTreeSet<List>) -> bool {
        from == goal
            || seen.insert(from.clone())
                && from.specs.iter().any(|spec| {
                    let next = self.next(from.link, spec.to);
                    next.is_some_and(|next| self.reaches(&next, goal, seen))
                })
    }
    fn is_usable(&self, list: &List, to: To) -> bool {
        let To::Through(place, n, kind) = to else {
            return match to {
                To::Neighbor(i, _) | To::Attached(i) => self.is_up[i],
                To::Drop => false,
                _ => true,
            };
        };
        let Some(next) = self.next(list.link, to) else { return false };
        let is_wanted = match kind {
            Through::Any => true,
            Through::Host => self.own_route(place, address(place.link, n)).is_some(),
            Through::Attached => next.specs.iter().all(|spec| !matches!(spec.to, To::Through(..))),
        };
        is_wanted && !self.reaches(&next, list, &mut BTreeSet::new()) && self.leads_on(&next)
    }
    fn leads_on(&self, list: &List) -> bool {
        let leads = |spec: &PathSpec| !matches!(spec.to, To::Receive | To::Drop);
        list.specs.iter().any(|spec| leads(spec) && self.is_usable(list, spec.to))
    }
    fn add_ends(&self, list: &List, share: f64, ends: &mut BTreeMap<End, f64>) -> usize {
        let mut end = |end| *ends.entry(end).or_default() += share;
        let usable = || list.specs.iter().filter(|spec| self.is_usable(list, spec.to));
        let Some(best) = usable().map(|spec| spec.preference).min() else {
            end(End::Drop);
            return 1;
        };
        let specs: Vec<_> = usable().filter(|spec| spec.preference == best).collect();
        let total: u16 = specs.iter().map(|spec| spec.weight).sum();
        let mut depth = 0;
        for spec in specs {
            let share = share * f64::from(spec.weight) / f64::from(total);
            let mut end = |end| *ends.entry(end).or_default() += share;
            match spec.to {
                To::Neighbor(i, addr) => end(End::Neighbor(i, list.link, addr)),
                To::Attached(i) => end(End::Glean(i, list.link)),
                To::Lookup(is_other) => end(End::Lookup(is_other)),
                To::Receive => end(End::Receive),
                To::Drop => end(End::Drop),
                To::Through(..) => {
                    let next = self.next(list.link, spec.to).unwrap();
                    depth = depth.max(self.add_ends(&next, share, ends));
                }
            }
        }
        depth + 1
    }
}

/// The n-th address of a family that paths lead to.
pub fn address(link: Link, n: usize) -> IpAddr {
    ADDRS[usize::from(link == Link::Ip6)][n].parse().unwrap()
}
