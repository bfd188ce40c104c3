//! Tenants: the context that their packets are looked up in, the services of their sessions, and
//! how long these last.

use net::prelude::*;
use sessions::slices::{self, Slices};
use sessions::{Class, Walked};

use super::error::Error;
use super::service::{self, DROP};
use super::session::{Ended, Family, Ip4, Ip6, One, owner_keys, release_all};
use super::{BY_TENANT, Inputs, Sfdp};

/// Kinds of timeouts at most.
pub const MOST_TIMEOUTS: usize = 16;
/// Different timeouts at most: one more is that of sessions that end at once.
const MOST_CLASSES: usize = 255;

/// Names of timeouts that are built in, with their seconds.
pub const TIMEOUTS: [(&str, u32); 4] =
    [("embryonic", 5), ("established", 120), ("tcp-established", 3600), ("security", 30)];
/// Until an answer.
pub const EMBRYONIC: usize = 0;
/// After an answer.
pub const ESTABLISHED: usize = 1;
/// After an answer, of TCP.
pub const TCP_ESTABLISHED: usize = 2;
/// Of what is blocked.
pub const SECURITY: usize = 3;

/// The class of sessions that are over with the packet.
pub const AT_ONCE: u8 = 0;

/// Nodes that packets go to instead of services: one for each version of IP.
pub const DETOURS: [&str; 8] = [
    "ip4-reass",
    "ip6-reass",
    "ip4-unknown-proto",
    "ip6-unknown-proto",
    "ip4-icmp4-error",
    "ip6-icmp6-error",
    "ip4-table-overflow",
    "ip6-table-overflow",
];
/// Of fragments whose ports are not known.
pub const FRAGMENTS: usize = 0;
/// Of protocols without sessions.
pub const UNKNOWN_PROTOCOL: usize = 2;
/// Of ICMP errors.
pub const ICMP_ERRORS: usize = 4;
/// Of packets for whose session there is no room.
pub const OVERFLOW: usize = 6;

/// A node that packets go to instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Detour {
    /// The edge.
    pub slot: Slot,
    /// Node.
    pub node: String,
}

/// Translation of sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Snat {
    /// The tenant whose context packets are in when they are translated, by its id.
    pub outside: u32,
    /// That context.
    pub context: u32,
    /// The number of the table that translated packets go on in.
    pub table: u32,
    /// The same as nodes have it.
    pub fib: u16,
    /// The number of the pool.
    pub pool: u32,
}

/// A tenant.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// ID.
    pub id: u32,
    /// The space of addresses and ports that its packets are looked up in.
    pub context: u32,
    /// Services of its new sessions, by direction.
    pub services: [u64; 2],
    /// Timeouts in seconds.
    pub timeouts: [u32; MOST_TIMEOUTS],
    /// The same as classes of sessions.
    pub classes: [u8; MOST_TIMEOUTS],
    /// Nodes that packets go to instead of services.
    pub detours: [Option<Detour>; DETOURS.len()],
    /// Translation of its sources.
    pub snat: Option<Snat>,
    /// The access list that its packets pass where the service for that is in their chain.
    pub list: Option<u32>,
}

impl Tenant {
    /// The edge to the node that packets go to instead, if there is one.
    #[inline(always)]
    pub fn detour<F: Family>(&self, why: usize) -> Option<Slot> {
        self.detours.get(why + F::DETOURS)?.as_ref().map(|detour| detour.slot)
    }
}

/// Kinds of timeouts with their names and seconds, by number.
pub fn timeouts(router: &Router) -> Vec<(usize, &'static str, u32)> {
    router.own::<Sfdp>().timeouts.iter().copied().collect()
}

/// Adds a kind of timeout; its number.
///
/// # Errors
/// [`Error::TooManyTimeouts`].
pub fn add_timeout(router: &mut Router, name: &'static str, seconds: u32) -> Result<usize, Error> {
    let known = timeouts(router);
    let is_free = |at: &usize| known.iter().all(|(used, ..)| used != at);
    let at = (0..MOST_TIMEOUTS).find(is_free).ok_or(Error::TooManyTimeouts)?;
    router.own_mut::<Sfdp>().timeouts.push((at, name, seconds));
    let class = class_of(router, at, seconds)?;
    let sfdp = router.own_mut::<Sfdp>();
    let tenants: Vec<_> = sfdp.tenants.iter().map(|(n, tenant)| (n, tenant.clone())).collect();
    for (number, mut tenant) in tenants {
        (tenant.timeouts[at], tenant.classes[at]) = (seconds, class);
        sfdp.tenants.replace(number, tenant);
    }
    Ok(at)
}

/// The class of sessions with a timeout. When all classes are in use, one that no tenant has any
/// more becomes that.
fn class_of(router: &mut Router, kind: usize, seconds: u32) -> Result<u8, Error> {
    let sfdp = router.own_mut::<Sfdp>();
    let timeout = f64::from(seconds);
    let has_changed = kind == EMBRYONIC && sfdp.embryonic.insert(seconds);
    let known = sfdp.classes.iter().skip(1).position(|class| *class == timeout);
    if let Some(at) = known.filter(|_| !has_changed) {
        return Ok(at as u8 + 1);
    }
    let at = if let Some(at) = known {
        at + 1
    } else if sfdp.classes.len() < MOST_CLASSES {
        sfdp.classes.push(timeout);
        sfdp.classes.len() - 1
    } else {
        let is_used = |at: &usize| {
            let class = *at as u8;
            sfdp.tenants.iter().any(|(_, tenant)| tenant.classes.contains(&class))
        };
        let at = (1..MOST_CLASSES).find(|at| !is_used(at)).ok_or(Error::TooManyTimeouts)?;
        sfdp.classes[at] = timeout;
        at
    };
    let classes = classes(&sfdp.classes, &sfdp.embryonic);
    let core = sfdp.core.clone();
    let of = |done: Result<(), _>| done.map_err(|_| Error::NoAnswer);
    of(Ip4::of(&core).set_classes(router, classes.clone()))?;
    of(Ip6::of(&core).set_classes(router, classes.clone()))?;
    of(core.user.set_classes(router, classes))?;
    Ok(at as u8)
}

/// Timeouts as classes of sessions. Those of sessions without an answer yet, which any
/// host can make, make room first.
pub fn classes(timeouts: &[f64], embryonic: &BTreeSet<u32>) -> Vec<Class> {
    let class = |&timeout: &f64| {
        let goes_first = embryonic.contains(&(timeout as u32));
        Class { timeout, may_be_evicted: true, goes_first }
    };
    timeouts.iter().map(class).collect()
}

/// A tenant by its id, with its number.
///
/// # Errors
/// [`Error::NoTenant`].
pub fn tenant(router: &Router, id: u32) -> Result<(u32, &Tenant), Error> {
    let sfdp = router.own::<Sfdp>();
    let number = *sfdp.by_id.get(&id).ok_or(Error::NoTenant(id))?;
    Ok((number, sfdp.tenants.at(number).ok_or(Error::NoTenant(id))?))
}

/// Changes a tenant.
///
/// # Errors
/// [`Error::NoTenant`].
pub fn change(router: &mut Router, id: u32, change: impl FnOnce(&mut Tenant)) -> Result<(), Error> {
    let (number, tenant) = tenant(router, id)?;
    let mut tenant = tenant.clone();
    change(&mut tenant);
    router.own_mut::<Sfdp>().tenants.replace(number, tenant);
    Ok(())
}

/// Adds a tenant with a context: that of the same number, unless it is said.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, id: u32, context: Option<u32>) -> Result<(), Error> {
    let sfdp = router.own::<Sfdp>();
    if sfdp.by_id.contains_key(&id) {
        return Err(Error::TenantExists(id));
    }
    if sfdp.by_id.len() >= sfdp.limits.tenants {
        return Err(Error::TooManyTenants);
    }
    let (mut all, mut of_class) = ([0; MOST_TIMEOUTS], [AT_ONCE; MOST_TIMEOUTS]);
    for (at, _, seconds) in timeouts(router) {
        all[at] = seconds;
        of_class[at] = class_of(router, at, seconds)?;
    }
    let sfdp = router.own_mut::<Sfdp>();
    let drop = sfdp.registry.named(DROP).map_or(0, |service| 1 << service.bit);
    let tenant = Tenant {
        id,
        context: context.unwrap_or(id),
        services: [drop; 2],
        timeouts: all,
        classes: of_class,
        detours: [const { None }; DETOURS.len()],
        snat: None,
        list: None,
    };
    let number = sfdp.tenants.insert(tenant).map_err(|_| Error::TooManyTenants)?;
    sfdp.by_id.insert(id, number);
    begin_counters(router, number as usize);
    for (at, node) in [super::lookup::ICMP4, super::lookup::ICMP6].into_iter().enumerate() {
        set_detour(router, id, ICMP_ERRORS + at, node)?;
    }
    Ok(())
}

/// Adds a column of counters, at zero.
fn begin_counters(router: &mut Router, column: usize) {
    // Without room for a column there is nothing to see; packets pass as they would.
    let _ = router.stats.grow(BY_TENANT, column + 1);
    let counters = router.own::<Sfdp>().core.counters.clone();
    let _ = router.engine.on_threads(move |thread| {
        if thread >= counters.created.threads() {
            return;
        }
        let column = column..column + 1;
        for rows in [&counters.created, &counters.removed] {
            rows.zero(thread, column.clone());
        }
        for rows in [&counters.incoming, &counters.outgoing] {
            rows.zero(thread, column.clone());
        }
    });
}

/// Deletes a tenant: its sessions end, and interfaces have none any more.
///
/// # Errors
/// [`Error`].
pub fn delete(router: &mut Router, id: u32) -> Result<(), Error> {
    let (number, _) = tenant(router, id)?;
    let used: Vec<_> = router.settings::<Inputs>().map(|(at, inputs)| (at, *inputs)).collect();
    for (interface, inputs) in used {
        for version in (0..2).filter(|v| inputs.tenant(*v) == Some(number)) {
            super::input::set(router, interface, version, None)?;
        }
    }
    end_of::<Ip4>(router, move |tenant, _| tenant == number)?;
    end_of::<Ip6>(router, move |tenant, _| tenant == number)?;
    end_of::<super::user::User>(router, move |tenant, _| tenant == number)?;
    // Nothing to take back where sources are not translated.
    let _ = super::nat::unset_snat(router, id);
    let sfdp = router.own_mut::<Sfdp>();
    sfdp.by_id.remove(&id);
    sfdp.tenants.remove(number);
    Ok(())
}

/// Sets the services of new sessions of a tenant, in one direction.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_services(
    router: &mut Router,
    id: u32,
    direction: usize,
    names: &[String],
) -> Result<(), Error> {
    let registry = &router.own::<Sfdp>().registry;
    let bit = |name: &String| {
        let service = registry.named(name);
        service.map(|s| 1u64 << s.bit).ok_or_else(|| Error::NoService(name.clone()))
    };
    let bits = names.iter().map(bit).collect::<Result<Vec<_>, _>>()?;
    let bits = bits.into_iter().fold(0, |all, bit| all | bit);
    change(router, id, |tenant| tenant.services[direction] = bits)
}

/// Sets a timeout of a tenant by its number; sessions have it with their next packet.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_timeout(router: &mut Router, id: u32, at: usize, seconds: u32) -> Result<(), Error> {
    tenant(router, id)?;
    timeouts(router).iter().find(|(of, ..)| *of == at).ok_or(Error::NoTimeout(at))?;
    let class = class_of(router, at, seconds)?;
    change(router, id, |tenant| (tenant.timeouts[at], tenant.classes[at]) = (seconds, class))
}

/// Sends packets of a tenant to a node instead of services.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_detour(router: &mut Router, id: u32, at: usize, node: &str) -> Result<(), Error> {
    tenant(router, id)?;
    let unknown = || Error::NoNode(node.to_owned());
    let from = [Ip4::LOOKUP, Ip6::LOOKUP][at % 2];
    router.engine.index_of(node).filter(|_| node != from).ok_or_else(unknown)?;
    let slot = router.engine.connect(from, node).map_err(|_| unknown())?;
    let detour = Detour { slot, node: node.to_owned() };
    change(router, id, |tenant| tenant.detours[at] = Some(detour))
}

/// Ends sessions that are meant, by the number of their tenant and their own, in slices.
pub fn ending(
    router: &Router,
    is_meant: impl Fn(u32, u32) -> bool + Clone + Send + 'static,
) -> Slices<Ended> {
    slices::chain([
        ending_of::<Ip4>(router, is_meant.clone()),
        ending_of::<Ip6>(router, is_meant.clone()),
        ending_of::<super::user::User>(router, is_meant),
    ])
}

fn ending_of<F: Family>(
    router: &Router,
    is_meant: impl Fn(u32, u32) -> bool + Clone + Send + 'static,
) -> Slices<Ended> {
    F::of(&router.own::<Sfdp>().core).slices(judge::<F>(router, is_meant))
}

fn end_of<F: Family>(
    router: &mut Router,
    is_meant: impl Fn(u32, u32) -> bool + Clone + Send + 'static,
) -> Result<(), Error> {
    let of = F::of(&router.own::<Sfdp>().core).clone();
    let judge = judge::<F>(router, is_meant);
    let done = |router: &mut Router, ended: Vec<_>| {
        release_all(&mut router.own_mut::<Sfdp>().owners, &ended);
    };
    of.sweep(router, judge, done).map(drop).map_err(|_| Error::NoAnswer)
}

/// Ends the sessions of a family that are meant.
fn judge<F: Family>(
    router: &Router,
    is_meant: impl Fn(u32, u32) -> bool + Clone + Send + 'static,
) -> impl Fn(usize, &mut One<F::Address>) -> Walked<Ended> + Clone + Send + 'static {
    let core = router.own::<Sfdp>().core.clone();
    let seed = F::of(&core).seed();
    move |thread: usize, session: &mut One<F::Address>| {
        if !is_meant(session.data.tenant, session.data.number) {
            return Walked::keep(None);
        }
        core.count_end(thread, &session.data);
        Walked::remove(Some((owner_keys::<F>(session, seed), session.data.id)))
    }
}

/// The interfaces and IP versions that receive packets of a tenant.
pub fn inputs(router: &Router) -> Vec<(InterfaceIndex, usize, u32)> {
    let sfdp = router.own::<Sfdp>();
    let all = router.settings::<Inputs>().flat_map(|(interface, inputs)| {
        let of = move |v: usize| Some((interface, v, inputs.tenant(v)?));
        [of(0), of(1)].into_iter().flatten()
    });
    let id = |number| sfdp.tenants.at(number).map(|tenant| tenant.id);
    all.filter_map(|(interface, version, number)| Some((interface, version, id(number)?))).collect()
}

/// Services of a tenant's direction by name.
pub fn services_of(router: &Router, bits: u64) -> Vec<&'static str> {
    let registry: &service::Registry = &router.own::<Sfdp>().registry;
    registry.names(bits)
}
