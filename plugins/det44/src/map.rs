//! Networks inside, and the addresses and ports outside that their hosts have (RFC 7422).

use std::ops::RangeInclusive;

use net::prelude::*;
use translation::FIRST_PORT;

/// Ports outside of one address.
const PORTS: u32 = 1 + u16::MAX as u32 - FIRST_PORT as u32;
/// The longest difference of prefix lengths: each host has a port at least.
const LONGEST: u8 = 15;

/// A network inside and one outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// Inside hosts.
    pub inside: Ip4Prefix,
    /// Their addresses outside.
    pub outside: Ip4Prefix,
}

impl Map {
    /// A map; `None` when hosts have no port each, or the network outside is the larger one.
    pub fn new(inside: Ip4Prefix, outside: Ip4Prefix) -> Option<Self> {
        let more = outside.prefix_len().checked_sub(inside.prefix_len())?;
        let (inside, outside) = (inside.network(), outside.network());
        (more <= LONGEST).then_some(Self { inside, outside })
    }
    /// Hosts that share an address.
    pub fn sharing_ratio(&self) -> u32 {
        1 << (self.outside.prefix_len() - self.inside.prefix_len())
    }
    /// Ports of each host.
    pub fn ports_per_host(&self) -> u16 {
        (PORTS / self.sharing_ratio()) as u16
    }
    /// The address and the ports of a host.
    pub fn forward(&self, host: Ipv4Addr) -> Option<(Ipv4Addr, RangeInclusive<u16>)> {
        if !self.inside.contains(host) {
            return None;
        }
        let offset = u32::from(host) - u32::from(self.inside.addr());
        let ratio = self.sharing_ratio();
        let addr = Ipv4Addr::from(u32::from(self.outside.addr()) + offset / ratio);
        let count = self.ports_per_host();
        let first = FIRST_PORT + (offset % ratio) as u16 * count;
        Some((addr, first..=first + (count - 1)))
    }
    /// The host that has an address and a port.
    pub fn reverse(&self, addr: Ipv4Addr, port: u16) -> Option<Ipv4Addr> {
        let place = u32::from(port.checked_sub(FIRST_PORT)?) / u32::from(self.ports_per_host());
        if !self.outside.contains(addr) || place >= self.sharing_ratio() {
            return None;
        }
        let offset = u32::from(addr) - u32::from(self.outside.addr());
        let host = u32::from(self.inside.addr()) + offset * self.sharing_ratio() + place;
        Some(host.into())
    }
}

/// All maps. Networks of two of them do not overlap, on either side.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    by_inside: BTreeMap<Ipv4Addr, Map>,
    by_outside: BTreeMap<Ipv4Addr, Map>,
}

impl Maps {
    /// Whether a network of a map overlaps one of those there are.
    pub fn overlaps(&self, new: &Map) -> bool {
        let meet = |a: Ip4Prefix, b: Ip4Prefix| a.contains(b.addr()) || b.contains(a.addr());
        let mut all = self.by_inside.values();
        all.any(|m| meet(m.inside, new.inside) || meet(m.outside, new.outside))
    }
    /// Adds a map.
    pub fn add(&mut self, map: Map) {
        self.by_inside.insert(map.inside.addr(), map);
        self.by_outside.insert(map.outside.addr(), map);
    }
    /// Takes a map away; whether it was there.
    pub fn remove(&mut self, map: &Map) -> bool {
        if self.by_inside.get(&map.inside.addr()) != Some(map) {
            return false;
        }
        self.by_inside.remove(&map.inside.addr());
        self.by_outside.remove(&map.outside.addr());
        true
    }
    /// In the order of their networks inside.
    pub fn iter(&self) -> impl Iterator<Item = &Map> {
        self.by_inside.values()
    }
    /// The map of a host.
    pub fn of_host(&self, host: Ipv4Addr) -> Option<&Map> {
        let (_, map) = self.by_inside.range(..=host).next_back()?;
        map.inside.contains(host).then_some(map)
    }
    /// The map of an address outside.
    pub fn of_outside(&self, addr: Ipv4Addr) -> Option<&Map> {
        let (_, map) = self.by_outside.range(..=addr).next_back()?;
        map.outside.contains(addr).then_some(map)
    }
    /// The inside host of an outside address and port.
    pub fn host_of(&self, addr: Ipv4Addr, port: u16) -> Option<Ipv4Addr> {
        self.of_outside(addr)?.reverse(addr, port)
    }
}
