//! Virtual routers as they are set.

use net::interface::Kind;
use net::prelude::*;
use wire::vrrp::MOST_INTERVAL;

use super::machine::{self, State};
use super::table::Key;
use super::{Error, MAX_VIRTUAL_ROUTERS, Vrrp, at_mut, virtual_router, virtual_routers};

/// Most interfaces that a virtual router depends on.
const MOST_TRACKED: usize = 64;

/// Configuration of a virtual router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Priority.
    pub priority: u8,
    /// Advertisement interval in hundredths of a second.
    pub interval: u16,
    /// Whether a master of less priority is replaced.
    pub preempt: bool,
    /// Whether a master that does not own the addresses is reached at them.
    pub accept: bool,
    /// Whether advertisements go to peers, not to the group.
    pub unicast: bool,
    /// Its addresses, of one version.
    pub addrs: Arc<[IpAddr]>,
}

/// An interface that a virtual router depends on, and what its priority loses without it.
pub type Tracked = (InterfaceIndex, u8);

/// A virtual router.
#[derive(Clone, Debug)]
pub struct VirtualRouter {
    /// Name.
    pub key: Key,
    /// Configuration.
    pub settings: Settings,
    /// Routers that advertisements are sent to where there is no group.
    pub peers: Vec<IpAddr>,
    /// Tracked interfaces.
    pub tracked: BTreeMap<InterfaceIndex, u8>,
    /// State.
    pub state: State,
    /// Advertisement interval of the master, in hundredths of a second.
    pub master_interval: u16,
    /// When it advertises, or takes over.
    pub(super) next: f64,
    /// When it answered others first in this interval, and how often it has since.
    pub(super) answers: (f64, u32),
    /// The table in which it hears the group.
    pub(super) group: Option<(Link, TableIndex)>,
    /// The port that has its MAC address.
    pub(super) lent: Option<InterfaceIndex>,
    /// Addresses that its interface has because of it.
    pub(super) accepted: Vec<Prefix>,
}

impl VirtualRouter {
    /// Hundredths of a second that routers of less priority wait longer.
    pub fn skew(&self, priority: u8) -> u32 {
        (256 - u32::from(priority)) * u32::from(self.master_interval) / 256
    }
    /// Hundredths of a second without an advertisement after which the master is gone.
    pub fn master_down(&self, priority: u8) -> u32 {
        3 * u32::from(self.master_interval) + self.skew(priority)
    }
    /// Whether it was started.
    pub fn is_started(&self) -> bool {
        self.state != State::Init
    }
}

fn check(router: &Router, key: Key, settings: &Settings) -> Result<(), Error> {
    let kind = router.interfaces.at(key.on).ok_or(Error::NoInterface)?.kind;
    if kind != Kind::Ethernet {
        return Err(Error::NoEthernet);
    }
    if key.id == 0 {
        return Err(Error::Id);
    }
    if settings.priority == 0 {
        return Err(Error::Priority);
    }
    if settings.interval == 0 || settings.interval > MOST_INTERVAL {
        return Err(Error::Interval);
    }
    if settings.addrs.is_empty() || settings.addrs.len() > u8::MAX.into() {
        return Err(Error::Addresses);
    }
    let is_bad = |addr: &&IpAddr| !is_host(**addr, key.version);
    settings.addrs.iter().find(is_bad).map_or(Ok(()), |addr| Err(Error::Address(*addr)))
}

fn is_host(addr: IpAddr, version: IpVersion) -> bool {
    IpVersion::from(addr) == version && !addr.is_unspecified() && !addr.is_multicast()
}

/// Adds a virtual router; its number among all.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, key: Key, settings: Settings) -> Result<u32, Error> {
    check(router, key, &settings)?;
    let vrrp = router.own_mut::<Vrrp>();
    if vrrp.by_key.contains_key(&key) {
        return Err(Error::Exists);
    }
    if vrrp.by_key.len() >= MAX_VIRTUAL_ROUTERS {
        return Err(Error::TooMany(MAX_VIRTUAL_ROUTERS));
    }
    let new = VirtualRouter {
        key,
        master_interval: settings.interval,
        answers: (f64::NEG_INFINITY, 0),
        settings,
        peers: Vec::new(),
        tracked: BTreeMap::new(),
        state: State::Init,
        next: 0.0,
        group: None,
        lent: None,
        accepted: Vec::new(),
    };
    let free = vrrp.all.iter().position(Option::is_none);
    let index = free.unwrap_or(vrrp.all.len());
    match free {
        Some(free) => vrrp.all[free] = Some(new),
        None => vrrp.all.push(Some(new)),
    }
    vrrp.by_key.insert(key, index as u32);
    Ok(index as u32)
}

/// Updates a virtual router; a running one restarts.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn update(router: &mut Router, key: Key, settings: Settings) -> Result<(), Error> {
    check(router, key, &settings)?;
    let of = virtual_router(router, key).ok_or(Error::NoVirtualRouter)?;
    let was_started = of.is_started();
    if was_started && settings.unicast && of.peers.is_empty() {
        return Err(Error::NoPeers);
    }
    if was_started {
        machine::end(router, key, State::Init);
    }
    let of = at_mut(router, key).ok_or(Error::NoVirtualRouter)?;
    of.master_interval = settings.interval;
    of.settings = settings;
    if was_started {
        machine::begin(router, key);
    }
    Ok(())
}

/// Takes a virtual router away; a master says that it stops.
///
/// # Errors
/// [`Error::NoVirtualRouter`].
pub fn remove(router: &mut Router, key: Key) -> Result<(), Error> {
    stop(router, key)?;
    let vrrp = router.own_mut::<Vrrp>();
    let index = vrrp.by_key.remove(&key).ok_or(Error::NoVirtualRouter)?;
    vrrp.all[index as usize] = None;
    Ok(())
}

/// Starts a virtual router; one that runs goes on.
///
/// # Errors
/// [`Error::NoVirtualRouter`], [`Error::NoPeers`].
pub fn start(router: &mut Router, key: Key) -> Result<(), Error> {
    let of = virtual_router(router, key).ok_or(Error::NoVirtualRouter)?;
    if of.settings.unicast && of.peers.is_empty() {
        return Err(Error::NoPeers);
    }
    if !of.is_started() {
        machine::begin(router, key);
    }
    Ok(())
}

/// Stops a virtual router; a master says so.
///
/// # Errors
/// [`Error::NoVirtualRouter`].
pub fn stop(router: &mut Router, key: Key) -> Result<(), Error> {
    virtual_router(router, key).ok_or(Error::NoVirtualRouter)?;
    machine::end(router, key, State::Init);
    Ok(())
}

/// Sets the routers that advertisements are sent to where there is no group.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_peers(router: &mut Router, key: Key, peers: Vec<IpAddr>) -> Result<(), Error> {
    if let Some(addr) = peers.iter().find(|addr| !is_host(**addr, key.version)) {
        return Err(Error::Address(*addr));
    }
    let of = at_mut(router, key).ok_or(Error::NoVirtualRouter)?;
    if !of.settings.unicast {
        return Err(Error::NoUnicast);
    }
    if peers.is_empty() || peers.len() > u8::MAX.into() {
        return Err(Error::NoPeers);
    }
    of.peers = peers;
    Ok(())
}

/// Deletes the unicast peers of a virtual router.
///
/// # Errors
/// There is none of this key.
pub fn forget_peers(router: &mut Router, key: Key) -> Result<(), Error> {
    at_mut(router, key).ok_or(Error::NoVirtualRouter)?.peers.clear();
    Ok(())
}

/// Adds tracked interfaces of a virtual router.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn track(router: &mut Router, key: Key, on: &[Tracked]) -> Result<(), Error> {
    let of = virtual_router(router, key).ok_or(Error::NoVirtualRouter)?;
    for (interface, priority) in on {
        router.interfaces.at(*interface).ok_or(Error::NoInterface)?;
        if *interface == key.on {
            return Err(Error::TracksItself);
        }
        if *priority == 0 {
            return Err(Error::Priority);
        }
    }
    let mut after = of.tracked.clone();
    after.extend(on.iter().copied());
    if after.len() > MOST_TRACKED {
        return Err(Error::TooManyTracked(MOST_TRACKED));
    }
    at_mut(router, key).ok_or(Error::NoVirtualRouter)?.tracked = after;
    Ok(())
}

/// Deletes tracked interfaces of a virtual router.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn untrack(router: &mut Router, key: Key, on: &[InterfaceIndex]) -> Result<(), Error> {
    let of = at_mut(router, key).ok_or(Error::NoVirtualRouter)?;
    if on.iter().any(|interface| !of.tracked.contains_key(interface)) {
        return Err(Error::NotTracked);
    }
    for interface in on {
        of.tracked.remove(interface);
    }
    Ok(())
}

/// Forgets what belongs to an interface that goes.
pub(super) fn forget(router: &mut Router, on: InterfaceIndex) {
    let all: Vec<_> = virtual_routers(router).map(|(_, of)| of.key).collect();
    for key in all {
        if key.on == on {
            // It exists.
            let _ = remove(router, key);
        } else if let Some(of) = at_mut(router, key) {
            of.tracked.remove(&on);
        }
    }
}
