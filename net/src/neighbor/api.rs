//! Messages of the module `ip_neighbor`.

use std::net::IpAddr;

use control::api::types::{Address, AddressFamily};
use control::api::{Api, Caller, Message, Record, Retval};
use wire::{IpVersion, MacAddr};

use super::release;
use super::table::{Config, Key, Neighbor};
use super::watch::Watcher;
use crate::adjacency::Role;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Stands for every interface, and for no object.
const ALL: u32 = u32::MAX;

control::numbers! {
    /// Neighbor flags.
    pub enum IpNeighborFlags: u8 = "ip_neighbor_flags" in "" {
        NONE = 0 => "IP_API_NEIGHBOR_FLAG_NONE",
        STATIC = 1 => "IP_API_NEIGHBOR_FLAG_STATIC",
        NO_FIB_ENTRY = 2 => "IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY",
    }
    /// Neighbor events.
    pub enum IpNeighborEventFlags: u32 = "ip_neighbor_event_flags" in "" {
        ADDED = 1 => "IP_NEIGHBOR_API_EVENT_FLAG_ADDED",
        REMOVED = 2 => "IP_NEIGHBOR_API_EVENT_FLAG_REMOVED",
    }
}

/// A neighbor.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct IpNeighbor {
    sw_if_index: InterfaceIndex,
    /// flags: static neighbors are neither updated nor aged
    flags: IpNeighborFlags,
    mac_address: MacAddr,
    ip_address: Address,
}

impl IpNeighbor {
    fn of((interface, addr): Key, n: &Neighbor) -> Self {
        let flags = IpNeighborFlags::NONE
            .with(IpNeighborFlags::STATIC, n.is_static)
            .with(IpNeighborFlags::NO_FIB_ENTRY, !n.has_route);
        Self { sw_if_index: interface, flags, mac_address: n.mac, ip_address: addr.into() }
    }
}

/// Add or delete a neighbor.
#[derive(Message)]
#[reply(IpNeighborAddDelReply)]
struct IpNeighborAddDel {
    is_add: bool,
    neighbor: IpNeighbor,
}

/// Reply: index of its counters.
#[derive(Message)]
struct IpNeighborAddDelReply {
    /// index of its counters in `/net/adjacency`; 4294967295 if nothing is sent to it
    stats_index: u32,
}

/// List the neighbors of one address family.
#[derive(Message)]
#[details(IpNeighborDetails)]
struct IpNeighborDump {
    /// only on this interface
    #[preset(4294967295)]
    sw_if_index: InterfaceIndex,
    af: AddressFamily,
}

/// A neighbor.
#[derive(Message)]
struct IpNeighborDetails {
    /// seconds since last heard
    age: f64,
    neighbor: IpNeighbor,
}

/// Set the limits of the neighbor table.
#[derive(Message)]
struct IpNeighborConfig {
    af: AddressFamily,
    /// maximum neighbors; 0 for no limit
    max_number: u32,
    /// seconds after which a silent neighbor is probed and then deleted; 0 for never
    max_age: u32,
    /// true to replace the oldest neighbor when full
    recycle: bool,
}

/// Get the limits of the neighbor table.
#[derive(Message)]
#[option("in_progress")]
#[reply(IpNeighborConfigGetReply)]
struct IpNeighborConfigGet {
    af: AddressFamily,
}

/// Limits of the neighbor table.
#[derive(Message)]
#[option("in_progress")]
struct IpNeighborConfigGetReply {
    af: AddressFamily,
    max_number: u32,
    max_age: u32,
    recycle: bool,
}

/// Start replacing all neighbors.
#[derive(Message)]
struct IpNeighborReplaceBegin {}

/// Finish replacing: delete neighbors not set again.
#[derive(Message)]
struct IpNeighborReplaceEnd {}

/// Delete all neighbors of one address family.
#[derive(Message)]
struct IpNeighborFlush {
    af: AddressFamily,
    /// only on this interface
    #[preset(4294967295)]
    sw_if_index: InterfaceIndex,
}

/// Register for events of new neighbors.
#[derive(Message)]
#[option("deprecated")]
#[reply(WantIpNeighborEventsReply)]
#[events(IpNeighborEvent)]
struct WantIpNeighborEvents {
    enable: bool,
    pid: u32,
    /// only this address, unless unspecified
    ip: Address,
    /// only on this interface
    #[preset(4294967295)]
    sw_if_index: InterfaceIndex,
}

/// Reply: registered for events.
#[derive(Message)]
#[option("deprecated")]
struct WantIpNeighborEventsReply {}

/// A neighbor was resolved.
#[derive(Debug, PartialEq, Message)]
#[option("deprecated")]
pub(super) struct IpNeighborEvent {
    neighbor: IpNeighbor,
}

/// Register for neighbor events.
#[derive(Message)]
#[events(IpNeighborEventV2)]
struct WantIpNeighborEventsV2 {
    enable: bool,
    pid: u32,
    /// only this address, unless unspecified
    ip: Address,
    /// only on this interface
    #[preset(4294967295)]
    sw_if_index: InterfaceIndex,
}

/// A neighbor was added or deleted.
#[derive(Debug, PartialEq, Message)]
#[head(event)]
pub(super) struct IpNeighborEventV2 {
    flags: IpNeighborEventFlags,
    neighbor: IpNeighbor,
}

/// Sends the events about a neighbour to one who watches it. False when the client is gone.
pub(super) fn send(router: &Router, to: &Watcher, key: Key, n: &Neighbor, is_known: bool) -> bool {
    let (clients, neighbor) = (&router.clients, IpNeighbor::of(key, n));
    if to.is_v2 {
        use IpNeighborEventFlags as Flags;
        let flags = if is_known { Flags::ADDED } else { Flags::REMOVED };
        return clients.send_to(to.client, to.pid, &IpNeighborEventV2 { flags, neighbor });
    }
    match is_known {
        true => clients.send_to(to.client, to.pid, &IpNeighborEvent { neighbor }),
        false => clients.is_connected(to.client),
    }
}

fn add_del(router: &mut Router, m: &IpNeighborAddDel) -> Result<IpNeighborAddDelReply, Retval> {
    let n = &m.neighbor;
    router.interfaces.at(n.sw_if_index).ok_or(Retval::INVALID_SW_IF_INDEX)?;
    let key = (n.sw_if_index, n.ip_address.native()?);
    if m.is_add {
        let is_static = n.flags.contains(IpNeighborFlags::STATIC);
        let has_route = !n.flags.contains(IpNeighborFlags::NO_FIB_ENTRY);
        router.set_neighbor(key, n.mac_address, is_static, has_route)?;
        release(router);
    } else {
        router.remove_neighbor(key)?;
    }
    let adjacency = router.adjacencies.find(key.0, Role::Neighbor, key.1);
    Ok(IpNeighborAddDelReply { stats_index: adjacency.map_or(ALL, |a| a.0) })
}

fn only(router: &Router, interface: InterfaceIndex) -> Result<Option<InterfaceIndex>, Retval> {
    if interface.0 == ALL {
        return Ok(None);
    }
    router.interfaces.at(interface).map(|i| Some(i.index)).ok_or(Retval::INVALID_SW_IF_INDEX)
}

fn next_of_dump(
    router: &Router,
    m: &IpNeighborDump,
    after: &mut Option<Key>,
) -> Option<IpNeighborDetails> {
    let wanted = IpVersion::try_from(m.af).ok()?;
    let is_it = |(on, addr): &Key| {
        IpVersion::from(*addr) == wanted && (m.sw_if_index.0 == ALL || m.sw_if_index == *on)
    };
    let (key, n) = router.neighbors().table.iter(*after).find(|(key, _)| is_it(key))?;
    *after = Some(key);
    Some(IpNeighborDetails { age: router.now() - n.updated, neighbor: IpNeighbor::of(key, n) })
}

fn want(
    router: &mut Router,
    caller: Caller,
    (enable, pid): (bool, u32),
    (ip, sw_if_index): (Address, InterfaceIndex),
    is_v2: bool,
) -> Result<(), Retval> {
    let interface = only(router, sw_if_index)?;
    let addr = Some(ip.native()?).filter(|a: &IpAddr| !a.is_unspecified());
    let watcher = Watcher { client: caller.client, pid, addr, interface, is_v2 };
    router.watch_neighbors(watcher, enable);
    Ok(())
}

fn bounds(router: &mut Router, m: &IpNeighborConfig) -> Result<(), Retval> {
    let limit = m.max_number as usize;
    let new = Config { limit, age: m.max_age.into(), recycles: m.recycle };
    router.configure_neighbors(m.af.try_into()?, new);
    Ok(())
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip_neighbor", "1.0.1")
        .call(|router, m: IpNeighborAddDel| add_del(router, &m))
        .dump_each(|_, m: IpNeighborDump| {
            let mut after = None;
            move |router: &mut Router| next_of_dump(router, &m, &mut after)
        })
        .call(|router, m: IpNeighborConfig| bounds(router, &m))
        .call(|router, m: IpNeighborConfigGet| {
            let config = router.neighbors().table.configs[IpVersion::try_from(m.af)? as usize];
            Ok(IpNeighborConfigGetReply {
                af: m.af,
                max_number: config.limit as u32,
                max_age: config.age as u32,
                recycle: config.recycles,
            })
        })
        .call(|router, _: IpNeighborReplaceBegin| {
            router.begin_neighbor_replacement();
            Ok(())
        })
        .call(|router, _: IpNeighborReplaceEnd| {
            router.end_neighbor_replacement();
            Ok(())
        })
        .call(|router, m: IpNeighborFlush| {
            let only = only(router, m.sw_if_index)?;
            router.flush_neighbors(m.af.try_into()?, only);
            Ok(())
        })
        .call_by(|router, caller, m: WantIpNeighborEvents| {
            want(router, caller, (m.enable, m.pid), (m.ip, m.sw_if_index), false)?;
            Ok(WantIpNeighborEventsReply {})
        })
        .call_by(|router, caller, m: WantIpNeighborEventsV2| {
            want(router, caller, (m.enable, m.pid), (m.ip, m.sw_if_index), true)
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::testing::{Bench, HOST, OTHER};

    fn add(on: InterfaceIndex, addr: &str, flags: IpNeighborFlags) -> IpNeighborAddDel {
        let ip_address = addr.parse::<IpAddr>().unwrap().into();
        let neighbor = IpNeighbor { sw_if_index: on, flags, mac_address: HOST, ip_address };
        IpNeighborAddDel { is_add: true, neighbor }
    }
    fn dump(af: AddressFamily) -> IpNeighborDump {
        IpNeighborDump { sw_if_index: InterfaceIndex(ALL), af }
    }

    #[test]
    fn neighbours_come_back_as_they_were_set() {
        Bench::new().talk(|local, router| {
            let pg1 = router.interfaces.named("pg1").unwrap().index;
            let one = add(pg1, "10.0.1.2", IpNeighborFlags::STATIC);
            let reply = local.call(router, &one).unwrap();
            let index = router.adjacencies.find(pg1, Role::Neighbor, [10, 0, 1, 2].into());
            assert_eq!(reply.stats_index, index.unwrap().0);
            let two = add(pg1, "2001:db8:1::2", IpNeighborFlags::NO_FIB_ENTRY);
            assert_eq!(local.call(router, &two).unwrap().stats_index, ALL);
            let rows = local.dump(router, &dump(AddressFamily::IP4));
            assert_eq!(rows.iter().map(|r| r.neighbor).collect::<Vec<_>>(), [one.neighbor]);
            let rows = local.dump(router, &dump(AddressFamily::IP6));
            assert_eq!(rows.iter().map(|r| r.neighbor).collect::<Vec<_>>(), [two.neighbor]);
            assert!(local.dump(router, &dump(AddressFamily(9))).is_empty());

            for (mac, addr) in [
                (MacAddr::for_ip4_group([224, 1, 1, 1].into()), "10.0.1.7"),
                (MacAddr::ZERO, "10.0.1.8"),
                (MacAddr::BROADCAST, "2001:db8:1::7"),
            ] {
                let mut any = add(pg1, addr, IpNeighborFlags::NONE);
                any.neighbor.mac_address = mac;
                local.call(router, &any).unwrap();
                let gone = IpNeighborAddDel { is_add: false, ..any };
                local.call(router, &gone).unwrap();
            }
            let mut other = add(pg1, "10.0.1.2", IpNeighborFlags::NONE);
            other.neighbor.mac_address = OTHER;
            assert_eq!(local.call(router, &other).err(), Some(Retval(-2)));
            let gone = IpNeighborAddDel { is_add: false, ..one };
            local.call(router, &gone).unwrap();
            assert_eq!(local.call(router, &gone).err(), Some(Retval::NO_SUCH_ENTRY));
            let nowhere = add(InterfaceIndex(77), "10.0.1.2", IpNeighborFlags::NONE);
            let refused = local.call(router, &nowhere).err();
            assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
        });
    }

    #[test]
    fn the_table_is_bounded_replaced_and_flushed() {
        Bench::new().talk(|local, router| {
            let pg1 = router.interfaces.named("pg1").unwrap().index;
            let af = AddressFamily::IP4;
            let bounds = |recycle| IpNeighborConfig { af, max_number: 2, max_age: 7, recycle };
            local.call(router, &bounds(false)).unwrap();
            let now = local.call(router, &IpNeighborConfigGet { af }).unwrap();
            assert_eq!((now.max_number, now.max_age, now.recycle), (2, 7, false));
            let wrong = IpNeighborConfigGet { af: AddressFamily(3) };
            assert_eq!(local.call(router, &wrong).err(), Some(Retval::INVALID_ADDRESS_FAMILY));
            let one = |n: u8| add(pg1, &format!("10.0.1.{n}"), IpNeighborFlags::NONE);
            local.call(router, &one(2)).unwrap();
            local.call(router, &one(3)).unwrap();
            assert_eq!(local.call(router, &one(4)).err(), Some(Retval::LIMIT_EXCEEDED));
            local.call(router, &bounds(true)).unwrap();
            local.call(router, &one(4)).unwrap();

            local.call(router, &IpNeighborReplaceBegin {}).unwrap();
            local.call(router, &one(4)).unwrap();
            local.call(router, &IpNeighborReplaceEnd {}).unwrap();
            let rows = local.dump(router, &dump(af));
            assert_eq!(rows.iter().map(|r| r.neighbor).collect::<Vec<_>>(), [one(4).neighbor]);
            let flush = |sw_if_index| IpNeighborFlush { af, sw_if_index };
            let refused = local.call(router, &flush(InterfaceIndex(77))).err();
            assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
            local.call(router, &flush(InterfaceIndex(ALL))).unwrap();
            assert!(local.dump(router, &dump(af)).is_empty());
        });
    }

    #[test]
    fn clients_hear_of_what_they_asked_for() {
        Bench::new().talk(|local, router| {
            let pg1 = router.interfaces.named("pg1").unwrap().index;
            let want = |enable, addr: &str| WantIpNeighborEventsV2 {
                enable,
                pid: 7,
                ip: addr.parse::<IpAddr>().unwrap().into(),
                sw_if_index: InterfaceIndex(ALL),
            };
            local.call(router, &want(true, "10.0.1.2")).unwrap();
            let waiting = |router: &Router| router.clients.waiting(local.index());
            let key = |n: u8| (pg1, IpAddr::from([10, 0, 1, n]));
            router.set_neighbor(key(3), HOST, false, true).unwrap();
            assert_eq!(waiting(router), 0);
            router.set_neighbor(key(2), HOST, false, true).unwrap();
            let added = waiting(router);
            assert!(added > 0);
            router.set_neighbor(key(2), HOST, false, true).unwrap();
            assert_eq!(waiting(router), added, "nothing new");
            router.remove_neighbor(key(2)).unwrap();
            assert_eq!(waiting(router), 2 * added);
            router.clients.take(local.index());
            local.call(router, &want(false, "10.0.1.2")).unwrap();
            local.call(router, &want(false, "10.0.1.2")).unwrap();

            let old = WantIpNeighborEvents {
                enable: true,
                pid: 7,
                ip: Address::default(),
                sw_if_index: pg1,
            };
            local.call(router, &old).unwrap();
            router.clients.release(local.index());
            router.set_neighbor((pg1, [10, 0, 1, 9].into()), HOST, false, true).unwrap();
            assert!(router.neighbor_watchers().is_empty(), "who left is forgotten");
        });
    }
}
