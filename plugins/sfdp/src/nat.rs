//! Translation of sources: addresses and ports of pools, and which of them a new session gets.

use std::hash::{BuildHasher, RandomState};

use infra::table::exact::View;
use net::fib::Ip4 as Fib4;
use net::prelude::*;
use sessions::Flow;

use super::error::Error;
use super::session::{Family, claim_free, owner_key};
use super::tenant::{self, Snat, Tenant};
use super::{Sfdp, input};

/// Addresses of a pool at most.
pub const MOST_ADDRESSES: usize = 1 << 16;
/// The ports that sessions get.
const PORTS: std::ops::RangeInclusive<u16> = 1024..=65535;
/// Addresses and ports that are tried for a session at most.
const TRIES: u32 = 1 << 12;

/// Pools of addresses, by number.
pub type Pools = BTreeMap<u32, Vec<Ipv4Addr>>;

/// Chooses addresses and ports.
#[derive(Clone)]
pub struct Translator {
    pools: Reader<Pools>,
    seed: u64,
}

impl Translator {
    pub(super) fn new(pools: Reader<Pools>) -> Self {
        Self { pools, seed: RandomState::new().hash_one(TRIES) }
    }
    /// The flow of answers to a new session whose source is translated, which belongs to its thread
    /// from now on. `Some(None)` when it is not translated, `None` when there is no address and
    /// port for it.
    pub(super) fn reverse<F: Family>(
        &mut self,
        flow: &Flow<F::Address>,
        snat: &Snat,
        (owners, seed): (&View<'_>, u64),
        id: u64,
        epoch: Epoch<'_>,
    ) -> Option<Option<Flow<F::Address>>> {
        if size_of::<F::Address>() != size_of::<Ipv4Addr>() {
            return Some(None);
        }
        let pool = self.pools.read(epoch).get(&snat.pool).filter(|pool| !pool.is_empty())?;
        // A host keeps its address (RFC 4787 section 4.1).
        let host = Flow::new((flow.src, 0), (flow.src, 0), Protocol(0), 0).meeting(self.seed);
        let count = PORTS.len() as u64;
        self.seed = self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(id | 1);
        let start = self.seed >> 33;
        for step in 0..u64::from(TRIES) {
            let addr = pool[(host.wrapping_add(step / (count / 16)) % pool.len() as u64) as usize];
            let addr = F::Address::read_from_bytes(addr.octets().as_bytes()).ok()?;
            let port = PORTS.start() + (start.wrapping_add(step) % count) as u16;
            let is_echo = matches!(flow.protocol(), Protocol::ICMP | Protocol::ICMP6);
            let far = if is_echo { port } else { flow.dst_port };
            let reverse = Flow::new((flow.dst, far), (addr, port), flow.protocol(), snat.context);
            if claim_free(owners, owner_key::<F>(&reverse, seed), id).is_ok() {
                return Some(Some(reverse));
            }
        }
        None
    }
}

/// Adds a pool.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_pool(router: &mut Router, pool: u32, addresses: Vec<Ipv4Addr>) -> Result<(), Error> {
    if addresses.is_empty() || addresses.len() > MOST_ADDRESSES {
        return Err(Error::BadPool);
    }
    let sfdp = router.own_mut::<Sfdp>();
    let mut pools = sfdp.pools.current().clone();
    if pools.insert(pool, addresses).is_some() {
        return Err(Error::PoolExists(pool));
    }
    sfdp.pools.publish(pools);
    Ok(())
}

/// Takes a pool away that no tenant uses.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_pool(router: &mut Router, pool: u32) -> Result<(), Error> {
    let sfdp = router.own_mut::<Sfdp>();
    let is_used = |t: &Tenant| t.snat.as_ref().is_some_and(|snat| snat.pool == pool);
    if let Some((_, tenant)) = sfdp.tenants.iter().find(|(_, tenant)| is_used(tenant)) {
        return Err(Error::PoolUsed(pool, tenant.id));
    }
    let mut pools = sfdp.pools.current().clone();
    pools.remove(&pool).ok_or(Error::NoPool(pool))?;
    sfdp.pools.publish(pools);
    Ok(())
}

/// Translation of a tenant's sources, in the numbers of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Tenant whose context replies are looked up in.
    pub outside: u32,
    /// Table to route translated packets in.
    pub table: u32,
    /// Pool.
    pub pool: u32,
}

/// Enables source NAT of a tenant.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_snat(router: &mut Router, id: u32, wanted: Wanted) -> Result<(), Error> {
    let Wanted { outside, table, pool } = wanted;
    let (_, old) = tenant::tenant(router, id)?;
    let old = old.snat.clone();
    let context = tenant::tenant(router, outside)?.1.context;
    router.own::<Sfdp>().pools.current().get(&pool).ok_or(Error::NoPool(pool))?;
    let fib = router.hold_table::<Fib4>(table).map_err(|_| Error::NoTable(table))?.0;
    let snat = Snat { outside, context, table, fib, pool };
    tenant::change(router, id, |tenant| tenant.snat = Some(snat))?;
    if let Some(old) = old {
        router.release_table::<Fib4>(TableIndex(old.fib));
    }
    Ok(())
}

/// Disables source NAT of a tenant's new sessions.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn unset_snat(router: &mut Router, id: u32) -> Result<(), Error> {
    let (_, tenant) = tenant::tenant(router, id)?;
    let old = tenant.snat.clone().ok_or(Error::NoSnat(id))?;
    tenant::change(router, id, |tenant| tenant.snat = None)?;
    router.release_table::<Fib4>(TableIndex(old.fib));
    Ok(())
}

/// Makes an interface receive the replies to translated sessions, in the context of a tenant.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_external(
    router: &mut Router,
    interface: net::InterfaceIndex,
    tenant: (u32, bool),
) -> Result<(), Error> {
    input::set_tenant(router, interface, 0, tenant)
}
