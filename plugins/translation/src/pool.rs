//! Addresses that packets get.

use std::ops::Deref;

use net::prelude::*;

use crate::address_of;
use crate::error::Error;

/// Addresses of a range at most.
const MOST_ADDRESSES: u32 = 1 << 16;

/// A pool address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolAddress {
    /// The address.
    pub addr: Ipv4Addr,
    /// For packets of this table only.
    pub vrf: Option<u32>,
    /// For the far ends of twice-NAT.
    pub is_twice: bool,
    /// The interface it is taken from, if it is not configured itself.
    pub from: Option<u32>,
}

/// An address that packets get, as nodes have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The address.
    pub addr: Ipv4Addr,
    /// For hosts of this table only, by position.
    pub fib: Option<u16>,
    /// The interface outside that it belongs to: it has the address, or a network with it.
    pub on: Option<u32>,
}

/// Addresses that packets get, arranged for nodes, which look for one with each new session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    all: Vec<Offer>,
    tables: Vec<OfTable>,
}

/// Addresses for hosts of one table, or of all that have none of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfTable {
    fib: Option<u16>,
    all: Vec<Ipv4Addr>,
    /// By the interface they belong to.
    by_interface: Vec<(Option<u32>, Vec<Ipv4Addr>)>,
}

/// Addresses in the order in which they are tried, in two parts.
pub type Parts<'a> = [&'a [Ipv4Addr]; 2];

impl Deref for Offers {
    type Target = [Offer];
    fn deref(&self) -> &[Offer] {
        &self.all
    }
}

impl FromIterator<Offer> for Offers {
    fn from_iter<I: IntoIterator<Item = Offer>>(all: I) -> Self {
        let mut offers = Self { all: all.into_iter().collect(), tables: Vec::new() };
        for Offer { addr, fib, on } in &offers.all {
            let known = offers.tables.iter().position(|table| table.fib == *fib);
            let at = known.unwrap_or_else(|| {
                let new = OfTable { fib: *fib, all: Vec::new(), by_interface: Vec::new() };
                offers.tables.push(new);
                offers.tables.len() - 1
            });
            let table = &mut offers.tables[at];
            table.all.push(*addr);
            match table.by_interface.iter_mut().find(|(of, _)| of == on) {
                Some((_, addrs)) => addrs.push(*addr),
                None => table.by_interface.push((*on, vec![*addr])),
            }
        }
        offers
    }
}

impl Offers {
    /// Addresses for hosts of a table, whose packets leave over an interface if that is known:
    /// those that are the table's own, else those of all tables. Of these, the ones that belong to
    /// the interface come first, then those that belong to none; those of other interfaces only if
    /// there are no others.
    pub fn of_table(&self, fib: u16, over: Option<u32>) -> Parts<'_> {
        let of = |fib| self.tables.iter().find(|table| table.fib == fib);
        let Some(table) = of(Some(fib)).or_else(|| of(None)) else { return [&[], &[]] };
        let part = |on: Option<u32>| {
            let found = table.by_interface.iter().find(|(of, _)| *of == on);
            found.map_or(&[][..], |(_, addrs)| addrs.as_slice())
        };
        match over.map(|over| [part(Some(over)), part(None)]) {
            Some(parts) if parts.iter().any(|part| !part.is_empty()) => parts,
            _ => [&table.all, &[]],
        }
    }
}

/// The nodes' addresses with the tables that use them, where these interfaces are outside.
pub fn offers(
    router: &Router,
    all: impl Iterator<Item = (Ipv4Addr, Option<u16>)>,
    outside: &[u32],
) -> Offers {
    let networks = |i: u32| router.addresses.of(InterfaceIndex(i)).iter().map(move |p| (i, p));
    let networks: Vec<(u32, Prefix)> = outside.iter().copied().flat_map(networks).collect();
    let on = |addr: Ipv4Addr| {
        let owner = networks.iter().find(|(_, prefix)| prefix.addr() == addr);
        let near = || networks.iter().find(|(_, prefix)| prefix.contains(addr.into()));
        owner.or_else(near).map(|(on, _)| *on)
    };
    all.map(|(addr, fib)| Offer { addr, fib, on: on(addr) }).collect()
}

/// Addresses in the order in which a host tries them: of each part first its own, then those
/// behind it.
pub fn in_turn<'a>(parts: Parts<'a>, host: [u8; 4]) -> impl Iterator<Item = [u8; 4]> + use<'a> {
    let of = move |part: &'a [Ipv4Addr]| {
        let (count, first) = (part.len(), own_of(host, part.len()));
        (0..count).map(move |n| (first + n) % count)
    };
    parts.into_iter().flat_map(move |part| of(part).map(move |n| part[n].octets()))
}

/// The position of a host's own address among so many: that of the original, by the bytes of the
/// host's address from the last on, unless that leaves addresses out because their number is even.
fn own_of(host: [u8; 4], count: usize) -> usize {
    let number = match count % 2 {
        1 => u32::from_le_bytes(host).wrapping_sub(1),
        _ => u32::from_be_bytes(host),
    };
    number as usize % count.max(1)
}

/// A pool, as configured.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Addresses.
    pub addresses: Vec<PoolAddress>,
    /// Interfaces whose addresses packets get too; true for far ends.
    pub interfaces: Vec<(InterfaceIndex, bool)>,
}

impl Pool {
    /// Adds addresses, or takes them out; those that are gone.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set(
        &mut self,
        [first, last]: [Ipv4Addr; 2],
        vrf: Option<u32>,
        is_twice: bool,
        is_add: bool,
    ) -> Result<Vec<PoolAddress>, Error> {
        let (from, to) = (u32::from(first), u32::from(last));
        if to.checked_sub(from).is_none_or(|more| more >= MOST_ADDRESSES) {
            return Err(Error::BadRange);
        }
        let all = &mut self.addresses;
        let is_there =
            |n: u32| all.iter().any(|a| a.addr == Ipv4Addr::from(n) && a.is_twice == is_twice);
        if is_add {
            if (from..=to).any(is_there) {
                return Err(Error::Exists);
            }
            let new = |n: u32| PoolAddress { addr: n.into(), vrf, is_twice, from: None };
            all.extend((from..=to).map(new));
            return Ok(Vec::new());
        }
        if !(from..=to).all(is_there) {
            return Err(Error::Unknown);
        }
        let is_meant =
            |a: &PoolAddress| a.is_twice == is_twice && (from..=to).contains(&u32::from(a.addr));
        let (gone, stay) = all.iter().copied().partition(is_meant);
        *all = stay;
        Ok(gone)
    }
    /// Adds the address of an interface, or takes it out.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn set_interface(
        &mut self,
        interface: InterfaceIndex,
        is_twice: bool,
        is_add: bool,
    ) -> Result<(), Error> {
        let at = self.interfaces.iter().position(|known| *known == (interface, is_twice));
        match (at, is_add) {
            (None, true) => self.interfaces.push((interface, is_twice)),
            (Some(at), false) => drop(self.interfaces.remove(at)),
            (Some(_), true) => return Err(Error::Exists),
            (None, false) => return Err(Error::Unknown),
        }
        Ok(())
    }
    /// All addresses: as configured, and of interfaces.
    pub fn all(&self, router: &Router) -> Vec<PoolAddress> {
        let mut all = self.addresses.clone();
        for (interface, is_twice) in &self.interfaces {
            if let Some(addr) = address_of(router, *interface) {
                let from = Some(interface.0);
                all.push(PoolAddress { addr, vrf: None, is_twice: *is_twice, from });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_a_network_spread_over_all_addresses_each_with_its_own() {
        for count in [1, 2, 3, 99, 255, 256] {
            let mut seen = vec![0; count];
            for host in 0..=255 {
                seen[own_of([10, 0, 0, host], count)] += 1;
            }
            let most = 256_usize.div_ceil(count) + 3;
            assert!(seen.iter().all(|n| (1..=most).contains(n)), "{count}: {seen:?}");
        }
        assert_eq!(own_of([172, 16, 1, 2], 99), (0x0201_10ac - 1) % 99);
    }

    #[test]
    fn addresses_of_the_interface_come_first_and_others_follow() {
        let offer = |n: u8, on| Offer { addr: [192, 0, 2, n].into(), fib: None, on };
        let all = [offer(1, Some(1)), offer(2, None), offer(3, Some(2)), offer(4, Some(1))];
        let pool: Offers = all.into_iter().collect();
        let of = |pool: &Offers, over| -> Vec<Vec<u8>> {
            let parts = pool.of_table(0, over);
            parts.iter().map(|part| part.iter().map(|a| a.octets()[3]).collect()).collect()
        };
        assert_eq!(of(&pool, None), [vec![1, 2, 3, 4], vec![]]);
        assert_eq!(of(&pool, Some(1)), [vec![1, 4], vec![2]]);
        assert_eq!(of(&pool, Some(3)), [vec![], vec![2]], "none of another interface");
        let one: Offers = all.into_iter().take(1).collect();
        assert_eq!(of(&one, Some(3)), [vec![1], vec![]], "unless there is no other");
        let tried: Vec<u8> = in_turn(pool.of_table(0, None), [0, 0, 0, 6]).map(|a| a[3]).collect();
        assert_eq!(tried, [3, 4, 1, 2]);
    }
}
