//! Addresses that packets get.

use std::net::Ipv4Addr;

use net::Router;
use net::interface::InterfaceIndex;

use crate::address_of;
use crate::error::Error;

/// Addresses of a range at most.
const MOST_ADDRESSES: u32 = 1 << 16;

/// An address that packets get.
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

/// Addresses for hosts of a table: those that are its own, else those of all.
pub fn of_table(pool: &[(Ipv4Addr, Option<u16>)], fib: u16) -> Vec<Ipv4Addr> {
    let is_for = |of: Option<u16>| pool.iter().filter(move |(_, vrf)| *vrf == of);
    let own: Vec<Ipv4Addr> = is_for(Some(fib)).map(|(addr, _)| *addr).collect();
    if own.is_empty() { is_for(None).map(|(addr, _)| *addr).collect() } else { own }
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
