//! Security policies: actions for packets by ranges of addresses and ports (RFC 4301 section
//! 4.4.1). Databases of policies are applied to interfaces.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use control::stats::Columns;
use net::prelude::*;
use net::tunnel::Tuple;

use super::list::{List, Rank};
use super::startup::Settings;
use super::{Applied, Error, Ipsec, sa};

/// Limit of policies.
pub const MOST: usize = 1 << 20;
/// Limit of databases.
pub const MOST_SPDS: usize = 1 << 16;
pub(super) const COLUMNS: Columns = Columns::growing("ipsec policy", MOST);

/// Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Pass without protection.
    Bypass,
    /// Discard.
    Discard,
    /// Protect with the SA of this ID.
    Protect(u32),
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Priority; the highest is tried first.
    pub priority: i32,
    /// True for outbound packets.
    pub is_outbound: bool,
    /// Whether it is for IPv6.
    pub is_6: bool,
    /// Action.
    pub action: Action,
    /// Protocol; `None` for any.
    pub protocol: Option<Protocol>,
    /// Addresses of the far side.
    pub remote: RangeInclusive<IpAddr>,
    /// Addresses of this side.
    pub local: RangeInclusive<IpAddr>,
    /// Ports of the far side.
    pub remote_ports: RangeInclusive<u16>,
    /// Ports of this side.
    pub local_ports: RangeInclusive<u16>,
}

/// The fields of a packet that policies match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its protocol.
    pub protocol: Protocol,
    /// Address of the far side.
    pub remote: u128,
    /// Address of this side.
    pub local: u128,
    /// Ports of far and this side, where there are some.
    pub ports: Option<(u16, u16)>,
}

/// Whether packets of a protocol have ports.
#[inline(always)]
pub fn has_ports(protocol: Protocol) -> bool {
    [Protocol::TCP, Protocol::UDP, Protocol::SCTP].contains(&protocol)
}

/// A policy for the nodes.
#[derive(Debug)]
pub struct Rule {
    /// Its configuration.
    pub policy: Policy,
    /// Its rank among policies.
    pub rank: Rank,
    /// Index of its counters.
    pub index: u32,
    /// Index and SPI of the SA.
    pub sa: (u32, u32),
    /// Whether the SA uses AH.
    pub is_ah: bool,
    /// Addresses of the far side.
    pub remote: RangeInclusive<u128>,
    /// Addresses of this side.
    pub local: RangeInclusive<u128>,
}

impl Rule {
    /// The action.
    #[inline(always)]
    pub fn action(&self) -> Action {
        self.policy.action
    }
    /// Whether both addresses match.
    #[inline(always)]
    pub fn has_addresses(&self, flow: &Flow) -> bool {
        self.remote.contains(&flow.remote) && self.local.contains(&flow.local)
    }
    /// Whether it matches a packet.
    #[inline(always)]
    pub fn matches(&self, flow: &Flow) -> bool {
        let Policy { protocol, remote_ports, local_ports, .. } = &self.policy;
        let has_ports = |(remote, local): (u16, u16)| {
            remote_ports.contains(&remote) && local_ports.contains(&local)
        };
        protocol.is_none_or(|protocol| protocol == flow.protocol)
            && self.has_addresses(flow)
            && flow.ports.map_or_else(|| self.takes_without_ports(), has_ports)
    }
    /// Whether it is about packets without ports. The ports of fragments after the first are
    /// unknown: a policy that bypasses some ports must not let them through, but they may be
    /// protected or dropped.
    #[cold]
    fn takes_without_ports(&self) -> bool {
        let Policy { protocol, remote_ports, local_ports, action, .. } = &self.policy;
        let is_whole = |ports: &RangeInclusive<u16>| *ports == (0..=u16::MAX);
        let has_none = protocol.is_some_and(|protocol| !has_ports(protocol));
        *action != Action::Bypass || has_none || (is_whole(remote_ports) && is_whole(local_ports))
    }
}

/// A policy database for the nodes.
#[derive(Clone, Debug, Default)]
pub struct Spd {
    id: u32,
    /// Versions of inbound and outbound policies.
    pub versions: [u64; 2],
    /// Policies for outbound packets, over IPv4 and IPv6.
    pub outbound: [List; 2],
    /// Policies that protect inbound packets, by SPI.
    pub protect: [HashMap<u32, Vec<Arc<Rule>>>; 2],
    /// Policies that bypass inbound packets.
    pub bypass: [List; 2],
    /// Policies that discard inbound packets.
    pub discard: [List; 2],
}

impl Spd {
    fn new(id: u32, settings: &Settings) -> Self {
        let outbound = settings.out_by_table.map(List::new);
        let [bypass, discard] = [(); 2].map(|()| settings.in_by_table.map(List::new));
        Self { id, outbound, bypass, discard, ..Self::default() }
    }
    /// The list of a policy; `None` for those that protect inbound packets.
    fn list(&mut self, policy: &Policy) -> Option<&mut List> {
        let at = usize::from(policy.is_6);
        match (policy.is_outbound, policy.action) {
            (true, _) => Some(&mut self.outbound[at]),
            (false, Action::Protect(_)) => None,
            (false, Action::Bypass) => Some(&mut self.bypass[at]),
            (false, Action::Discard) => Some(&mut self.discard[at]),
        }
    }
    fn insert(&mut self, rule: Arc<Rule>) {
        if let Some(list) = self.list(&rule.policy) {
            return list.insert(rule);
        }
        let rules = self.protect[usize::from(rule.policy.is_6)].entry(rule.sa.1).or_default();
        let at = rules.partition_point(|other| other.rank < rule.rank);
        rules.insert(at, rule);
    }
    fn remove(&mut self, rule: &Rule) {
        if let Some(list) = self.list(&rule.policy) {
            return list.remove(rule);
        }
        let by_spi = &mut self.protect[usize::from(rule.policy.is_6)];
        by_spi.iter_mut().for_each(|(_, rules)| rules.retain(|other| other.rank != rule.rank));
        by_spi.retain(|_, rules| !rules.is_empty());
    }
    fn all(&self) -> impl Iterator<Item = &Arc<Rule>> {
        let lists = [&self.outbound, &self.bypass, &self.discard].into_iter().flatten();
        let protect = self.protect.iter().flat_map(HashMap::values);
        lists.flat_map(List::iter).chain(protect.flatten())
    }
    /// The policy that bypasses or discards an inbound packet.
    pub fn inbound(&self, is_6: bool, flow: &Flow) -> Option<&Rule> {
        let at = usize::from(is_6);
        self.bypass[at].find(flow).or_else(|| self.discard[at].find(flow))
    }
    /// The index of such a policy in the flow cache: twice its index in its list, plus one for
    /// policies that discard.
    pub fn inbound_place(&self, is_6: bool, rule: &Rule) -> Option<u32> {
        let is_drop = rule.action() == Action::Discard;
        let lists = if is_drop { &self.discard } else { &self.bypass };
        Some(lists[usize::from(is_6)].place(rule)? << 1 | u32::from(is_drop))
    }
    /// The policy at such an index.
    pub fn inbound_at(&self, is_6: bool, place: u32) -> Option<&Rule> {
        let lists = if place & 1 == 0 { &self.bypass } else { &self.discard };
        lists[usize::from(is_6)].at(place >> 1)
    }
    /// Index.
    pub fn id(&self) -> u32 {
        self.id
    }
    /// All policies with the indices of their counters: outbound before inbound, in matching order.
    pub fn policies(&self) -> Vec<(u32, &Policy)> {
        let mut all: Vec<_> = self.all().map(|rule| (rule.index, &rule.policy)).collect();
        all.order_by_key(|(index, p)| (!p.is_outbound, p.is_6, -i64::from(p.priority), *index));
        all
    }
}

/// The index of a database.
fn place(router: &Router, id: u32) -> Result<u32, Error> {
    router.own::<Ipsec>().spd_by_id.get(&id).copied().ok_or(Error::NoSpd(id))
}

/// All databases.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Spd)> {
    router.own::<Ipsec>().spds.iter()
}

/// Creates a database.
///
/// # Errors
/// [`Error::SpdExists`], [`Error::Full`].
pub fn add(router: &mut Router, id: u32) -> Result<(), Error> {
    let ipsec = router.own_mut::<Ipsec>();
    if ipsec.spd_by_id.contains_key(&id) {
        return Err(Error::SpdExists(id));
    }
    let new = Spd { versions: ipsec.versions, ..Spd::new(id, &ipsec.settings) };
    let place = ipsec.spds.insert(new).map_err(|_| Error::Full)?;
    ipsec.spd_by_id.insert(id, place);
    Ok(())
}

/// Deletes a database with its policies; interfaces that used it then have none.
///
/// # Errors
/// [`Error::NoSpd`].
pub fn remove(router: &mut Router, id: u32) -> Result<(), Error> {
    let place = place(router, id)?;
    let applied = router.settings::<Applied>().filter(|(_, a)| a.0 == Some(place));
    for interface in applied.map(|(interface, _)| interface).collect::<Vec<_>>() {
        put_on(router, interface, None)?;
    }
    let ipsec = router.own_mut::<Ipsec>();
    ipsec.spd_by_id.remove(&id);
    let gone: Vec<_> =
        ipsec.spds.at(place).map(|spd| spd.all().cloned().collect()).unwrap_or_default();
    ipsec.spds.remove(place);
    gone.iter().for_each(|rule| forget(router, rule));
    Ok(())
}

/// Releases the SA and the counters of a policy.
fn forget(router: &mut Router, rule: &Rule) {
    router.own_mut::<Ipsec>().free_policies.push(rule.index);
    if let Action::Protect(_) = rule.policy.action {
        sa::use_one(router, rule.sa.0, false);
    }
}

/// Applies a database to an interface, replacing another one; `None` removes it.
///
/// # Errors
/// [`Error::NoSpd`], [`Error::NoInterface`].
pub fn apply(router: &mut Router, interface: InterfaceIndex, id: Option<u32>) -> Result<(), Error> {
    let place = id.map(|id| place(router, id)).transpose()?;
    put_on(router, interface, place)
}

/// Applies the database at an index. Packets are fragmented after the policies.
fn put_on(router: &mut Router, interface: InterfaceIndex, place: Option<u32>) -> Result<(), Error> {
    router.cut_behind(interface, false);
    router.put(interface, Applied(place))?;
    router.cut_behind(interface, place.is_some());
    Ok(())
}

/// Removes the setting of a deleted interface.
pub(super) fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        router.cut_behind(interface, false);
    }
}

impl From<NoInterface> for Error {
    fn from(_: NoInterface) -> Self {
        Self::NoInterface
    }
}

/// Adds a policy; returns the index of its counters.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_policy(router: &mut Router, id: u32, policy: Policy) -> Result<u32, Error> {
    let place = place(router, id)?;
    let (sa, is_ah) = match policy.action {
        Action::Protect(sa) => {
            let index = sa::index(router, sa)?;
            let found = router.own::<Ipsec>().sas.at(index).ok_or(Error::NoSa(sa))?;
            ((index, found.config.spi), found.is_ah())
        }
        _ => ((u32::MAX, 0), false),
    };
    let ipsec = router.own_mut::<Ipsec>();
    let mut spd = ipsec.spds.at(place).ok_or(Error::NoSpd(id))?.clone();
    let free = ipsec.free_policies.pop();
    let index = free.unwrap_or(ipsec.policies);
    if index as usize >= MOST {
        return Err(Error::Full);
    }
    ipsec.policies += u32::from(free.is_none());
    let bits =
        |range: &RangeInclusive<IpAddr>| Tuple::bits(*range.start())..=Tuple::bits(*range.end());
    let (remote, local) = (bits(&policy.remote), bits(&policy.local));
    let is_protected = matches!(policy.action, Action::Protect(_));
    let is_outbound = policy.is_outbound;
    ipsec.added += 1;
    let rank = (Reverse(policy.priority), ipsec.added);
    spd.insert(Arc::new(Rule { policy, rank, index, sa, is_ah, remote, local }));
    put(ipsec, place, spd, is_outbound);
    let counters = ipsec.policy_counters.clone();
    router.count_from_zero(&counters, COLUMNS, index, "security policies");
    if is_protected {
        sa::use_one(router, sa.0, true);
    }
    Ok(index)
}

/// Publishes a database whose policies of one direction have changed, together with its version, so
/// that cached flows of one version are never used with policies of another.
fn put(ipsec: &mut Ipsec, place: u32, spd: Spd, is_outbound: bool) {
    ipsec.versions[usize::from(is_outbound)] += 1;
    ipsec.spds.replace(place, Spd { versions: ipsec.versions, ..spd });
    renew(ipsec, usize::from(is_outbound));
}

/// Publishes all databases that have an older version, if the flow cache is enabled.
fn renew(ipsec: &mut Ipsec, direction: usize) {
    if ipsec.settings.flows[direction] == 0 {
        return;
    }
    let is_older = |spd: &Spd| spd.versions[direction] != ipsec.versions[direction];
    let all = ipsec.spds.iter().filter(|(_, spd)| is_older(spd));
    for (place, spd) in all.map(|(place, spd)| (place, spd.clone())).collect::<Vec<_>>() {
        ipsec.spds.replace(place, Spd { versions: ipsec.versions, ..spd });
    }
}

/// Deletes a policy.
///
/// # Errors
/// [`Error::NoSpd`], [`Error::NoPolicy`].
pub fn remove_policy(router: &mut Router, id: u32, policy: &Policy) -> Result<u32, Error> {
    let place = place(router, id)?;
    let ipsec = router.own_mut::<Ipsec>();
    let mut spd = ipsec.spds.at(place).ok_or(Error::NoSpd(id))?.clone();
    let found = spd.all().find(|rule| rule.policy == *policy).cloned().ok_or(Error::NoPolicy)?;
    spd.remove(&found);
    put(ipsec, place, spd, policy.is_outbound);
    forget(router, &found);
    Ok(found.index)
}

/// Interfaces and their databases.
pub fn applied(router: &Router) -> Vec<(InterfaceIndex, u32)> {
    let spds = &router.own::<Ipsec>().spds;
    let id = |place: &u32| spds.at(*place).map(Spd::id);
    let all = router.settings::<Applied>();
    all.filter_map(|(interface, a)| Some((interface, id(a.0.as_ref()?)?))).collect()
}
