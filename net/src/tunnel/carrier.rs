//! Reception for tunnels: packets of a kind's carrier come to its input node from its first tunnel
//! to its last, and those to a group are taken on the interface that it is reached by.

use std::net::IpAddr;
use wire::IpVersion;

use super::state::Common;
use super::{Carrier, Kind, Outer};
use crate::fib::{Path, Source, TableIndex, Target};
use crate::interface::{Change, InterfaceIndex};
use crate::mfib::{ItfFlags, MPath, MPrefix};
use crate::router::Router;

/// Tunnels to multicast groups go with the interface that the group is reached by.
pub(super) fn interface_changed<K: Kind>(
    router: &mut Router,
    index: InterfaceIndex,
    change: Change,
) {
    let is_over = |&(_, _, over): &(TableIndex, IpAddr, InterfaceIndex)| over == index;
    if change != Change::Deleting || !router.own::<Common>().groups.keys().any(is_over) {
        return;
    }
    let over = router.tunnels::<K>().iter().filter(|t| t.outer.group_over == Some(index));
    for tunnel in over.map(|t| t.interface).collect::<Vec<_>>() {
        // It exists: it was found.
        let _ = router.remove_tunnel::<K>(tunnel);
    }
}

impl Router {
    /// Receives packets to the group of a tunnel, or stops for it.
    pub(super) fn listen_to_group(&mut self, outer: &Outer, is_on: bool) {
        let Some(over) = outer.group_over.filter(|_| outer.dst.is_multicast()) else { return };
        let groups = &mut self.own_mut::<Common>().groups;
        let users = groups.entry((outer.table, outer.dst, over)).or_default();
        let was_on = *users > 0;
        *users = if is_on { *users + 1 } else { users.saturating_sub(1) };
        if was_on == (*users > 0) {
            return;
        }
        let len = if outer.dst.is_ipv4() { 32 } else { 128 };
        let prefix = MPrefix { group: outer.dst, len, source: None };
        let path = |target, flags| MPath { path: Path::to(target), flags };
        let own = outer.link().unspecified();
        let accept = path(Target::Attached { interface: over, own }, ItfFlags::ACCEPT);
        let receive = Target::Receive { interface: None, addr: None };
        let receive = path(receive, ItfFlags::FORWARD);
        if is_on {
            let both = [accept, receive];
            let _ = self.add_mroute_paths(outer.table, prefix, Source::SPECIAL, &both);
            return;
        }
        let key = |(table, group, _): &(TableIndex, IpAddr, InterfaceIndex)| (*table, *group);
        let groups = &mut self.own_mut::<Common>().groups;
        groups.retain(|_, users| *users > 0);
        let is_left = groups.keys().any(|group| key(group) == (outer.table, outer.dst));
        let gone = if is_left { vec![accept] } else { vec![accept, receive] };
        let _ = self.remove_mroute(outer.table, prefix, Source::SPECIAL, &gone);
    }
    /// Sends packets of a carrier to an input node, until all its users have left.
    ///
    /// # Errors
    /// A carrier that another node has.
    pub fn use_carrier(
        &mut self,
        version: impl Into<IpVersion>,
        carrier: Carrier,
        node: &'static str,
    ) -> Result<(), crate::ip::Error> {
        let key = (version.into(), carrier, node);
        let users = self.own_mut::<Common>().carriers.entry(key).or_default();
        *users += 1;
        if *users > 1 {
            return Ok(());
        }
        let done = self.lead_carrier(key.0, carrier, Some(node));
        done.inspect_err(|_| {
            self.own_mut::<Common>().carriers.remove(&key);
        })
    }
    /// Ends a use.
    pub fn leave_carrier(
        &mut self,
        version: impl Into<IpVersion>,
        carrier: Carrier,
        node: &'static str,
    ) {
        let key = (version.into(), carrier, node);
        let carriers = &mut self.own_mut::<Common>().carriers;
        let Some(users) = carriers.get_mut(&key) else { return };
        *users -= 1;
        if *users == 0 {
            carriers.remove(&key);
            let done = self.lead_carrier(key.0, carrier, None);
            done.expect("what was taken can be given up");
        }
    }
    fn lead_carrier(
        &mut self,
        version: IpVersion,
        carrier: Carrier,
        to: Option<&str>,
    ) -> Result<(), crate::ip::Error> {
        match carrier {
            Carrier::Protocols(all) => {
                all.iter().try_for_each(|p| self.redispatch_protocol(version, *p, to))
            }
            Carrier::Port(port) => self.lead_tunnel_port(version, port, to),
        }
    }
}
