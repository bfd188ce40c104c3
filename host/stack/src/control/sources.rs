//! Source addresses for outgoing connections by routing table, used round robin. Without any, a
//! connection has the address of its outgoing interface.
//!
//! Packets to these addresses are delivered locally. For addresses of a connected network, proxy
//! ARP has to answer ARP requests (`set ip proxy-arp`).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use infra::rcu::{Reader, Shared};
use net::Router;
use net::fib::{Path, Source, TableIndex, Target};
use wire::{IpVersion, Prefix};

use super::Control;
use super::error::Error;

/// Limit of source addresses of a table.
pub const MOST_SOURCES: usize = 4096;

/// Addresses by routing table, published to the nodes.
pub type Pools = BTreeMap<(IpVersion, TableIndex), Arc<[IpAddr]>>;

/// An inclusive range of source addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// ID of the table.
    pub vrf: u32,
    /// First address.
    pub first: IpAddr,
    /// Last address.
    pub last: IpAddr,
}

impl Range {
    fn ends(&self) -> Result<(IpVersion, u128, u128), Error> {
        let (first, last, version) = match (self.first, self.last) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                (u128::from(a.to_bits()), u128::from(b.to_bits()), IpVersion::V4)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), IpVersion::V6),
            _ => return Err(Error::MixedRange),
        };
        if first > last {
            return Err(Error::BackwardRange);
        }
        if last - first >= MOST_SOURCES as u128 {
            return Err(Error::TooManySources);
        }
        Ok((version, first, last))
    }

    /// Its addresses.
    fn addresses(&self) -> Result<(IpVersion, Vec<IpAddr>), Error> {
        let (version, first, last) = self.ends()?;
        let addr = |bits: u128| match version {
            IpVersion::V4 => IpAddr::V4(Ipv4Addr::from_bits(bits as u32)),
            IpVersion::V6 => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        Ok((version, (first..=last).map(addr).collect()))
    }
}

/// All ranges.
pub(super) struct Sources {
    /// Ranges with their tables, in the order of configuration.
    ranges: Vec<(Range, TableIndex)>,
    pools: Shared<Pools>,
    source: Source,
}

impl Sources {
    pub(super) fn new(source: Source) -> Self {
        Self { ranges: Vec::new(), pools: Shared::new(Pools::new()), source }
    }
    pub(super) fn reader(&self) -> Reader<Pools> {
        self.pools.reader()
    }
    fn pool(&self, key: (IpVersion, TableIndex)) -> &[IpAddr] {
        self.pools.current().get(&key).map_or(&[], |pool| pool)
    }
    fn put(&mut self, key: (IpVersion, TableIndex), pool: Vec<IpAddr>) {
        let mut pools = self.pools.current().clone();
        if pool.is_empty() {
            pools.remove(&key);
        } else {
            pools.insert(key, pool.into());
        }
        self.pools.publish(pools);
    }
}

/// All ranges, in the order of configuration.
pub fn all(router: &Router) -> impl Iterator<Item = &Range> {
    router.own::<Control>().sources.ranges.iter().map(|(range, _)| range)
}

/// Adds a range of source addresses of a table.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, range: Range) -> Result<(), Error> {
    let (version, new) = range.addresses()?;
    let table = router.fib.table_for(version, range.vrf).ok_or(Error::NoVrf(range.vrf))?;
    let key = (version, table);
    let sources = &router.own::<Control>().sources;
    let old = sources.pool(key);
    if new.iter().any(|addr| old.contains(addr)) {
        return Err(Error::SourceExists);
    }
    if old.len() + new.len() > MOST_SOURCES {
        return Err(Error::TooManySources);
    }
    let (pool, source) = ([old, &new].concat(), sources.source);
    for (place, addr) in new.iter().enumerate() {
        let here = [Path::to(Target::Receive { interface: None, addr: Some(*addr) })];
        if let Err(why) = router.add_route(table, host(*addr), source, &here) {
            new[..place].iter().for_each(|addr| forget(router, table, *addr, source));
            return Err(Error::Data(why.to_string()));
        }
    }
    router.use_table_of(version, table, true);
    let sources = &mut router.own_mut::<Control>().sources;
    sources.ranges.push((range, table));
    sources.put(key, pool);
    Ok(())
}

/// Removes a range.
///
/// # Errors
/// [`Error::NoSource`].
pub fn remove(router: &mut Router, range: Range) -> Result<(), Error> {
    let (version, old) = range.addresses()?;
    let sources = &mut router.own_mut::<Control>().sources;
    let place = sources.ranges.iter().position(|(known, _)| *known == range);
    let (_, table) = sources.ranges.remove(place.ok_or(Error::NoSource)?);
    let left = sources.pool((version, table)).iter().filter(|addr| !old.contains(addr));
    let left = left.copied().collect();
    sources.put((version, table), left);
    let source = sources.source;
    old.iter().for_each(|addr| forget(router, table, *addr, source));
    router.use_table_of(version, table, false);
    Ok(())
}

fn forget(router: &mut Router, table: TableIndex, addr: IpAddr, source: Source) {
    // The route may have been deleted with its table.
    let _ = router.remove_route(table, host(addr), source, &[]);
}

/// The prefix of one address.
fn host(addr: IpAddr) -> Prefix {
    let len = IpVersion::from(addr).bits();
    Prefix::new(addr, len).expect("an address has this many bits")
}
